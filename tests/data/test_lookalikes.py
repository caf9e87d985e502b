"""Names of classes that a reader takes for one: a warning shows the difference."""

import unicodedata
import warnings

import numpy as np
import pytest

import ddlab
from ddlab.data.class_names import lookalikes
from tests.support import refuses

COMPOSED = "Caf\u00e9"
DECOMPOSED = unicodedata.normalize("NFD", COMPOSED)


@pytest.mark.parametrize(
    "pair",
    [
        ("Cat", "cat"),
        ("cat", "cat "),
        ("cat", "cat\u200b"),
        (COMPOSED, DECOMPOSED),
        ("a b", "a\u00a0b"),
    ],
)
def test_names_that_look_alike(pair) -> None:
    assert lookalikes([*pair, "dog"]) == [pair]
    images = np.arange(12 * 36, dtype=np.uint8).reshape(12, 6, 6)
    with pytest.warns(UserWarning, match="look alike and are 2 classes") as caught:
        data = ddlab.data.from_arrays(images, [*pair, "dog"] * 4)
    (warning,) = [str(found.message) for found in caught if "alike" in str(found.message)]
    assert all(ascii(name) in warning for name in pair) and data.classes == 3


def test_names_that_differ_to_the_eye_warn_of_nothing() -> None:
    assert lookalikes(["cat", "cats", "c at", "Caf\u00e9", "Cafe"]) == []


def folders(tmp_path, *names):
    from PIL import Image

    pixels = np.random.default_rng(0).integers(0, 256, (len(names), 4, 6, 6), dtype=np.uint8)
    for images, name in zip(pixels, names, strict=True):
        (tmp_path / name).mkdir(parents=True)
        for number, image in enumerate(images):
            Image.fromarray(image).save(tmp_path / name / f"{number}.png")
    return tmp_path


def test_a_refusal_shows_in_what_two_folders_differ(tmp_path) -> None:
    root = folders(tmp_path, f"train/{COMPOSED}", "train/Bar", f"test/{DECOMPOSED}", "test/Bar")
    with refuses("path", r"'Cafe\u0301' and 'Caf\xe9' look alike"):
        ddlab.data.load("folder", root)


def test_folders_with_signs_of_other_programs_are_classes(tmp_path) -> None:
    names = ("@alice", "__unknown__", "yes")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ddlab.data.load("folder", folders(tmp_path, *names)).class_names == names


def test_a_hidden_folder_of_images_is_left_out_aloud(tmp_path) -> None:
    with pytest.warns(UserWarning, match="begins with a dot, as '.net', were left out"):
        data = ddlab.data.load("folder", folders(tmp_path, ".net", "java", "python"))
    assert data.class_names == ("java", "python")


def test_a_class_without_a_test_image_is_named_with_data_and_results(no_cache) -> None:
    images = np.random.default_rng(0).integers(0, 256, (24, 8, 8), dtype=np.uint8)
    with pytest.warns(UserWarning, match="has no test image of 'c': no accuracy"):
        data = ddlab.data.from_arrays(
            images[:18], ["a", "b", "c"] * 6, test_images=images[18:], test_labels=["a", "b"] * 3
        )
    assert data.untested_classes() == ("c",)
    chosen = ddlab.distill("selection", data, progress=False)
    student = ddlab.training.supervised.Config.for_data(data, epochs=1)
    rules = {"seeds": (0,), "config": student, "progress": False}
    evaluation = ddlab.evaluate(chosen, data, labels="hard", **rules)
    assert evaluation.untested == ("c",) and "no test image of 'c'" in str(evaluation)
    table = ddlab.compare({"chosen": chosen}, data, **rules).table()
    assert "There is no test image of 'c'." in table
