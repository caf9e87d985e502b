r"""`architecture_search`: which of many networks is best, judged by students of a small set.

    search = architecture_search(["dm", "dsa", "early stopping"], data, networks=convnet_grid())
    search.correlation("dm")             # Spearman's, with the accuracy after training on all data
    search.figure("dm")                  # a point for each network

$$\rho = \operatorname{corr}(\operatorname{rank} a, \operatorname{rank} b)$$   (Spearman; ties share their mean rank)
"""

import json
import os
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import numpy as np
import torch

from ..core import Seeds, as_usual, checked, errors, progress_bar, randomness, storage, within
from ..data import ImageData
from ..distilled import DistilledSet
from ..methods.distillation import from_images, train_teacher
from ..networks import Network, NetworkSpec
from ..runs import Inputs
from ..runs.cache import whole
from ..training import supervised
from .architectures import distinct_networks
from .parallel import check_jobs
from .rows import entries_by_name
from .students import Jobs, evaluations, prepare_students
from .tables import Tabled, markdown

EARLY = "early stopping"
ALL = "all data"
_FEWEST = 3  # networks that have an order worth a number
_TENTH = 0.1
_RESAMPLES = 1000  # of the bootstrap
_KEY = 16  # letters of a key in a file's name
Accuracies = tuple[tuple[float, ...], ...]  # of each draw, of each network
Task = tuple[DistilledSet, supervised.Config, int]  # what a student learns from, how, and its seed
# A proxy, or all data -> accuracy and CPU-seconds of the student of each draw.
Scored = Mapping[str, Sequence[tuple[float, float]]]


def rank_correlation(first: Any, second: Any) -> np.ndarray:
    """Return Spearman's correlation of first [..., n] and second [..., n], along the last axis.

    Where one of them is constant it is 0: that one ranks nothing.
    """
    from scipy.stats import rankdata  # lazily: it takes a second

    ranks = [rankdata(values, axis=-1) for values in (first, second)]
    centred, rival = (rank - rank.mean(-1, keepdims=True) for rank in ranks)
    scale = np.sqrt((centred**2).sum(-1) * (rival**2).sum(-1))
    return (centred * rival).sum(-1) / np.where(scale > 0, scale, 1.0)


@dataclass(frozen=True, kw_only=True)
class Proxy:
    """What networks are judged by in the place of all data.

    Attributes:
        accuracies: of each draw, of a student with each network.
        seconds: CPU-seconds of a draw: its set, and a student of every network.
        floats: that the set stores.
    """

    accuracies: Accuracies
    seconds: float
    floats: int


