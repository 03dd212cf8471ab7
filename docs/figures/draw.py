"""Draw the figures of the documentation into docs/images.

python docs/figures/draw.py              all of them
python docs/figures/draw.py NAME...      some
python docs/figures/draw.py --records    those that are drawn from records (`make results`)

Some read records by programs of tools/: call it with PYTHONPATH=. in the root of the repository.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from block import block_and_network_figure
from effective_depth import effective_depth_figure
from flow_time import flow_time_figure
from from_ode import from_ode_figure
from lambda_family import lambda_family_figure
from law import depth_design_drawn, law_figure, map_figure, screening_drawn, survival_figure
from measured import measured_figure, pairs_figure
from mosaic_rates import mosaic_rates_figure
from root_condition import root_condition_figure
from tour import speed_figure, tour_diagnosis_figure, tour_forecast_figure, tour_scheme_figure
from without_norm import without_norm_figure

from robustness import (
    attacks_drawn,
    certificates_drawn,
    corruptions_drawn,
    noise_drawn,
    noise_law_drawn,
    undefended_drawn,
)
from zerosnet.report import design_figure, paper_figure, save_figure, stability_concepts_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

IMAGES = Path(__file__).parent.parent / "images"
FIGURES: "dict[str, Callable[[], Figure]]" = {
    "from_ode.svg": from_ode_figure,
    "block_and_network.svg": block_and_network_figure,
    "root_condition.svg": root_condition_figure,
    "effective_depth.svg": effective_depth_figure,
    "lambda_family.svg": lambda_family_figure,
    "design.svg": design_figure,
    "concepts.svg": stability_concepts_figure,
    "paper.png": paper_figure,
    "measured.png": measured_figure,
    "pairs.png": pairs_figure,
    "law.png": law_figure,
    "survival.png": survival_figure,
    "map.png": map_figure,
    "screening.png": screening_drawn,
    "without_norm.png": without_norm_figure,
    "flow_time.png": flow_time_figure,
    "mosaic_rates.png": mosaic_rates_figure,
    "depth_design.png": depth_design_drawn,
    "noise.png": noise_drawn,
    "noise_law.png": noise_law_drawn,
    "corruptions.png": corruptions_drawn,
    "certificates.png": certificates_drawn,
    "attacks.png": attacks_drawn,
    "undefended.png": undefended_drawn,
    "tour_scheme.png": tour_scheme_figure,
    "tour_forecast.png": tour_forecast_figure,
    "tour_diagnosis.png": tour_diagnosis_figure,
    "speed.png": speed_figure,
}


RECORDS = (
    *("measured", "pairs", "law", "survival", "map", "screening", "noise", "noise_law", "corruptions"),
    *("certificates", "attacks", "undefended", "without_norm", "flow_time", "mosaic_rates"),
    *("tour_forecast", "speed"),
)


def main(names: list[str]) -> None:
    drawn = [f"{name}.png" for name in RECORDS] if names == ["--records"] else names
    for name in drawn or FIGURES:
        save_figure(FIGURES[name](), IMAGES / name)
        print(f"docs/images/{name}")


if __name__ == "__main__":
    main(sys.argv[1:])
