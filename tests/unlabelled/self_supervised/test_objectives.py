"""BYOL, SimSiam, SimCLR, MoCo, VICReg, DINO and SwAV: values and gradients against lightly's, what
each keeps, and that each teaches.

lightly (Susmelj et al.) is an implementation of its own: `tests/contract` holds each objective to
what a process must be.
"""

import os
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.autograd import gradcheck

from ddlab import networks
from ddlab.data import ImageData, load
from ddlab.runs import Inputs, process
from ddlab.unlabelled import probe, self_supervised
from ddlab.unlabelled.self_supervised import (
    OBJECTIVES,
    Teacher,
    byol,
    dino,
    moco,
    simclr,
    simsiam,
    swav,
    vicreg,
)
from ddlab.unlabelled.self_supervised.momentum import target_momentum

os.environ["LIGHTLY_DID_VERSION_CHECK"] = "True"  # else its import asks the network
from lightly.loss import DINOLoss, NegativeCosineSimilarity, NTXentLoss, SwaVLoss, VICRegLoss
from lightly.loss.swav_loss import sinkhorn

from tests.support import normal_doubles, run_to_end

SIZES = {"seed": st.integers(0, 10**6), "count": st.integers(2, 9), "width": st.integers(2, 6)}
TEMPERATURE = st.floats(0.05, 2)
MOMENTUM = ("byol", "dino", "moco")


def assert_same_slopes(
    mine: Callable[..., Tensor], theirs: Callable[..., Tensor], *places: Tensor
) -> None:
    """The same value, and the same gradient at each place."""
    slopes = []
    for loss in (mine, theirs):
        free = [place.clone().requires_grad_() for place in places]
        value = loss(*free).reshape(())
        slopes.append((value, *torch.autograd.grad(value, free, materialize_grads=True)))
    torch.testing.assert_close(slopes[0], slopes[1], rtol=1e-9, atol=1e-10)


