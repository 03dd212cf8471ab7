"""List the groups that the queue would train on one H200, with their minutes; it needs neither a GPU nor data.

    python -m tools.queue_plan [SWEEP ...] [--known RUNS]

Without SWEEP: every file of results/sweeps that has runs without a record. Groups are those of `tools.train_queue` on a
GPU whose memory holds them, which an H200's does. Minutes are those of training by the measured rates
(`zerosnet.experiments.group_seconds`); start, noises and ablation come on top, some seconds per group, and AutoAttack,
about a minute per network of adversarial-seeds (an estimate). Networks of several streams were not timed; their minutes
are estimated by the bytes that they move, and are no part of the sum of the others.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from tools.cost_tables import SHAPES
from tools.markdown_tables import ROOT, table
from tools.train_queue import KNOWN, surrogates, waiting
from zerosnet.errors import InputError
from zerosnet.experiments import group_seconds, is_estimated
from zerosnet.training import RunSpec, in_order
from zerosnet.training.capacity import MOST
from zerosnet.training.grouping import group

SWEEPS = ROOT / "results/sweeps"
GPU = torch.device("cuda")
UNKNOWN = "not timed"
ESTIMATED = "not timed; by bytes about {:.1f}"


def groups(specs: Sequence[RunSpec]) -> list[list[RunSpec]]:
    """Group runs as a GPU trains them, surrogates first, in the order in which they are listed."""
    for spec in specs:
        if spec.dataset not in SHAPES:
            raise InputError(f"dataset is {spec.dataset!r}; a plan knows {', '.join(SHAPES)}")
    data: dict[RunSpec, Any] = {spec: SHAPES[spec.dataset] for spec in specs}
    return [members for part in in_order(specs) for members in group(part, data, GPU, MOST)]


def minutes(specs: Sequence[RunSpec]) -> float | None:
    """Add up the minutes of the groups; None if one was not timed."""
    known = [group_seconds(members) for members in groups(specs)]
    return None if None in known else sum(seconds or 0.0 for seconds in known) / 60


def plan(sweeps: Sequence[Path], known: Path = KNOWN) -> str:
    """List the groups of several sweeps, one after the other; a run counts in the first that asks for it."""
    rows, seen, timed, estimated = [], set[str](), 0.0, 0.0
    for path in sweeps:
        specs = [spec for spec in waiting([path], [known]) if spec.id not in seen]
        seen |= {spec.id for spec in specs}
        for members in groups([*surrogates(specs, [path]), *specs]):
            first, seconds = members[0], group_seconds(members) or 0.0
            timed += 0.0 if is_estimated(first) else seconds
            estimated += seconds if is_estimated(first) else 0.0
            models = ", ".join(dict.fromkeys(spec.model for spec in members))
            rows.append(
                [path.stem, models, first.dataset, str(len(members)), str(first.recipe.epochs), _minutes(members)]
            )
    more = f", and about {estimated / 60:.1f} by bytes" if estimated else ""
    rows.append(["**all**", "", "", str(sum(int(row[3]) for row in rows)), "", f"{timed / 60:.1f}{more}"])
    return table(["Sweep", "Models", "Data", "Networks", "Epochs", "Minutes"], rows)


def _minutes(members: Sequence[RunSpec]) -> str:
    """Write the minutes of a group, marked unless they were measured."""
    seconds = group_seconds(members)
    if seconds is None:
        return UNKNOWN
    return ESTIMATED.format(seconds / 60) if is_estimated(members[0]) else f"{seconds / 60:.1f}"


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.queue_plan", description=__doc__.partition("\n")[0])
    parser.add_argument("sweep", type=Path, nargs="*", help="files of results/sweeps; all of them by default")
    parser.add_argument("--known", type=Path, default=KNOWN, help="records that need not be made again")
    given = parser.parse_args(arguments)
    try:
        print(plan(given.sweep or sorted(SWEEPS.glob("*.json")), given.known))
    except InputError as error:
        print(f"queue_plan: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
