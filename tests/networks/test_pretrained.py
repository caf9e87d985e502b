"""torchvision's weights from a local file: the networks that they are of, and files that are of none."""

from __future__ import annotations

import dataclasses
import pickle
import re
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch
import torchvision
from torch import Tensor

from ddlab import networks
from ddlab.networks import Network
from tests.support import made_data, refuses

FITTING = ("resnet18", "resnet50", "mobilenet_v2", "shufflenet_v2_x0_5", "efficientnet_b0", "densenet121")
SIZE = (65, 65)


def state(family: str, **options: Any) -> dict[str, Tensor]:
    return torchvision.models.get_model(family, weights=None, **options).state_dict()


@pytest.mark.parametrize("family", FITTING)
def test_gives_what_torchvisions_module_gives(family: str, tmp_path: Path) -> None:
    torch.set_num_threads(2)  # with one thread the last bits of the two calls differ
    module = torchvision.models.get_model(family, weights=None)
    for part in module.modules():
        if isinstance(part, torch.nn.BatchNorm2d):
            part.running_mean.uniform_(-0.1, 0.1)  # type: ignore[union-attr]
    tensors = module.state_dict()
    torch.save(tensors, tmp_path / "a.pth")
    # As they are published: in the format of before 2020, batches not counted, norm.1 for norm1.
    old = {name: value for name, value in tensors.items() if "num_batches" not in name}
    if family == "densenet121":
        old = {re.sub(r"(denselayer\d+\.(?:norm|conv))([12])", r"\1.\2", name): value for name, value in old.items()}
    torch.save(old, tmp_path / "old.pth", _use_new_zipfile_serialization=False)
    safetensors.torch.save_file(tensors, tmp_path / "a.safetensors")
    images = torch.rand(2, 3, *SIZE, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        expected = module.eval()(images)
    for name in ("a.pth", "old.pth", "a.safetensors"):
        network = networks.pretrained(family, tmp_path / name, image_size=SIZE)
        assert network.spec == dataclasses.replace(networks.spec(family), channels=3, classes=1000, image_size=SIZE)
        assert torch.equal(networks.predict(network, images).logits, expected)
        assert network.provenance == {"process": "pretrained", "file": name}


def test_size_and_classes(tmp_path: Path) -> None:
    torch.save(state("shufflenet_v2_x0_5", num_classes=7), tmp_path / "a.pth")
    network = networks.pretrained("shufflenet_v2_x0_5", tmp_path / "a.pth")
    assert (network.spec.image_size, network.spec.classes) == ((224, 224), 7)
    with refuses("image_size", "above 64 px"):
        networks.pretrained("shufflenet_v2_x0_5", tmp_path / "a.pth", image_size=(64, 96))
    with refuses("family", "'resnet18'"):
        networks.pretrained("resnet34", tmp_path / "a.pth")


def test_images_normalised_as_torchvisions() -> None:
    data = made_data(channels=3)
    same = dataclasses.replace(data, **networks.IMAGENET)
    normalise = torchvision.transforms.Normalize(networks.IMAGENET["mean"].tolist(), networks.IMAGENET["std"].tolist())
    torch.testing.assert_close(same.normalised(), normalise(data.train_images / 255))


class Trap:
    def __reduce__(self) -> Any:
        return Path.touch, (Path("trapped"),)


def files(folder: Path, teacher: Network) -> dict[str, list[str]]:
    """Files that are of no network asked for, with what is said of them."""
    torch.save(state("shufflenet_v2_x0_5", num_classes=2), folder / "other.pth")
    content = (folder / "other.pth").read_bytes()
    (folder / "cut.pth").write_bytes(content[: len(content) // 2])
    (folder / "text.pth").write_text("weights")
    (folder / "text.safetensors").write_text("weights")
    (folder / "empty.pth").touch()
    (folder / "plain.pth").write_bytes(pickle.dumps(Trap()))
    torch.save({"fc.weight": Trap()}, folder / "trap.pth")
    torch.save([torch.ones(2)], folder / "list.pth")
    torch.save({"fc.weight": torch.ones(())}, folder / "number.pth")
    torch.save({"state_dict": state("shufflenet_v2_x0_5", num_classes=2)}, folder / "wrapped.pth")
    torch.save({"fc.weight": torch.ones(0, 512)}, folder / "none.pth")
    teacher.save(folder / "ours.safetensors")
    damaged = ["state_dict in .safetensors or .pth"]
    return {
        "missing.pth": ["no file"], "other.pth": ["whole state_dict of resnet18", "'conv1.weight'"], "cut.pth": damaged,
        "text.pth": damaged, "text.safetensors": damaged, "empty.pth": damaged, "plain.pth": damaged, "trap.pth": damaged,
        "list.pth": ["something else"], "number.pth": ["resnet18"], "wrapped.pth": ["something else"], "none.pth": ["classes", "0"],
        "ours.safetensors": ["resnet18"], ".": ["no file"],
    }  # fmt: skip


def test_other_files(tmp_path: Path, teacher: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, words in files(tmp_path, teacher).items():
        with refuses(*words):
            networks.pretrained("resnet18", tmp_path / name, image_size=SIZE)
    assert not Path("trapped").exists(), "code of a file was run"
    pickle.loads((tmp_path / "plain.pth").read_bytes())
    assert Path("trapped").exists(), "the trap is none"
    for family in ("vgg11", "alexnet"):  # other heads than torchvision's
        torch.save(state({"vgg11": "vgg11_bn"}.get(family, family), num_classes=2), tmp_path / "a.pth")
        with refuses(f"whole state_dict of {family}"):
            networks.pretrained(family, tmp_path / "a.pth", image_size=SIZE)
