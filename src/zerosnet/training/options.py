"""Options of a training that are no part of a run's identity, each declared once: name, type, help and default.

The command line makes its options of these fields (`zerosnet.cli.options`), so that a new field is a new option of
`train`, `sweep` and `reproduce`. Values are checked here, without torch.
"""

import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from zerosnet.errors import InputError, did_you_mean
from zerosnet.training.machine import check_device

if TYPE_CHECKING:
    import torch

KERNELS = ("native", "torch")
ASKED_FOR = "asked for"  # why plain torch computes what our kernels might
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
class Precision:
    """Number formats by their torch names; None stands for the format of the parameters.

    Attributes:
        parameters: The format of parameters, statistics and losses.
        convolutions: The format that convolutions compute in.
        state: The format of the state.
    """

    parameters: str
    convolutions: str | None = None
    state: str | None = None

    def __str__(self) -> str:
        given = self.parameters
        return f"parameters {given}, convolutions {self.convolutions or given}, state {self.state or given}"

    @property
    def dtype(self) -> "torch.dtype":
        return _dtype(self.parameters)

    @property
    def conv_dtype(self) -> "torch.dtype | None":
        return None if self.convolutions is None else _dtype(self.convolutions)

    @property
    def state_dtype(self) -> "torch.dtype | None":
        return None if self.state is None else _dtype(self.state)


def _dtype(name: str) -> "torch.dtype":
    import torch

    found: torch.dtype = getattr(torch, name)
    return found


# TensorFloat-32 is off in all of them: fp32 is fp32
PRECISIONS = {
    "bf16": Precision("float32", "bfloat16"),
    "mixed": Precision("float32", "bfloat16", "bfloat16"),
    "fp32": Precision("float32"),
    "fp64": Precision("float64"),
}


def precision(name: str | None, device: "torch.device", *, usual: str = "bf16") -> Precision:
    """Find the precision of that name; None is the `usual` one on CUDA and fp32 elsewhere."""
    name = name or (usual if device.type == "cuda" else "fp32")
    if name not in PRECISIONS:
        raise InputError(
            f"precision is {name!r}{did_you_mean(name, PRECISIONS)}; expected one of {', '.join(PRECISIONS)}"
        )
    numbers = PRECISIONS[name]
    if numbers.conv_dtype is not None and device.type != "cuda":
        raise InputError(f"precision {name} is for CUDA devices; on the CPU use fp32")
    return numbers


@dataclass(frozen=True)
class SaveInterval:
    """The interval between checkpoints: a number of epochs, or of seconds, also inside an epoch."""

    epochs: int | None = None
    seconds: float | None = None

    @classmethod
    def parse(cls, text: str) -> "SaveInterval":
        """Read a number of epochs, or of seconds with an s.

        Examples:
            >>> SaveInterval.parse("5"), SaveInterval.parse("60s")
            (SaveInterval(epochs=5, seconds=None), SaveInterval(epochs=None, seconds=60.0))
        """
        match = re.fullmatch(r"(\d+(?:\.\d+)?)s|(\d+)", text.strip())
        number = float(match[1] or match[2]) if match else 0.0
        if match is None or not 0 < number < math.inf:
            raise InputError(f"checkpoint-every is {text!r}; expected epochs, such as 5, or seconds, such as 60s")
        return cls(seconds=number) if match[1] else cls(epochs=int(number))

    def __str__(self) -> str:
        return f"{self.seconds:g}s" if self.epochs is None else str(self.epochs)


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
    checkpoint_every: Annotated[SaveInterval, "Epochs, such as 5, or seconds, such as 60s."] = SaveInterval(seconds=60)
    log: Annotated[tuple[str, ...], "tensorboard, wandb or trackio, besides metrics.jsonl; may be repeated."] = ()
    train_accuracy: Annotated[bool, "Score the training set in eval mode after every epoch too."] = False
    profile_start: Annotated[bool, "Print where the seconds before the first step go."] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.replicas is not None and self.replicas < 1:
            raise InputError(f"replicas is {self.replicas}; expected 1 or more")
        check_kernels(self.kernels)
        if self.log:
            from zerosnet.training.runs.loggers import check_loggers

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
