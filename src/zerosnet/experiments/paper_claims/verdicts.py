"""The paper's own sentences, recomputed from its own tables, with a verdict each; no run of ours is needed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from zerosnet.experiments.paper.declare import STABLE
from zerosnet.experiments.paper.printed import Printed, parse_printed, printed_table

HOLDS = "holds"
PARTLY = "partly"
FAILS = "does not hold"


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper (quoted or close to it), the table it is about, and what the numbers say."""

    name: str
    experiment: str
    text: str
    verdict: str
    because: str


@dataclass(frozen=True)
class PrintedRow:
    """A row of a printed table with its numbers."""

    labels: dict[str, str]
    numbers: dict[str, Printed]

    @property
    def stable(self) -> bool:
        return STABLE[self.labels["Z. S."]]

    @property
    def moduli(self) -> tuple[float, ...]:
        """The moduli in rising order; the optimum is (1/3, 1/3, 1)."""
        head = next(head for head in self.labels if "oduli" in head)
        return tuple(sorted(map(float, self.labels[head].split(","))))

    def value(self, column: str) -> float:
        return self.numbers[column].value


OPTIMUM_MODULI = (0.33, 0.33, 1.0)


@cache
def rows(name: str) -> tuple[PrintedRow, ...]:
    """A printed table; columns of numbers are those that hold one in every row, and are no labels."""
    table = printed_table(name)
    found = []
    for record in table.records():
        numbers = {head: parse_printed(text) for head, text in record.items()}
        found.append(PrintedRow(record, {head: number for head, number in numbers.items() if number is not None}))
    return tuple(found)


def groups(name: str, head: str) -> dict[str, list[PrintedRow]]:
    found: dict[str, list[PrintedRow]] = {}
    for row in rows(name):
        found.setdefault(row.labels[head], []).append(row)
    return found


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def graded(good: int, of: int) -> str:
    return HOLDS if good == of else FAILS if good == 0 else PARTLY


CLAIMS: list[Callable[[], Claim]] = []
"""All claims, in the order of the paper; filled by the files that hold them."""


def claim(function: Callable[[], Claim]) -> Callable[[], Claim]:
    CLAIMS.append(function)
    return function


def claims() -> list[Claim]:
    """Every claim with its verdict."""
    from zerosnet.experiments.paper_claims import accuracy, robustness, theory  # noqa: F401 (they fill CLAIMS)

    return [one() for one in CLAIMS]
