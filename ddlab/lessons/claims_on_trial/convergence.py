r"""What ReLA proves about learning two Gaussian classes: the error of SGD (A.3), the gradient's noise (B.2), Theorem 2's rate."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np

from ... import theory
from ...core.parameters import Parameters
from ...figures import loss_curves
from ..shared.effects import log_uniform
from .statements import Draw, Statements, along, slider, spread_slider
from .trial_card import FAILS, WHEN, Shown

on_trial = Statements()
STEPS, RUNS = 200, 500
RATE = 0.1  # of Theorem 2's trial
_RHO = np.linspace(0, 1, 101)


@on_trial.per_draw(
    "R3 printed",
    "ReLA, A.3",
    "The last line of A.3 is a bound on the squared error after t steps of SGD.",
    effect="printed bound minus the exact error, as a share of the error; drawn eta, S, t and start",
    when="(1 - eta)^(2t) is at least 1/2",
    draws="draws of eta, S, 1 to 1000 steps and the start",
)
def _printed_error(draw: Draw, _: int) -> tuple[float, bool]:
    rate, steps = log_uniform(draw, 1e-3, 0.5), int(log_uniform(draw, 1, 1000))
    problem = {"spread": draw.uniform(0.01, 1), "learning_rate": rate, "start": draw.uniform(-2, 2)}
    exact = float(theory.expected_squared_error(steps, **problem)[-1])
    printed = float(theory.printed_squared_error(steps, **problem)[-1])
    return (printed - exact) / exact, (1 - rate) ** (2 * steps) >= 0.5


@on_trial.per_draw(
    "R3 corrected",
    "ReLA, A.3",
    "With its last line put right A.3 gives the squared error.",
    effect="4 minus the distance between 20,000 simulated runs and the closed form, in standard errors",
    draws="draws of eta, S and 5 to 150 steps",
    each=1,
)
def _corrected_error(draw: Draw, seed: int) -> float:
    steps = int(draw.integers(5, 150))
    problem = {"spread": draw.uniform(0.01, 1), "learning_rate": log_uniform(draw, 0.01, 0.5), "start": 1.0}
    runs = theory.simulated_errors(steps, **problem, runs=20_000, seed=seed)
    off = runs.squared[-1] - theory.expected_squared_error(steps, **problem)[-1]
    return 4 - abs(float(off / runs.squared_standard_error[-1]))


@on_trial.per_draw(
    "R3 floor",
    "ReLA, A.3",
    "A smaller S ends on a smaller error.",
    effect="share by which halving S lowers the squared error of simulated runs that have settled",
    claimed=0.1,
    every=False,
    draws="draws of S in [.4, 1] and eta, after 8 / eta steps, 10,000 runs with the same noise",
    each=1,
)
def _settled_error(draw: Draw, seed: int) -> float:
    spread, rate = draw.uniform(0.4, 1), log_uniform(draw, 0.05, 0.5)
    ends = [
        float(theory.simulated_errors(math.ceil(8 / rate), spread=s, learning_rate=rate, seed=seed).squared[-1])
        for s in (spread / 2, spread)
    ]
    return 1 - ends[0] / ends[1]


@dataclass(frozen=True, kw_only=True)
class Descent(Parameters):
    """Sliders of A.3."""

    learning_rate: float = slider(0.1, 0.005, 0.5, "Of plain SGD, batch 1.", symbol=r"\eta", step=0.005)
    spread: float = spread_slider()
    steps: int = slider(60, 1, STEPS, "Updates so far.", symbol="t")


@functools.lru_cache(maxsize=64)
def simulated(learning_rate: float, spread: float) -> theory.SimulatedErrors:
    """500 runs of 200 steps from a distance of 1, kept for as long as only t moves."""
    return theory.simulated_errors(STEPS, spread=spread, learning_rate=learning_rate, runs=RUNS)


@on_trial.trial(
    "R3",
    Descent,
    source="ReLA, appendix A.3, last line",
    statement=r"SGD on samples of spread $\Sigma$ learns at the rate $E[(\theta_t-\theta^*)^2] \le (1-\eta)^{2t}\,(C_2 + "
    r"C_3\Sigma^2)/C_1$.",
    symbols=r"$\theta_t$: the threshold after $t$ steps of SGD, one sample a step; $\theta^*$: the best one; $\eta$: "
    r"learning rate; $\Sigma$: standard deviation of each of two classes, whose means are 1 apart; $C_1, C_2, "
    r"C_3$: numbers that depend on $\eta$ and on the start alone.",
    right=r"$(1-\eta)^{2t}(\theta_0-\theta^*)^2 + [1-(1-\eta)^{2t}]\,\frac{\eta}{2-\eta}\,V$ with $V = \Sigma^2 + "
    r"(1-(\mu_2-\mu_1)/2)^2$.",
    reason=r"The factor $(1-\eta)^{2t}$ is taken out of a sum that does not have it. The error does not vanish: $\Sigma$ "
    r"sets the floor on which it ends, not the rate. The paper's conclusion, that a smaller $\Sigma$ learns better, survives.",
    verdict=WHEN,
    when=r"$(1-\eta)^{2t} \ge 1/2$: at the start, while the noise has not come in yet",
    printed=("R3 printed",),
    beside=("R3 corrected", "R3 floor"),
)
def sgd_error(view: Descent) -> Shown:
    """A.3: E[(theta_t - theta*)^2] as printed, exact and simulated."""
    settings = {"spread": view.spread, "learning_rate": view.learning_rate}
    printed = theory.printed_squared_error(STEPS, **settings)
    exact = theory.expected_squared_error(STEPS, **settings)
    seen, at = simulated(view.learning_rate, view.spread), view.steps
    above = np.where(printed > 1e-4, printed, np.nan)  # lines that go on for decades would press the others flat
    figure = loss_curves(
        {"printed bound": above, "exact": exact, f"mean of {RUNS} runs": seen.squared},
        range(STEPS + 1),
        title="Squared distance to the best parameter",
        x_label="SGD step t",
        y_label="E[(θ_t − θ*)²]",
        log_y=True,
    )
    sentence = (
        f"After {at} steps the printed bound is {float(printed[at]):.3g} and the error {float(exact[at]):.3g} "
        f"(simulated {float(seen.squared[at]):.3g} ± {float(seen.squared_standard_error[at]):.1g}). "
        f"(1 − η)^2t is {(1 - view.learning_rate) ** (2 * at):.3g}, and the error ends on {theory.noise_floor(**settings):.3g}."
    )
    return Shown(figure=figure, sentence=sentence, holds=bool(printed[at] >= exact[at]), cursor=float(at))


@dataclass(frozen=True, kw_only=True)
class Relabelling(Parameters):
    """Sliders of B.2."""

    spread: float = spread_slider()
    relabelled: float = slider(0.5, 0, 1, "Share of the teacher's answer in the target.", symbol=r"\rho", step=0.01)


@on_trial.trial(
    "R2 noise",
    Relabelling,
    source="ReLA, appendix B.2, and the step from its bound to the noise",
    statement=r"The bound on the gradient's noise falls as the share $\rho$ of the teacher in the targets grows; so the noise falls.",
    symbols=r"$\rho$: share of a teacher's answer in a target; $\Sigma$: standard deviation of each of two classes, "
    r"whose means are 1 apart; $u$: noise, what a step's gradient differs from its mean by.",
    right=r"$E[u^2]$ has its minimum at a $\rho$ between 1/2 and 1: at .82 for $\Sigma = 1$, near 1/2 for small $\Sigma$.",
    reason=r"B.2 claims the first half alone: an upper bound, the straight line between the two ends, falls with $\rho$. A "
    r"bound that falls does not make what lies below it fall.",
    verdict=WHEN,
    when=r"$\Sigma \ge 1.46$ (means 1 apart)",
    beside=("R2",),
)
def noise_by_rho(view: Relabelling) -> Shown:
    """B.2: the variance of the gradient's noise against rho, below the chord that the paper reasons with."""
    noise = np.array(along(theory.gradient_noise, "relabelled", _RHO, spread=view.spread))
    least = theory.least_noise_relabelling(spread=view.spread)
    figure = loss_curves(
        {"noise E[u²]": noise, "straight line between its ends": noise[0] + _RHO * (noise[-1] - noise[0])},
        _RHO,
        title="Noise of the gradient",
        x_label="relabelled share ρ",
        y_label="E[u²]",
    )
    here, lowest = along(theory.gradient_noise, "relabelled", (view.relabelled, least), spread=view.spread)
    sentence = (
        f"At ρ = {view.relabelled:g} the noise is {here:.3g}. It is least, {lowest:.3g}, at ρ = {least:.2f}, "
        f"and {noise[-1]:.3g} at ρ = 1."
    )
    return Shown(figure=figure, sentence=sentence, holds=least >= 1, cursor=view.relabelled)


