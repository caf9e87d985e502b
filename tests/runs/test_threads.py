"""Small runs take one thread, wherever and beside whatever they are computed; large ones take all."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from ddlab import networks
from ddlab.methods import dm, kip
from ddlab.runs import Inputs, Keep, Run, threads
from tests.support import assert_same, made_data

DATA = made_data(channels=3, size=16, classes=4, train=40)
CONFIG = dm.Config.teaching(iterations=3, network=networks.spec("convnet", width=32, norm="batch"))


@pytest.fixture(autouse=True)
def two() -> Iterator[None]:
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(1)


def states() -> list[Any]:
    """Of a run, and how many threads it saw."""
    thread_counts: list[int] = []
    keep = Keep(
        100, make=lambda config, inputs, state, trace: thread_counts.append(torch.get_num_threads())
    )
    run = Run(dm, CONFIG, Inputs(data=DATA, device="cpu"), keep=keep).advance()
    return [run.state(step) for step in range(4)] + [run.result().images, thread_counts]


def test_a_small_run_has_the_same_bits_on_any_number_of_cores() -> None:
    two = states()
    assert torch.get_num_threads() == 2 and two[-1] == [1] * 4
    torch.set_num_threads(1)
    assert_same(states(), two)


def test_and_beside_the_run_of_a_laboratorys_thread() -> None:
    alone = states()
    beside = list[Any]()
    other_threads = [threading.Thread(target=lambda: beside.append(states())) for _ in range(2)]
    for thread in other_threads:
        thread.start()
    here_alone = [states() for _ in range(3)]
    for thread in other_threads:
        thread.join()
    for states_of_run in [*here_alone, *beside]:
        assert_same(states_of_run, alone)
    with threads.limit_threads(2):
        assert torch.get_num_threads() == 2, "nothing is left of the others"
    assert torch.get_num_threads() == threads.available() == 2


def test_threads_come_back_when_nobody_computes_beside_any_more() -> None:
    inside = threading.Event()
    leave = threading.Event()

    def small() -> None:
        with threads.limit_threads(1):
            inside.set()
            assert leave.wait(10)

    second_thread = threading.Thread(target=small)
    with threads.limit_threads(2):
        second_thread.start()
        assert inside.wait(10) and threads.available() == 2
        with threads.limit_threads(2):
            assert torch.get_num_threads() == 1, "the small run's number is everybody's"
        leave.set()
        second_thread.join()
        with threads.limit_threads(2):
            assert torch.get_num_threads() == 2
    assert torch.get_num_threads() == threads.available() == 2


def test_large_networks_and_batches_take_all() -> None:
    inputs = Inputs(data=DATA, device="cpu")
    for width, batch, expected in ((32, 100, 1), (32, 10**5, 2), (2048, 100, 2)):
        config = CONFIG.replace(network=networks.spec("convnet", width=width), batch_size=batch)
        assert threads.thread_count(config, inputs) == expected
    assert (
        threads.work(kip.Config(images_per_class=2, batch_size=50), inputs) == 50 * 8 * 3 * 16 * 16
    )
    assert threads.thread_count(CONFIG, Inputs()) == 1


def test_multiply_adds_are_those_of_the_layers() -> None:
    spec = networks.spec("convnet", width=32).for_data(DATA)
    first = 16 * 16 * 32 * 3 * 9
    second = 8 * 8 * 32 * 32 * 9
    third = 4 * 4 * 32 * 32 * 9
    assert threads.multiply_adds(spec) == first + second + third + 2 * 2 * 32 * 4
