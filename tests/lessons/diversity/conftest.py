"""What the tests of this lesson share."""

from typing import Any

import pytest

import ddlab
from ddlab import networks
from ddlab.training import supervised
from tests.support import made_data


@pytest.fixture(scope="module")
def small() -> tuple[Any, Any]:
    """Data and a teacher that take no time."""
    data = made_data(train=12)
    spec = networks.spec("convnet", width=4)
    return data, ddlab.train_teacher(
        data, supervised.Config.teaching("teacher", network=spec, epochs=3), progress=False
    )
