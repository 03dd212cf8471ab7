"""The first screen says no more than the numbers do."""

from dataclasses import fields, replace

import pytest

from zerosnet.experiments import Correlation, Difference, Evidence, recorded
from zerosnet.experiments.conclusions import Finding, PairFinding, findings
from zerosnet.experiments.paper_claims.verdicts import FAILS, HOLDS, Claim, claims
from zerosnet.experiments.readings import ACCURACY
from zerosnet.experiments.statistics import Summary
from zerosnet.report.page.answer_cards import agreement, answers, cards
from zerosnet.report.page.claims_section import claims_answer, claims_section
from zerosnet.report.page.overview import facts

BETTER = Difference(10.0, 8.0, 12.0, 0.95, (6, 4), 0.001)
UNSURE = Difference(1.0, -2.0, 4.0, 0.95, (6, 4), 0.4)
WORSE = Difference(-10.0, -12.0, -8.0, 0.95, (6, 4), 0.001)
GIVEN = {
    "experiment": "table-x",
    "scale": "full",
    "group": "56 layers",
    "column": "acc",
    "rows": 10,
    "stable_against_not": BETTER,
    "by_modulus": Correlation(-0.9, 0.01, 10),
    "best": "r",
    "optimum_is_best": True,
    "verdict": "in words",
}
FINDING = Finding(**{field.name: GIVEN.get(field.name) for field in fields(Finding)})
PAIR = PairFinding("pairs", "full", "beta", "acc", "beta: <1>", "beta: 0", WORSE, "worse")


def headings(*findings: Finding) -> list[str]:
    return [answer.heading for answer in answers([], findings)]


@pytest.mark.parametrize(
    "difference, heading",
    [
        (BETTER, "Zero-stable networks are better"),
        (WORSE, "Zero-stable networks are worse"),
        (UNSURE, "No difference that these runs could show"),
        (None, "No difference that these runs could show"),
    ],
)
def test_the_heading_follows_the_interval(difference, heading):
    assert headings(replace(FINDING, stable_against_not=difference)) == [heading]


def test_without_any_comparison_nothing_is_claimed():
    (answer,) = answers([], [])
    assert answer.look == "open" and "Not decided" in answer.heading


def test_a_demo_is_never_taken_for_a_measurement():
    first, second = answers([], [replace(FINDING, scale="demo")])
    assert "Not decided" in first.heading
    assert second.heading == "Zero-stable networks are better, on the embedded digits (demo)"


def test_packaged_records_are_not_taken_for_the_readers_runs():
    (answer,) = answers([], [FINDING], earlier={"table-x"})
    assert answer.heading == "Zero-stable networks are better, measured earlier on the paper's data"


def test_a_table_of_several_depths_names_the_one_that_was_run():
    table = next(table for table in recorded() if table.experiment.name == "table-zerosnet-cifar10")
    (better, *_) = answers([table], findings(table))
    assert better.lines[0].startswith("ZeroSNet on CIFAR-10 over ten coefficient rows, 56 layers: +")
    assert not any("32, 44" in line for line in better.lines)


def test_a_demo_is_said_to_be_of_digits():
    table = next(table for table in recorded() if table.experiment.name == "table-fgsm")
    answer = answers([table], [replace(FINDING, experiment="table-fgsm", scale="demo")])[1]
    assert answer.lines[0].startswith("FGSM on digits, 56 layers") and "MNIST" not in str(answer)


@pytest.mark.parametrize(
    "sizes, sign",
    [((0.5, 0.5, 1.5), "holds"), ((0.5, 1.5, 1.5), "mixed"), ((0.5, 0.5, 5.0), "mixed"), ((0.5, 5.0, 5.0), "fails")],
)
def test_the_sign_beside_printed_numbers_follows_how_many_are_far_away(sizes, sign):
    table = next(table for table in recorded() if table.experiment.name == "table-gaussian-noise")
    cells = [cell for cell in table.cells if cell.printed][: len(sizes)]
    moved = [
        replace(
            cell, last=Summary(cell.printed.value + size * cell.printed.deviation, None, 1), best=None, runs=(str(i),)
        )
        for i, (cell, size) in enumerate(zip(cells, sizes))
    ]
    assert agreement([replace(table, cells=tuple(moved))]).look == sign


def test_no_difference_has_no_minus():
    other = replace(FINDING, column="noise", stable_against_not=replace(UNSURE, mean=-0.01))
    (answer,) = answers([], [replace(FINDING, stable_against_not=UNSURE), other])
    assert answer.lines == ("table-x, 56 layers: +0.0 to +1.0 points in 2 settings",)