@dataclass(frozen=True, kw_only=True)
class Rate(Relabelling):
    """Sliders of Theorem 2."""

    constant: float = slider(0.2, 0.01, 1, "The constant that O(ρ) may hide.", symbol="C", step=0.01)


@functools.lru_cache(maxsize=4096)
def _error(spread: float, relabelled: float) -> float:
    settings = {"spread": spread, "relabelled": relabelled, "learning_rate": RATE}
    return float(theory.expected_squared_error(STEPS, **settings)[-1])


@on_trial.trial(
    "R2 rate",
    Rate,
    source="ReLA, Theorem 2",
    statement=r"On relabelled data the excess error after $t$ steps is at most $\tilde O(\rho)$.",
    symbols=r"$\rho$: share of a teacher's answer in a target; $t$: steps of SGD; excess error: squared distance to "
    r"the best threshold; $\tilde O$: up to a constant and logarithms.",
    right=r"$C_3 - C_4\,\rho$, as the theorem's own proof in B.2 has it.",
    reason=r"A bound that grows with $\rho$ would say that relabelling harms, and at $\rho = 0$ that there is no error at "
    r"all. Whatever the constant, it is too small for small $\rho$. The text below the theorem reads it the other way round: "
    r"a misprint.",
    verdict=FAILS,
    beside=("R16",),
)
def printed_rate(view: Rate) -> Shown:
    """Theorem 2: a bound C rho, against the error that it should bound."""
    bounds, errors = view.constant * _RHO, np.array([_error(view.spread, float(rho)) for rho in _RHO])
    figure = loss_curves(
        {"printed C ρ": bounds, "exact error": errors},
        _RHO,
        title=f"After {STEPS} steps at η = {RATE:g}",
        x_label="relabelled share ρ",
        y_label="E[(θ_t − θ*)²]",
    )
    bound, error = view.constant * view.relabelled, _error(view.spread, view.relabelled)
    sentence = (
        f"At ρ = {view.relabelled:g} the printed bound is {bound:.3g} and the error {error:.3g}; at ρ = 0 the bound is 0 and the "
        f"error {errors[0]:.3g}."
    )
    return Shown(figure=figure, sentence=sentence, holds=bool((bounds >= errors).all()), cursor=view.relabelled)
