"""How long work that comes in several pieces will take, from the pace so far."""

import time
from collections.abc import Iterable, Mapping
from typing import Protocol


class Piece(Protocol):
    """A piece of work on its way: `done` of `total` steps, `first` of which were done before."""

    first: int
    done: int
    total: int


class Outlook:
    """All that is to be done, by name, in any unit of work; pieces are made of several names each."""

    def __init__(self) -> None:
        self._waiting: dict[str, float] = {}
        self._begun: list[tuple[Piece, float]] = []
        self._since = 0.0

    def expect(self, work: Mapping[str, float]) -> None:
        self._waiting |= work

    def begin(self, piece: Piece, names: Iterable[str]) -> None:
        """From now on the work of these names goes with the steps of the piece."""
        self._since = self._since or time.monotonic()
        self._begun.append((piece, sum(self._waiting.pop(name, 0.0) for name in names)))

    def left(self) -> str | None:
        """How long all of it will take yet; None where the piece at work is all there is, or nothing is known."""
        done = sum(work * (piece.done - piece.first) / piece.total for piece, work in self._begun)
        going = [work * (1 - piece.done / piece.total) for piece, work in self._begun if piece.done < piece.total]
        if not done or (len(going) < 2 and not self._waiting):
            return None
        return duration((time.monotonic() - self._since) / done * (sum(going) + sum(self._waiting.values())))


def duration(seconds: float) -> str:
    """4:45, or 1:04:45."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}" if minutes >= 60 else f"{minutes}:{rest:02d}"
