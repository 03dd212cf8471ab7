"""The explorer as files: a page that needs no server, with families computed on a grid that is fine enough to drag.

The same page as the server's; its answers lie in scripts beside it, one per family, loaded when it is chosen.
"""

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from importlib import resources
from pathlib import Path
from typing import Any

from zerosnet.errors import InputError
from zerosnet.explorer import documents, locus, query, wirings
from zerosnet.explorer.bundle import bundle
from zerosnet.explorer.limits import MOST_BLOCKS
from zerosnet.explorer.wiring_query import LAYERS, WiringOf
from zerosnet.numerics import PAPER_ROWS, facts, root_condition
from zerosnet.report import root_places

STEP = Fraction(1, 40)
_DIGITS = 5
_REGION = 61  # grid points along each side
_BOUNDARY = 3  # every third point
_LOCUS_POINTS = 201
_PAGES = (".html", ".htm")
_COPIED = ("style.css", "plots.css", "icon.svg")


@dataclass(frozen=True)
class Range:
    """A family with a parameter from low to high; `whole` for numbers of steps."""

    family: str
    low: int
    high: int
    beta: str | None = None
    whole: bool = False

    @property
    def name(self) -> str:
        return self.family if self.beta is None else f"{self.family}-{self.beta}"


RANGES = (
    Range("zerosnet", -4, 4),
    Range("euler", -2, 2),
    *(Range("lm", -2, 2, beta) for beta in ("consistent", "paper", "original")),
    Range("momentum", -2, 2),
    Range("adams-bashforth", 1, 8, whole=True),
)


def export_page(folder: str | Path, step: Any = STEP, report: Callable[[str], Any] = lambda line: None) -> list[Path]:
    """Write the page and its answers to a folder, and list the files.

    Args:
        folder: It is made if it is missing; files of an earlier export are replaced.
        step: The step of the sliders.
        report: Is told what is being computed.
    """
    size = Fraction(step)
    if not 0 < size <= 1 or 1 % size:
        raise InputError(f"step is {step}; expected 1 divided by a whole number, such as 1/40")
    target = Path(folder)
    if target.suffix.lower() in _PAGES:
        raise InputError(f"folder is {str(folder)!r}, the name of a page; expected a folder, such as {target.stem!r}")
    try:
        (target / "data").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"folder {target} cannot be made: {error.strerror}") from None
    written = []
    for name, text in _files(size, report):
        path = target / name
        path.write_text(text, encoding="utf-8")
        written.append(path)
    return written


def _files(step: Fraction, report: Callable[[str], Any]) -> Iterator[tuple[str, str]]:
    static = resources.files("zerosnet.explorer").joinpath("static")
    sources = {file.name: file.read_text(encoding="utf-8") for file in static.iterdir()}
    for name in _COPIED:
        yield name, sources[name]
    modules = {name: text for name, text in sources.items() if name.endswith(".js")}
    yield "page.js", bundle(modules, "main.js")
    yield "index.html", _page(sources["index.html"])
    grids: dict[str, Any] = {"leapfrog": {"low": 0, "step": 1, "named": {"": 0}}}
    yield "data/leapfrog.js", _views("leapfrog", [_view(family="leapfrog")])
    for one in RANGES:
        report(f"{one.name}: {one.low} to {one.high}")
        grids[one.name], views = _grid(one, step)
        yield f"data/{one.name}.js", _views(one.name, views)
    report(f"wirings: {len(wirings.PRESETS)} with {', '.join(map(str, LAYERS))} layers")
    yield "data/wirings.js", _views("wirings", _wirings())
    yield "data/index.js", f"globalThis.zerosnetPage = {_json(_index(grids))};\n"


def _page(html: str) -> str:
    """The page with scripts that a disk can serve, and without what only a server has."""
    scripts = '<script src="data/index.js"></script>\n  <script src="page.js" defer></script>'
    for before, after in (
        ('<script type="module" src="main.js"></script>', scripts),
        ('      <a href="api">API</a>\n', ""),
        ("Drag a coefficient or a root:", "Choose a family and drag its slider:"),
        ("on this machine, exact where they can be.", "before this page was written, exact where they can be."),
    ):
        if before not in html:
            raise InputError(f"index.html has no {before!r}; expected the page that is served")
        html = html.replace(before, after)
    return html