@dataclass(frozen=True, kw_only=True)
class ArchitectureSearch(Tabled):
    """The result of `architecture_search`.

    Attributes:
        networks: those that were trained.
        on_all_data: test accuracy after training on all data: of each training, of each network.
        proxies: name -> its accuracies, and what it costs.
        seeds: of the draws.
        seconds: CPU-seconds of one training of every network on all data.
        complete: False if an interrupt left networks out.
    """

    networks: tuple[NetworkSpec, ...]
    on_all_data: Accuracies
    proxies: dict[str, Proxy]
    seeds: tuple[int, ...]
    seconds: float
    complete: bool = True

    @property
    def reference(self) -> np.ndarray:
        """The accuracy of each network on all data, mean over its trainings."""
        return np.mean(self.on_all_data, axis=0)

    @property
    def ceiling(self) -> float | None:
        """The correlation of one training on all data with the mean of the others, on average.

        No proxy can be expected to rank better. None where networks have one training each.
        """
        if len(self.on_all_data) < 2:
            return None
        accuracies = np.array(self.on_all_data)
        mean_of_others = (accuracies.sum(0) - accuracies) / (len(accuracies) - 1)
        return float(rank_correlation(accuracies, mean_of_others).mean())

    def correlation(self, proxy: str, *, tenth: bool = False) -> list[float]:
        """Return the rank correlation with training on all data, of each draw.

        Args:
            tenth: among the best tenth of the networks alone, of which there are at least three.
        """
        accuracies = np.array(self._of(proxy).accuracies)
        numbers = np.argsort(-self.reference, kind="stable")
        if tenth:
            numbers = numbers[: max(round(len(numbers) * _TENTH), _FEWEST)]
        return rank_correlation(accuracies[:, numbers], self.reference[numbers]).tolist()

    def interval(self, proxy: str) -> tuple[float, float]:
        """Return a 95% bootstrap interval of the mean correlation: networks are drawn again."""
        draws = np.random.default_rng(0).integers(
            0, len(self.networks), (_RESAMPLES, len(self.networks))
        )
        accuracies = np.array(self._of(proxy).accuracies)[:, draws]
        means = rank_correlation(accuracies, self.reference[draws]).mean(0)
        low, high = np.percentile(means, [2.5, 97.5])
        return float(low), float(high)

    def chosen(self, proxy: str) -> list[int]:
        """Return the number of the network that each draw puts first."""
        return np.argmax(self._of(proxy).accuracies, axis=1).tolist()

    def table(self) -> str:
        """Return a Markdown table: how well each proxy ranks, what it chooses, and what it costs."""
        heads = (
            "proxy",
            "rank correlation",
            "among the best tenth",
            "chosen network",
            "CPU-seconds",
            "floats",
        )
        rows = []
        for name, proxy in self.proxies.items():
            low, high = self.interval(name)
            mean = statistics.fmean(self.correlation(name))
            rows.append(
                (
                    name,
                    f"{mean:+.2f} ({low:+.2f} to {high:+.2f})",
                    f"{statistics.fmean(self.correlation(name, tenth=True)):+.2f}",
                    f"{self.reference[self.chosen(name)].mean():.1%}",
                    f"{proxy.seconds:.0f}",
                    f"{proxy.floats:,}",
                )
            )
        ceiling = "-" if self.ceiling is None else f"{self.ceiling:+.2f}"
        best = f"{self.reference.max():.1%}"
        rows.append((ALL, ceiling, "-", best, f"{self.seconds:.0f}", "-"))
        ending = "" if self.complete else "\n\nNot complete: networks are missing."
        return markdown(heads, rows) + ending

    def records(self) -> list[dict[str, Any]]:
        """Return one record for each proxy, seed and network."""
        return [
            {
                "proxy": name,
                "seed": seed,
                "network": spec.title,
                "accuracy": accuracy,
                "accuracy_all": float(reference),
            }
            for name, proxy in self.proxies.items()
            for seed, draw in zip(self.seeds, proxy.accuracies, strict=True)
            for spec, accuracy, reference in zip(self.networks, draw, self.reference, strict=True)
        ]

    def figure(self, proxy: str = "", *, by: str = "norm") -> Any:
        """Draw the accuracy of each network on a proxy against that on all data.

        Args:
            proxy: its name; default the first.
            by: an option of the networks that gives the colour, such as "depth".
        """
        from ..figures import Point, scatter  # lazily: the core runs without plotly

        name = proxy or next(iter(self.proxies))
        means = np.mean(self._of(name).accuracies, axis=0)
        points = {}
        for spec, x, y in zip(self.networks, means, self.reference, strict=True):
            family = f"{by} {getattr(spec.options, by, 'of another kind')}"
            points[spec.title] = Point(x=100 * float(x), y=100 * float(y), family=family)
        return scatter(
            points,
            title=f"{name}: rank correlation {statistics.fmean(self.correlation(name)):+.2f}",
            x_label=f"test accuracy of students of {name} (%)",
            y_label="test accuracy after training on all data (%)",
            chosen=self.networks[int(means.argmax())].title,
            named=(),
        )

    def _of(self, proxy: str) -> Proxy:
        return self.proxies[errors.check_choice("proxy", proxy, tuple(self.proxies))]


