"""Makes the four tables of ddlab/records/tables that lesson 50 shows of generated images and digits:
few points for kernel regression, learned, chosen, or with solved labels.

python notebooks/studies/kernel_tables.py kernel_points --seeds 0     # also kernel_students, ...

An earlier commit made the tables, the rows of which say what is made again here.
"""

from collections.abc import Iterable
from typing import Any

from study import again, images_of, main_of

import ddlab
from ddlab import networks
from ddlab.distilled import DistilledSet
from ddlab.evaluation import kernel_accuracy
from ddlab.methods import kip, ls, selection
from ddlab.methods.shared.kernels import SIX, KernelSpec
from ddlab.runs import NOTHING, Inputs, Run
from ddlab.training import supervised

OTHER = {"digits": "shapes", "shapes": "digits"}
HEAVY: dict[str, Any] = {"corruption": 0.9}
RULES: dict[str, tuple[Any, dict[str, Any]]] = {
    "random": (selection, {"kind": "random"}),
    "centres": (selection, {"kind": "centres"}),
    "KIP": (kip, {}),
    "KIP, labels": (kip, {"learn_labels": True}),
    "KIP, noise": (kip, HEAVY),
    "KIP, zeros": (kip, HEAVY | {"corrupted_by": "zeros"}),
    **{f"KIP, {count} targets": (kip, {"batch_size": count}) for count in (10, 30, 100, 300)},
    "LS": (ls, {}),
    "LS, noise": (ls, {"initialisation": "noise"}),
    "LS, foreign": (ls, {}),
}
LABELLING = ("rbf", "fc1", "fc3", "conv1")


def run(module: Any, config: Any, inputs: Inputs) -> DistilledSet:
    """Return the set of a run."""
    return Run(module, config, inputs, keep=NOTHING).to_end()


def image_set(data: str, rule: str, images_per_class: int, seed: int) -> DistilledSet:
    """Return the images of a rule; foreign ones are grey, in as many channels as needed."""
    module, fields = RULES[rule]
    shared: dict[str, Any] = {"images_per_class": images_per_class, "seed": seed}
    images = images_of(data)
    inputs = Inputs(data=images, device="cpu")
    if module is kip:
        fields = {"iterations": 300, "batch_size": 1000} | fields
    if rule == "LS, foreign":
        other = Inputs(data=images_of(OTHER[data]), device="cpu")
        chosen = run(selection, selection.Config(kind="random", **shared), other)
        grey = chosen.images.mean(1, keepdim=True).repeat(1, images.channels, 1, 1)
        given = ddlab.from_images(grey, chosen.labels, images)
        inputs = Inputs(data=images, distilled=given, device="cpu")
    return run(module, module.Config(**shared | fields), inputs)


def accuracies(
    distilled: DistilledSet, data: str, labels: Any, kernels: Iterable[str]
) -> tuple[float, ...]:
    """Return the accuracy of the regression in each kernel."""
    return tuple(
        kernel_accuracy(distilled, images_of(data), labels=labels, kernel=KernelSpec(kernel=name))
        for name in kernels
    )


def kernel_points(data: str, rule: str, images_per_class: int, seed: int) -> tuple[float, ...]:
    """The regression with FC1."""
    labels = "hard" if RULES[rule][0] is selection else "regression"
    return accuracies(image_set(data, rule, images_per_class, seed), data, labels, ("fc1",))


def kernel_students(data: str, rule: str, images_per_class: int, seed: int) -> float:
    """A trained network on the same images."""
    network = networks.spec("convnet", width=32, norm="instance")
    student = supervised.Config.quick(images_of(data), network=network, mixup_alpha=0.0)
    distilled = image_set(data, rule, images_per_class, seed)
    options: dict[str, Any] = {"labels": "hard", "config": student, "seeds": (seed,)}
    return ddlab.evaluate(distilled, images_of(data), device="cpu", progress=False, **options).mean


def kernel_learned_by(learned_by: str, seed: int) -> tuple[float, ...]:
    """Ten digits that were learned with one kernel or with random ones, in every kernel."""
    config = kip.Config(iterations=200, batch_size=100, kernel=learned_by, seed=seed)
    distilled = run(kip, config, Inputs(data=images_of("digits"), device="cpu"))
    return accuracies(distilled, "digits", "regression", (*SIX, "rbf"))


def kernel_solved_by(data: str, solved_by: str, seed: int) -> tuple[float, ...]:
    """A hundred real images with labels that were solved with one kernel, or true, in four."""
    is_true = solved_by == "true"
    module, fields = (selection, {"kind": "random"}) if is_true else (ls, {"kernel": solved_by})
    config = module.Config(images_per_class=10, seed=seed, **fields)
    distilled = run(module, config, Inputs(data=images_of(data), device="cpu"))
    return accuracies(distilled, data, "hard" if is_true else "regression", LABELLING)


STUDIES = (
    again("kernel_points", "data rule images_per_class seed", "accuracy", 10, kernel_points),
    again("kernel_students", "data rule images_per_class seed", "hard", 5, kernel_students),
    again(
        "kernel_learned_by",
        "learned_by seed",
        "fc1 fc2 fc3 conv1 conv2 conv3 rbf",
        5,
        kernel_learned_by,
    ),
    again("kernel_solved_by", "data solved_by seed", "rbf fc1 fc3 conv1", 5, kernel_solved_by),
)

if __name__ == "__main__":
    main_of(STUDIES)
