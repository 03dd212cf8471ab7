"""Print the diagnosis of any network."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from zerosnet.models import WiringDiagnosis

_LEGEND = {
    "share": "rms of the branch's part over that of what is read next",
    "±": "deviation of the share over tokens or pixels",
    "predicted": "share from the wiring and the sizes of the branches",
    "keeps": "largest entry of A",
    "writes": "largest entry of b",
    "forward": "growth of a disturbance",
    "backward": "growth of a gradient",
    "cosine": "of the branch and what it is added to",
    "influence": "1 - cosine of two states",
    "alike": "cosine of two streams",
}
_CONSTANT, _DISPENSABLE, _NAME = ("keeps", "writes"), ("±", "influence", "cosine"), 16


def headline(found: "WiringDiagnosis", label: str, source: str) -> str:
    """Describe the whole network; `source` tells where the examples come from."""
    depth, total = found.effective_depth, len(found.blocks)
    wiring = found.wiring
    streams = "one stream" if wiring.streams == 1 else f"{wiring.streams} streams"
    mixing = "computed from the state" if wiring.depends_on_input else "fixed"
    spread = f", spread {wiring.spread:.2g}" if wiring.spread else ""
    return "\n".join(
        [
            f"{label}: effective depth {depth.predicted:.1f} predicted, {depth.measured:.1f} measured, of {total} "
            "blocks",
            f"{streams}, mixing {mixing}{spread}; {found.blocks_above()} of {total} blocks above 1 %",
            f"on {found.examples} example{'s' * (found.examples != 1)} {source}, {found.statistics} statistics",
        ]
    )


def print_table(found: "WiringDiagnosis", screen: "Console") -> None:
    """Print a row per block, then what the columns mean.

    What all blocks keep or write alike is printed once. On a narrow screen columns are left out, and named, so that
    names of blocks stay readable.
    """
    from rich import box
    from rich.table import Table

    columns = _columns(found)
    same = {name: columns.pop(name)[0] for name in _CONSTANT if len(set(columns[name])) == 1}
    names = [block.name for block in found.blocks]
    wanted = min(_NAME, max(map(len, names)))
    left_out = []
    for name in _DISPENSABLE:
        if wanted + sum(2 + max(map(len, (head, *cells))) for head, cells in columns.items()) > screen.width:
            del columns[name]
            left_out.append(name)
    made = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    made.add_column("block", overflow="fold")
    for name in columns:
        made.add_column(name, justify="right", no_wrap=True)
    for name, *cells in zip(names, *columns.values()):
        made.add_row(name, *cells)
    screen.print(made)
    for name in columns:
        screen.print(f"{name}: {_LEGEND[name]}")
    if same:
        screen.print("every block " + ", ".join(f"{name} {value} ({_LEGEND[name]})" for name, value in same.items()))
    if left_out:
        screen.print(f"left out on a screen of {screen.width} columns: {', '.join(left_out)}")


def _columns(found: "WiringDiagnosis") -> dict[str, list[str]]:
    """Write the numbers of all blocks, by column."""
    blocks, steps = found.blocks, found.wiring.steps
    columns = {
        "share": [_short(block.share) for block in blocks],
        "±": [_short(block.share_spread) for block in blocks],
        "predicted": [_short(block.predicted_share) for block in blocks],
        "keeps": [_short(max((float(a) for row in step.A for a in row), key=abs)) for step in steps],
        "writes": [_short(max((float(b) for b in step.b), key=abs)) for step in steps],
        "forward": [_short(block.forward_gain) for block in blocks],
        "backward": [_short(block.backward_gain) for block in blocks],
        "cosine": [f"{block.cosine:.3f}" for block in blocks],
        "influence": [_short(block.influence) for block in blocks],
    }
    if found.wiring.streams > 1:
        columns["alike"] = ["-" if block.likeness is None else f"{block.likeness:.3f}" for block in blocks]
    return columns


def _short(number: float) -> str:
    return f"{number:.3g}" if number == 0 or abs(number) >= 1e-2 else f"{number:.2g}"
