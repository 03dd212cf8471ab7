"""The paper as data: what to run, what it printed, what we measured, and what both say about its claims."""

from zerosnet.experiments.experiment import Cell, Column, Experiment, Row
from zerosnet.experiments.measured import Measured, MeasuredCell, collect, records_of
from zerosnet.experiments.printed import Printed, PrintedTable, parse_printed, printed_table
from zerosnet.experiments.reading import Reading, Value
from zerosnet.experiments.registry import EXPERIMENTS, experiment
from zerosnet.experiments.scale import SCALES, Scale, Training, scale
from zerosnet.experiments.statistics import Correlation, Difference, Summary, spearman, summarise, welch

__all__ = [
    "EXPERIMENTS",
    "SCALES",
    "Cell",
    "Column",
    "Correlation",
    "Difference",
    "Experiment",
    "Measured",
    "MeasuredCell",
    "Printed",
    "PrintedTable",
    "Reading",
    "Row",
    "Scale",
    "Summary",
    "Training",
    "Value",
    "collect",
    "experiment",
    "parse_printed",
    "printed_table",
    "records_of",
    "scale",
    "spearman",
    "summarise",
    "welch",
]
