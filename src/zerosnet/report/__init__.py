"""Figures. matplotlib is loaded when one is drawn, never its global state."""

from zerosnet.report.concepts_figure import stability_concepts_figure
from zerosnet.report.design_figure import design_figure
from zerosnet.report.diagnosis_figure import diagnosis_figure
from zerosnet.report.family_figures import family_figure
from zerosnet.report.files import figure_file, save_figure
from zerosnet.report.scheme_figures import paper_figure, scheme_figure

__all__ = [
    "design_figure",
    "diagnosis_figure",
    "family_figure",
    "figure_file",
    "paper_figure",
    "save_figure",
    "scheme_figure",
    "stability_concepts_figure",
]
