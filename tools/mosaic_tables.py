"""The table of the demonstration, from the records in results/mosaics: predicted beside measured."""

from collections.abc import Callable
from functools import cache

from tools.markdown_tables import ROOT, table
from zerosnet.experiments import EXPERIMENTS, Evidence, collect, depths, read_evidence
from zerosnet.numerics import Scheme
from zerosnet.training import Store

RECORDS = ROOT / "results/mosaics"
_FORGETS = Scheme.parse("1/10,1/5,3/10;2/5")


@cache
def _evidence() -> Evidence:
    return read_evidence(Store(RECORDS))


def mosaics() -> str:
    """List the networks by effective depth: zero stability, effective and used depth, accuracy."""
    measured = collect(EXPERIMENTS["mosaics"], _evidence(), "full")
    deep = depths(measured, _evidence())
    heads = ("Scheme", "Zero-stable", "Effective depth, predicted", "Used depth, measured", "Accuracy, %", "Seeds")
    rows = []
    for row in measured.experiment.rows:
        cell = measured.cell(row.key, measured.experiment.columns[0].key)
        if cell is None or cell.compared is None:
            continue
        used = f"{deep[row.key].used:.0f}" if row.key in deep else "not measured"
        name, stable, depth = row.labels
        rows.append((f"`{name}`", stable.lower(), depth, used, str(cell.compared), str(len(cell.values))))
    return table(heads, rows)


def _forgetting() -> str:
    """The accuracy of a scheme that forgets early blocks."""
    runs = [run.record.result for run in _evidence().runs if run.scheme == _FORGETS and run.record.result]
    return f"{100 * sum(one.best_test_accuracy or 0.0 for one in runs) / len(runs):.0f}"


TABLES: dict[str, Callable[[], str]] = {"mosaics": mosaics}
VALUES: dict[str, Callable[[], str]] = {"mosaics, a scheme that forgets": _forgetting}
