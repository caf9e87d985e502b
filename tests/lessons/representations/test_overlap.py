"""The laboratory of crops: which views lie next to one of the other class."""

import numpy as np
import torch

from ddlab import networks
from ddlab.lessons.representations.overlap import OverlapLab, pairs_strip
from tests.support import made_data


def test_neighbours_are_those_of_the_features() -> None:
    data = made_data(train=60)
    network = networks.initialise(networks.spec("convnet", width=4).for_data(data), seed=0)
    lab = OverlapLab(data, network, settings="crop_area=0.2").run()
    current = lab.world.neighbours(lab.settings, watch=lambda words, share: None)
    features = networks.predict(network, current.views).features.flatten(1).double().numpy()
    # By pairs, one after another.
    nearest = []
    for row, point in enumerate(features):
        distances = [
            np.inf if row == column else np.square(point - other).sum()
            for column, other in enumerate(features)
        ]
        nearest.append(int(np.argmin(distances)))
    is_second = current.is_second.tolist()
    astray = [is_second[row] != is_second[column] for row, column in enumerate(nearest)]
    assert (current.nearest.tolist(), current.astray.tolist()) == (nearest, astray)
    assert f"For {np.mean(astray):.1%} of the views" in lab.sentence
    # Those that lie astray come first, and the words count them.
    assert (
        f"nearest view of {min(sum(astray), 10)} of them"
        in (pairs_strip(lab.world, "a", "b", current)[1])
    )
    lab.close()


def test_a_whole_image_is_its_own_view_and_a_class_is_not_compared_with_itself() -> None:
    data = made_data(train=60)
    network = networks.initialise(networks.spec("convnet", width=4).for_data(data), seed=0)
    lab = OverlapLab(data, network, settings='crop_area=1.0,space="pixels"').run()
    current = lab.world.neighbours(lab.settings, watch=lambda words, share: None)
    assert torch.equal(current.images, current.views)
    lab.panel.value = lab.settings.replace(second=0)
    assert lab.sentence == f"Twice {data.class_names[0]}: choose another class beside it."
    lab.close()
