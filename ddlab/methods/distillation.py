"""`distill`: a dataset in, a distilled set out, by the name of a method."""

import contextlib
import dataclasses
import os
from collections.abc import Callable
from typing import Annotated, Any

import torch
from torch import Tensor

from .. import methods
from ..core import DDLabError, as_usual, checked, errors, storage, tensor
from ..core.progress import say
from ..data import ImageData
from ..distilled import DistilledSet
from ..networks import Network
from ..runs import NOTHING, Inputs, Run
from ..runs import process as driver
from ..runs.checkpoint import remove
from ..runs.inputs import Teachers, as_teachers
from ..runs.process import needs_teacher
from ..training import supervised
from ..training.accuracy import accuracy
from ..unlabelled import self_supervised
from .shared.labelling import labelled_set


@as_usual
@checked
def train_teacher(
    data: ImageData,
    config: supervised.Config | self_supervised.Training | None = None,
    *,
    device: torch.device | str = "auto",
    progress: bool = True,
    checkpoint: str | os.PathLike[str] | None = None,
    resume_anyway: bool = False,
) -> Network:
    """Train a network on the training images of `data`.

    By a config of `self_supervised` it learns without labels.

    Args:
        config: default `supervised.Config.for_data(data, "teacher")`, a small ConvNet that learns
            the labels.
        progress: one line on standard output, and at the end the test accuracy of what learned
            labels.
        checkpoint, resume_anyway: as for `distill`.

    Raises:
        DDLabError: wrong types, or a network that does not fit the images.
    """
    config = supervised.Config.for_data(data, "teacher") if config is None else config
    files: dict[str, Any] = {"checkpoint": checkpoint, "resume_anyway": resume_anyway}
    return _train(data, config, device, progress, **files)


def _train(
    data: ImageData, config: Any, device: torch.device | str, progress: bool, **files: Any
) -> Network:
    process: Any = (
        self_supervised.teacher_of(config)
        if isinstance(config, self_supervised.Training)
        else supervised
    )
    run = Run(process, config, Inputs(data=data, device=device), keep=NOTHING)
    network = run.to_end(progress=progress, **files)
    # A network that has read no labels has no test accuracy of its own.
    if progress and process is supervised:
        say(f"The network is right on {accuracy(network, data):.1%} of the test images.")
    return network


@as_usual
@checked
def from_images(
    images: Annotated[Tensor, tensor("n c h w", torch.float32)],
    labels: Annotated[Tensor, tensor("n", torch.int64)],
    data: ImageData,
    teacher: Teachers | None = None,
) -> DistilledSet:
    """Return a distilled set of any images: what a method of your own made, noise, or hand-picked ones.

    Args:
        images: float32 [n, channels, height, width], normalised like `data`.
        labels: int64 [n].
        teacher: a network, or several, whose mean counts: adds stored and online labels to the hard
            ones.

    Raises:
        DDLabError: shapes or dtypes that do not fit the data.
    """
    errors.check_tensor(
        "images", images, shape=[None, data.channels, *data.image_size], finite=False
    )
    inputs = Inputs(data=data, teachers=as_teachers(teacher, "teacher"), device=images.device)
    return labelled_set(images, labels, inputs, complete=True, provenance={"method": "from_images"})


def preset(method: Any, data: ImageData) -> Any:
    """Return the Config that a method takes by itself: the one that fits the data, if it has one.

    Otherwise it is `Config.teaching()`, or `Config()` where the method has no presets.
    """
    config = method.Config
    if hasattr(config, "for_data"):
        return config.for_data(data)
    return getattr(config, "teaching", config)()


@as_usual
@checked
def distill(
    method: str | driver.Process,
    data: ImageData,
    teacher: Teachers | None = None,
    config: Any = None,
    device: torch.device | str = "auto",
    *,
    checkpoint: str | os.PathLike[str] | None = None,
    resume_anyway: bool = False,
    progress: bool = True,
    on_step: Callable[[driver.Step], None] | None = None,
    **options: Any,
) -> DistilledSet:
    """Distil a dataset: `distill("dm", data, images_per_class=10, seed=3)`.

    Args:
        method: name or alias of a method (`ddlab.methods.names()`), or a module of your own with
            the same parts (`ddlab.runs` shows one).
        data: the dataset.
        teacher: a trained network, or several: FADRM+ takes them in turn. Where the method needs
            one and none is given, one is trained visibly, without labels for a method that reads
            none.
        config: the method's Config; default its `Config.for_data(data)`, or `Config.teaching()`, or
            `Config()`, whichever it has first.
        device: "auto", "cpu" or "cuda".
        checkpoint: a file to go on from and to write to, until the run is complete; a teacher
            trained here has its own beside it, with ".teacher" added.
        resume_anyway: go on from it also where the source of the method was edited since.
        progress: one line on standard output.
        on_step: called after every update (a recording, say).
        options: fields of the Config with other values than it has.

    Returns:
        A `DistilledSet`. After a keyboard interrupt it holds what was reached, with
        `complete=False`, and a line says so: a loop of your own over several sets must look at
        `complete` and stop there.

    Raises:
        DDLabError: an unknown method or option, a config of another method, a teacher that does not
            fit, or a method that makes something else.
        KeyboardInterrupt: while the teacher was still being trained: there is no set yet, but its
            checkpoint is valid.
    """
    module = methods.get(method)
    teachers = as_teachers(teacher, "teacher")
    # An edit through a numpy view is not counted by torch; here, at the door, everything is hashed
    # once more.
    storage.notice_edits(data, *teachers)
    if config is None:
        config = preset(module, data)
    if type(config) is not module.Config:  # not isinstance: a method's Config may extend another's
        errors.fail("config", f"a {module.NAME} Config", config)
    for name in options:
        errors.check_choice(
            f"an option of {module.NAME}",
            name,
            [field.name for field in dataclasses.fields(config)],
        )
    if options:
        config = dataclasses.replace(config, **options)
    teacher_checkpoint = None
    if not teachers and needs_teacher(module):
        teacher_checkpoint = None if checkpoint is None else f"{os.fspath(checkpoint)}.teacher"
        unlabelled = getattr(module, "WITHOUT_LABELS", False)
        teacher_config = (
            self_supervised.Config.for_data(data)
            if unlabelled
            else supervised.Config.for_data(data, "teacher")
        )
        teacher_files: dict[str, Any] = {
            "checkpoint": teacher_checkpoint,
            "resume_anyway": resume_anyway,
            "keep_checkpoint": True,
        }
        teachers = (_train(data, teacher_config, device, progress, **teacher_files),)
        if not teachers[0].provenance["complete"]:
            # Nothing has been distilled yet, and going on from half a teacher is not what an
            # interrupt asks for.
            raise KeyboardInterrupt("the teacher was still being trained")
    inputs = Inputs(data=data, teachers=teachers, device=device)
    files: dict[str, Any] = {"checkpoint": checkpoint, "resume_anyway": resume_anyway}
    run = Run(module, config, inputs, keep=NOTHING)
    distilled = run.to_end(on_step=on_step, progress=progress, **files)
    errors.check_instance(f"what {module.NAME} finishes with", distilled, DistilledSet)
    if teacher_checkpoint is not None and distilled.complete:
        with contextlib.suppress(DDLabError):  # nobody's set is to be lost for a file that stays
            remove(teacher_checkpoint)
    return distilled
