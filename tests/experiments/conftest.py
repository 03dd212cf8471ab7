"""A store of runs that were never run, and an experiment small enough to be run in a test."""

from collections.abc import Iterator

import pytest
from tests.few_digits import few_digits, one_thread

from zerosnet.experiments import Column, Experiment, Scale, TableRow, TrainingPlan
from zerosnet.experiments.paper.declare import cells, table
from zerosnet.experiments.readings import ACCURACY, Reading, under_noise
from zerosnet.numerics import Scheme, is_zero_stable
from zerosnet.training import recipe

TINY = Scale("tiny", "one epoch", lambda one: ("digits", recipe("quick", "digits", epochs=1, batch=32)), (1,), 4)
MEASURES = (
    (Column("clean", "no noise"), ACCURACY),
    (Column("noisy", "constant 0.4"), under_noise("constant 0.4")),
    (Column("fooled", "FGSM"), Reading("attack", "paper-fgsm", "fgsm", eps=0.075)),
)


@pytest.fixture(autouse=True)
def alone() -> Iterator[None]:
    with one_thread():
        yield


@pytest.fixture(name="few_digits")
def only_few_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    """96 training and 24 test images wherever digits are read."""
    few = few_digits(96, 24)
    for room in ("training.plan", "data.for_test"):
        monkeypatch.setattr(f"zerosnet.{room}.load", lambda name, root=None, **options: few)


@pytest.fixture
def small() -> Experiment:
    """Two 20-layer networks, one zero-stable, read clean, under noise and under attack."""
    lines = []
    for text in ("zerosnet(-9/5)", "1,1,1;1"):
        scheme = Scheme.parse(text)
        row = TableRow(text, (text,), scheme, is_zero_stable(scheme), "20 layers")
        plan = TrainingPlan("zerosnet20", "digits", "quick", scheme)
        lines.append((row, cells(row, {"clean": "99.5±0.2"}, plan, MEASURES)))
    return Experiment("small", "small", "ours", "accuracy, %", **table(("scheme",), MEASURES, lines))