class TestAgainstLightly:
    @given(**SIZES)
    def test_byol_and_simsiam(self, seed: int, count: int, width: int) -> None:
        first, second = normal_doubles(2, count, width, seed=seed)
        theirs = NegativeCosineSimilarity()
        assert_same_slopes(
            lambda a: simsiam.negative_cosine(a, second), lambda a: theirs(a, second), first
        )
        assert_same_slopes(byol.byol_loss, lambda a, b: 2 + 2 * theirs(a, b), first, second)

    @given(**SIZES, temperature=TEMPERATURE)
    def test_simclr(self, seed: int, count: int, width: int, temperature: float) -> None:
        theirs = NTXentLoss(temperature=temperature)
        pair = normal_doubles(2, count, width, seed=seed)
        assert_same_slopes(
            lambda a, b: simclr.nt_xent_loss(a, b, temperature=temperature), theirs, *pair
        )

    @given(**SIZES, temperature=TEMPERATURE)
    def test_moco_and_its_queue(
        self, seed: int, count: int, width: int, temperature: float
    ) -> None:
        """Batch after batch; the queue holds whole batches, for lightly's cuts off the last one
        otherwise.
        """
        theirs = NTXentLoss(temperature=temperature, memory_bank_size=(3 * count, width))
        queue = F.normalize(normal_doubles(3 * count, width, seed=seed + 1))
        oldest = torch.tensor(0)
        bank: Any = theirs.memory_bank
        bank.bank = queue.clone()
        bank.bank_ptr = torch.zeros(1, dtype=torch.long)
        for number in range(5):
            queries, keys = normal_doubles(2, count, width, seed=seed + 2 + number)
            before = queue

            def mine(free: Tensor, keys: Tensor = keys, queue: Tensor = queue) -> Tensor:
                return moco.info_nce_loss(free, keys, queue, temperature=temperature)

            def by_lightly(free: Tensor, keys: Tensor = keys) -> Tensor:
                return theirs(free, keys)

            assert_same_slopes(mine, by_lightly, queries)
            queue, oldest = moco.enqueue(queue, F.normalize(keys), oldest)
            torch.testing.assert_close(queue, bank.bank)
            assert not torch.equal(queue, before) and int(oldest) == count * (number + 1) % (
                3 * count
            )

    @given(**SIZES, weights=st.tuples(*[st.floats(0, 30)] * 3))
    def test_vicreg(
        self, seed: int, count: int, width: int, weights: tuple[float, float, float]
    ) -> None:
        names = ("invariance_weight", "variance_weight", "covariance_weight")
        own_weights: Any = dict(zip(names, weights, strict=True))
        pair = (
            normal_doubles(2, count, width, seed=seed) * normal_doubles(width, seed=seed + 1).abs()
        )
        assert_same_slopes(
            lambda a, b: vicreg.vicreg_loss(a, b, **own_weights), VICRegLoss(*weights), *pair
        )

    @given(**SIZES, student=TEMPERATURE, teacher=TEMPERATURE, momentum=st.floats(0, 1))
    def test_dino(
        self, seed: int, count: int, width: int, student: float, teacher: float, momentum: float
    ) -> None:
        theirs = DINOLoss(
            width, teacher_temp=teacher, student_temp=student, center_momentum=momentum
        ).double()
        # As lightly rounds it.
        centre = torch.zeros(width, dtype=torch.float64)
        teacher = float(torch.tensor(teacher))
        for number in range(2):  # with a centre of 0, then with a moved one
            logits, aims = normal_doubles(2, 2, count, width, seed=seed + number)

            def mine(*views: Tensor, aims: Tensor = aims, centre: Tensor = centre) -> Tensor:
                probabilities = [
                    dino.centred_probabilities(logits, centre, temperature=teacher)
                    for logits in aims.flip(0)
                ]
                pairs = zip(views, probabilities, strict=True)
                return torch.stack(
                    [dino.dino_loss(view, by, temperature=student) for view, by in pairs]
                ).mean()

            def by_lightly(*views: Tensor, aims: Tensor = aims, before: Tensor = centre) -> Tensor:
                theirs.center.data = before.view(1, 1, -1)
                return theirs(list(aims), list(views), teacher_temp=teacher)

            assert_same_slopes(mine, by_lightly, *logits)
            centre = dino.moved_centre(centre, aims.flatten(0, 1), momentum=momentum)
            torch.testing.assert_close(theirs.center.view(-1), centre)

    @given(
        **SIZES,
        smoothness=st.floats(0.05, 2),
        iterations=st.integers(1, 6),
        temperature=TEMPERATURE,
    )
    def test_swav(
        self,
        seed: int,
        count: int,
        width: int,
        smoothness: float,
        iterations: int,
        temperature: float,
    ) -> None:
        scores = normal_doubles(2, count, width, seed=seed)
        options: Any = {"smoothness": smoothness, "iterations": iterations}
        assigned = swav.sinkhorn_assignments(scores[0], **options)
        torch.testing.assert_close(
            assigned, sinkhorn(scores[0], iterations=iterations, epsilon=smoothness)
        )

        def mine(first: Tensor, second: Tensor) -> Tensor:
            pairs = ((first, second), (second, first))
            assignments = [
                (view, swav.sinkhorn_assignments(other_view, **options))
                for view, other_view in pairs
            ]
            return torch.stack(
                [swav.swav_loss(*pair, temperature=temperature) for pair in assignments]
            ).mean()

        theirs = SwaVLoss(temperature, iterations, smoothness)
        assert_same_slopes(mine, lambda first, second: theirs([first, second], []), *scores)


@pytest.mark.parametrize(
    "loss",
    [
        byol.byol_loss,
        lambda a, b: simsiam.negative_cosine(a, normal_doubles(5, 3, seed=7)) + b.sum(),
        lambda a, b: simclr.nt_xent_loss(a, b, temperature=0.5),
        lambda a, b: moco.info_nce_loss(a, b, normal_doubles(4, 3, seed=7), temperature=0.5),
        lambda a, b: vicreg.vicreg_loss(a, b, target_deviation=1.7),
        lambda a, b: (
            dino.dino_loss(a, normal_doubles(5, 3, seed=7).softmax(1), temperature=0.5) + b.sum()
        ),
        lambda a, b: swav.swav_loss(a, b.softmax(1), temperature=0.5),
    ],
)
def test_gradients(loss: Callable[[Tensor, Tensor], Tensor]) -> None:
    assert gradcheck(loss, tuple(tensor.requires_grad_() for tensor in normal_doubles(2, 5, 3)))


