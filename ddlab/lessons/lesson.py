"""The frame of a lesson: start, budgets, predictions, checks, claims, finish."""

from __future__ import annotations

import html
import importlib
import json
import platform
import resource
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from ..core import errors
from ..explorers import Prediction
from . import claims

# What PyTorch would use, seen before any lesson has lowered it: the cores that this process may use.
_CORES = torch.get_num_threads()


@dataclass(frozen=True, kw_only=True)
class Budget:
    """What a lesson promises: seconds of wall time on two CPU cores, CPU-seconds, MB resident at most; minutes to read.

    Attributes:
        threads: of PyTorch in the teaching preset on a CPU. For small networks one is fastest: waking a second one takes longer than
            what it does (100 recovery steps of ten 16-pixel images: .54 s with one, .74 to .93 s with two), and the browser has the
            other core.
        title, finds: for the index; `finds` says in one line what a reader finds out.
        one_thread_seconds: of wall time where there is one core only, as on Binder; `ddlab lessons time` measures it.
        module: of `ddlab.lessons`, with the lesson's experiments and checks.
    """

    title: str
    finds: str
    wall_seconds: float
    cpu_seconds: float
    megabytes: float
    minutes: int
    module: str
    threads: int = 1
    one_thread_seconds: float = 180

    def seconds(self, cores: int) -> float:
        """The wall time that is promised where so many cores are free."""
        return self.one_thread_seconds if cores == 1 else self.wall_seconds


LESSONS = {
    "00_start": Budget(
        title="Dataset distillation in five minutes",
        finds="what fifty images teach, and how much of it is the labels",
        wall_seconds=90,
        cpu_seconds=180,
        megabytes=1200,
        minutes=5,
        module="start_page.experiments",
    ),
    "10_ideal_data": Budget(
        title="Ideal data",
        finds="which samples and targets teach fastest in a world of two Gaussians, and what is noise, geometry or myth (ReLA)",
        wall_seconds=60,
        cpu_seconds=120,
        megabytes=1000,
        minutes=35,
        module="ideal_data.experiments",
        one_thread_seconds=120,
    ),
    "20_inverting_a_network": Budget(
        title="Inverting a network",
        finds="what a teacher's batch-norm layers remember; what labels give and what images give (SRe2L)",
        wall_seconds=90,
        cpu_seconds=180,
        megabytes=1200,
        minutes=40,
        module="inverting_a_network.experiments",
    ),
    "21_diversity": Budget(
        title="Diversity",
        finds="what pulls images of one class apart: two gaps that do not meet, and a push to the weights on trial (DWA)",
        wall_seconds=90,
        cpu_seconds=180,
        megabytes=1200,
        minutes=40,
        module="diversity.experiments",
    ),
    "30_data_residuals": Budget(
        title="Data residuals",
        finds="what vanishes from an image that is optimised for long, what mixing the real one back in restores (FADRM), and at what cost",
        wall_seconds=90,
        cpu_seconds=180,
        megabytes=1200,
        minutes=40,
        module="data_residuals.experiments",
    ),
    "40_bases_and_views": Budget(
        title="Bases and views",
        finds="what few floats are best spent on without labels: whole images, bases, or predefined views (KRR-ST, Boost)",
        wall_seconds=90,
        cpu_seconds=180,
        megabytes=1200,
        minutes=40,
        module="bases_and_views.experiments",
    ),
    "90_claims_on_trial": Budget(
        title="Claims on trial",
        finds="which printed theorems hold, hold under a condition, or fail, and what is right instead",
        wall_seconds=60,
        cpu_seconds=180,
        megabytes=1000,
        minutes=40,
        module="claims_on_trial.experiments",
    ),
}


class OverBudget(AssertionError):
    """A lesson took more time or memory than it promises; what it shows is right all the same."""


