"""Test what a distilled set teaches: students from scratch, mean accuracy and 95% interval.

examples:
  ddlab evaluate set.safetensors --data shapes size=16
  ddlab evaluate set.safetensors --data digits --labels hard stored --seeds 10
  ddlab evaluate set.safetensors --data digits --labels online --teacher teacher.safetensors --architectures convnet resnet18
  ddlab evaluate set.safetensors --data digits --config epochs=300 --json

Of a set without labels, networks are pre-trained on its representations, and a linear probe reads their features. The data must be
loaded with the options that the set was distilled with.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from . import arguments


def add(commands: Any) -> None:
    """Add the command to `ddlab`."""
    parser = arguments.add(commands, "evaluate", __doc__, run)
    parser.add_argument("set", metavar="SET", help="a file that `ddlab distill` wrote")
    arguments.add_data(parser)
    kinds = "hard, stored, online, epochs; default: all that the set has (online: with --teacher)"
    parser.add_argument("--labels", nargs="+", metavar="KIND", help=kinds)
    parser.add_argument("--teacher", metavar="FILE", help="the network that says online labels")
    parser.add_argument("--seeds", type=int, default=5, help="how many students (default 5)")
    parser.add_argument(
        "--architectures", nargs="+", metavar="FAMILY", help="students of these (default: a small ConvNet)"
    )
    parser.add_argument(
        "--jobs",
        type=arguments.jobs,
        default="auto",
        metavar="N",
        help="students at once, each with the threads of OMP_NUM_THREADS",
    )
    parser.add_argument("--config", nargs="+", default=(), metavar="NAME=VALUE", help="how students are trained")


def run(options: argparse.Namespace) -> tuple[int, dict[str, Any]]:
    """Evaluate, one line for each kind of labels and architecture."""
    from ..distilled import DistilledSet

    distilled, data = DistilledSet.load(options.set), arguments.dataset(options)
    results, complete = [], True
    try:
        for labels, each, complete in _evaluations(options, distilled, data):
            print(each, flush=True)
            numbers = {"mean": each.mean, "interval": each.interval, "std": each.std, "per_seed": each.per_seed}
            results.append({"labels": labels, "network": each.network, **numbers})
            if not complete:
                break
    except KeyboardInterrupt:  # before the first student of the next kind was whole
        if not results:
            raise
        complete = False
    return 0 if complete else 130, {"set": options.set, "data": data.name, "results": results, "complete": complete}


def _evaluations(options: argparse.Namespace, distilled: Any, data: Any) -> Iterator[tuple[str, Any, bool]]:
    """Kind of labels, evaluation, and whether it was whole."""
    from .. import evaluation, networks
    from ..core import errors
    from ..training import pretraining, supervised

    seeds = range(errors.check_integer("--seeds", options.seeds, 1))
    families = [networks.spec(family) for family in options.architectures or ()]
    shown = {"seeds": seeds, "device": options.device, "progress": arguments.progress(options)}
    kinds = [target.kind for target in distilled.targets]
    if "representations" in kinds and not options.labels:
        config = pretraining.Config.teaching(**arguments.changes(pretraining.Config, "--config", options.config))
        configs = {network.title: config.replace(network=network) for network in families or [config.network]}
        tested = evaluation.pretrained(distilled, {data.name: data}, config=configs, **shown)
        for found in tested.transfers.values():
            yield "representations", found[data.name], tested.complete
        return
    config = supervised.Config.for_data(data, **arguments.changes(supervised.Config, "--config", options.config))
    teacher = networks.load(options.teacher) if options.teacher else None
    for labels in options.labels or [kind for kind in kinds if kind != "online" or teacher is not None]:
        for network in families or [config.network]:
            tested = evaluation.evaluate(
                distilled,
                data,
                labels=labels,
                teacher=teacher,
                network=network,
                config=config,
                jobs=options.jobs,
                **shown,
            )
            yield labels, tested, tested.complete
