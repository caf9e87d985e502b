"""What the laboratory of learned points knows: its settings, KIP's run for them, and what real
images do without any learning.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ...core import parameter
from ...data import ImageData
from ...evaluation import kernel_predictions
from ...explorers.ready import MethodWorld, SteppedSettings, Watch
from ...methods import kip
from ...methods.shared.kernels import KernelSpec
from ...runs import Inputs, Keep

_DRAWS = (0, 1, 2)  # of random real images
_NATURAL = (1, 10, 100)  # per class
_MEGABYTES = 64  # of a kernel at once: a lesson has little memory
KERNELS = ("rbf", "fc1", "fc2", "fc3")
SAME = "the same"


@dataclass(frozen=True, kw_only=True)
class Settings(SteppedSettings, kip.Config):
    """KIP's hyper-parameters as a reader moves them, and the step on show."""

    kernel: str = parameter(
        "fc1",
        choices=KERNELS,
        help="RBF, or of an infinitely wide network with 1 to 3 hidden layers.",
        explorable=True,
    )
    judged_by: str = parameter(
        SAME,
        choices=(SAME, *KERNELS),
        explorable=True,
        help="The kernel of the regression that answers test images.",
    )
    ridge: float = parameter(
        1e-6,
        symbol=r"\lambda",
        range=(0, 1e6),
        scale="log",
        explorable=(1e-8, 1.0),
        source="eq 7",
        help="As a part of the mean of the kernel's diagonal.",
    )
    corruption: float = parameter(
        0.0,
        symbol="p",
        range=(0, 0.99),
        step=0.05,
        explorable=(0.0, 0.95),
        source="section 2.2",
        help="Share of the numbers of each image that is never updated.",
    )

    @property
    def spec(self) -> KernelSpec:
        """The kernel by which everything is judged."""
        return self.part(KernelSpec).replace(kernel=self.judge)

    @property
    def judge(self) -> str:
        """The name of this kernel."""
        return self.kernel if self.judged_by == SAME else self.judged_by


@dataclass(frozen=True, eq=False)
class Moment:
    """What is kept of a step.

    Attributes:
        images: float32 [n, c, h, w].
        accuracies: kernel -> the fraction of test images that the regression on the images has right.
    """

    images: Tensor
    accuracies: dict[str, float]


@dataclass(frozen=True)
class Rival:
    """Points that took no learning: a rule of `selection`, and how many for each class; `words`
    name them beside a bar.
    """

    words: str
    kind: str
    images_per_class: int


class World(MethodWorld):
    """Data, and where the controls start.

    Args:
        data: what is distilled.
        config: where the controls start; default KIP's teaching preset.
        device: of the runs.

    Raises:
        DDLabError: settings that the method or the laboratory refuses.
    """

    method = kip
    settings = Settings
    first = kip.Config.teaching()
    frames = 40

    def __init__(
        self,
        data: ImageData,
        config: kip.Config | None = None,
        *,
        device: torch.device | str = "auto",
    ) -> None:
        super().__init__(data, config, device=device)
        self._asked = data.normalised(split="test")
        self._smallest = int(data.train_labels.bincount(minlength=data.classes).min())

    def keep(self, config: kip.Config) -> Keep:
        """Return the first update, too; each frame is a `Moment`."""
        return Keep(tuple(sorted({1, *Keep(self.frames + 1).of(config.iterations)})), self.frame)

    def rivals(self, settings: Settings) -> list[Rival]:
        """List points that took no learning: as many centres, as many real images, and far more of
        these. The last are left out where there are not as many.
        """
        per_class = settings.images_per_class
        classes = self.data.classes
        centres = "class means" if per_class == 1 else "k-means centres"
        counts = sorted(
            {per_class, *(count for count in _NATURAL if per_class < count <= self._smallest)}
        )
        natural = [Rival(f"{count * classes:,} real", "random", count) for count in counts]
        return [Rival(f"{per_class * classes:,} {centres}", "centres", per_class), *natural]

    def rival(
        self, rival: Rival, spec: KernelSpec, ridge: float, *, watch: Watch
    ) -> tuple[float, ...]:
        """Test accuracy of the regression on a rival: of three draws where it is drawn."""
        accuracies = []
        for seed in _DRAWS if rival.kind == "random" else _DRAWS[:1]:
            watch(f"regression on {rival.words}", len(accuracies) / len(_DRAWS))
            chosen = self.chosen(rival.kind, rival.images_per_class, seed)
            labels = kip.centred_labels(chosen.labels, self.data.classes)
            accuracies.append(
                self.accuracy(chosen.images.to(self.inputs.device), labels, spec, ridge)
            )
        return tuple(accuracies)

    def accuracy(self, images: Tensor, labels: Tensor, spec: KernelSpec, ridge: float) -> float:
        """Return the fraction of test images that the regression has right.

        It stands on images [n, c, h, w] and labels [n, classes].
        """
        labels = labels.to(images.device)
        test_images = self._asked.to(images)
        outputs = kernel_predictions(
            images, labels, test_images, kernel=spec, ridge=ridge, megabytes=_MEGABYTES
        )
        return float((outputs.argmax(1).cpu() == self.data.test_labels).double().mean())

    def frame(self, config: kip.Config, inputs: Inputs, state: kip.State, trace: Any) -> Moment:
        """Return the images, and what the regression on them has right with every kernel."""
        own = kip.draw_kernel(config, state.step)
        accuracies = {
            kernel: self.accuracy(
                state.images, state.labels, own.replace(kernel=kernel), config.ridge
            )
            for kernel in KERNELS
        }
        return Moment(state.images.to("cpu", copy=True), accuracies)
