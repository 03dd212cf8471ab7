"""The paper's sentences with a verdict each, and our own numbers on the same question."""

from collections.abc import Mapping, Sequence

from zerosnet.experiments import FAILS, HOLDS, PARTLY, Claim, Finding, PairFinding, at_scale, distinct_findings
from zerosnet.report.page.html import Html, element, signed
from zerosnet.report.page.tables import folded, plain_table

LOOKS = {HOLDS: ("holds", "✓"), PARTLY: ("mixed", "≈"), FAILS: ("fails", "✗")}
_OPEN_UP_TO = 30  # comparisons


def claims_section(
    claims: Sequence[Claim], said: Sequence[Finding], pairs: Sequence[PairFinding], titles: Mapping[str, str]
) -> list[Html]:
    """Claims, findings of ours, and pairs of schemes that differ in few things."""
    words = (
        "The first table takes sentences of the paper and checks them against the paper's own printed numbers, and "
        "against exact computation; no run of ours is in it. What our runs show stands below it."
    )
    heads = ("sentence", "verdict", "because", "about")
    caption = "What the paper says, by its own numbers"
    table = plain_table(caption, heads, (_claim(one, titles) for one in claims), prose=True)
    checked = [element("p", words), table] if claims else []
    return [*checked, *_findings(said, titles), *_pairs(pairs)]


_NOTHING = "Our runs do not suffice for any comparison of zero-stable rows with others."


def tag(verdict: str) -> Html:
    look, sign = LOOKS.get(verdict, ("open", "?"))
    return element("span", f"{sign} {verdict}", class_=f"tag {look}")


def _claim(claim: Claim, titles: Mapping[str, str]) -> list[object]:
    title = titles.get(claim.experiment)
    link = element("a", title, href=f"#{claim.experiment}") if title else claim.experiment
    return [claim.text, tag(claim.verdict), claim.because, link]


def _findings(said: Sequence[Finding], titles: Mapping[str, str]) -> list[Html]:
    if not said:
        return [element("p", _NOTHING, class_="note")]
    heads = (
        "table",
        "setting",
        "zero-stable less not, points",
        "parasitic modulus",
        "beta",
        "effective depth",
        "used depth",
        "best row",
    )
    caption = (
        "What our runs say: mean difference between zero-stable rows and the others with Welch's 95 % interval, and "
        "Spearman's rank correlation of the number with the largest parasitic modulus, with the size of beta, with the "
        "effective depth and with the used depth"
    )
    table = plain_table(caption, heads, (_finding(one, titles) for one in said), prose=True)
    different = len(distinct_findings(said))
    twice = f"; {len(said) - different} more repeat numbers of another table" if different < len(said) else ""
    return [folded(f"What our runs say, in {different} comparisons{twice}", table, len(said), _OPEN_UP_TO)]


def _finding(one: Finding, titles: Mapping[str, str]) -> list[object]:
    title = at_scale(titles.get(one.experiment, one.experiment), one.scale)
    link = element("a", title, href=f"#{one.experiment}")
    where = _scaled(", ".join(word for word in (one.group, one.column) if word), one.scale)
    numbers = (one.stable_against_not, one.by_modulus, one.by_beta, one.by_effective_depth, one.by_used_blocks)
    shown = ["not known" if number is None else signed(str(number)) for number in numbers]
    return [link, where, *shown, one.best]


def _pairs(pairs: Sequence[PairFinding]) -> list[Html]:
    if not pairs:
        return []
    caption = (
        "Pairs of schemes that differ in what is named: first less second, with the 95 % interval over seeds "
        "(deviations pooled over rows that are as stable; equal within 0.5: the interval leaves out half a point)"
    )
    heads = ("what differs", "first", "second", "difference, points")
    rows = (
        [element("a", _scaled(one.group, one.scale), href=f"#{one.experiment}"), *one.names, signed(one.said)]
        for one in pairs
    )
    return [plain_table(caption, heads, rows, prose=True)]


def _scaled(words: str, scale: str) -> str:
    return words if scale == "full" else f"{words} ({scale} scale)"