def _index(grids: dict[str, Any]) -> dict[str, Any]:
    rows = {}
    for row in PAPER_ROWS:
        alphas, betas = (",".join(map(str, group)) for group in (row.scheme.alphas, row.scheme.betas))
        rows[f"{alphas};{betas}"] = _view(alphas=alphas, betas=betas)
    loci = {one.family: _locus(one) for one in RANGES} | {"leapfrog": _locus(Range("leapfrog", 0, 1))}
    return {
        "documents": {
            "families": locus.families_document(),
            "paper": [row.to_json() for row in PAPER_ROWS],
            "accuracies": documents.accuracies_document(),
            "map": documents.map_document(),
            "wirings": wirings.forms_document(),
        },
        "grids": grids,
        "loci": loci,
        "rows": rows,
        "views": {},
    }


def _grid(one: Range, step: Fraction) -> tuple[dict[str, Any], list[dict[str, Any] | None]]:
    """All views of a range, and where they lie; parameters with a name of their own, such as -9/5, come after it."""
    size = Fraction(1) if one.whole else step
    count = int((one.high - one.low) / size) + 1
    texts = [str(one.low + k * size) for k in range(count)]
    known = set(texts)
    special = [] if one.whole else [text for text in _special(one.family) if text not in known]
    views = [_member(one, text) for text in [*texts, *special]]
    named = {text: k for k, text in enumerate([*texts, *special]) if k >= count or "/" in text}
    return {"low": one.low, "step": float(size), "named": named}, views


def _special(family: str) -> list[str]:
    """Parameters that buttons lead to: ends of the stable set, and those of the paper's rows."""
    found = locus.stable_set(family)["intervals"]
    ends = [interval[end] for interval in found for end in ("low", "high") if interval[end] is not None]
    rows = [str(row.lam) for row in PAPER_ROWS if row.lam is not None] if family == "zerosnet" else []
    return list(dict.fromkeys([*map(str, ends), *rows, *(["9/10"] if family == "momentum" else [])]))


def _member(one: Range, text: str) -> dict[str, Any] | None:
    try:
        return _view(family=one.family, param=text, beta=one.beta)
    except InputError:  # a hole in the domain, such as lambda = 0
        return None


def _view(**named: str | None) -> dict[str, Any]:
    """What /api/view answers, in fewer digits and points; the growth for the longest network."""
    of = query.View.model_validate({**named, "nx": _REGION, "ny": _REGION})
    scheme = of.scheme()
    verdict = root_condition(scheme)
    region = documents.region_document(scheme, of)
    region["boundary"] = region["boundary"][::_BOUNDARY]
    growth = documents.envelope_document(scheme, MOST_BLOCKS)["log10"]
    promised = documents.forecast_document(scheme, 56)
    kept = ("shares", "parts", "survivors", "effective_depth", "accuracy", "interval", "layers", "limit")
    calibration = {name: promised["calibration"][name] for name in ("why_not", "constants")}
    return {
        "analysis": facts(scheme),
        "places": root_places(verdict),
        "parasitic_modulus": 1 - verdict.margin,
        "envelope": [None if size is None else round(size, 2) for size in growth],
        "region": region,
        "forecast": {name: promised[name] for name in kept} | {"calibration": calibration},
        "copy": documents.copy_document(of),
    }


def _locus(one: Range) -> dict[str, Any]:
    given: dict[str, Any] = {"family": one.family, "beta": one.beta, "points": _LOCUS_POINTS}
    if one.family == "leapfrog":
        return locus.locus_document(query.Locus(**given))
    return locus.locus_document(query.Locus(param="1", low=one.low, high=one.high, **given))


def _wirings() -> dict[str, Any]:
    """The wirings to start from at every depth, by their queries in the order of the alphabet."""
    queries = [{**query, "layers": str(layers)} for _, query in wirings.PRESETS for layers in LAYERS]
    return {
        "&".join(sorted(f"{name}={value}" for name, value in query.items())): wirings.wiring_document(
            WiringOf.model_validate(query)
        )
        for query in queries
    }


def _views(name: str, views: Any) -> str:
    return f'zerosnetPage.views["{name}"] = {_json(views)};\n'


def _json(value: Any) -> str:
    return json.dumps(_rounded(value), separators=(",", ":"), allow_nan=False)


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(item) for item in value]
    if isinstance(value, float) and math.isfinite(value):
        return float(f"{value:.{_DIGITS}g}")
    return value
