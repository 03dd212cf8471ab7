"""Where and how to train: options that are no part of a run's identity."""

from dataclasses import dataclass
from pathlib import Path

import torch

from zerosnet.data import BROKEN
from zerosnet.errors import InputError
from zerosnet.training.screen.stopping import SaveInterval

DECODERS = ("gpu", "workers")


@dataclass(frozen=True)
class StreamOptions:
    """How images reach one network; not part of a run's identity.

    workers       processes that decode, for each process that trains; None: the cores there are
    broken        what a file that cannot be decoded is: "fatal", or "skip" (reported, its place taken by the next file)
    micro_batch   images that batch norm sees at once, and that are in memory at once; None: all that a process has
    sync_bn       batch norm sees the micro-batches of all processes as one
    decoder       who decodes, cuts and resizes training images: "workers", or "gpu", for which workers only read. Test
                  images are always the workers', so that scores compare
    """

    workers: int | None = None
    broken: str = "fatal"
    micro_batch: int | None = None
    sync_bn: bool = False
    decoder: str = "workers"

    def __post_init__(self) -> None:
        if self.workers is not None and self.workers < 0:
            raise InputError(f"workers is {self.workers}; expected 0 or more")
        if self.broken not in BROKEN:
            raise InputError(f"broken is {self.broken!r}; expected one of {', '.join(BROKEN)}")
        if self.decoder not in DECODERS:
            raise InputError(f"decoder is {self.decoder!r}; expected one of {', '.join(DECODERS)}")


@dataclass(frozen=True)
class Options:
    """Where and how to train; nothing here is part of a run's identity.

    `replicas` None lets memory decide; `kernels` is native or torch, None the best that machine and network have;
    `deterministic` gives the same bits every time, at some cost; `stream` is for data sets decoded while they are used;
    `log` names loggers; `train_accuracy` scores the training images in evaluation mode after every epoch, which takes a
    third of it, and not at the end only.
    """

    device: torch.device
    data: Path | None = None
    download: bool = False
    replicas: int | None = None
    kernels: str | None = None
    deterministic: bool = False
    stream: StreamOptions = StreamOptions()
    checkpoint_every: SaveInterval = SaveInterval(seconds=60)  # noqa: RUF009 (frozen)
    log: tuple[str, ...] = ()
    train_accuracy: bool = False
