"""Makes three tables of ddlab/records/tables that lesson 40 and FINDINGS.md show of sets without
labels: methods, budgets, beginnings, views; networks of other families; how views are stored.

python notebooks/studies/bases_tables.py self_supervised --seeds 0     # also self_supervised_architectures, shift_models

An earlier commit made the tables, the rows of which say what is made again here.
"""

from typing import Any

from study import again, fields_of, main_of

from ddlab import methods, networks
from ddlab.distilled import DistilledSet, shift_models
from ddlab.distilled.storage_budget import Shift
from ddlab.lessons.bases import unlabelled
from ddlab.methods import boost
from ddlab.runs import NOTHING, Inputs, Run
from ddlab.unlabelled import pretraining, probing

METHODS = {"KRR-ST": "krr_st", "Boost": "boost", "real images": "representation_selection"}
FAMILIES: dict[str, dict[str, Any]] = {
    "VGG11": {"family": "vgg11"},
    "ResNet-18": {"family": "resnet18"},
    "MobileNetV2": {"family": "mobilenet_v2"},
    "ViT": {"family": "vit", "width": 64, "depth": 4},
}
ARMS = "method budget kind targets_count augmentation image_bases representation_bases "
ARMS += "bases_start coefficients_start reset seed"


def image_set(*, method: str, **fields: Any) -> DistilledSet:
    """Return the set of a method; what does not apply to it is None."""
    module = methods.get(METHODS[method])
    own = fields_of(module, network=unlabelled.NETWORK, **fields)
    inputs = Inputs(data=unlabelled.images(), teachers=(unlabelled.teacher(),), device="cpu")
    return Run(module, module.Config.teaching(**own), inputs, keep=NOTHING).to_end()


def probe_score(distilled: DistilledSet, config: pretraining.Config) -> float:
    """Return the accuracy on shapes of a linear probe of a network that learned a set."""
    inputs = Inputs(distilled=distilled, device="cpu")
    network = Run(pretraining, config, inputs, keep=NOTHING).to_end()
    return probing.probe(network, unlabelled.images(), device="cpu")


def self_supervised(*, seed: int, **fields: Any) -> tuple[float, ...]:
    """The probe of a network that learned the set, pairs and floats."""
    distilled = image_set(seed=seed, **fields)
    score = probe_score(distilled, pretraining.Config.teaching(seed=seed))
    return score, float(len(distilled)), float(distilled.storage_floats())


def architectures(*, architecture: str, seed: int, **fields: Any) -> float:
    """The same of networks of other families, in fewer epochs."""
    network = networks.spec(**FAMILIES[architecture])
    config = pretraining.Config.teaching(seed=seed, network=network, epochs=60)
    return probe_score(image_set(seed=seed, **fields), config)


def stored_views(
    *, shift: Shift, hidden: int | None, compared_on: str, seed: int
) -> tuple[float, ...]:
    """The probe of a set whose views are stored so, its pairs, and the model's relative error.

    Only `finish` asks how views are stored: one run gives the set and the coefficients themselves.
    """
    inputs = Inputs(data=unlabelled.images(), teachers=(unlabelled.teacher(),), device="cpu")
    start = boost.Config.teaching(network=unlabelled.NETWORK, seed=seed)
    config = start.replace(shift=shift, **({} if hidden is None else {"hidden": hidden}))
    buyer = start if compared_on == "one result" else config
    pairs = boost.count_pairs(buyer, inputs)
    exact = start.replace(shift="stored", pairs=pairs)
    state = Run(boost, exact, inputs, keep=NOTHING).advance().state()
    coefficients = boost.finish(exact, inputs, state).target("representations").tensors
    distilled = boost.finish(config.replace(pairs=pairs), inputs, state)
    model = distilled.target("representations").tensors
    own, views = coefficients["coefficients"], coefficients["view_coefficients"]
    stored = {name: model[name] for name in shift_models.TENSORS[shift]}
    error = shift_models.mean_squared_error(own, views, stored, shift)
    score = probe_score(distilled, pretraining.Config.teaching(seed=seed))
    return score, float(pairs), float(error / (views - own).square().mean())


STUDIES = (
    again("shift_models", "shift hidden compared_on seed", "source pairs error", 5, stored_views),
    again("self_supervised", ARMS, "source pairs floats", 5, self_supervised),
    again(
        "self_supervised_architectures",
        f"architecture {ARMS}",
        "source",
        5,
        architectures,
        gone=("AlexNet", "untrained"),
    ),
)

if __name__ == "__main__":
    main_of(STUDIES)
