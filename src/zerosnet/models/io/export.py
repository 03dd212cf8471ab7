"""Networks for other run times: a file in their format, compared with the network before it gets its name."""

import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import torch
from torch import Tensor

from zerosnet.errors import InputError, MissingExtra, did_you_mean
from zerosnet.files import replacing
from zerosnet.models.io.weights import check_fit
from zerosnet.models.network import Network

TOLERANCE = 1e-4  # of the largest logit; float32 rounds differently in another order
_BATCHES = (3, 5)  # the file is made with one size of batches and compared on both


@dataclass(frozen=True)
class Format:
    """A file format: its ending, how a network is written, and how a file is run on images."""

    suffix: str
    write: Callable[[Network, Tensor, Path], None]
    run: Callable[[Path, Tensor], Tensor]
    needs: tuple[str, ...] = ()
    """Packages of the extra `export`."""


def export_model(model: Network, path: str | Path, format: str, *, size: tuple[int, int] | None = None) -> float:
    """Write a network, in evaluation mode and float32, as a function of images of any number.

    format  "onnx" or "torch-export" (a file for `torch.export.load`)
    size    height and width of the images; by default the network's usual ones

    Returns the largest difference between the logits of the file and those of the network, in units of the largest
    logit. If it exceeds 1e-4 there is an error and no file.
    """
    form, path = find_format(format, path), Path(path)
    network = _plain_copy(model)
    height, width = size or model.config.structure.traits.image
    channels = model.replicas * model.in_chans
    generator = torch.Generator().manual_seed(0)
    batches = [torch.randn(count, channels, height, width, generator=generator) for count in _BATCHES]
    with replacing(path) as temporary, torch.no_grad():
        with _quiet():
            form.write(network, batches[0], temporary)
            pairs = [(form.run(temporary, images), network(images)) for images in batches]
        difference = max(_difference(found, expected) for found, expected in pairs)
        if not difference <= TOLERANCE:
            raise RuntimeError(f"the exported network differs from the network by {difference:.1e}; nothing is written")
    return difference


def find_format(format: str, path: str | Path) -> Format:
    """The format, if the file is called accordingly and everything is there that writes it."""
    if format not in FORMATS:
        raise InputError(f"format is {format!r}{did_you_mean(format, FORMATS)}; expected one of {', '.join(FORMATS)}")
    form, path = FORMATS[format], Path(path)
    if path.suffix != form.suffix or path.is_dir():
        raise InputError(f"output is {path}; expected a file that ends in {form.suffix}")
    for package in form.needs:
        if find_spec(package) is None:
            raise MissingExtra(package, "export")
    return form


def _plain_copy(model: Network) -> Network:
    """Free of hooks, compiled code and narrow types."""
    if not isinstance(model, Network):
        raise InputError(f"model is {type(model).__name__}; expected a network of this package")
    check_fit("the network", model.config, model.state_dict())
    copy = Network(model.config, seeds=())
    copy.load_state_dict(model.state_dict())
    copy.global_pool = model.global_pool
    return copy.float().eval()


def _difference(found: Tensor, expected: Tensor) -> float:
    if found.shape != expected.shape:
        raise RuntimeError(f"the exported network returns {tuple(found.shape)}, not {tuple(expected.shape)}")
    return float((found - expected).abs().max() / expected.abs().max())


@torch.enable_grad()  # without gradients replicas are summed in place, into views, in which ONNX fixes the batch
def _program(network: Network, images: Tensor) -> torch.export.ExportedProgram:
    return torch.export.export(network, (images,), dynamic_shapes=({0: torch.export.Dim("batch")},))


def _write_onnx(network: Network, images: Tensor, path: Path) -> None:
    program = torch.onnx.export(
        _program(network, images), input_names=["images"], output_names=["logits"], dynamo=True, verbose=False
    )
    assert program is not None
    program.save(path, external_data=False)


def _run_onnx(path: Path, images: Tensor) -> Tensor:
    import onnxruntime

    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return torch.from_numpy(session.run(None, {"images": images.numpy()})[0])


def _write_program(network: Network, images: Tensor, path: Path) -> None:
    torch.export.save(_program(network, images), path)


def _run_program(path: Path, images: Tensor) -> Tensor:
    logits: Tensor = torch.export.load(path).module()(images)
    return logits


@contextmanager
def _quiet() -> Iterator[None]:
    """The exporters' remarks on their own workings are of no use here."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


FORMATS: dict[str, Format] = {
    "onnx": Format(".onnx", _write_onnx, _run_onnx, needs=("onnx", "onnxscript", "onnxruntime")),
    "torch-export": Format(".pt2", _write_program, _run_program),
}
