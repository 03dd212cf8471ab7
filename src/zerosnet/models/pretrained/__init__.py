"""Trained networks that come with the package, as ARCHITECTURE.DATASET, such as zerosnet20_opt.cifar10.

Each is a file of `save_model` with weights in half precision, and a card beside it. Its facts are those of `model_card`
and `test_accuracy`, a fraction, measured with these very weights. They are made of finished runs:

    python -m tools.publish RUN_FOLDER --data DIR
"""

from fnmatch import fnmatchcase
from pathlib import Path

from zerosnet.errors import InputError
from zerosnet.files import is_file

FOLDER = Path(__file__).parent
WEIGHTS = ".safetensors"
CARD = ".md"


def list_pretrained(pattern: str = "*") -> list[str]:
    """Names of the trained networks that match a shell pattern.

    Examples:
        >>> "zerosnet20_opt.cifar10" in list_pretrained("zerosnet*")
        True
    """
    names = sorted(path.name.removesuffix(WEIGHTS) for path in FOLDER.glob(f"*{WEIGHTS}"))
    return [name for name in names if fnmatchcase(name, pattern)]


def pretrained_card(name: str) -> str:
    """The card of a trained network, Markdown."""
    return (FOLDER / f"{known(name)}{CARD}").read_text(encoding="utf-8")


def weights_file(name: str | Path) -> Path:
    """The file that holds a network: one that is there under this path, or a trained network's by its name."""
    path = Path(name)
    if is_file(path) or path.suffix == WEIGHTS or len(path.parts) != 1:
        return path
    return FOLDER / f"{known(str(name))}{WEIGHTS}"


def known(name: str) -> str:
    """The name, if there is such a network."""
    if name not in list_pretrained():
        there = ", ".join(list_pretrained())
        raise InputError(f"there is no file {name!r}, and no trained network of that name; there are {there}")
    return name


def tagged(architecture: str, tag: str | bool) -> str:
    """The trained network of an architecture by its data set; True takes the only one, or the first."""
    names = list_pretrained(f"{architecture}.*")
    name = f"{architecture}.{tag}" if isinstance(tag, str) and tag else next(iter(names), None)
    if name not in names:
        there = ", ".join(names or list_pretrained())
        raise InputError(f"pretrained is {tag!r}, and there are no such weights of {architecture}; there are {there}")
    return name
