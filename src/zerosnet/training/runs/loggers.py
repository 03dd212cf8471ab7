"""Loggers of a run's metrics: TensorBoard, Weights & Biases, Trackio.

They take one row per epoch, and go on where an interrupted run goes on. A new one is a class with the two methods of
`Logger`, a line in `LOGGERS`, and an extra in pyproject.toml. Names are checked without torch.
"""

import secrets
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import redirect_stdout
from contextvars import Context
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol

from zerosnet.errors import InputError, MissingExtra, did_you_mean

if TYPE_CHECKING:
    from zerosnet.training.runs.run import Run

Row = Mapping[str, Any]


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
