"""From which stream and step what is drawn: records and published results of a seed hold only as long as none of these moves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from ddlab import methods, networks, theory
from ddlab.core import randomness
from ddlab.data import ImageData, augmentation, siamese_views
from ddlab.distilled import DistilledSet, Representations
from ddlab.evaluation import continual, entropy, probing
from ddlab.networks import Network
from ddlab.runs import cache, process
from ddlab.runs.process import Inputs
from ddlab.training import forgetting, rela, self_supervised, supervised

PROCESSES = {name: methods.get(name) for name in methods.names()} | {
    one.NAME: one for one in (supervised, forgetting, self_supervised, rela)
}
_POOL = (
    "network 0 of the pool 5/0-1, network 1 of the pool 5/0, network weights 73675290/0, network weights 1490346933/0, "
    "network weights 3530707038/0, outer step 5/0-3, pool steps 5/0, real images of the pairs 5/0"
)
_RELA = (
    "augment 5/0-3, colours 5/0-3, network weights 5/0, order 5/0-1, predictor weights 5/0-1, projection of ReLA 5/0, "
    "projector weights 5/0-1, random part 5/0-3"
)
_REAL_BATCHES = "real images of 0 5/0-3, real images of 1 5/0-3, real images of 2 5/0-3"
_MATCHED = "network 5/0-1, network weights 2437296438/0, network weights 3122501620/0"
DRAWN = {
    "squeeze_recover_relabel": "noise images 5/0-1, roll 5/0-5",
    "directed_weight_adjustment": "real images 5/0-2, roll 5/0-5",
    "data_residual_matching": "crop and flip 5/0-7, real images 5/0-2, roll 5/0-7",
    "realism_selection": "real images 5/0-2, realism crops 5/0-2",
    "selection": "real images 5/0-2",
    "kernel_ridge_self_supervised": _POOL,
    "parameterised_self_supervised": _POOL,
    "representation_selection": "real images of the pairs 5/0",
    "representations_as_targets": "real images of the pairs 5/0",
    "gradient_matching": f"epoch 0 5/1,3, {_MATCHED}, noise images 5/0, {_REAL_BATCHES}",
    "siamese_gradient_matching": (
        f"epoch 0 5/1,3, {_MATCHED}, real images 5/0-2, {_REAL_BATCHES}, siamese color 1073876462/0, siamese crop 5/16, "
        "siamese cutout 5/2,8,14, siamese cutout 2841001508/0, siamese flip 5/0,4, siamese operation 5/0,2,4,6,8,10,12,14,16,18,20,22, "
        "siamese operation 1073876462/0, siamese operation 2841001508/0, siamese rotate 5/6,12,22, siamese scale 5/10,18,20, "
        "views in training 5/1,3"
    ),
    "distribution_matching": (
        "network 5/0-3, network weights 1752659210/0, network weights 2437296438/0, network weights 2904219339/0, network weights "
        f"3122501620/0, real images 5/0-2, {_REAL_BATCHES}, siamese crop 5/2,8,10,14,18,20, siamese flip 5/0,4,6,12,16,22, "
        "siamese operation 5/0,2,4,6,8,10,12,14,16,18,20,22"
    ),
    "kernel_inducing_points": "real batch 5/0-3, real images 5/0-2",
    "label_solve": "real images 5/0-2",
    "training": "augment 5/0-26, mixup 5/0-26, network weights 5/0, order 5/0-2",
    "forgetting": "augment 5/0-8, network weights 5/0, order 5/0-2",
    "self_supervised": "augment 5/0-7, colours 5/0-7, network weights 5/0, order 5/0-1, projector weights 5/0-1, random part 5/0-7",
    "rela_f": _RELA,
    "reference_images": "reference images 5/0-2, reference noise 5/0, shuffled pixels 5/0",
    "class_order": "order of classes 5/0",
    "held_out_part": "held-out part 5/0",
    "siamese_view": "siamese color 5/7, siamese crop 5/7, siamese cutout 5/7, siamese flip 5/7, siamese rotate 5/7, siamese scale 5/7",
    "drawn_view_counts": "views 5/0",
    "crop_views": "crop views 5/0",
    "simulated_errors": "sgd on two classes 0/0",
    "linear_transport": "folds of a transport 0/0",
    "mixture_sample": "mixture labels 5/0, mixture noise 5/0",
    "initial_toys": "toy weights student 5/0, toy weights student 6/0",
    "distilled_samples": "toy labels student 5/0, toy labels student 6/0, toy noise student 5/0, toy noise student 6/0",
    "filter_directions": "landscape direction 0/0-1",
    "toy_directions": "landscape direction 0/0-1, toy weights student 0/0",
}
SWITCHED: dict[str, tuple[dict[str, Any], str]] = {  # other draws than those of the defaults
    "directed_weight_adjustment": (  # the adjustment has the view of its batch's first update, and draws none of its own
        {"adjustment_view": "random", "crop": "always"},
        "crop and flip 5/0-5, real images 5/0-2, roll 5/0-5",
    ),
    "kernel_inducing_points": (
        {"kernel": "random", "initialisation": "noise", "corruption": 0.5, "strategy": "crop_flip"},
        "corrupted pixels 5/0, corruption 5/0, kernel 5/0-3, noise images 5/0, real batch 5/0-3, siamese crop 5/1-2, siamese flip 5/0,3, "
        "siamese operation 5/0-3",
    ),
    "rela_f": ({"subset": "static"}, f"{_RELA}, static subset 5/0"),
    "selection": ({"kind": "forgetting"}, "augment 5/0-9, forgetting ties 5/0-2, network weights 5/0, order 5/0-9"),
    "kernel_ridge_self_supervised": ({"real_views": True}, f"augment 5/0-3, {_POOL}"),
    "training": (
        {"strategy": "crop"},
        "augment 5/0-26, mixup 5/0-26, network weights 5/0, order 5/0-2, siamese crop 5/0-26, siamese operation 5/0-26",
    ),
}
_OBJECTIVES = {  # what each draws beside what all do
    "barlow_twins": "", "byol": "predictor weights 5/0-1", "dino": "prototypes 5/0", "moco": "queue 5/0", "simclr": "",
    "simsiam": "predictor weights 5/0-1", "swav": "prototypes 5/0", "vicreg": "",
}  # fmt: skip
FUNCTIONS: dict[str, Callable[[ImageData, Network], Any]] = {
    "reference_images": lambda data, _: entropy.reference_images(data, 4, seed=5),
    "class_order": lambda _, __: continual.class_order(3, 5),
    "held_out_part": lambda data, _: probing.held_out_part(data.train_labels, held_out=0.3, seed=5),
    "siamese_view": lambda data, _: siamese_views.siamese_view(
        data.normalised([0, 1]), siamese_views.ALL, seed=5, step=7, all_at_once=True
    ),
    "drawn_view_counts": lambda _, __: theory.drawn_view_counts(2, 3, 4, samples=6, seed=5),
    "crop_views": lambda data, _: theory.crop_views(data.train_images[:2].float(), views=2, minimum_scale=0.3, seed=5),
    "simulated_errors": lambda _, __: theory.simulated_errors(4, spread=0.5, learning_rate=0.1, runs=8),
    "linear_transport": lambda _, __: theory.linear_transport(torch.randn(9, 2), torch.randn(9, 3), ridge=0.1, folds=3),
    "mixture_sample": lambda _, __: theory.mixture_sample(theory.bimodal_mixture(), 4, seed=5),
    "initial_toys": lambda _, __: theory.initial_toys(2, first_seed=5),
    "distilled_samples": lambda _, __: theory.distilled_samples([theory.ToyConfig(steps=3, seeds=2, first_seed=5)]),
    "filter_directions": lambda _, network: theory.filter_directions(network),
    "toy_directions": lambda _, __: theory.toy_directions(theory.initial_toys(1)),
}


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int, str]]:
    cache.clear()
    augmentation._order.cache_clear()
    found: list[tuple[int, int, str]] = []
    real = randomness._sequence
    monkeypatch.setattr(randomness, "_sequence", lambda *place: (found.append(place), real(*place))[1])
    return found


def told(places: list[tuple[int, int, str]]) -> str:
    """Each stream with its seeds, and of each of these the steps: "roll 5/0-5"."""
    steps: dict[tuple[str, int], list[int]] = {}
    for seed, step, stream in sorted(set(places)):
        steps.setdefault((stream, seed), []).append(step)
    return ", ".join(f"{stream} {seed}/{_steps(found)}" for (stream, seed), found in sorted(steps.items()))


def _steps(found: list[int]) -> str:
    """ "0-5", or "0,2,4" where there are gaps."""
    if found == list(range(found[0], found[-1] + 1)):
        return "-".join(map(str, sorted({found[0], found[-1]})))
    return ",".join(map(str, found))


def _inputs(name: str, grey: ImageData, teacher: Network) -> Inputs:
    if name != rela.NAME:
        return Inputs(data=grey, teachers=(teacher,))
    targets = Representations({"representations": networks.predict(teacher, grey.normalised()).features[None]})
    images = {"pixels": grey.train_images}
    return Inputs(
        distilled=DistilledSet(
            kind="bytes", tensors=images, targets=(targets,), class_names=grey.class_names, mean=grey.mean, std=grey.std
        )
    )


@pytest.mark.parametrize("name", [name for name in DRAWN if name not in FUNCTIONS])
def test_processes(name: str, grey: ImageData, teacher: Network, drawn: list[Any]) -> None:
    """Each process's `SMALL`, of the seed 5."""
    module = PROCESSES[name]
    process.run(module, module.SMALL.replace(seed=5), _inputs(name, grey, teacher))
    assert told(drawn) == DRAWN[name]


@pytest.mark.parametrize("name", SWITCHED)
def test_switches(name: str, grey: ImageData, teacher: Network, drawn: list[Any]) -> None:
    changes, wanted = SWITCHED[name]
    module = PROCESSES[name]
    process.run(module, module.SMALL.replace(seed=5, **changes), _inputs(name, grey, teacher))
    assert told(drawn) == wanted


@pytest.mark.parametrize("name", self_supervised.OBJECTIVES)
def test_objectives(name: str, grey: ImageData, drawn: list[Any]) -> None:
    objective = self_supervised.OBJECTIVES[name]
    process.run(self_supervised.Teacher(objective), objective.SMALL.replace(seed=5), Inputs(data=grey))
    rows = [DRAWN["self_supervised"], *filter(None, [_OBJECTIVES[name]])]
    widths = len(objective.SMALL.projector_widths())
    assert told(drawn) == ", ".join(sorted(", ".join(rows).split(", "))) and widths == 2


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str, grey: ImageData, teacher: Network, drawn: list[Any]) -> None:
    FUNCTIONS[name](grey, teacher)
    assert told(drawn) == DRAWN[name]


def test_every_method_is_listed() -> None:
    assert DRAWN.keys() == PROCESSES.keys() | FUNCTIONS.keys()
