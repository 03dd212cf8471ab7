"""The checkpoints that a folder holds, by their names alone."""

from pathlib import Path

SUFFIX = ".safetensors"


def positions(folder: Path) -> list[int]:
    """List the positions of the checkpoints in a folder, whole or not, in order."""
    return sorted(int(path.stem) for path in folder.glob(f"*{SUFFIX}") if path.stem.isdigit())
