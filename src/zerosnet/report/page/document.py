"""The report: one self-contained page of everything that stores hold, beside what the paper printed."""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from importlib import resources
from pathlib import Path

from zerosnet import __version__
from zerosnet.errors import InputError
from zerosnet.experiments import (
    EXPERIMENTS,
    SCALES,
    Evidence,
    Experiment,
    Measured,
    RunEvidence,
    claims,
    collect,
    findings,
    pair_findings,
    read_evidence,
    recorded,
    whole,
)
from zerosnet.report.files import page_file, write_page
from zerosnet.report.page.claims_section import claims_section
from zerosnet.report.page.configurations import Panel, all_facts, legible, panels
from zerosnet.report.page.depth_section import depth_section
from zerosnet.report.page.experiments_section import experiment_section
from zerosnet.report.page.figures_section import (
    attack_section,
    is_noise,
    modulus_section,
    noise_section,
    noise_title,
)
from zerosnet.report.page.glossary import glossary
from zerosnet.report.page.html import Html, element, join
from zerosnet.report.page.lead import find_lead, headline, lead_section
from zerosnet.report.page.own_runs import own_runs_section
from zerosnet.report.page.registered import registered_noise_section, registered_section
from zerosnet.report.page.robustness_section import robustness_section
from zerosnet.report.page.runs_section import damage, empty, in_stores, runs_section
from zerosnet.report.page.screening_section import screening_section
from zerosnet.report.page.tables import key_to_signs
from zerosnet.training import Store

_SCALES = ("full", "reduced", "demo")


def write_report(
    path: str | Path,
    stores: Evidence | Sequence[Store | str | Path],
    *,
    paper: bool = False,
    named: Collection[str] = (),
) -> Path:
    """Write the page about some stores, or about evidence that was read of them; nothing is trained or measured.

    A store that is not there is an error; an empty one gives a page without results. The file appears
    whole or not at all.

    Args:
        paper: Show all experiments, with what was measured earlier; else those that the stores have runs of.
        named: Experiments that are shown in any case, before all else.
    """
    target = page_file(path)
    if isinstance(stores, Evidence):
        return write_page(target, render(stores, paper=paper, named=named))
    return write_page(target, render(evidence_for_page(stores), paper=paper, named=named))


def evidence_for_page(stores: Sequence[Store | str | Path]) -> Evidence:
    """Read the runs of some stores; a store that is not there is an error."""
    opened = [store if isinstance(store, Store) else Store(store) for store in stores]
    for store in opened:
        if not store.root.exists():
            raise InputError(f"store {store.root} does not exist; expected a folder of runs")
    return read_evidence(opened)


def render(evidence: Evidence, *, paper: bool = False, named: Collection[str] = ()) -> str:
    """The page as text. Tables are made of runs in whose folders nothing is damaged."""
    stored = {one.experiment.name: one for one in recorded() if paper or one.experiment.name in named}
    every = [measured_scales(one, evidence, stored.get(one.name)) for one in EXPERIMENTS.values()]
    found = [scales for scales in every if paper or scales[0].done or scales[0].experiment.name in named]
    found.sort(key=lambda scales: scales[0].experiment.name not in named)
    runs = {run.record.id: run for run in evidence.runs}
    grouped = panels(evidence.runs)
    facts = [(panel, all_facts(panel.members)) for panel in grouped]
    lead = find_lead([(panel.title, each) for panel, each in facts])
    sections = [
        ("own", "The runs", own_runs_section(facts)),
        (
            "registered",
            "Predicted before training",
            [*registered_section(evidence), *registered_noise_section(evidence)],
        ),
        ("screening", "Screened networks", screening_section(evidence)),
        ("robustness", "What is robust, to what", robustness_section(evidence)),
        ("experiments", "Experiments", _experiments(found, every, runs, named, paper=paper)),
        ("more", "More figures", _figures(found, evidence, legible(grouped))),
        ("claims", "What the paper says, and what was found", _claims(found, evidence, paper=paper)),
        ("runs", "Every run, its command and environment", runs_section(evidence) if evidence.runs else []),
        ("words", "Words", [glossary()]),
    ]
    if named:
        sections.sort(key=lambda section: section[0] != "experiments")
    there = [section for section in sections if section[2]]
    links = (element("li", element("a", title, href=f"#{key}")) for key, title, _ in there)
    header = element(
        "header",
        lead_section(lead),
        empty(evidence) or in_stores(evidence),
        damage(evidence.problems),
        element("nav", element("ul", links), aria_label="Contents"),
    )
    main = element(
        "main", (element("section", element("h2", title, id=key), parts) for key, title, parts in there), id="main"
    )
    return _document(join([header, main, _footer()]), headline(lead))