def test_limits() -> None:
    rows = normal_doubles(6, 4)
    assert float(byol.byol_loss(rows, 3 * rows)) == pytest.approx(0, abs=1e-12)
    assert float(byol.byol_loss(rows, -rows)) == pytest.approx(4)
    assert float(simsiam.negative_cosine(rows, 3 * rows)) == pytest.approx(-1)
    # All alike: as hard as guessing, among all other views, or the key and the queue.
    equal_rows = torch.ones(6, 4)
    assert float(simclr.nt_xent_loss(equal_rows, equal_rows, temperature=0.1)) == pytest.approx(
        torch.tensor(11.0).log()
    )
    assert float(
        moco.info_nce_loss(equal_rows, equal_rows, equal_rows[:3], temperature=0.1)
    ) == pytest.approx(torch.tensor(4.0).log())
    # Collapsed projections lack all of their deviation but the root of epsilon, 0.01.
    assert float(vicreg.vicreg_loss(equal_rows, equal_rows)) == pytest.approx(25 * 0.99)


def test_sinkhorn_gives_each_prototype_its_part() -> None:
    """Of many iterations: rows sum to 1, columns to n / k; also where exp(scores / smoothness) is
    no number.
    """
    for scale in (1, 1e3):
        assigned = swav.sinkhorn_assignments(
            scale * normal_doubles(12, 4).tanh(), smoothness=0.5 * scale, iterations=200
        )
        torch.testing.assert_close(assigned.sum(1), torch.ones(12, dtype=torch.float64))
        torch.testing.assert_close(assigned.sum(0), torch.full((4,), 3.0, dtype=torch.float64))
    sharp = swav.sinkhorn_assignments(normal_doubles(12, 4), smoothness=1e-3, iterations=3)
    assert sharp.isfinite().all() and float(sharp.amax(1).mean()) > 0.5


def test_the_queue_loses_its_oldest() -> None:
    queue = torch.zeros(5, 1)
    row = torch.tensor(0)
    for number in range(4):
        queue, row = moco.enqueue(queue, torch.full((2, 1), number + 1.0), row)
    assert sorted(queue.flatten().tolist()) == [2, 3, 3, 4, 4] and int(row) == 3
    queue, _ = moco.enqueue(queue, torch.arange(7.0)[:, None], row)
    assert sorted(queue.flatten().tolist()) == [2, 3, 4, 5, 6]


def test_target_momentum() -> None:
    momenta = [target_momentum(progress, first=0.9, last=1.0) for progress in (0.0, 0.5, 1.0)]
    assert momenta == pytest.approx([0.9, 0.95, 1.0])


def updated(name: str, data: ImageData, **changes: Any) -> tuple[Any, Any, Any]:
    """Config, and the states before and after the run of `SMALL`."""
    teacher = Teacher(OBJECTIVES[name])
    config = OBJECTIVES[name].SMALL.replace(**changes)
    *_, last = process.steps(teacher, config, Inputs(data=data))
    return config, teacher.init(config, Inputs(data=data)), last.state


@pytest.mark.parametrize("name", OBJECTIVES)
def test_what_each_keeps(name: str, grey: ImageData) -> None:
    """As the table in the package's docstring has it: what is trained moves, a target of momentum 1
    stays but for its buffers.
    """
    changes = {"target_momentum": 1.0, "final_target_momentum": 1.0} if name in MOMENTUM else {}
    config, first, last = updated(name, grey, **changes)
    names_kept = {
        part: set(getattr(last.objective, part)) for part in ("trained", "target", "buffers")
    }
    predictor = {"linear.0", "linear.1", "scale.0", "shift.0"}
    trained = {
        "byol": predictor,
        "simsiam": predictor,
        "dino": {"prototypes"},
        "swav": {"prototypes"},
    }
    assert names_kept["trained"] == trained.get(name, set())
    assert names_kept["buffers"] == {"moco": {"queue", "next_row"}, "dino": {"centre"}}.get(
        name, set()
    )
    assert bool(names_kept["target"]) == (name in MOMENTUM)
    assert ("objective.prototypes" in names_kept["target"]) == (name == "dino")
    for part in ("trained", "buffers"):
        old = getattr(first.objective, part)
        new = getattr(last.objective, part)
        assert all(
            old[key].shape == new[key].shape and not torch.equal(old[key], new[key]) for key in new
        )
    spec = config.network.for_data(grey)
    learnt = {f"network.{key}" for key in networks.parameter_names(spec)} | {"objective.prototypes"}
    for key, value in last.objective.target.items():
        stays = key in learnt or key.startswith("projector.")
        assert torch.equal(value, first.objective.target[key]) is stays, key
    if name == "swav":
        lengths = last.objective.trained["prototypes"].norm(dim=1)
        torch.testing.assert_close(lengths, torch.ones(config.prototypes))
    if name == "moco":
        total = 2 * config.batch_size * Teacher(moco).total_steps(config, Inputs(data=grey))
        assert int(last.objective.buffers["next_row"]) == total % config.queue_length
        torch.testing.assert_close(
            last.objective.buffers["queue"].norm(dim=1), torch.ones(config.queue_length)
        )


