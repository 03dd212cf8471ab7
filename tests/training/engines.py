"""What tests of the engine share: a clock that counts, ears, and what a store holds but for the times."""

from collections.abc import Callable
from typing import Any

from safetensors.torch import load_file

from zerosnet.training import Clock, RunSpec, SaveInterval, Store
from zerosnet.training.options import Options
from zerosnet.training.screen.displays import Lines

MakeSpecs = Callable[..., list[RunSpec]]
OPTIONS = Options("cpu", deterministic=True, checkpoint_every=SaveInterval(epochs=1))


class StepClock(Clock):
    """Asks to stop at the n-th question."""

    def __init__(self, questions: int) -> None:
        super().__init__()
        self.left = questions

    def must_stop(self) -> bool:
        self.left -= 1
        return self.left < 0


class Heard(Lines):
    """Remembers what was said."""

    def __init__(self, **options: Any) -> None:
        super().__init__(quiet=True, **options)
        self.lines: list[str] = []

    def report(self, line: str) -> None:
        self.lines.append(line)


def outcome(store: Store) -> dict[str, Any]:
    """All that a store holds but the times: results, metrics and weights."""
    found = {}
    for record in store.records():
        rows = [{k: v for k, v in row.items() if k != "seconds"} for row in record.metrics()]
        result = {} if record.result is None else {k: v for k, v in record.result.to_json().items() if k != "seconds"}
        path = record.folder / "weights.safetensors"
        weights = {n: t.numpy().tobytes() for n, t in load_file(path).items()} if path.exists() else None
        found[record.id] = (rows, result, weights)
    return found
