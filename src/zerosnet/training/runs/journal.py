"""The record of a group in training: a line per epoch for every run, in its folder and in loggers, and its end.

Loggers (TensorBoard, Weights & Biases, Trackio) take one row per epoch, and go on where an interrupted run goes on. A
new one is a class with the two methods of `Logger`, a line in `LOGGERS`, and an extra in pyproject.toml. Names are
checked without torch.
"""

import secrets
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import redirect_stdout
from contextvars import Context
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol

from zerosnet.checks import finite
from zerosnet.errors import InputError, MissingExtra, did_you_mean
from zerosnet.training.recipes.recipe import lr_at
from zerosnet.training.runs.spec import Result

if TYPE_CHECKING:
    from zerosnet.training.fused.passes import Score
    from zerosnet.training.runs.run import Run
    from zerosnet.training.trainer import Trainer

Row = Mapping[str, Any]


class Journal:
    """The metrics of the runs of a group, in memory and in their folders; `runs` is empty if another process writes."""

    def __init__(self, runs: "Sequence[Run]", trainer: "Trainer", *, log: Sequence[str] = ()) -> None:
        self.runs, self.trainer = list(runs), trainer
        self.rows: list[list[dict[str, Any]]] = [run.metrics() for run in runs]
        self._loggers = [open_loggers(log, run) for run in runs]

    def last(self) -> list[dict[str, Any] | None]:
        """Return the newest row of every run, with its best test accuracy so far, for display."""
        if not self.runs:
            return [None for _ in self.trainer.specs]
        return [{**rows[-1], "best_test_accuracy": best_epoch(rows)[1]} if rows else None for rows in self.rows]

    def record(self, epoch: int, seconds: Callable[[], float], open_runs: Sequence[bool]) -> None:
        """Evaluate all replicas after `epoch` epochs and add a row to every run that has not ended.

        `seconds` of the epoch are read once the device has done all of it, evaluation included.
        """
        trainer = self.trainer
        for test in trainer.tests.values():
            test.run()
        tests = {name: test.scores() for name, test in trainer.tests.items()}
        train, trained, taken = trainer.train_scores(), trainer.trained_coefficients(), seconds()
        for k, run in enumerate(self.runs):
            if not open_runs[k]:
                continue
            row: dict[str, Any] = {
                "epoch": epoch,
                "lr": lr_at(run.spec.recipe, epoch * trainer.steps - 1, trainer.steps),
            }
            row |= _named("train", train[k])
            for name, scores in tests.items():
                row |= _named(name, scores[k])
            row["seconds"] = taken
            if trained is not None:
                row |= trained[k]
            run.append_metrics(row)
            self.rows[k].append(row)
            for logger in self._loggers[k]:
                logger.log(row)

    def finished(self, k: int, seconds: float, train: "Score") -> Result:
        """Make the result of a run that has come to its last epoch."""
        rows = self.rows[k]
        last, (epoch, best_accuracy) = rows[-1], best_epoch(rows)
        return Result(
            "finished",
            last["epoch"],
            seconds,
            test_accuracy=last["test_accuracy"],
            test_loss=finite(last["test_loss"]),
            best_epoch=epoch,
            best_test_accuracy=best_accuracy,
            train_accuracy=train.accuracy,
            train_loss=finite(train.loss),
            validation_accuracy=last.get("validation_accuracy"),
            validation_loss=finite(last.get("validation_loss")),
            test_top5_accuracy=last.get("test_top5_accuracy"),
        )

    def diverged(self, k: int, seconds: float) -> Result:
        """Make the result of a run whose loss or weights are no longer finite."""
        rows = self.rows[k]
        reason = f"loss or weights not finite after {int(self.trainer.lived[k])} steps"
        epoch, best_accuracy = best_epoch([row for row in rows if finite(row["test_loss"]) is not None])
        return Result("diverged", len(rows), seconds, best_epoch=epoch, best_test_accuracy=best_accuracy, reason=reason)

    def close(self) -> None:
        for loggers in self._loggers:
            for logger in loggers:
                logger.close()


def best_epoch(rows: Sequence[Mapping[str, Any]]) -> tuple[int | None, float | None]:
    """Find the first epoch with the highest test accuracy, and that accuracy."""
    if not rows:
        return None, None
    row = max(rows, key=lambda row: (row["test_accuracy"], -row["epoch"]))
    return row["epoch"], row["test_accuracy"]


