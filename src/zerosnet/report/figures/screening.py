"""A map of measured accuracy over the disc of roots, after a short training, beside the law's map."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from zerosnet.errors import InputError
from zerosnet.experiments import spearman
from zerosnet.numerics import accuracy_of_pairs, forecast
from zerosnet.report.figures.forecast import half_disc, law_map
from zerosnet.report.figures.style import new_figure, styled

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from matplotlib.figure import Figure

LEAST = 4  # networks


def screening_map(networks: Sequence[tuple[complex, float]], layers: int = 56) -> "Figure":
    """Draw measured and predicted accuracy over the disc of one pair of parasitic roots, side by side.

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
    accuracy = np.array([value for _, value in networks])
    side = mesh_of(networks)
    squares = on_grid(roots / side)
    reach = float(np.abs(roots).max()) + side
    predicted = accuracy_of_pairs(roots, forecast("euler()", layers).wiring.counts)
    ranks = spearman(accuracy.tolist(), predicted.tolist())
    with styled():
        figure = new_figure(11.5, 3.4)
        left, right = figure.subplots(1, 2)
        cells = [Rectangle((r.real - side / 2, r.imag - side / 2), side, side) for r in roots[squares]]
        measured = PatchCollection(cells, cmap="viridis", edgecolors="none", zorder=1)
        measured.set_array(accuracy[squares])
        measured.set_clim(accuracy.min(), accuracy.max())
        left.add_collection(measured)
        others = {"c": accuracy[~squares], "norm": measured.norm, "cmap": "viridis", "edgecolors": "white"}
        left.scatter(roots[~squares].real, roots[~squares].imag, s=22, linewidths=0.8, zorder=2, **others)
        half_disc(left, reach)
        left.set_ylim(-side / 2, reach)
        left.set_ylabel("imaginary part")
        left.set_title(f"Measured, recipe screen: {len(networks)} networks of {layers} layers", loc="left")
        figure.colorbar(measured, ax=left, label="test accuracy, %", shrink=0.8)
        filled = law_map(right, layers, reach)
        right.set_ylim(-side / 2, reach)
        said = "" if ranks is None else f"; rank correlation {ranks.rho:.2f}"
        right.set_title(f"Predicted by the law, recipe paper{said}", loc="left")
        figure.colorbar(filled, ax=right, label="test accuracy, %", shrink=0.8)
    return figure


def mesh_of(networks: Sequence[tuple[complex, float]]) -> float:
    """Find the distance of neighbours on the grid: the median of the distances to the nearest one."""
    import numpy as np

    roots = np.array([root for root, _ in networks])
    apart = np.abs(roots[:, None] - roots)
    apart[apart < 1e-9] = np.inf
    return float(np.median(apart.min(axis=1)))


def on_grid(roots: "npt.NDArray[np.complex128]") -> "npt.NDArray[np.bool_]":
    """Tell which roots, in units of the mesh, lie on the grid."""
    import numpy as np

    found: npt.NDArray[np.bool_] = np.abs(roots - (np.round(roots.real) + 1j * np.round(roots.imag))) < 1e-3
    return found
