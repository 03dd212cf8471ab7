"""Words about runs and their numbers, for displays of the progress."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from zerosnet.training.runs.spec import RunSpec

if TYPE_CHECKING:
    from zerosnet.training.screen.displays import GroupProgress

Row = Mapping[str, Any]
"""The metrics of an epoch, by name."""


def describe(spec: RunSpec) -> str:
    """Describe a run in a few words: model, scheme if it is not the model's own, data set, recipe, seed."""
    return " ".join([network_words(spec), spec.dataset, spec.recipe.name, f"seed {spec.seed}"])


def network_words(spec: RunSpec) -> str:
    """Describe the network of a run: model, and scheme if it is not the model's own."""
    return spec.model if spec.scheme is None else f"{spec.model} ({spec.scheme.name})"


def epoch_line(group: "GroupProgress") -> str:
    """Describe an epoch of a group: the range over the living networks, and the seconds of all together."""
    networks, epochs = len(group.specs), group.specs[0].recipe.epochs
    rows = [row for row, lives in zip(group.rows, group.living) if row is not None and lives]
    if not rows:
        reached = max(row["epoch"] for row in group.rows if row is not None)
        return f"epoch {reached}/{epochs}  " + ("all networks" if networks > 1 else "the network") + " diverged"
    count = f"{networks}" if len(rows) == networks else f"{len(rows)} of {networks}"
    parts = [
        f"epoch {rows[0]['epoch']}/{epochs}",
        f"{count} x" if networks > 1 else "",
        "loss " + _span([row["train_loss"] for row in rows], "{:.4f}"),
        "train " + _span([row["train_accuracy"] for row in rows], "{:.2%}"),
        "test " + _span([row["test_accuracy"] for row in rows], "{:.2%}"),
        f"{networks * rows[0]['seconds']:.1f} s",
        f"left {group.left()}",
    ]
    return "  ".join(part for part in parts if part)


_FORMS = {
    "train_loss": "{:.4f}",
    "train_accuracy": "{:.2%}",
    "test_accuracy": "{:.2%}",
    "best_test_accuracy": "{:.2%}",
}


def cells(row: Row) -> list[str]:
    """Write the numbers of a line of the live table."""
    return [_span([row.get(name)], form) for name, form in _FORMS.items()]


def _span(values: Sequence[float | None], form: str) -> str:
    """Write the lowest and highest of several numbers; "-" if there is none."""
    finite = [value for value in values if value is not None and value - value == 0]
    if not finite:
        return "-"
    low, high = form.format(min(finite)), form.format(max(finite))
    return low if low == high else f"{low}..{high}"
