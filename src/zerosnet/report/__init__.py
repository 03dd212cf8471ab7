"""Figures and the report page. matplotlib is loaded when a figure is drawn, torch when a page is written."""

from importlib import import_module
from typing import Any

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
    "run_facts",
    "save_figure",
    "scheme_figure",
    "stability_concepts_figure",
    "write_report",
]

_LATE = {"run_facts": "zerosnet.report.facts", "write_report": "zerosnet.report.page"}


def __getattr__(name: str) -> Any:
    if name in _LATE:
        return getattr(import_module(_LATE[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
