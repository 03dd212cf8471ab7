"""Print the diagnosis of any network."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

    from zerosnet.models import WiringDiagnosis

LEGEND = (
    "share: rms of the branch's part over that of what is read next; ±: over tokens or pixels\n"
    "predicted: from the wiring and the sizes of the branches; keeps, writes: largest entries of A and b\n"
    "forward, backward: growth of a disturbance, a gradient; cosine: of the branch and what it is added to\n"
    "influence: 1 - cosine of two states; alike: cosine of two streams"
)


def headline(found: "WiringDiagnosis", label: str) -> str:
    """Describe the whole network."""
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
            f"on {found.examples} examples of noise, {found.statistics} statistics",
        ]
    )


def table(found: "WiringDiagnosis") -> "Table":
    """One row per block."""
    from rich import box
    from rich.table import Table

    made = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    several = found.wiring.streams > 1
    made.add_column("block", overflow="fold")
    columns = ["share", "±", "predicted", "keeps", "writes", "forward", "backward", "cosine", "influence"]
    for name in [*columns, *(["alike"] if several else [])]:
        made.add_column(name, justify="right", no_wrap=True)
    for block, step in zip(found.blocks, found.wiring.steps):
        keeps = max((float(a) for row in step.A for a in row), key=abs)
        writes = max((float(b) for b in step.b), key=abs)
        numbers = (block.share, block.share_spread, block.predicted_share, keeps, writes)
        gains = (block.forward_gain, block.backward_gain)
        cells = [_short(number) for number in (*numbers, *gains)]
        cells += [f"{block.cosine:.3f}", _short(block.influence)]
        if several:
            cells.append("-" if block.likeness is None else f"{block.likeness:.3f}")
        made.add_row(block.name, *cells)
    return made


def _short(number: float) -> str:
    return f"{number:.3g}" if number == 0 or abs(number) >= 1e-2 else f"{number:.2g}"
