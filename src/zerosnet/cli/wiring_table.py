"""Print the diagnosis of any network."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from zerosnet.models import WiringDiagnosis

_LEGEND = {
    "share": "rms of the branch's part over that of what is read next",
    "±": "deviation of the share over tokens or pixels",
    "predicted": "share from the wiring and the sizes of the branches",
    "keeps": "entry of A that is largest in size",
    "writes": "entry of b that is largest in size",
    "forward": "growth of a disturbance",
    "backward": "growth of a gradient",
    "cosine": "of the branch and what it is added to",
    "influence": "1 - cosine of two states",
    "alike": "cosine of two streams",
}
_CONSTANT, _DISPENSABLE, _NAME = ("keeps", "writes"), ("±", "influence", "cosine"), 16


def print_table(found: "WiringDiagnosis", screen: "Console") -> None:
    """Print a row per block, then what the columns mean.

    What all blocks keep or write alike is printed once. On a narrow screen columns are left out, and named, so that
    names of blocks stay readable.
    """
    from rich import box
    from rich.table import Table

    columns = dict(found.columns())
    names = columns.pop("block")
    same = {name: columns.pop(name)[0] for name in _CONSTANT if len(set(columns[name])) == 1}
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