@as_usual
@checked
def architecture_search(
    proxies: Any,
    data: ImageData,
    teacher: Network | None = None,
    *,
    networks: Sequence[NetworkSpec | str],
    images_per_class: Annotated[int, within(1)] = 1,
    seeds: Seeds = (0, 1, 2),
    trainings: Annotated[int, within(1)] = 1,
    config: supervised.Config | None = None,
    on_all_data: supervised.Config | None = None,
    folder: str | os.PathLike[str] | None = None,
    device: torch.device | str = "auto",
    jobs: Jobs = None,
    progress: bool = True,
) -> ArchitectureSearch:
    """Train every network on each proxy and on all data, and compare the two orders.

    Networks come in random order, so that the time left is told rightly from the first ones.

    Args:
        proxies: as the methods of `compare`, with "early stopping" among them: all data, for as
            many updates as the students of the first proxy make.
        teacher: for methods that need one; trained where none is given.
        networks: at least three different ones, such as `ddlab.networks.convnet_grid()`.
        images_per_class: of all methods that have this setting and no Config of their own.
        seeds: one set for each, and one student of each network.
        trainings: of each network on all data. From two on the result has a `ceiling`.
        config: how students are trained; default `supervised.Config.for_data` of each set.
        on_all_data: the same for all data; default `supervised.Config.for_data(data, "teacher")`.
        folder: keeps sets, and scores network by network; the same call goes on from there, also
            with further networks, and another one finds the sets.
        jobs: how many students at once, as in `evaluate`.

    Raises:
        DDLabError: what `compare` and `evaluate` refuse; fewer than three networks, or the same one
            twice; a file of the folder that is damaged.
        KeyboardInterrupt: before three networks were finished. Later the result holds those that
            are, with `complete=False`.
    """
    specs = distinct_networks(networks, fewest=_FEWEST)
    set_proxies, early = _split(proxies)
    entries = entries_by_name(set_proxies, data, images_per_class, "proxies")
    inputs = Inputs(data=data, teachers=() if teacher is None else (teacher,), device=device)
    for name, entry in entries.items():
        entry.check(name, inputs, "hard")
    check_jobs(jobs, inputs, *specs)
    if teacher is None and any(entry.needs_teacher for entry in entries.values()):
        teacher = whole(train_teacher(data, device=device, progress=progress))
    settings = on_all_data or supervised.Config.for_data(data, "teacher")
    everything = from_images(data.normalised(device=inputs.device), data.train_labels, data)
    key = [config, settings, data.fingerprint, list(seeds), trainings, early]
    for entry in entries.values():
        key += [entry.settings, entry.distilled and entry.distilled.fingerprint]
    store = _Store(folder, storage.fingerprint(*key))
    tasks: dict[str, list[Task]] = {}
    prices = {}
    teachers = None if teacher is None else teacher.fingerprint
    for name, entry in entries.items():
        sets = []
        for seed in seeds:
            make = partial(entry.make, seed, data, teacher=teacher, device=device)
            set_key = storage.fingerprint(entry.settings, seed, data.fingerprint, teachers)
            sets.append(store.set_of(set_key, make) if entry.settings else (entry.distilled, 0.0))
        seconds = statistics.fmean(seconds for _, seconds in sets)
        prices[name] = seconds, sets[0][0].storage_floats("hard", None)
        tasks[name] = [
            (distilled, config or supervised.Config.for_data(distilled, labels="hard"), seed)
            for (distilled, _), seed in zip(sets, seeds, strict=True)
        ]
    if early:
        distilled, first_config, _ = next(iter(tasks.values()))[0]
        updates = first_config.epochs * first_config.steps_per_epoch(len(distilled))
        epochs = max(1, round(updates / first_config.steps_per_epoch(len(everything))))
        tasks[EARLY] = [(everything, first_config.replace(epochs=epochs), seed) for seed in seeds]
        prices[EARLY] = 0.0, everything.storage_floats("hard", None)
    tasks[ALL] = [(everything, settings, seed) for seed in range(trainings)]
    scores = _all_scores(specs, tasks, data, device, store, jobs, progress)
    return _result(specs, scores, prices, tuple(seeds))


def _split(proxies: Any) -> tuple[Any, bool]:
    """Return the proxies that are sets, and whether early stopping is among them."""
    if isinstance(proxies, Mapping):
        set_proxies: Any = {name: item for name, item in proxies.items() if item != EARLY}
    elif isinstance(proxies, Sequence) and not isinstance(proxies, str):
        set_proxies = [item for item in proxies if not (isinstance(item, str) and item == EARLY)]
    else:
        set_proxies = proxies
    return set_proxies, set_proxies is not proxies and len(set_proxies) < len(proxies)