def _named(name: str, score: "Score") -> dict[str, float]:
    top5 = {} if score.top5_accuracy is None else {f"{name}_top5_accuracy": score.top5_accuracy}
    return {f"{name}_loss": score.loss, f"{name}_accuracy": score.accuracy, **top5}


class Logger(Protocol):
    """A logger of the metrics of one run. Its constructor takes the run."""

    def log(self, row: Row) -> None:
        """Take the row of an epoch; values that are no numbers are left out."""

    def close(self) -> None: ...


class TensorBoard:
    """Event files in RUN/tensorboard, for `tensorboard --logdir STORE`."""

    def __init__(self, run: "Run") -> None:
        from torch.utils.tensorboard import SummaryWriter

        first = len(run.metrics()) + 1  # what a killed process wrote after its last checkpoint is not shown
        self._writer = SummaryWriter(str(run.folder / "tensorboard"), purge_step=first)

    def log(self, row: Row) -> None:
        for name, value in _scalars(row):
            self._writer.add_scalar(name, value, row["epoch"])

    def close(self) -> None:
        self._writer.close()


class WeightsAndBiases:
    """A run of wandb's project "zerosnet", below RUN/wandb; wandb's own settings decide where it is sent.

    WANDB_MODE=offline needs neither account nor network; `wandb sync` sends the files later. The id that wandb knows
    the run by is kept, so that a run that was interrupted stays one.
    """

    def __init__(self, run: "Run") -> None:
        import wandb

        folder = run.folder / "wandb"
        folder.mkdir(exist_ok=True)
        known = folder / "id"
        if not known.exists():
            known.write_text(secrets.token_hex(8))
        try:
            self._run = wandb.init(
                project="zerosnet",
                id=known.read_text(),
                name=run.id,
                dir=str(run.folder),
                config=run.spec.to_json(),
                resume="allow",
                reinit="create_new",  # networks that train as one are runs of their own
                settings=wandb.Settings(silent=True, console="off"),
            )
        except wandb.Error as error:
            reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
            raise InputError(f"wandb cannot log: {reason}; WANDB_MODE=offline needs no account") from None

    def log(self, row: Row) -> None:
        self._run.log(dict(_scalars(row)), step=row["epoch"])

    def close(self) -> None:
        self._run.finish()


class Trackio:
    """A run of trackio's project "zerosnet", in trackio's own folder; `trackio show` opens its page.

    A run that was interrupted stays one: it is known by the run's id. An epoch that is trained again is logged again.
    """

    def __init__(self, run: "Run") -> None:
        import trackio

        with redirect_stdout(sys.stderr):  # where it reports what it does: stdout is for results
            self._run = Context().run(  # a context of its own: otherwise trackio ends the run that was begun before
                trackio.init,
                project="zerosnet",
                name=run.id,
                config=run.spec.to_json(),
                resume="allow",
                embed=False,
                auto_log_gpu=False,
                auto_log_cpu=False,
            )

    def log(self, row: Row) -> None:
        self._run.log(dict(_scalars(row)), step=row["epoch"])

    def close(self) -> None:
        with redirect_stdout(sys.stderr):
            self._run.finish()


LOGGERS: "dict[str, Callable[[Run], Logger]]" = {
    "tensorboard": TensorBoard,
    "wandb": WeightsAndBiases,
    "trackio": Trackio,
}
"""Loggers by name; package and extra have the same name."""


def check_loggers(names: Iterable[str]) -> None:
    """Raise an error, before anything is trained, for a logger that is unknown or not installed."""
    for name in names:
        if name not in LOGGERS:
            raise InputError(f"log is {name!r}{did_you_mean(name, LOGGERS)}; expected one of {', '.join(LOGGERS)}")
        found = find_spec(name)
        if found is None or found.origin is None:  # a folder ./wandb is no package
            raise MissingExtra(name, name)


def open_loggers(names: Sequence[str], run: "Run") -> list[Logger]:
    check_loggers(names)
    return [LOGGERS[name](run) for name in dict.fromkeys(names)]


def _scalars(row: Row) -> list[tuple[str, float]]:
    """List the numbers of a row, grouped by the set of images: test_top5_accuracy is test/top5_accuracy."""
    return [
        (f"{head}/{rest}" if rest else name, value)
        for name, value in row.items()
        if isinstance(value, float)
        for head, _, rest in [name.partition("_")]
    ]