@pytest.mark.parametrize("name", MOMENTUM)
def test_a_target_of_momentum_0_is_the_network(name: str, grey: ImageData) -> None:
    _, _, last = updated(name, grey, target_momentum=0.0, final_target_momentum=0.0)
    for layer, value in last.projector.items():
        assert torch.equal(last.objective.target[f"projector.{layer}"], value)


@pytest.mark.slow
@pytest.mark.parametrize("name", OBJECTIVES)
def test_each_teaches_more_than_is_there_untrained(name: str) -> None:
    """On 1,000 pictures of shapes, in 200 steps; three seeds where the gain is small: one may turn
    with another rounding.
    """
    data = load("shapes", size=16, train=1000, test=1000)
    small: dict[str, Any] = {
        "network": networks.spec("convnet", width=16),
        "epochs": 10,
        "batch_size": 50,
    }
    gains = []
    for seed in range(3 if name in ("byol", "dino", "simsiam") else 1):
        config = OBJECTIVES[name].Config.for_data(data, seed=seed, **small)
        trained = run_to_end(Teacher(OBJECTIVES[name]), config, Inputs(data=data))
        untrained = networks.initialise(config.network.for_data(data), seed=seed)
        gains.append(probe(trained, data) - probe(untrained, data))
    assert sum(gains) > 0, gains


@pytest.mark.parametrize("name", sorted(OBJECTIVES.keys() - {"barlow_twins"}))
def test_paper_is_how_rela_trains(name: str) -> None:
    config = OBJECTIVES[name].Config.paper("cifar100", seed=3)
    assert (config.network, config.epochs, config.batch_size, config.seed) == (
        networks.spec("resnet18"),
        100,
        128,
        3,
    )
    rate = config.learning_rate * config.batch_size / self_supervised.objective.RATE_BATCH
    assert (config.optimiser, rate, config.weight_decay, config.final_fraction) == (
        "adamw",
        1e-3,
        0.01,
        1.0,
    )


@pytest.mark.parametrize(
    ("name", "widths", "own_fields"),
    [
        ("byol", (1024, 256), {"target_momentum": 0.99, "final_target_momentum": 0.99}),
        (
            "dino",
            (2048, 256),
            {"student_temperature": 0.1, "teacher_temperature": 0.04, "centre_momentum": 0.9},
        ),
        ("moco", (512, 128), {"temperature": 0.1, "queue_length": 4096, "target_momentum": 0.99}),
        ("simclr", (512, 128), {"temperature": 0.5}),
        ("simsiam", (2048, 2048), {"predictor_width": 512}),
        (
            "swav",
            (512, 128),
            {"prototypes": 512, "sinkhorn_iterations": 3, "smoothness": 0.05, "temperature": 0.1},
        ),
        (
            "vicreg",
            (2048,) * 3,
            {"invariance_weight": 25, "variance_weight": 25, "covariance_weight": 1},
        ),
    ],
)
def test_numbers_of_rela(name: str, widths: tuple[int, ...], own_fields: dict[str, Any]) -> None:
    config = OBJECTIVES[name].Config.paper()
    assert (
        config.projector_widths() == widths
        and {field: getattr(config, field) for field in own_fields} == own_fields
    )
