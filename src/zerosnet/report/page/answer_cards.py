"""The answer as cards in plain words: how far the paper's claim holds in what was measured, and what explains it."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from zerosnet.experiments import NO_NOISE, Finding, Measured, PairFinding, at_scale, distinct_cells, distinct_findings
from zerosnet.report.page.html import Html, element, join, signed

_DEMO = "demo"
_EARLIER = ", measured earlier on the paper's data"
_DIGITS = ", on the embedded digits (demo)"


@dataclass(frozen=True)
class Answer:
    """A heading and its evidence, one line each; `look` is holds, fails, mixed or open."""

    heading: str
    look: str
    lines: tuple[str, ...]


def answers(
    found: Sequence[Measured],
    said: Sequence[Finding],
    pairs: Sequence[PairFinding] = (),
    earlier: Collection[str] = (),
) -> list[Answer]:
    """Make the cards of the answers, the most important first; a demo is kept apart from measurements.

    `earlier` names the experiments whose numbers came with the package: the reader has run none of them.
    """
    titles = {one.experiment.name: one.experiment.title for one in found}
    settings = {(one.experiment.name, column.key): column.title for one in found for column in one.experiment.columns}
    measured = any(one.scale != _DEMO for one in said)
    result = [] if measured else [Answer(_OPEN, "open", (_NEEDED,))]
    for where in ("", _EARLIER, _DIGITS):
        findings = [one for one in said if _where(one, earlier) == where]
        groups = _by_kind(findings)
        split = _in_several(groups.values(), titles)
        for kind, heading, look in _KINDS:
            if groups[kind]:
                result.append(Answer(heading + where, look, tuple(_lines(groups[kind], titles, settings, split))))
        if alone := _of_pairs([one for one in pairs if _where(one, earlier) == where], where):
            result.append(alone)
        if any(one.depth_explains_as_much is not None for one in findings):
            result.append(_depth(findings, titles, where))
    agreed = agreement(found)
    return result if agreed is None else [*result, agreed]


def _where(one: Finding | PairFinding, earlier: Collection[str]) -> str:
    if one.scale == _DEMO:
        return _DIGITS
    return _EARLIER if one.experiment in earlier else ""


def _of_pairs(pairs: Sequence[PairFinding], where: str) -> Answer | None:
    """List the differences of pairs of schemes that differ in little else; the certain ones first."""
    known = [one for one in pairs if one.difference is not None]
    known.sort(key=lambda one: one.difference is not None and not one.difference.certain)
    lines = tuple(f"{one.group} ({one.names[0]}, less {one.names[1]}): {signed(one.said)}" for one in known)
    return Answer(f"In pairs of schemes that differ in less, points{where}", "mixed", lines) if lines else None


def cards(answers: Iterable[Answer]) -> Html:
    """Show the answers side by side."""
    key = element("p", "✓ yes; ≈ in part, alike or undecided; ✗ no; ? not measured", class_="small muted")
    return join([element("div", map(_card, answers), class_="answers"), key])


def _card(answer: Answer) -> Html:
    mark = {"holds": "✓", "fails": "✗", "mixed": "≈", "open": "?"}[answer.look]
    if len(answer.lines) == 1:
        body = element("p", answer.lines[0])
    else:
        body = element("ul", (element("li", line) for line in answer.lines))
    return element("div", element("h3", f"{mark} {answer.heading}"), body, class_=f"card {answer.look}")


_KINDS = (
    ("holds", "Zero-stable networks are better", "holds"),
    ("fails", "Zero-stable networks are worse", "fails"),
    ("undecided", "No difference that these runs could show", "mixed"),
)
_OPEN = "Not decided yet on the paper's data"
_NEEDED = (
    "A comparison needs at least two zero-stable schemes and two others of the same depth, trained alike. The stores "
    "do not hold them; every table below says what was run."
)


def agreement(found: Iterable[Measured]) -> Answer | None:
    """Count our numbers that are near those that the paper printed with a deviation, each once."""
    cells = [cell for one in found if one.scale == "full" for cell in one.cells if cell.runs]
    printed = [cell for cell in cells if cell.printed is not None and cell.printed.deviation is not None]
    compared = [cell for cell in distinct_cells(printed) if cell.difference_in_deviations is not None]
    if not compared:
        return None
    sizes = [abs(cell.difference_in_deviations or 0.0) for cell in compared]
    points = median(abs(cell.difference or 0.0) for cell in compared)
    near, far = sum(size < 1 for size in sizes), sum(size >= 3 for size in sizes)
    heading, look = _agreed(near, far, len(sizes))
    lines = (
        f"Numbers that can be compared with a printed one: {len(sizes)}. Within one standard deviation: {near}; within "
        f"three: {len(sizes) - near - far}; farther away: {far}. {_CHANCE}",
        f"Half of them are within {points:.2f} points of the printed number.",
    )
    return Answer(heading, look, lines)


_CHANCE = "Deviations of three seeds are rough: by chance alone up to one in eight would be that far."
_BY_CHANCE = 1 / 8  # P(|t| > 3 / sqrt(1 + 1/3)) = 0.12 with two degrees of freedom: one seed of ours, three printed


def _agreed(near: int, far: int, count: int) -> tuple[str, str]:
    """Heading and look, by how many are within one deviation and how many beyond three."""
    if far > near:
        return "Many of our numbers are not the printed ones", "fails"
    if 2 * near >= count and far <= _BY_CHANCE * count:
        return "Our numbers are near the printed ones", "holds"
    return "Our numbers are partly near the printed ones", "mixed"


def _by_kind(findings: Iterable[Finding]) -> dict[str, list[Finding]]:
    groups: dict[str, list[Finding]] = {kind: [] for kind, _, _ in _KINDS}
    for finding in findings:
        difference = finding.stable_against_not
        certain = difference is not None and difference.certain
        better = difference is not None and difference.mean > 0
        groups["undecided" if not certain else "holds" if better else "fails"].append(finding)
    return groups


def _in_several(groups: Iterable[Sequence[Finding]], titles: Mapping[str, str]) -> set[str]:
    """Find the tables whose settings do not agree."""
    counts = Counter(name for group in groups for name in _tables(group, titles))
    return {name for name, count in counts.items() if count > 1}


def _lines(
    findings: Sequence[Finding],
    titles: Mapping[str, str],
    settings: Mapping[tuple[str, str], str],
    split: Collection[str],
) -> Iterable[str]:
    """Write one line per table and group: by how many points, over how many settings.

    `settings` are the titles of columns; they are named in tables that are `split` between answers. Columns
    without noise belong to another table.
    """
    noisy = [one for one in findings if settings.get((one.experiment, one.column)) != NO_NOISE]
    for name, alike in _tables(noisy, titles).items():
        differences = [one.stable_against_not for one in alike if one.stable_against_not is not None]
        means = [one.mean for one in differences]
        columns = [settings.get((one.experiment, one.column), one.column) for one in alike]
        which = f": {'; '.join(columns)}" if name in split else ""
        if len(differences) == 1:
            yield f"{name}: {signed(str(differences[0]))} points{which}"
        elif means:
            span = signed(f"{_tenths(min(means))} to {_tenths(max(means))}")
            yield f"{name}: {span} points in {len(means)} settings{which}"
        else:
            yield f"{name}: the numbers do not vary"


def _depth(findings: Sequence[Finding], titles: Mapping[str, str], where: str) -> Answer:
    """Effective depth against the parasitic modulus as what goes with the numbers; each comparison counts once."""
    known = [one for one in distinct_findings(findings) if one.by_effective_depth is not None]
    findings = [one for one in known if one.depth_explains_as_much is not None]
    neither = f"; in {len(known) - len(findings)} more neither goes with it" if len(findings) < len(known) else ""
    as_much = sum(bool(one.depth_explains_as_much) for one in findings)
    heading = "Effective depth explains as much as zero stability" if as_much else "Effective depth explains less"
    lines = [
        f"In {as_much} of {len(findings)} comparisons it goes with the number as closely as the roots do{neither}."
    ]
    name, alike = next(iter(_tables(findings, titles).items()))
    depth, modulus = alike[0].by_effective_depth, alike[0].by_modulus
    if depth is not None and modulus is not None:
        rhos = signed(f"{depth.rho:+.2f} with depth, {modulus.rho:+.2f} with the largest parasitic modulus")
        lines.append(f"{name}: rank correlation {rhos}, n = {depth.n}.")
    return Answer(heading + where, "mixed", tuple(lines))


def _tenths(number: float) -> str:
    return f"{round(number, 1) + 0.0:+.1f}"  # no -0.0


def _tables(findings: Iterable[Finding], titles: Mapping[str, str]) -> dict[str, list[Finding]]:
    tables: dict[str, list[Finding]] = {}
    for one in findings:
        title = at_scale(titles.get(one.experiment, one.experiment), one.scale)
        name = title if not one.group or one.group in title else f"{title}, {one.group}"
        tables.setdefault(name, []).append(one)
    return tables
