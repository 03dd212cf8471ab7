"""How many blocks a trained network really uses: accuracy with f switched off from block n on, kept beside the run."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from zerosnet.data import DataSet, gather, load, pixel_statistics
from zerosnet.errors import InputError
from zerosnet.models import diagnose
from zerosnet.training import Clock, RunRecord, files
from zerosnet.training.engine import cores, in_parallel
from zerosnet.training.networks import load_network

IMAGES = 256
TOLERANCE = 0.01
FILE = "ablation.json"


@dataclass(frozen=True)
class Ablation:
    """What `models.diagnose` found of a finished run, on the first `images` test images.

    accuracy           of the whole network, a fraction
    accuracy_without   with f switched off from block n on, for n = 0, 1, ...
    ratios             rms(beta f) / rms(y) of every block; None where it overflowed
    effective_depth    blocks whose ratio is at least 1 %
    """

    run: str
    images: int
    accuracy: float
    accuracy_without: tuple[float, ...]
    ratios: tuple[float | None, ...]
    effective_depth: int

    @property
    def blocks(self) -> int:
        return len(self.accuracy_without)

    @property
    def used_blocks(self) -> int:
        """The fewest first blocks that reach the whole network's accuracy, within 1 %, whatever follows is off."""
        enough = [value >= self.accuracy - TOLERANCE for value in self.accuracy_without]
        return next((n for n in range(self.blocks) if all(enough[n:])), self.blocks)

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
            )
        except (KeyError, TypeError):
            raise InputError("an ablation lacks fields; expected what `zerosnet reproduce` writes") from None


def read_ablation(record: RunRecord) -> Ablation | None:
    """What was found of a run; None where nothing was."""
    path = record.folder / FILE
    return Ablation.from_json(files.read_json(path)) if path.exists() else None


def ablate(
    records: Sequence[RunRecord],
    device: torch.device,
    data: Path | None = None,
    clock: Clock | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> None:
    """Find the ablation curves of finished runs that have none yet, on the CPU several networks at a time."""
    waiting = [record for record in records if can_ablate(record)]
    sets = {name: load(name, data) for name in dict.fromkeys(record.spec.dataset for record in waiting)}

    def work(record: RunRecord) -> None:
        if clock is None or not clock.must_stop():
            found = _ablation(record, sets[record.spec.dataset], device)
            files.write_json(record.folder / FILE, found.to_json())

    if waiting:
        say(f"switching blocks off: {len(waiting)} networks")
    in_parallel(work, waiting, min(cores(), len(waiting)) if device.type == "cpu" else 1, one_thread=False)


def can_ablate(record: RunRecord) -> bool:
    """Finished, with its weights there, and not done yet."""
    weights = record.folder / "weights.safetensors"
    return record.status == "finished" and weights.exists() and not (record.folder / FILE).exists()


def _ablation(record: RunRecord, data: DataSet, device: torch.device) -> Ablation:
    index = torch.arange(min(IMAGES, len(data.test)))
    mean, std = (torch.as_tensor(values) for values in pixel_statistics(data, record.spec.recipe.scaling))
    images = gather(data.test.images, index[None], None, None, None, mean, std).to(device)
    found = diagnose(load_network(record).float().to(device), images, data.test.labels[index].to(device))
    blocks = found.to_json()["blocks"]
    assert found.accuracy is not None
    return Ablation(
        run=record.id,
        images=found.images,
        accuracy=found.accuracy,
        accuracy_without=tuple(block["accuracy_without"] for block in blocks),
        ratios=tuple(block["ratio"] for block in blocks),
        effective_depth=found.effective_depth(),
    )
