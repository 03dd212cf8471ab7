"""Files of figures and pages: checked before anything is computed, and written whole or not at all."""

from pathlib import Path
from typing import TYPE_CHECKING

from zerosnet import files
from zerosnet.errors import InputError
from zerosnet.report.figures.style import styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUFFIXES = (".png", ".svg", ".pdf")
PAGE_SUFFIXES = (".html", ".htm")
_UNDATED = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}  # the same figure is the same file


def figure_file(path: str | Path) -> Path:
    """The path, if a figure can be written there; its folder is made."""
    return _writable(path, "figure file", SUFFIXES)


def page_file(path: str | Path) -> Path:
    """The path, if a page can be written there; its folder is made."""
    return _writable(path, "page", PAGE_SUFFIXES)


def _writable(path: str | Path, what: str, suffixes: tuple[str, ...]) -> Path:
    target = Path(path)
    if target.suffix.lower() not in suffixes:
        raise InputError(f"{what} {str(path)!r} has the suffix {target.suffix!r}; expected {', '.join(suffixes)}")
    try:
        if target.is_dir():
            raise InputError(f"{what} {str(path)!r} is a folder; expected a file name")
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists():
            with target.open("r+b"):
                pass
        probe = files.temporary_file(target)
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise InputError(f"{what} {str(path)!r} cannot be written: {error.strerror or error}") from None
    return target


def save_figure(figure: "Figure", path: str | Path) -> Path:
    """Write a figure as PNG, SVG or PDF, by the suffix of the path."""
    target = figure_file(path)
    suffix = target.suffix.lower()
    with styled():
        files.write_with(target, lambda part: figure.savefig(part, format=suffix[1:], metadata=_UNDATED.get(suffix)))
    return target


def write_page(path: str | Path, text: str) -> Path:
    """Write a page of text."""
    target = page_file(path)
    files.write_bytes(target, text.encode())
    return target
