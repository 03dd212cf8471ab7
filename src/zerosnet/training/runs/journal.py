"""The record of a group in training: a line per epoch for every run, and how each one ended."""

from collections.abc import Callable, Sequence
from typing import Any

from zerosnet.checks import finite
from zerosnet.training.fused.evaluation import Score
from zerosnet.training.recipes.recipe import lr_at
from zerosnet.training.runs.result import Result, best_epoch
from zerosnet.training.runs.run import Run
from zerosnet.training.screen.loggers import open_loggers
from zerosnet.training.trainer import Trainer


class Journal:
    """The metrics of the runs of a group, in memory and in their folders; `runs` is empty if another process writes."""

    def __init__(self, runs: Sequence[Run], trainer: Trainer, *, log: Sequence[str] = ()) -> None:
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
        train, schemes, taken = trainer.train_scores(), trainer.trained_schemes(), seconds()
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
            if schemes is not None and schemes[k]:
                row["coefficients"] = [scheme.to_json() for scheme in schemes[k]]
            run.append_metrics(row)
            self.rows[k].append(row)
            for logger in self._loggers[k]:
                logger.log(row)

    def finished(self, k: int, seconds: float, train: Score) -> Result:
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


def _named(name: str, score: Score) -> dict[str, float]:
    top5 = {} if score.top5_accuracy is None else {f"{name}_top5_accuracy": score.top5_accuracy}
    return {f"{name}_loss": score.loss, f"{name}_accuracy": score.accuracy, **top5}