class Lesson:
    """One run of a lesson; made by `start`.

    Attributes:
        name, seed, preset, device: of this run. budget: what the first cell promises.
    """

    def __init__(self, name: str, *, seed: int, preset: str, device: str) -> None:
        self.name = errors.check_choice("name", name, tuple(LESSONS))
        self.seed = errors.check_integer("seed", seed, 0)
        self.preset = errors.check_choice("preset", preset, ("teaching", "paper"))
        self.device = errors.checked_device(device)
        self.budget = LESSONS[name]
        if self.preset == "teaching" and self.device.type == "cpu":
            # Here, before anything is computed: gradients differ between one and two threads.
            torch.set_num_threads(min(self.budget.threads, _CORES))
        self._wall, self._cpu = time.monotonic(), time.process_time()
        self._predictions: dict[str, Prediction] = {}
        self._verdicts: dict[str, claims.Verdict] = {}
        self._checks = importlib.import_module(f"{__package__}.{self.budget.module}").CHECKS

    def config(self, module: Any, **changes: Any) -> Any:
        """The Config of a process module in this lesson's preset: `module.Config.teaching(**changes)`, or `.paper(**changes)`."""
        return getattr(module.Config, self.preset)(**changes)

    def predict(self, key: str, question: str, choices: Sequence[str]) -> Prediction:
        """A question to be answered before the result is known; `compare` shows both."""
        self._predictions[key] = Prediction(question, choices)
        return self._predictions[key]

    def compare(self, key: str, result: str) -> None:
        """Print the locked prediction beside the result."""
        errors.check_choice("key", key, tuple(self._predictions))
        print(self._predictions[key].against(result))

    def show(self, figure: Any) -> None:
        """Display a static figure and, folded below it, what it shows in words (its alt text)."""
        show(figure)

    def check(self, exercise: str, answer: Any) -> bool:
        """Check an exercise: prints "Right" or a hint, at once, and never raises for a wrong answer."""
        check = self._checks[errors.check_choice("exercise", exercise, tuple(self._checks))]
        right, hint = (False, "No answer yet.") if answer is None else check(answer)
        if answer is None:
            hint = f"No answer yet. {check(None)[1]}"
        print(f"{'Right' if right else 'Not yet'}: {hint}")
        return right

    def claim(
        self, claim_id: str, differences: Sequence[float], *, setting: str, under: Sequence[float] | None = None
    ) -> claims.Verdict:
        """Judge a claim on recomputed numbers and print what was declared, what came out, and what the record says.

        Args:
            under: the differences of the pairs that meet the claim's condition, if it has one.
        """
        verdict = claims.judge(claim_id, differences, setting=setting, under=under)
        self._verdicts[claim_id] = verdict
        declared = claims.CLAIMS[claim_id]
        print(f"{declared.id}, {declared.source}: {declared.statement}")
        print(f"  declared: {claims.declared(declared)}")
        print(f"  here:     {verdict}")
        print(f"  recorded: {claims.recorded(claim_id)}")
        return verdict

    def show_claims(self) -> Any:
        """The lesson's claims with their recorded verdicts, as a table."""
        from IPython.display import Markdown

        return Markdown(claims.table(self.name))

    def finish(self) -> None:
        """Print time and memory against the budget; raise if the CPU-seconds, the memory or twice the wall time is over it."""
        wall, cpu = time.monotonic() - self._wall, time.process_time() - self._cpu
        megabytes = peak_megabytes()
        budget = self.budget
        promised = budget.seconds(_CORES)
        alone = " with one core" if _CORES == 1 else ""
        print(f"time    {wall:6.0f} s of {promised:g} s{alone}, {cpu:.0f} CPU-s of {budget.cpu_seconds:g}")
        print(f"memory  {megabytes:6.0f} MB of {budget.megabytes:g} MB")
        for name, value, allowed in (
            ("CPU-seconds", cpu, budget.cpu_seconds),
            ("MB of memory", megabytes, budget.megabytes),
            ("seconds (twice the promise)", wall, 2 * promised),
        ):
            if value > allowed:
                raise OverBudget(f"this lesson used {value:.0f} {name}, its budget is {allowed:g}")


def start(name: str, *, seed: int = 0, preset: str = "teaching", device: str = "auto") -> Lesson:
    """Begin a lesson: prints versions and what it promises.

    Args:
        name: of the notebook, without ".ipynb". seed: of everything drawn in it.
        preset: "teaching" (two CPU cores) or "paper" (published settings; needs a GPU for most). The device is independent of it.
    """
    lesson = Lesson(name, seed=seed, preset=preset, device=device)
    budget, threads = lesson.budget, torch.get_num_threads()
    seconds = budget.seconds(_CORES)
    print(
        f"ddlab lesson {name}: about {budget.minutes} minutes to read, {seconds:g} s and {budget.megabytes:g} MB to run"
    )
    print(f"seed {seed}, preset {preset}, device {lesson.device}, {threads} thread{'s' if threads != 1 else ''}")
    print(f"Python {platform.python_version()}, torch {torch.__version__}")
    return lesson


def show(figure: Any) -> None:
    """Display a plotly figure without tools and, folded below it, what it shows in words (its alt text)."""
    from IPython.display import HTML, display

    from ..figures import alt_text

    # plotly's own display would offer to send the chart to a server.
    drawn = {
        **figure.to_plotly_json(),
        "config": {"displaylogo": False, "displayModeBar": False, "responsive": True},
    }
    words = html.escape(alt_text(figure))
    display({"application/vnd.plotly.v1+json": _as_json(drawn), "text/plain": alt_text(figure)}, raw=True)
    display(HTML(f"<details><summary>In words</summary><p>{words}</p></details>"))


def _as_json(figure: dict[str, Any]) -> dict[str, Any]:
    from plotly.io.json import to_json_plotly

    return json.loads(to_json_plotly(figure))


def peak_megabytes() -> float:
    """The most memory this process has held so far.

    Linux hands the peak in `ru_maxrss` on from the process that started this one, however large that was; the peak in
    /proc/self/status is this process's own.
    """
    status = Path("/proc/self/status")
    if status.exists():
        own = next((line for line in status.read_text().splitlines() if line.startswith("VmHWM:")), "")
        if own:
            return int(own.split()[1]) / 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1024 if sys.platform != "darwin" else peak / 1024**2
