"""Figures and the report page. matplotlib is loaded when a figure is drawn, torch when a page is written."""

from zerosnet.lazy import exports

__getattr__, __dir__, __all__ = exports(__name__)
