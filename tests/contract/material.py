"""Right arguments for public functions and laboratories, small and fast."""

from pathlib import Path

import torch
from torch import nn

from ddlab import networks
from ddlab.data import ImageData
from ddlab.distilled import DistilledSet
from ddlab.methods import sre2l
from ddlab.networks import Network
from ddlab.runs import Inputs, Keep, Run
from ddlab.training import supervised


class Material:
    """Right things of every kind."""

    def __init__(
        self, data: ImageData, teacher: Network, distilled: DistilledSet, folder: Path
    ) -> None:
        self.data = data
        self.teacher = teacher
        self.distilled = distilled
        self.folder = folder
        self.spec = networks.spec("convnet", width=4)
        self.inputs = Inputs(data=data, teachers=(teacher,))
        self.student = supervised.Config.teaching(network=self.spec, epochs=1, batch_size=4)

    def images(self, count: int = 4) -> torch.Tensor:
        """float32 [count, channels, h, w] of the data's shape."""
        shape = (count, self.data.channels, *self.data.image_size)
        return torch.randn(shape, generator=torch.Generator().manual_seed(0))

    def network(self, **options: object) -> Network:
        """Fresh weights; with head="mean" for images of any size."""
        return networks.initialise(
            networks.spec("convnet", width=4, **options).for_data(self.data), seed=0
        )

    def recovery(self) -> Run:
        """A recovery that has come to its end, with frames."""
        config = sre2l.Config.teaching(iterations=15)
        return Run(sre2l, config, self.inputs, keep=Keep(20)).advance()

    def module(self) -> nn.Module:
        """A network that is not ours."""
        return nn.Sequential(
            nn.Conv2d(1, 4, 3, padding=1), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 3)
        )
