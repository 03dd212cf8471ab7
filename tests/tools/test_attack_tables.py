"""Attacks on networks without defence, and the paper's PGD table: made-up records go through the tables."""

from pathlib import Path

from tests.measured_runs import needs_runs

from tools import attack_tables as tables
from zerosnet.experiments import Evidence, RunEvidence, experiment
from zerosnet.robustness import ProtocolResult, ResultRow
from zerosnet.training import RunRecord, RunSpec, read_sweep

SWEEP = Path(__file__).parents[2] / "results/sweeps/undefended.json"


def row(method: str, accuracy: float, eps: float | None = None) -> ResultRow:
    return ResultRow(method, method, accuracy, 0, 100, eps=eps)


def small(clean: float, *notes: str) -> ProtocolResult:
    """Make up an attack that takes more at every radius."""
    left = [row("pgd-50", clean - 0.1 * k, eps) for k, eps in enumerate(tables.SMALL, start=1)]
    return ProtocolResult("pgd-whitebox", (row("clean", clean), *left), notes=notes)


def transfer(clean: float) -> ProtocolResult:
    rows = [row("transfer", clean - eps * 2, eps) for eps in tables.TRANSFER]
    return ProtocolResult("paper-pgd", (row("clean", clean), *rows, row("pgd-20", 0.01, tables.TRANSFER[-1])))


def evidence(specs: list[RunSpec], results: list[ProtocolResult]) -> Evidence:
    runs = []
    for spec, result in zip(specs, results):
        record = RunRecord(spec.id, Path(), spec, "finished", None)
        runs.append(RunEvidence(Path(), record, attacks={f"{result.protocol}+images=100": result}))
        runs[-1].attacks[result.protocol] = result
    return Evidence(runs=tuple(runs))


def cells(text: str) -> list[dict[str, str]]:
    heads, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()]
    return [dict(zip(heads, one)) for one in rows]


def test_nothing_is_shown_as_long_as_nothing_is_measured():
    assert tables.undefended(Evidence()) == tables.paper_pgd(Evidence()) == tables.WAITING
    assert tables.undefended_left(True, Evidence()) == "not measured yet"
    assert tables.packaged_left(Evidence()) == "not measured yet"


def test_networks_without_defence_stand_in_the_order_of_the_law_with_their_places():
    specs = list(read_sweep(SWEEP))
    assert {spec.id for spec in specs} == {one["run"] for one in tables.registered("paper")}
    clean = {one["run"]: 0.95 - 0.05 * place for place, one in enumerate(tables.registered("paper"))}
    found = cells(tables.undefended(evidence(specs, [small(clean[spec.id]) for spec in specs])))
    assert [one["Place, 1/255"] for one in found] == ["1.00", "0.75", "0.50", "0.25", "0.00"]
    law = [float(one["by the law"]) for one in found]
    assert law == sorted(law, reverse=True) and law[0] == 1 and law[-1] == 0
    stable = {"yes": "1.00", "no": "0.00"}
    assert [one["by the root condition"] for one in found] == [stable[one["Zero-stable"]] for one in found]
    assert [found[0][head] for head in ("Clean, %", "PGD-50, 0.25/255", "PGD-50, 2/255")] == ["95.0", "85.0", "55.0"]
    assert found[0]["Clean by the law, %"] == "93.6" and not any("AutoAttack" in head for head in found[0])


def test_networks_that_cannot_be_told_apart_have_no_places():
    specs = list(read_sweep(SWEEP))[:2]
    assert {one["Place, 1/255"] for one in cells(tables.undefended(evidence(specs, [small(0.8)] * 2)))} == {""}


def test_the_papers_table_has_printed_measured_and_predicted_numbers():
    known = {spec.id: spec for spec in experiment("table-pgd").specs()}
    specs = [known[one["run"]] for one in tables.registered("pgd-paper")]
    found = cells(tables.paper_pgd(evidence(specs, [transfer(clean) for clean in (0.9, 0.85, 0.8, 0.7)])))
    assert [one["Place"] for one in found] == ["1.00", "0.75", "0.50", "0.00"]
    assert [one["by the law"] for one in found] == ["1.00", "1.00", "0.21", "0.00"]
    assert found[0]["Transferred, 8/255, reaching 14/255"] == "83.7" and found[0]["PGD-20, 8/255"] == "1.0"
    assert found[-1]["The paper, 8/255"] == "48.8"
    assert {one["Place"] for one in cells(tables.paper_pgd(evidence(specs[:1], [transfer(0.9)])))} == {""}


def test_only_what_was_measured_on_packaged_weights_is_listed_as_such():
    specs = list(read_sweep(SWEEP))[:2]
    every = evidence(specs, [small(0.9, f"{tables.PACKAGED} (n): convolutions in float16"), small(0.8)])
    assert len(tables.packaged_networks(every)) == 1
    left = "80.0 % at 0.25/255, 70.0 % at 0.5/255, 60.0 % at 1/255, 50.0 % at 2/255"
    assert tables.packaged_left(every) == left


@needs_runs
def test_the_certificates_of_four_networks_took_less_than_two_minutes():
    words = tables.certified_seconds()
    assert words.startswith("4 networks took ") and words.endswith(" s on an H200")
    assert float(words.split()[3]) < 120


@needs_runs
def test_networks_that_see_the_papers_examples_know_more_than_on_clean_images_and_nothing_under_attack():
    found = tables._paper_rows()
    best = max(found.values(), key=lambda left: left["transfer", 8 / 255])
    assert best["transfer", 8 / 255] > best["clean", None] + 5 > best["random signs", 8 / 255] + 5
    assert tables.paper_white_box() == "0.0"
    rows = cells(tables.paper_pgd())
    assert [one["Zero-stable"] for one in rows] == ["yes", "yes", "no", "no"]


@needs_runs
def test_packaged_networks_without_defence_keep_little_at_two_levels():
    found = tables.packaged_networks()
    assert found and all(one.zero_stable for one in found)
    for one in found:
        left = [tables._left(one, "pgd-50", eps) for eps in tables.SMALL]
        assert left == sorted(left, reverse=True) and left[-1] < 5 < 50 < left[0]
