"""Count the blocks that a trained network really uses: accuracy with f switched off from block n on."""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from math import isfinite
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor

from zerosnet import files
from zerosnet.data import DataSet, gather, load_for_test, pixel_statistics
from zerosnet.environment import environment, today
from zerosnet.errors import InputError
from zerosnet.models import BlockStep, Network, of_replica, tails, used_depth
from zerosnet.robustness import is_right
from zerosnet.training import (
    MOST,
    Clock,
    Member,
    RunRecord,
    arithmetic_of,
    as_classifier,
    batch_size,
    convolutions_of,
    cores,
    fused_groups,
    in_parallel,
    torch_settings,
)

LEAST = 0.01  # of the state: 1 %
FILE = "ablation.json"


@dataclass(frozen=True)
class Ablation:
    """The effect of switching blocks off in a finished run's network, on the first `images` test images.

    Attributes:
        accuracy: Of the whole network, a fraction.
        accuracy_without: With f switched off from block n on, for n = 0, 1, ...
        ratios: Rms(beta f) / rms(y) of every block; None if it overflowed.
        effective_depth: Blocks whose ratio is at least 1 %.
        convolutions: The type that convolutions computed in.
    """

    run: str
    images: int
    accuracy: float
    accuracy_without: tuple[float, ...]
    ratios: tuple[float | None, ...]
    effective_depth: int
    convolutions: str = "float32"

    @property
    def blocks(self) -> int:
        return len(self.accuracy_without)

    @property
    def curve(self) -> tuple[float, ...]:
        """Accuracy with the first n blocks on, for n from 0 to all of them: the last is that of the whole network."""
        return (*self.accuracy_without, self.accuracy)

    @property
    def used_blocks(self) -> int:
        """The fewest first blocks that reach the whole network's accuracy within one point, with all later ones off."""
        return used_depth(self.accuracy, self.accuracy_without)

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"used_blocks": self.used_blocks}

    @classmethod
    def from_json(cls, data: Any) -> "Ablation":
        try:
            return cls(
                run=data["run"],
                images=data["images"],
                accuracy=data["accuracy"],
                accuracy_without=tuple(data["accuracy_without"]),
                ratios=tuple(data["ratios"]),
                effective_depth=data["effective_depth"],
                convolutions=data.get("convolutions", "float32"),
            )
        except (KeyError, TypeError):
            raise InputError("an ablation lacks fields; expected what `zerosnet reproduce` writes") from None


def read_ablation(record: RunRecord) -> Ablation | None:
    """Read the ablation of a run; None if none was made."""
    path = record.folder / FILE
    return files.read_value(path, Ablation.from_json) if path.exists() else None


def ablate(
    records: Sequence[RunRecord],
    device: torch.device,
    data: Path | None = None,
    clock: Clock | None = None,
    report: Callable[[str], None] = lambda line: None,
) -> None:
    """Find the ablation curves of finished runs that have none yet; networks that can be fused are, on all images."""
    waiting = [record for record in records if can_ablate(record)]
    for record in waiting:
        record.check_writable()
    names = dict.fromkeys(record.spec.dataset for record in waiting)
    sets = {name: load_for_test(name, data, workers=cores(), report=report) for name in names}
    workers = cores() if device.type == "cpu" else 1
    groups = fused_groups(waiting, MOST, workers)

    def work(group: Sequence[Member]) -> None:
        if clock is None or not clock.must_stop():
            first = group[0][0].spec
            report(f"switching blocks off: {len(group)} x {first.model} on {first.dataset}")
            began = time.monotonic()
            curves = _ablations(group, sets[first.dataset], device)
            seconds = (time.monotonic() - began) / len(group)
            facts = {
                "device": device.type,
                "data": sets[first.dataset].fingerprint,
                "arithmetic": arithmetic_of(group[0][0], device),
                "kernels": "torch",
                "seconds": seconds,
                "date": today(),
                "environment": environment(),
            }
            for (record, _), found in zip(group, curves):
                files.write_json(record.folder / FILE, found.to_json() | facts)

    with torch_settings(device, deterministic=False):
        in_parallel(work, groups, min(workers, len(groups)), one_thread=False)


def can_ablate(record: RunRecord) -> bool:
    """Return True if a run has finished, with its weights in the store, and has no curve yet."""
    return record.status == "finished" and record.has_weights and not (record.folder / FILE).exists()


def _ablations(group: Sequence[Member], data: DataSet, device: torch.device) -> list[Ablation]:
    """Measure the curves of fused networks in one pass over the test images."""
    records, networks = zip(*group)
    network = cast(Network, as_classifier(records, networks, data, device).model)
    mean, std = (torch.tensor(v, device=device) for v in pixel_statistics(data, records[0].spec.recipe.scaling))
    test, replicas, blocks = data.test.to(device), len(records), len(network.stack.steps)
    options: dict[str, Any] = {"channels_last": device.type == "cuda", "dtype": next(network.parameters()).dtype}
    hits = torch.zeros(blocks + 1, replicas, dtype=torch.int64, device=device)
    added, whole = torch.zeros(2, blocks, replicas, dtype=torch.float64, device=device)
    for index in torch.arange(len(test), device=device).split(batch_size(test, replicas, device)):
        images = gather(test.images, index.expand(replicas, -1), None, None, None, mean, std, **options)
        for n, tail in enumerate(tails(network, images)):
            logits = tail.logits.unflatten(0, (-1, 1)) if replicas == 1 else tail.logits
            hits[n] += is_right(logits, test.labels[index]).sum(0)
            if tail.step is not None:
                added[n] += _squares(tail.step.slope, replicas) * _betas(tail.step, replicas).to(device).square()
                whole[n] += _squares(tail.step.state, replicas)
    curves, ratios = (hits.double() / len(test)).T.tolist(), (added / whole).sqrt().T.tolist()
    return [
        Ablation(
            run=record.id,
            images=len(test),
            accuracy=curve[-1],
            accuracy_without=tuple(curve[:-1]),
            ratios=tuple(ratio if isfinite(ratio) else None for ratio in each),
            effective_depth=sum(ratio >= LEAST for ratio in each),
            convolutions=convolutions_of(record, device),
        )
        for record, curve, each in zip(records, curves, ratios)
    ]


def _squares(tensor: Tensor, replicas: int) -> Tensor:
    """The sum of squares of every replica's part, in float64: states of unstable networks may reach 1e30.

    A part is copied before it is summed, so that a network has the same sum to the bit alone and among others.
    """
    parts = (part.contiguous() for part in tensor.unflatten(1, (replicas, -1)).unbind(1))
    return torch.stack([torch.linalg.vector_norm(part, dtype=torch.float64) for part in parts]).square()


def _betas(step: BlockStep, replicas: int) -> Tensor:
    """The newest beta of a block, one per replica."""
    return torch.tensor([float(of_replica(step.row.betas[0], k)) for k in range(replicas)])
