"""Small things that many tests share.

They are built once per session, so no test may change them.
"""

import os
from collections.abc import Iterator

# Before torch asks for devices: what is compared bit for bit, or with a record, is computed on the
# CPU beside a GPU as well.
os.environ["CUDA_VISIBLE_DEVICES"] = ""
# No test finds the answers that another one has locked.
os.environ["DDLAB_PREDICTIONS"] = ""
# Here, and in the kernels that tests start, no student is trained in another process unless a test
# asks for it.
os.environ["LOKY_MAX_CPU_COUNT"] = "1"

import torch

# Set once, before anything is computed: gradients differ between one and two threads, and two
# processes have two cores.
torch.set_num_threads(1)

import hypothesis  # noqa: E402
import pytest  # noqa: E402

from ddlab import data, networks  # noqa: E402
from ddlab.data import ImageData  # noqa: E402
from ddlab.distilled import DistilledSet  # noqa: E402
from ddlab.methods import selection  # noqa: E402
from ddlab.networks import Network  # noqa: E402
from ddlab.runs import cache  # noqa: E402
from ddlab.runs.inputs import Inputs  # noqa: E402
from ddlab.training import supervised  # noqa: E402
from tests.support import made_data, run_to_end  # noqa: E402

# The same examples on every run; no time limit per example, because the first one imports and warms
# up.
hypothesis.settings.register_profile(
    "ddlab", deadline=None, derandomize=True, max_examples=50, database=None
)
hypothesis.settings.load_profile("ddlab")

TINY = networks.spec("convnet", width=8)


def _trained(on: ImageData, seed: int = 0) -> Network:
    config = supervised.Config.teaching(
        "teacher",
        network=TINY,
        epochs=20,
        batch_size=12,
        crop_pixels=0,
        learning_rate=0.02,
        seed=seed,
    )
    return run_to_end(supervised, config, Inputs(data=on))


@pytest.fixture(autouse=True)
def same_threads() -> Iterator[None]:
    """What a test has set is set back."""
    yield
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def grey() -> ImageData:
    """3 classes, 12 training and 6 test images each, one channel, 8 px."""
    return made_data()


@pytest.fixture(scope="session")
def colour() -> ImageData:
    """2 classes, 8 training and 4 test images each, three channels, 8 px."""
    return made_data(classes=2, channels=3, train=8, test=4, seed=1)


@pytest.fixture(scope="session")
def digits() -> ImageData:
    """Real digits at their own 8 px."""
    return data.load("digits", size=8)


@pytest.fixture(scope="session")
def teacher(grey: ImageData) -> Network:
    """A ConvNet of width 8 with batch norm, trained a little on `grey`."""
    return _trained(grey)


@pytest.fixture(scope="session")
def other_teacher(grey: ImageData) -> Network:
    """The same with other weights."""
    return _trained(grey, seed=1)


@pytest.fixture(scope="session")
def colour_teacher(colour: ImageData) -> Network:
    """The same for `colour`."""
    return _trained(colour)


@pytest.fixture
def inputs(grey: ImageData) -> Inputs:
    """For a method that needs no teacher."""
    return Inputs(data=grey, device="cpu")


@pytest.fixture(scope="session")
def distilled(grey: ImageData, teacher: Network) -> DistilledSet:
    """Two real images per class of `grey`, with hard, stored and online labels."""
    config = selection.Config(images_per_class=2)
    return run_to_end(selection, config, Inputs(data=grey, teachers=(teacher,)))


@pytest.fixture
def no_cache() -> None:
    """Forget what was computed before."""
    cache.clear()
