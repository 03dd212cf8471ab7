"""The end of a run, as a value."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from zerosnet.checks import is_number
from zerosnet.errors import InputError

STATUSES = ("finished", "diverged")
_WORDS = ("status", "reason")


@dataclass(frozen=True)
class Result:
    """The end of a run; accuracies are fractions, epochs are counted from 1.

    test_*            at the last epoch: the number to compare with; top5: one of the best five answers is right
    best_*            the best test epoch, reported because the paper reports it; nothing is selected by it
    train_*           on the training images without augmentation, in eval mode, at the end
    validation_*      on the images that were cut off the training set, at the end, if there are some
    seconds           time of training, summed over all pieces in which it was done; of a fused run its share
    test_images       that could be decoded and count, where files were skipped
    skipped_files     how many, training files included, as the process that writes has met them
    reason            of a diverged run: what was seen, and when

    A diverged run has no accuracies but the best it had before.
    """

    status: str
    epochs: int
    seconds: float
    test_accuracy: float | None = None
    test_loss: float | None = None
    best_epoch: int | None = None
    best_test_accuracy: float | None = None
    train_accuracy: float | None = None
    train_loss: float | None = None
    validation_accuracy: float | None = None
    validation_loss: float | None = None
    test_top5_accuracy: float | None = None
    test_images: int | None = None
    skipped_files: int | None = None
    reason: str | None = None

    def __post_init__(self) -> None:
        if self.status not in STATUSES:
            raise InputError(f"status is {self.status!r}; expected one of {', '.join(STATUSES)}")
        if self.status == "finished" and self.test_accuracy is None:
            raise InputError("a finished run has a test_accuracy")
        for name, value in asdict(self).items():
            if name not in _WORDS and value is not None and not is_number(value):
                raise InputError(f"{name} is {value!r}; expected a finite number, or none")

    def to_json(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value is not None}

    @classmethod
    def from_json(cls, data: Any) -> "Result":
        known = {f.name for f in fields(cls)}
        if not isinstance(data, dict) or not {"status", "epochs", "seconds"} <= set(data):
            raise InputError(f"a result is {data!r}; expected an object with status, epochs and seconds")
        return cls(**{key: value for key, value in data.items() if key in known})


def best_epoch(rows: Sequence[Mapping[str, Any]]) -> tuple[int | None, float | None]:
    """Find the first epoch with the highest test accuracy, and that accuracy."""
    if not rows:
        return None, None
    row = max(rows, key=lambda row: (row["test_accuracy"], -row["epoch"]))
    return row["epoch"], row["test_accuracy"]
