"""The report: one self-contained page of everything that stores hold, beside what the paper printed."""

from collections.abc import Sequence
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
    claims,
    collect,
    findings,
    pair_findings,
    read_evidence,
    recorded,
    whole,
)
from zerosnet.report.files import page_file, write_page
from zerosnet.report.page.answer_cards import answers, cards
from zerosnet.report.page.claims_section import claims_answer, claims_section
from zerosnet.report.page.configurations import legible, panels
from zerosnet.report.page.depth_section import depth_section
from zerosnet.report.page.experiments_section import experiment_section, used_runs
from zerosnet.report.page.figures_section import (
    attack_section,
    modulus_section,
    noise_section,
    roots_section,
    training_section,
)
from zerosnet.report.page.glossary import glossary
from zerosnet.report.page.html import Html, element, join
from zerosnet.report.page.overview import apart, empty, facts, tested
from zerosnet.report.page.runs_section import damage, runs_section
from zerosnet.report.page.tables import key_to_signs
from zerosnet.training import Store

TITLE = "Does zero stability predict how well a network does?"
_SCALES = ("full", "reduced", "demo")


def write_report(path: str | Path, stores: Evidence | Sequence[Store | str | Path]) -> Path:
    """Write the page about some stores, or about evidence that was read of them; nothing is trained or measured.

    A store that is not there is an error; an empty one gives a page without results. The file appears
    whole or not at all.
    """
    target = page_file(path)
    if isinstance(stores, Evidence):
        return write_page(target, render(stores))
    opened = [store if isinstance(store, Store) else Store(store) for store in stores]
    for store in opened:
        if not store.root.exists():
            raise InputError(f"store {store.root} does not exist; expected a folder of runs")
    return write_page(target, render(read_evidence(opened)))


def render(evidence: Evidence, experiments: Sequence[Experiment] | None = None) -> str:
    """The page as text. Tables are made of runs in whose folders nothing is damaged."""
    chosen = tuple(EXPERIMENTS.values()) if experiments is None else experiments
    stored = {one.experiment.name: one for one in recorded()}
    found = [measured_scales(one, evidence, stored.get(one.name)) for one in chosen]
    runs = {run.record.id: run for run in evidence.runs}
    alike = legible(panels(evidence.runs))
    shown = [measured for scales in found for measured in scales]
    said = [finding for measured in shown if measured.done for finding in findings(measured, evidence)]
    pairs = [pair for measured in shown if measured.done for pair in pair_findings(measured)]
    earlier = {one.experiment.name for one in shown if one.scale == _SCALES[0] and not used_runs(one, runs)}
    judged, titles = claims(), {one.name: one.title for one in chosen}
    sections = [
        ("claims", "The claims and what became of them", claims_section(judged, said, pairs, titles)),
        (
            "tables",
            "The tables, ours beside the paper's",
            [key_to_signs(), *(experiment_section(one, runs) for one in found)],
        ),
        ("roots", "The schemes and their roots", roots_section()),
        ("modulus", "Accuracy against the parasitic modulus", modulus_section(shown, evidence)),
        ("depth", "Effective depth", depth_section(alike)),
        ("noise", "Noise", noise_section(alike)),
        ("attacks", "Adversarial examples", attack_section(alike)),
        ("training", "Training", training_section(alike)),
        ("runs", "Runs, commands and environment", runs_section(evidence)),
    ]
    contents = element(
        "nav",
        element("ul", (element("li", element("a", title, href=f"#{key}")) for key, title, _ in sections)),
        aria_label="Contents",
    )
    header = element(
        "header",
        element("h1", TITLE),
        tested(),
        cards([*answers(shown, said, pairs, earlier), claims_answer(judged)]),
        empty(evidence),
        damage(evidence.problems),
        facts(evidence, shown),
        apart(evidence, shown),
        glossary(),
        contents,
    )
    main = element(
        "main", (element("section", element("h2", title, id=key), parts) for key, title, parts in sections), id="main"
    )
    return _document(join([header, main, _footer()]))


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


def _document(body: Html) -> str:
    style = resources.files(__package__).joinpath("page.css").read_text(encoding="utf-8")
    head = [
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="generator", content=f"zerosnet {__version__}"),
        element("title", TITLE),
        element("style", Html(style)),
    ]
    skip = element("a", "To the tables", href="#main", class_="skip")
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