@pytest.mark.parametrize("rho, words", [(0.95, "explains as much"), (0.2, "explains less")])
def test_effective_depth_is_weighed_against_the_roots(rho, words):
    deep = replace(FINDING, by_effective_depth=Correlation(rho, 0.01, 10))
    assert words in headings(deep)[1]


def test_a_comparison_that_two_tables_print_counts_once():
    deep = replace(FINDING, by_effective_depth=Correlation(0.95, 0.01, 10), numbers=frozenset({(ACCURACY, ("run",))}))
    found = [deep, replace(deep, experiment="table-y"), replace(deep, column="other", numbers=frozenset())]
    assert answers([], found)[1].lines[0].startswith("In 2 of 2 comparisons it goes with the number as closely as")
    none = Correlation(0.1, 0.9, 10)
    unclear = replace(found[2], column="unclear", by_effective_depth=none, by_modulus=none)
    line = answers([], [*found, unclear])[1].lines[0]
    assert line.startswith("In 2 of 2") and line.endswith("; in 1 more neither goes with it.")
    page = "".join(claims_section(claims(), found, [], {}))
    assert "What our runs say, in 2 comparisons; 1 more repeat numbers of another table" in page


def test_a_number_that_two_tables_print_is_weighed_once():
    tables = [table for table in recorded() if table.experiment.name in ("table-robustness", "table-gaussian-noise")]
    assert len(tables) == 2
    cells = [len([cell for cell in table.cells if cell.printed]) for table in tables]
    assert f"printed one: {sum(cells) - 40}." in agreement(tables).lines[0], "four levels are in both"


def test_a_number_that_two_tables_print_is_one_of_the_measured():
    tables = [table for table in recorded() if table.experiment.name in ("table-robustness", "table-gaussian-noise")]
    cells = sum(len(table.cells) for table in tables)
    shared = 4  # no noise, delta 0.01, 0.02 and 0.04
    rows = len({cell.row for cell in tables[0].cells})
    wanted = cells - shared * rows
    assert f"<b>{wanted} of {wanted}</b>" in facts(Evidence((), (), ()), tables)


def test_one_table_is_one_line_with_the_range_of_its_settings():
    other = replace(FINDING, column="noise", stable_against_not=replace(BETTER, mean=20.0))
    (answer,) = answers([], [FINDING, other])
    assert answer.lines == ("table-x, 56 layers: +10.0 to +20.0 points in 2 settings",)


def test_settings_of_a_table_that_do_not_agree_are_named():
    other = replace(FINDING, column="noise", stable_against_not=UNSURE)
    better, unsure = answers([], [FINDING, other, replace(other, column="more noise")])
    assert better.lines == ("table-x, 56 layers: +10.00 (95 % interval +8.00 to +12.00) points: acc",)
    assert unsure.lines == ("table-x, 56 layers: +1.0 to +1.0 points in 2 settings: noise; more noise",)


def test_cards_say_their_verdict_by_a_sign_too():
    assert "✓ Zero-stable" in cards(answers([], [FINDING]))


def test_every_claim_has_a_row_with_its_verdict():
    every = claims()
    page = "".join(claims_section(every, [FINDING], [PAIR], {"table-x": "<X>"}))
    assert page.count('scope="row"') == len(every) + 2
    assert page.count('class="tag ') == len(every)
    assert "&lt;1&gt;" in page and "&lt;X&gt;" in page and "+10.00 (95 % interval +8.00 to +12.00)" in page


def test_pairs_are_on_the_first_screen_decided_ones_first():
    unsure = replace(PAIR, group="roots", first="roots: in", second="roots: out", difference=UNSURE)
    better, alone = answers([], [FINDING], [unsure, PAIR, replace(PAIR, difference=None)])
    assert better.look == "holds" and alone.look == "mixed"
    assert alone.lines == (
        "beta (<1>, less 0): −10.00 (95 % interval −12.00 to −8.00)",
        "roots (in, less out): +1.00 (95 % interval −2.00 to +4.00), undecided",
    )
    assert not any("In pairs" in one.heading for one in answers([], [FINDING], [replace(PAIR, difference=None)]))


def test_pairs_of_a_demo_are_said_to_be_of_one():
    heading = answers([], [replace(FINDING, scale="demo")], [replace(PAIR, scale="demo")])[-1].heading
    assert heading == "In pairs of schemes that differ in less, points, on the embedded digits (demo)"


def test_claims_that_fail_are_named_on_the_first_screen():
    made = [Claim("a", "t", "text", HOLDS, "because"), Claim("b", "t", "text", FAILS, "because")]
    first = "Of 2 sentences about numbers that the paper prints 1 hold, 1 do not hold. No run of ours is in this."
    assert claims_answer(made).lines == (first, "What does not: b.")
