"""The runs in the stores, by setting: a table of schemes, predicted beside measured, and their curves."""

from collections.abc import Sequence

from zerosnet.experiments import Summary
from zerosnet.report.page.chart import Chart, figures
from zerosnet.report.page.configurations import NetworkFacts, Panel, legible
from zerosnet.report.page.curves import depth_charts, training_chart
from zerosnet.report.page.html import Html, element
from zerosnet.report.page.schemes import named, roots_icon, shares_icon
from zerosnet.report.page.screening_section import RECIPE
from zerosnet.report.page.tables import plain_table

_OPEN_PANELS = 2  # the others are folded
_OPEN_ROWS = 8  # of a table; the others are folded
_OPEN_CURVES = 12  # networks whose curves can be told apart
_HEADS = (
    "scheme",
    "zero-stable",
    "roots",
    "shares of the blocks",
    "effective depth",
    "best epoch %",
    "predicted %",
    "last epoch %",
    "used depth",
    "seeds",
)
_NUMBERS = 6  # columns that are flush right
_CURVES = {  # by what is on the vertical axis
    "test error (%)": "test error over the epochs",
    "accuracy (%)": "accuracy with blocks switched off",
    "rms(β f) / rms(y)": "share of every block",
}


def own_runs_section(panels: Sequence[tuple[Panel, Sequence[NetworkFacts]]]) -> list[Html]:
    """Every setting, the one with the most runs first; the first ones are open. Screening comes last."""
    ordered = sorted(panels, key=lambda one: (_is_screening(one[0]), -sum(len(each.runs) for each in one[0].members)))
    parts: list[Html] = []
    for place, (panel, facts) in enumerate(ordered):
        content = _best(panel.title, facts) if _is_screening(panel) else [*_tables(panel.title, facts), *_curves(panel)]
        if place < _OPEN_PANELS:
            parts += [element("h3", panel.title), *content]
        else:
            line = f"{panel.title}: {_summary(facts)}"
            parts.append(element("details", element("summary", line), *content, class_="folded"))
    return parts


def _is_screening(panel: Panel) -> bool:
    """Check if the order of these networks counts, and not their accuracies."""
    return panel.members[0].runs[0].record.spec.recipe.name == RECIPE


def _best(title: str, facts: Sequence[NetworkFacts]) -> list[Html]:
    """The best of hundreds of screened networks; all are in the map and in the list of runs."""
    return [_table(f"{title}: the best of {len(facts)}", facts[:_OPEN_ROWS])]


def _tables(title: str, facts: Sequence[NetworkFacts]) -> list[Html]:
    first, rest = facts[:_OPEN_ROWS], facts[_OPEN_ROWS:]
    tables = [_table(f"{title}: accuracies are means and sample deviations", first)]
    if rest:
        words = f"{len(rest)} more: {_summary(rest)}"
        tables.append(
            element("details", element("summary", words), _table("The others, by accuracy", rest), class_="long")
        )
    return tables


def _table(caption: str, facts: Sequence[NetworkFacts]) -> Html:
    """The table without columns that are empty."""
    rows = [_row(one) for one in facts]
    kept = [i for i in range(len(_HEADS)) if any(row[i] not in ("", None) for row in rows)]
    right = sum(i >= len(_HEADS) - _NUMBERS for i in kept)
    return plain_table(caption, [_HEADS[i] for i in kept], ([row[i] for i in kept] for row in rows), right)


def _row(one: NetworkFacts) -> list[object]:
    network, scheme = one.configuration, one.scheme
    own = network.spec.scheme is None
    name: object = network.name if own or scheme is None else named(scheme)
    if own and scheme is not None:
        name = [network.spec.model, " ", element("small", named(scheme), class_="printed")]
    ended = sum(run.record.result is not None for run in network.runs)
    return [
        name,
        network.stability_text,
        None if scheme is None else roots_icon(scheme),
        None if one.shares is None else shares_icon(one.shares),
        _number(one.effective_depth),
        _accuracy(one.best),
        _number(one.predicted),
        _accuracy(one.last),
        _number(one.used_depth),
        f"{ended}" if ended == len(network.runs) else f"{ended} of {len(network.runs)}",
    ]


def _curves(panel: Panel) -> list[Html]:
    """The curves of a panel, folded; panels with many lines are split."""
    parts = []
    drawn = set()
    for part in legible([panel]):
        charts: list[Chart] = [chart for chart in (training_chart(part), *depth_charts(part)) if chart is not None]
        if charts:
            title = [element("p", part.title, class_="small muted")] if part.title != panel.title else []
            parts += [*title, figures(charts)]
            drawn |= {chart.y for chart in charts}
    if not parts:
        return []
    words = f"Curves: {', '.join(words for axis, words in _CURVES.items() if axis in drawn)}"
    few = len(panel.members) <= _OPEN_CURVES
    return [element("details", element("summary", words), *parts, class_=None if few else "long", open=few)]


def _summary(facts: Sequence[NetworkFacts]) -> str:
    """ "3 schemes, 74.4 to 93.7 %"."""
    means = [one.best.mean for one in facts if one.best is not None]
    count = f"{len(facts)} network{'s' if len(facts) > 1 else ''}"
    if not means:
        return f"{count}, none finished"
    low, high = f"{min(means):.1f}", f"{max(means):.1f}"
    return f"{count}, {high} %" if low == high else f"{count}, {low} to {high} %"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


def _accuracy(summary: Summary | None) -> str:
    if summary is None:
        return ""
    return f"{summary.mean:.2f}" + ("" if summary.deviation is None else f" ± {summary.deviation:.2f}")
