"""Write the measured numbers into the pages.

    python -m tools.page_numbers

A page has two kinds of marks. A table or paragraph stands between two lines:

    <!-- measured: NAME -->
    <!-- end -->

A single number stands within a sentence: `<!-- value: NAME -->0.305<!-- /value -->`. Whatever is between the marks is
replaced. All numbers come from `benchmarks/results` and `results/runs`, by the functions in TABLES and VALUES.
"""

import re
import sys
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

from tools import (
    attack_tables,
    cost_tables,
    defence_tables,
    diagnose_tables,
    fair_tables,
    flow_time_tables,
    kernel_tables,
    law_tables,
    left_out_tables,
    mosaic_rate_tables,
    mosaic_tables,
    mosaic_wiring_tables,
    order_tables,
    robustness_tables,
    run_tables,
    screening,
    shallow_tables,
    speed_tables,
    survival_tables,
    verify_tables,
    wiring_tables,
    without_norm_tables,
)
from tools.measured_tables import KINDS
from zerosnet.errors import InputError
from zerosnet.experiments import Evidence

ROOT = Path(__file__).parents[1]
PAGES = (ROOT / "README.md", *sorted((ROOT / "results").glob("*.md")), *sorted((ROOT / "docs").glob("*.md")))

_BLOCK = re.compile(r"(<!-- measured: (?P<name>[^>]+) -->\n).*?(<!-- end -->)", re.DOTALL)
_VALUE = re.compile(r"(<!-- value: (?P<name>[^>]+) -->).*?(<!-- /value -->)", re.DOTALL)
_STRAY = re.compile(r"^<!-- value: ", re.MULTILINE)


def _of_the_runs(kind: Callable[[Evidence], str]) -> str:
    return kind(run_tables.evidence())


TABLES: dict[str, Callable[[], str]] = {
    **{name: partial(_of_the_runs, kind) for name, kind in KINDS.items()},
    **run_tables.TABLES,
    **shallow_tables.TABLES,
    **speed_tables.TABLES,
    **kernel_tables.TABLES,
    **cost_tables.TABLES,
    **law_tables.TABLES,
    **left_out_tables.TABLES,
    **diagnose_tables.TABLES,
    **mosaic_tables.TABLES,
    **mosaic_wiring_tables.TABLES,
    **mosaic_rate_tables.TABLES,
    **robustness_tables.TABLES,
    **attack_tables.TABLES,
    **defence_tables.TABLES,
    **fair_tables.TABLES,
    **flow_time_tables.TABLES,
    **screening.TABLES,
    **survival_tables.TABLES,
    **verify_tables.TABLES,
    **wiring_tables.TABLES,
    **order_tables.TABLES,
    **without_norm_tables.TABLES,
}
VALUES: dict[str, Callable[[], str]] = {
    **run_tables.VALUES,
    **speed_tables.VALUES,
    **kernel_tables.VALUES,
    **cost_tables.VALUES,
    **law_tables.VALUES,
    **left_out_tables.VALUES,
    **mosaic_tables.VALUES,
    **mosaic_wiring_tables.VALUES,
    **mosaic_rate_tables.VALUES,
    **robustness_tables.VALUES,
    **attack_tables.VALUES,
    **defence_tables.VALUES,
    **fair_tables.VALUES,
    **flow_time_tables.VALUES,
    **screening.VALUES,
    **survival_tables.VALUES,
    **verify_tables.VALUES,
    **without_norm_tables.VALUES,
}


def filled(text: str) -> str:
    """Replace everything between marks.

    Raises:
        InputError: A mark has a name that is not in TABLES or VALUES, or a value begins a line, where Markdown would
            take the comment for a paragraph of its own.
    """
    if _STRAY.search(text):
        raise InputError("a line begins with <!-- value: ... -->; put a word before it")
    text = _BLOCK.sub(lambda mark: f"{mark[1]}\n{_made('table', mark['name'])}\n\n{mark[3]}", text)
    return _VALUE.sub(lambda mark: f"{mark[1]}{_made('value', mark['name'])}{mark[3]}", text)


@cache
def _made(kind: str, name: str) -> str:
    known = TABLES if kind == "table" else VALUES
    if name not in known:
        raise InputError(f"{kind} is {name!r}; expected one of {', '.join(known)}")
    return known[name]()


def main() -> int:
    try:
        for page in PAGES:
            before = page.read_text(encoding="utf-8")
            after = filled(before)
            if after != before:
                page.write_text(after, encoding="utf-8")
                print(f"changed {page.relative_to(ROOT)}")
    except InputError as error:
        print(f"page_numbers: {page.name}: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
