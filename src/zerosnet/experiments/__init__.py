"""The paper as data: what to run, what it printed, what we measured, and what both say about its claims."""

from zerosnet.experiments.ablation import Ablation, ablate, read_ablation
from zerosnet.experiments.claims import Claim, claims
from zerosnet.experiments.cost import Cost, cost
from zerosnet.experiments.experiment import Cell, Column, Experiment, TableRow
from zerosnet.experiments.findings import Finding, PairFinding, findings, pair_findings
from zerosnet.experiments.listing import Listed, listing
from zerosnet.experiments.measured import Measured, MeasuredCell, collect, records_of
from zerosnet.experiments.printed import Printed, PrintedTable, parse_printed, printed_table
from zerosnet.experiments.reading import Reading, Value
from zerosnet.experiments.registry import EXPERIMENTS, experiment
from zerosnet.experiments.runner import DEMO, Left, reproduce, what_is_left
from zerosnet.experiments.scale import SCALES, Scale, TrainingPlan, scale
from zerosnet.experiments.statistics import Correlation, Difference, Summary, spearman, summarise, welch

__all__ = [
    "DEMO",
    "EXPERIMENTS",
    "SCALES",
    "Ablation",
    "Cell",
    "Claim",
    "Column",
    "Correlation",
    "Cost",
    "Difference",
    "Experiment",
    "Finding",
    "Left",
    "Listed",
    "Measured",
    "MeasuredCell",
    "PairFinding",
    "Printed",
    "PrintedTable",
    "Reading",
    "TableRow",
    "Scale",
    "Summary",
    "TrainingPlan",
    "Value",
    "ablate",
    "claims",
    "collect",
    "cost",
    "experiment",
    "findings",
    "listing",
    "pair_findings",
    "parse_printed",
    "printed_table",
    "read_ablation",
    "records_of",
    "reproduce",
    "scale",
    "spearman",
    "summarise",
    "welch",
    "what_is_left",
]
