"""`zerosnet export`: a network for other run times, or for the Hugging Face hub."""

from pathlib import Path
from typing import Annotated, Any

import typer

from zerosnet.cli.main import app
from zerosnet.cli.named_network import SUBJECT_HELP
from zerosnet.errors import InputError

_HUB = "hub"


@app.command(short_help="Write a network as ONNX, for torch.export or the hub.")
def export(
    network: Annotated[str, typer.Argument(help=SUBJECT_HELP)],
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="FILE.onnx, FILE.pt2, or a folder; by the network's name."),
    ] = None,
    format: Annotated[
        str | None, typer.Option(help="onnx, torch-export (.pt2), hub (a folder with a model card); by FILE's ending.")
    ] = None,
    scheme: Annotated[str | None, typer.Option(help='The scheme of a bare zerosnetN, "zerosnet(-9/5)".')] = None,
    size: Annotated[int | None, typer.Option(min=1, help="Height and width of images, if not the usual ones.")] = None,
    push: Annotated[
        str | None,
        typer.Option(metavar="OWNER/NAME", help="With hub: upload the folder there; HF_HUB_OFFLINE=1 does not."),
    ] = None,
    store: Annotated[str, typer.Option(help="The folder that holds the runs.")] = "runs",
    json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
) -> None:
    """Write a network as a function of images, any number of them, to logits.

    It is run and compared with the network before it gets its name. The extra `export` has what ONNX needs.
    """
    from zerosnet.models import FORMATS, find_format

    if push is not None and format not in (None, _HUB):
        raise InputError(f"--push is {push!r} with --format {format}; expected --format {_HUB}")
    format = _HUB if push is not None else format
    if output is None:
        if format is None:
            raise InputError("neither --format nor --output is given; expected one of them, such as --format onnx")
        output = Path(network).name + (FORMATS[format].suffix if format in FORMATS else f"-{format}")
    if not _is_unicode(output):
        raise InputError(f"--output is {output!r}, which is no UTF-8; expected another name")
    if format is None:
        endings = {form.suffix: name for name, form in FORMATS.items()} | {"": _HUB}
        format = endings.get(Path(output).suffix)
        if format is None:
            raise InputError(f"--output is {output!r}; expected FILE.onnx, FILE.pt2 or a folder, or --format")
    if format != _HUB:
        if format not in FORMATS:
            raise InputError(f"--format is {format!r}; expected one of {', '.join((*FORMATS, _HUB))}")
        find_format(format, output)
    elif size is not None:
        raise InputError(f"--size is {size}; it is for the other formats, leave it out with {_HUB}")
    from zerosnet.cli.named_network import find_subject

    subject = find_subject(network, scheme, store)
    height, width = (size, size) if size else subject.size
    difference = _write(subject, output, format, (height, width))
    address = _push(subject, push, output) if push is not None else None
    model = subject.network
    replicas = () if model.replicas == 1 else (model.replicas,)
    written: dict[str, Any] = {
        "output": output,
        "format": format,
        "network": subject.label,
        "input": ["batch", model.replicas * model.in_chans, height, width],
        "logits": ["batch", *replicas, model.num_classes],
        "bytes": sum(path.stat().st_size for path in _files(Path(output))),
        "largest_difference": difference,
        **({} if address is None else {"pushed_to": address}),
    }
    if json:
        import json as encoder

        print(encoder.dumps(written, indent=2))
        return
    shapes = " to ".join(f"({', '.join(map(str, written[key]))})" for key in ("input", "logits"))
    print(f"{output}: {subject.label} as {format}, {shapes}, {written['bytes'] / 1e6:.1f} MB")
    print(f"Its logits differ from the network's by at most {difference:.1e} of the largest one.")
    if address is not None:
        print(f"Not sent, as HF_HUB_OFFLINE is set: {address}" if address == output else f"On the hub: {address}")


def _is_unicode(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _write(subject: Any, output: str, format: str, size: tuple[int, int]) -> float:
    if format != _HUB:
        from zerosnet.models import export_model

        return export_model(subject.network, output, format, size=size)
    import torch

    from zerosnet.models import from_pretrained, save_pretrained

    network = subject.network.eval()
    copy = from_pretrained(save_pretrained(network, output, subject.facts)).eval()
    images = torch.randn(2, network.replicas * network.in_chans, *size, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        expected = network(images)
        return float((copy(images) - expected).abs().max() / expected.abs().max())


def _push(subject: Any, name: str, folder: str) -> str:
    from zerosnet.models import push_to_hub

    return push_to_hub(subject.network, name, subject.facts, folder=folder)


def _files(path: Path) -> list[Path]:
    return [path] if path.is_file() else [path / name for name in ("config.json", "model.safetensors", "README.md")]