def _experiments(
    found: Sequence[Sequence[Measured]],
    every: Sequence[Sequence[Measured]],
    runs: Mapping[str, RunEvidence],
    named: Collection[str],
    *,
    paper: bool,
) -> list[Html]:
    """Every experiment behind a line, named ones open; those that the stores have no run of in one line."""
    shown = {scales[0].experiment.name for scales in found}
    others = [scales[0].experiment.name for scales in every if scales[0].experiment.name not in shown]
    parts = [
        experiment_section(scales, runs, paper=paper or bool(named), shown=scales[0].experiment.name in named)
        for scales in found
    ]
    if any(cell.difference is not None for scales in found for one in scales for cell in one.cells):
        parts.insert(0, element("details", element("summary", "How to read the cells"), key_to_signs(), class_="small"))
    if others:
        codes = [element("code", words) for words in ("zerosnet reproduce NAME", "zerosnet report --paper")]
        line = ("Not in these stores: ", ", ".join(others), ". ", codes[0], " runs one; ", codes[1], " shows them all.")
        parts.append(element("p", *line, class_="small muted"))
    return parts


def _figures(found: Sequence[Sequence[Measured]], evidence: Evidence, alike: Sequence[Panel]) -> list[Html]:
    """The other figures, each kind behind a line; kinds that nothing was measured for are left out."""
    shown = [measured for scales in found for measured in scales]
    ablated = any(run.ablation is not None for run in evidence.runs)
    noises = sorted({name for run in evidence.runs for name in run.attacks if is_noise(name)})
    attacked = any(attack.checks for run in evidence.runs for attack in run.attacks.values())
    folds: tuple[tuple[str, bool, Callable[[], list[Html]]], ...] = (
        ("Accuracy against the roots, table by table", bool(shown), lambda: modulus_section(shown, evidence)),
        ("Used depth: accuracy with blocks switched off", ablated, lambda: depth_section(alike)),
        *((noise_title(name), True, partial(noise_section, alike, name)) for name in noises),
        ("Adversarial examples", attacked, lambda: attack_section(alike)),
    )
    made = [(title, make()) for title, wanted, make in folds if wanted]
    return [element("details", element("summary", title), part, class_="folded long") for title, part in made if part]


def _claims(found: Sequence[Sequence[Measured]], evidence: Evidence, *, paper: bool) -> list[Html]:
    """The paper's sentences and our findings, folded; nothing if no run is of the paper's tables."""
    shown = [measured for scales in found for measured in scales if measured.done]
    said = [finding for measured in shown for finding in findings(measured, evidence)]
    pairs = [pair for measured in shown for pair in pair_findings(measured)]
    if not (paper or said or pairs):
        return []
    titles = {scales[0].experiment.name: scales[0].experiment.title for scales in found}
    parts = claims_section(claims() if paper else [], said, pairs, titles)
    words = f"{len(said)} comparisons of zero-stable rows with others, {len(pairs)} pairs"
    return [element("details", element("summary", words), parts, class_="folded long")]


def measured_scales(experiment: Experiment, evidence: Evidence, stored: Measured | None = None) -> list[Measured]:
    """The experiment at every scale that has numbers of runs; if none has, as the paper did it.

    Args:
        stored: What was measured at full scale and comes with the package; it is shown if the stores hold none.
    """
    settings = {(run.record.spec.dataset, run.record.spec.recipe) for run in evidence.sound.values()}
    trainings = {cell.training for cell in experiment.cells if cell.training is not None}
    likely = [scale for scale in _SCALES if any(SCALES[scale].settings(one) in settings for one in trainings)]
    tables = (collect(experiment, evidence, scale) for scale in likely)
    found = [one for one in tables if one.done]
    if found and (stored is None or found[0].scale == _SCALES[0]):
        return found
    return [collect(experiment, Evidence(), _SCALES[0])] if stored is None else [whole(stored), *found]


def _document(body: Html, title: str) -> str:
    style = resources.files(__package__).joinpath("page.css").read_text(encoding="utf-8")
    head = [
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="generator", content=f"zerosnet {__version__}"),
        element("title", title),
        element("style", Html(style)),
    ]
    skip = element("a", "To the runs", href="#main", class_="skip")
    page = element("html", element("head", head), element("body", skip, body), lang="en")
    return f"<!doctype html>\n{page}\n"


def _footer() -> Html:
    words = (
        f"Made by zerosnet {__version__} with ",
        element("code", "zerosnet report"),
        ". Every number of ours was read from a run in a store, or from the record of runs that comes with the "
        "package; nothing is filled in that was not measured.",
    )
    return element("footer", element("p", words))
