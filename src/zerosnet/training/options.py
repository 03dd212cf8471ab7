"""Options of a training that are no part of a run's identity, each declared once: name, type, help and default.

The command line makes its options of these fields (`zerosnet.cli.options`), so that a new field is a new option of
`train`, `sweep` and `reproduce`. Values are checked here, without torch.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from zerosnet.errors import InputError, did_you_mean
from zerosnet.training.machine import check_device
from zerosnet.training.runs.journal import check_loggers
from zerosnet.training.screen.clocks import SaveInterval

KERNELS = ("native", "torch")
BROKEN = ("fatal", "skip")
DECODERS = ("workers", "gpu")
ENGINES = ("local", "ray")


def check_kernels(name: str | None) -> None:
    """Raise an error unless `name` is that of kernels, or None."""
    _check_choice("kernels", name, (None, *KERNELS))


def _check_choice(name: str, value: str | None, accepted: tuple[str | None, ...]) -> None:
    known = [word for word in accepted if word]
    if value not in accepted:
        raise InputError(f"{name} is {value!r}{did_you_mean(value, known)}; expected one of {', '.join(known)}")


@dataclass(frozen=True)
class DataOptions:
    """The device and the folder of the images."""

    device: Annotated[str, "auto, cpu, cuda or cuda:N."] = "auto"
    data: Annotated[Path | None, "The folder that holds the data set's files; digits need none."] = None
    download: Annotated[bool, "Fetch the data set's files if they are missing."] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "device", str(self.device))  # a torch.device will do
        check_device(self.device)


@dataclass(frozen=True)
class StreamOptions:
    """Options of networks on streamed images.

    Test images are always decoded by workers, so that scores compare.
    """

    workers: Annotated[int | None, "imagefolder: processes that decode; as many as cores by default."] = None
    broken: Annotated[str, "imagefolder: a file that cannot be decoded is fatal, or skip."] = "fatal"
    micro_batch: Annotated[int | None, "imagefolder: images per process that batch norm sees at once."] = None
    sync_bn: Annotated[bool, "imagefolder: batch norm sees the images of all processes."] = False
    decoder: Annotated[str, "imagefolder: what decodes training images, workers or gpu."] = "workers"

    def __post_init__(self) -> None:
        if self.workers is not None and self.workers < 0:
            raise InputError(f"workers is {self.workers}; expected 0 or more")
        _check_choice("broken", self.broken, BROKEN)
        _check_choice("decoder", self.decoder, DECODERS)


@dataclass(frozen=True)
class Options(DataOptions):
    """Options of a training.

    `train_accuracy` takes a third of the time of an epoch; without it the training images are scored at the end only.
    """

    replicas: Annotated[int | None, "Networks trained as one; what fits into memory by default."] = None
    kernels: Annotated[str | None, "native (our CUDA kernels) or torch; the best there is by default."] = None
    deterministic: Annotated[bool, "The same bits every time."] = False
    stream: StreamOptions = StreamOptions()
    checkpoint_every: Annotated[SaveInterval, "Epochs, such as 5, or seconds, such as 60s."] = SaveInterval(seconds=60)  # noqa: RUF009 (frozen)
    log: Annotated[tuple[str, ...], "tensorboard, wandb or trackio, besides metrics.jsonl; may be repeated."] = ()
    train_accuracy: Annotated[bool, "Score the training set in eval mode after every epoch too."] = False
    profile_start: Annotated[bool, "Print where the seconds before the first step go."] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.replicas is not None and self.replicas < 1:
            raise InputError(f"replicas is {self.replicas}; expected 1 or more")
        check_kernels(self.kernels)
        check_loggers(self.log)


@dataclass(frozen=True)
class EngineOptions:
    """The machines that train: this one, or a cluster."""

    engine: Annotated[str, "local (this machine) or ray (a cluster)."] = "local"
    address: Annotated[str, "The Ray cluster: auto, HOST:PORT, or local to start one here."] = "auto"

    def __post_init__(self) -> None:
        _check_choice("engine", self.engine, ENGINES)
        if self.engine != "ray" and self.address != "auto":
            raise InputError(f"address is {self.address!r}; it is for --engine ray")
