"""Figure files: checked before anything is computed, and written whole or not at all."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from zerosnet.errors import InputError
from zerosnet.report.style import styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUFFIXES = (".png", ".svg", ".pdf")
_UNDATED = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}  # the same figure is the same file


def figure_file(path: str | Path) -> Path:
    """The path, if a figure can be written there; its folder is made."""
    target = Path(path)
    if target.suffix.lower() not in SUFFIXES:
        raise InputError(f"figure file {str(path)!r} has the suffix {target.suffix!r}; expected {', '.join(SUFFIXES)}")
    if target.is_dir():
        raise InputError(f"figure file {str(path)!r} is a folder; expected a file name")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists():
            with target.open("r+b"):
                pass
        probe = _beside(target)
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise InputError(f"figure file {str(path)!r} cannot be written: {error.strerror or error}") from None
    return target


def save_figure(figure: "Figure", path: str | Path) -> Path:
    """Write a figure as PNG, SVG or PDF, by the suffix: into a file beside it first, then renamed."""
    target = figure_file(path)
    part = _beside(target)
    suffix = target.suffix.lower()
    try:
        with styled():
            figure.savefig(part, format=suffix[1:], metadata=_UNDATED.get(suffix))
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
    return target


def _beside(target: Path) -> Path:
    return target.with_name(f".{target.name}.{os.getpid()}.part")
