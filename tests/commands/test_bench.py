"""The benchmarks run and say on what; their numbers are not tested."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from ddlab.commands import bench, main
from ddlab.commands.bench import gpu, steps
from ddlab.training.self_supervised import OBJECTIVES


def test_an_iteration_is_measured_beside_the_bare_network(tmp_path: Path, capsys) -> None:
    main(["bench", "iteration", "--images", "2", "--out", str(tmp_path / "x.json")])
    written = json.loads((tmp_path / "x.json").read_text())
    assert written == json.loads(capsys.readouterr().out)
    assert {"commit", "processor", "threads", "torch"} <= written["machine"].keys()
    (result,) = written["results"]
    assert result["images"] == 2 and result["sre2l"]["cpu_seconds"] > 0 and result["ratio_to_bare"] > 0


def test_an_adjustment_is_measured_beside_bare_gradients_by_the_weights() -> None:
    found = steps.iteration(1, "float32", "cpu", repeats=1, method="dwa")
    assert found["dwa"]["cpu_seconds"] > 0 and found["adjustment"]["ratio_to_bare_gradients"] > 0
    wanted = found["adjustment"]["cpu_seconds"] / (1000 * found["dwa"]["cpu_seconds"])
    assert found["overhead_fraction"] == pytest.approx(wanted, rel=0.01)


def test_fadrm_is_measured_at_any_size() -> None:
    found = steps.iteration(1, "bfloat16", "cpu", repeats=1, method="fadrm", size=40)
    assert found["fadrm"]["cpu_seconds"] > 0 and "40 px" in found["name"]
    assert found["milliseconds_per_image"] == pytest.approx(1e3 * found["fadrm"]["wall_seconds"], rel=1e-3)


def test_steps_on_a_gpu_are_measured_beside_the_bare_network_and_the_goals(tmp_path: Path) -> None:
    main(f"bench gpu --images 2 --size 32 --repeats 1 --precision tf32 --out {tmp_path / 'x.json'}".split())
    found = json.loads((tmp_path / "x.json").read_text())["results"]
    assert [row["name"].split()[0] for row in found] == list(gpu.METHODS)
    assert [row["goal"]["of"] for row in found if "goal" in row] == ["milliseconds", "seconds_per_image_per_class"]
    for row in found:
        assert (row["precision"], row["execution"]) == ("tf32", "eager") and row["calls"] > row["bare network"][
            "calls"
        ] > 0
        assert row["share_of_matrix_rate"] > 0 and row["peak_megabytes"] > 0
        assert row["ratio_to_bare"] == pytest.approx(
            row["milliseconds"] / row["bare network"]["milliseconds"], rel=2e-3
        )
        goal = row.get("goal", {"of": "calls", "at_most": 0, "met": False})
        assert goal["met"] == (row[goal["of"]] <= goal["at_most"])
    rate = found[0]["matrix_teraflops"] * 1e12
    done = [row["share_of_matrix_rate"] * rate * row["milliseconds"] / 1e3 for row in found]
    assert done[0] == pytest.approx(
        2 * 2 * 2 * 557e6, rel=0.01
    )  # two images, two ways, 557 million products (He et al.: ResNet-18)
    assert done[-1] == pytest.approx(1.5 * done[0], rel=0.01)  # a student's step also has the gradient by the weights
    assert main(["bench", "gpu", "--precision", "float64"]) == 2


def test_two_sizes_are_measured_beside_the_formula() -> None:
    found = steps.resolutions(1, repeats=1)
    small, large = found["cpu_seconds"].values()
    assert found["exact_ratio"] == 0.78125
    assert found["measured_ratio"] == pytest.approx((small + large) / (2 * large), rel=1e-2)
    assert found["relative_difference"] == pytest.approx(found["measured_ratio"] / 0.78125 - 1, abs=1e-3)


@pytest.mark.parametrize("method", ["dc", "dsa", "dm"])
def test_matching_is_measured_beside_its_passes(method: str) -> None:
    found = steps.matching(method, images_per_class=2, real_batch=2, repeats=1)
    assert found["cpu_seconds"] > 0 and found["images_per_class"] == 2
    assert found["ratio_to_passes"] == pytest.approx(
        found["cpu_seconds"] / found["passes alone"]["cpu_seconds"], rel=1e-2
    )


def test_the_threads_stay_as_they_are() -> None:
    before = torch.get_num_threads()
    steps.iteration(1, "bfloat16", "cpu", repeats=1)
    assert torch.get_num_threads() == before


def test_the_import_is_measured_in_fresh_interpreters() -> None:
    assert bench.importing()["interpreter_seconds"] > 0


def test_the_toys_are_measured_with_one_thread(capsys) -> None:
    before = torch.get_num_threads()
    try:
        main(["bench", "toys"])
    finally:
        torch.set_num_threads(before)
    written = json.loads(capsys.readouterr().out)
    assert len(written["results"]) == 6 and all(result["cpu_seconds"] > 0 for result in written["results"])
    assert written["machine"]["threads"] == 1


@pytest.mark.slow
def test_the_whole_way_on_digits(tmp_path: Path, capsys) -> None:
    arguments = "sre2l --small --data digits --images-per-class 1 --iterations 3 --teacher-epochs 1 --student-epochs 2 --seeds 2"
    for _ in range(2):  # the second time the teacher comes from its checkpoint
        main(["bench", *arguments.split(), "--keep", str(tmp_path), "--out", str(tmp_path / "x.json")])
    (result,) = json.loads((tmp_path / "x.json").read_text())["results"]
    assert set(result["accuracy"]) == {f"{a}, {b}" for a in ("recovered", "real") for b in ("hard", "stored", "online")}
    assert all(0 <= found["mean"] <= 1 and len(found["per_seed"]) == 2 for found in result["accuracy"].values())
    assert (tmp_path / "recovered.safetensors").exists()


def test_unknown_words_are_refused(capsys) -> None:
    assert main(["bench", "iterations"]) == 2
    assert "invalid choice" in capsys.readouterr().err


def test_kip_is_measured_beside_numpys_products() -> None:
    found = steps.kernel_steps(10, real_batch=12, repeats=1)
    assert found["points"] == 10 and found["real_batch"] == 12 and found["peak_megabytes"] > 0
    assert found["ratio_to_products"] == pytest.approx(
        found["cpu_seconds"] / max(found["products alone"]["cpu_seconds"], 1e-9), rel=0.05
    )
    assert found["steps_per_cpu_second"] == pytest.approx(1 / found["cpu_seconds"], rel=0.01)


def test_objectives_are_measured_beside_two_bare_passes() -> None:
    bare, *found = steps.objective_steps(2, "float32", "cpu", repeats=1, size=8)
    assert bare["ratio_to_bare"] == 1 and len(found) == len(OBJECTIVES)
    assert all(
        row["ratio_to_bare"] == pytest.approx(row["cpu_seconds"] / bare["cpu_seconds"], abs=1e-3) for row in found
    )