class _Store:
    """What is finished, in a folder or nowhere: sets, and the scores of each network."""

    def __init__(self, folder: str | os.PathLike[str] | None, key: str) -> None:
        self._folder = None
        self._scores: dict[str, Scored] = {}
        if folder is None:
            return
        self._folder = storage.checked_path(folder, "folder", "a folder's path")
        self._folder.mkdir(parents=True, exist_ok=True)
        self._file = self._folder / f"search-{key[:_KEY]}.json"
        if self._file.exists():
            with storage.made_from(self._file, "search"):
                self._scores = dict(json.loads(self._file.read_text(encoding="utf-8")))

    def known(self, spec: NetworkSpec) -> Scored | None:
        """Return the scores of a network that was finished before."""
        return self._scores.get(spec.title)

    def keep(self, spec: NetworkSpec, scores: Scored) -> None:
        """Keep the scores of a network."""
        self._scores[spec.title] = scores
        if self._folder is not None:
            storage.write_atomically(self._file, json.dumps(self._scores).encode())

    def set_of(self, key: str, make: Callable[[], DistilledSet]) -> tuple[DistilledSet, float]:
        """Return a set and the CPU-seconds that it took, now or in an earlier call."""
        file = None if self._folder is None else self._folder / f"set-{key[:_KEY]}.safetensors"
        if file is not None and file.exists():
            about = file.with_suffix(".json")
            with storage.made_from(about, "search"):
                return DistilledSet.load(file), float(json.loads(about.read_text(encoding="utf-8")))
        start = time.process_time()
        distilled = make()
        seconds = time.process_time() - start
        if file is not None:
            # The set is written last: without it the rest of what lies there is half a result.
            storage.write_atomically(file.with_suffix(".json"), json.dumps(seconds).encode())
            distilled.save(file)
        return distilled, seconds


def _all_scores(
    specs: Sequence[NetworkSpec],
    tasks: Mapping[str, Sequence[Task]],
    data: ImageData,
    device: torch.device | str,
    store: _Store,
    jobs: int | None,
    progress: bool,
) -> dict[str, Scored]:
    """Return the scores of each network that is finished, by its title."""
    finished = {}
    order = randomness.permutation(len(specs), 0).tolist()
    options: dict[str, Any] = {"labels": "hard", "device": device}
    bar = progress_bar("networks", len(specs), progress, unit="network")
    try:
        for spec in (specs[place] for place in order):
            scores = store.known(spec)
            if scores is None:
                students = {}
                for name, draws in tasks.items():
                    for number, (distilled, config, seed) in enumerate(draws):
                        students[name, number] = prepare_students(
                            distilled, data, network=spec, seeds=(seed,), config=config, **options
                        )
                trained = evaluations(students, jobs, progress=False)
                if len(trained) < len(students):
                    raise KeyboardInterrupt("students of a network were still being trained")
                scores = {
                    name: [
                        (trained[name, number].mean, trained[name, number].cpu_seconds)
                        for number in range(len(draws))
                    ]
                    for name, draws in tasks.items()
                }
                store.keep(spec, scores)
            finished[spec.title] = scores
            bar.update()
    except KeyboardInterrupt:
        # Networks that are half judged say nothing; the finished ones stand.
        if len(finished) < _FEWEST:
            raise
    finally:
        bar.close()
    return finished


def _result(
    specs: Sequence[NetworkSpec],
    scores: Mapping[str, Scored],
    prices: Mapping[str, tuple[float, int]],
    seeds: tuple[int, ...],
) -> ArchitectureSearch:
    """Return the result of the networks that are finished, in the order in which they were given."""
    networks = tuple(spec for spec in specs if spec.title in scores)
    by_name = {
        name: np.array([scores[spec.title][name] for spec in networks]) for name in (*prices, ALL)
    }
    proxies = {}
    for name, (seconds, floats) in prices.items():
        accuracies, student_seconds = by_name[name].T
        proxies[name] = Proxy(
            accuracies=tuple(map(tuple, accuracies.tolist())),
            seconds=seconds + float(student_seconds.sum(1).mean()),
            floats=floats,
        )
    accuracies, student_seconds = by_name[ALL].T
    return ArchitectureSearch(
        networks=networks,
        on_all_data=tuple(map(tuple, accuracies.tolist())),
        proxies=proxies,
        seeds=seeds,
        seconds=float(student_seconds.sum(1).mean()),
        complete=len(networks) == len(specs),
    )
