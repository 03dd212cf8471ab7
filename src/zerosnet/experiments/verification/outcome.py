"""What a check of a store has found."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, order=True)
class Remark:
    """One line about one run or file."""

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


@dataclass
class Verification:
    """What has been checked so far, what is wrong, and what is only worth knowing.

    Attributes:
        checked: Number of things that were checked, by kind.
        problems: What contradicts itself. A store with one does not pass.
        notes: What cannot be told, such as the commit of a run that recorded none.
    """

    checked: Counter[str] = field(default_factory=Counter)
    problems: list[Remark] = field(default_factory=list)
    notes: list[Remark] = field(default_factory=list)

    def check(self, kind: str, where: str, right: bool, what: str) -> bool:
        """Count a check; if it fails, add a problem. Return whether it passed."""
        self.checked[kind] += 1
        if not right:
            self.problems.append(Remark(where, what))
        return right

    def problem(self, where: str, what: str) -> None:
        self.problems.append(Remark(where, what))

    def note(self, where: str, what: str) -> None:
        self.notes.append(Remark(where, what))

    def to_json(self) -> dict[str, Any]:
        return {
            "passed": not self.problems,
            "checked": dict(self.checked),
            "problems": [vars(one) for one in self.problems],
            "notes": [vars(one) for one in self.notes],
        }
