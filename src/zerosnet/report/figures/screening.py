"""A map of measured accuracy over the disc of roots, after a short training, beside what was known before."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from zerosnet.errors import InputError
from zerosnet.experiments import Correlation, disc_ranks
from zerosnet.numerics import accuracy_of_pairs, depth_of_pairs, forecast
from zerosnet.report.figures.forecast import half_disc
from zerosnet.report.figures.style import new_figure, styled

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from matplotlib.figure import Figure

LEAST = 4  # networks


def screening_map(networks: Sequence[tuple[complex, float]], layers: int = 56) -> "Figure":
    """Draw the disc of one pair of parasitic roots: accuracy as measured, effective depth, accuracy by the law.

    Args:
        networks: Roots r (the scheme has 1, r and its conjugate) with accuracies in per cent, as `screened_pairs` lists
            them; those of a map lie on a square grid.
        layers: The depth of the networks.

    Raises:
        InputError: There are too few networks.
    """
    if len(networks) < LEAST:
        raise InputError(f"networks are {len(networks)}; expected {LEAST} or more that were screened")
    import numpy as np
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Rectangle

    roots = np.array([root for root, _ in networks], dtype=np.complex128)
    side, counts = mesh_of(networks), forecast("euler()", layers).wiring.counts
    squares = on_grid(roots / side)
    reach = float(np.abs(roots).max()) + side / 2
    ranks = disc_ranks(networks, layers)
    shown = {
        f"Measured accuracy, % ({len(networks)} networks)": [value for _, value in networks],
        f"Effective depth{_told(ranks['effective depth'])}": depth_of_pairs(roots, counts),
        f"The law, %{_told(ranks['the law'])}": accuracy_of_pairs(roots, counts),
    }
    with styled():
        figure = new_figure(9.6, 2.2)
        panels = figure.subplots(1, 3)
        for axes, (title, values) in zip(panels, shown.items()):
            colours = np.asarray(values)
            cells = [Rectangle((r.real - side / 2, r.imag - side / 2), side, side) for r in roots[squares]]
            drawn = PatchCollection(cells, cmap="viridis", edgecolors="none", zorder=1)
            drawn.set_array(colours[squares])
            drawn.set_clim(colours.min(), colours.max())
            axes.add_collection(drawn)
            others = {"c": colours[~squares], "norm": drawn.norm, "cmap": "viridis", "edgecolors": "white"}
            axes.scatter(roots[~squares].real, roots[~squares].imag, s=20, linewidths=0.8, zorder=2, **others)
            half_disc(axes, reach)
            axes.set_ylim(-side / 2, reach)
            axes.set_title(title, loc="left", fontsize=8.5)
            axes.set_xlabel("real part of the root")
            figure.colorbar(drawn, ax=axes, shrink=0.62, pad=0.04)
        panels[0].set_ylabel("imaginary part")
        figure.set_layout_engine("constrained", w_pad=0.08)
    return figure


def _told(ranks: Correlation | None) -> str:
    return "" if ranks is None else f" (rank correlation {ranks.rho:.2f})"


def mesh_of(networks: Sequence[tuple[complex, float]]) -> float:
    """Find the distance of neighbours on the grid: the median of the distances to the nearest one."""
    import numpy as np

    roots = np.array([root for root, _ in networks])
    apart = np.abs(roots[:, None] - roots)
    apart[apart < 1e-9] = np.inf
    return float(np.median(apart.min(axis=1)))


def on_grid(roots: "npt.NDArray[np.complex128]") -> "npt.NDArray[np.bool_]":
    """Find which roots, in units of the mesh, lie on the grid."""
    import numpy as np

    found: npt.NDArray[np.bool_] = np.abs(roots - (np.round(roots.real) + 1j * np.round(roots.imag))) < 1e-3
    return found
