"""Networks under corruption and with certificates, joined over seeds, on made-up evidence."""

from dataclasses import replace
from pathlib import Path

import pytest

from zerosnet.experiments import (
    Evidence,
    RunEvidence,
    attacked_networks,
    certified_networks,
    corrupted_networks,
    datasets,
    rounded_name,
)
from zerosnet.numerics import Scheme
from zerosnet.report import attacked_figure, certified_figure, corruption_figure
from zerosnet.robustness import ProtocolResult, ResultRow
from zerosnet.training import RunRecord, RunSpec, recipe

PAPER, NOISE = recipe("paper", "cifar10"), recipe("noise", "cifar10")
UNSTABLE = Scheme.parse("1,1,1;1")


def run(result: ProtocolResult, model: str = "zerosnet56_opt", seed: int = 1, **options) -> RunEvidence:
    growth = {"beta_growth": options.get("beta_growth")}
    dataset = options.get("dataset", "cifar10")
    spec = RunSpec(model, dataset, options.get("trained", PAPER), seed, options.get("scheme"), **growth)
    return RunEvidence(Path(), RunRecord(spec.id, Path(), spec, "finished", None), attacks={result.protocol: result})


def corrupted(clean: float, fog: float, frost: float = 0.1) -> ProtocolResult:
    rows = [ResultRow("clean", "clean", clean, 0, 100)]
    for severity in range(1, 6):
        for name, accuracy in (("fog", fog), ("frost_generated", frost)):
            settings = {"corruption": name, "severity": severity, "source": "regenerated"}
            rows.append(ResultRow(f"{name} {severity}", "corruption", accuracy, 0, 100, settings=settings))
    return ProtocolResult("corruptions", tuple(rows))


def smoothed(*certified: float, abstained: float = 0.1, images: int = 100) -> ProtocolResult:
    rows = [ResultRow("clean", "clean", 0.9, 0, images)]
    rows += [ResultRow(f"r {k}", "certified", value, 0, images, eps=0.25 * k) for k, value in enumerate(certified)]
    return ProtocolResult("smoothing", (*rows, ResultRow("abstained", "abstained", abstained, 0, images)))


def test_corruption_errors_are_in_percent_of_preresnet_56():
    evidence = Evidence(
        runs=(
            run(corrupted(0.9, 0.7), "preresnet56"),
            run(corrupted(0.9, 0.8)),
            run(corrupted(0.9, 0.9), seed=2),
            run(corrupted(0.8, 0.4), "zerosnet56", scheme=UNSTABLE),
        )
    )
    best, reference, worst = corrupted_networks(evidence)
    assert (best.runs, best.zero_stable, best.errors.mean) == (2, True, pytest.approx(15))
    assert best.error == pytest.approx(50) and best.relative == pytest.approx(25)
    assert (reference.name, reference.error) == ("preresnet56", pytest.approx(100))
    assert worst.zero_stable is False and worst.error == pytest.approx(200)
    panels = [axes for axes in corruption_figure([best, reference, worst]).axes if axes.get_visible()]
    assert [axes.get_title(loc="left") for axes in panels] == ["fog", "frost generated"]
    assert [len(axes.lines) for axes in panels] == [3, 3]
    assert list(panels[0].lines[2].get_ydata()) == pytest.approx([80] + [40] * 5)


def test_without_a_reference_there_is_no_ratio():
    (alone,) = corrupted_networks(Evidence(runs=(run(corrupted(0.9, 0.8)),)))
    assert alone.error is None and alone.relative is None and alone.errors.mean == pytest.approx(20)


def test_a_reference_that_loses_nothing_gives_no_relative_error():
    same, faultless = corrupted(0.9, 0.9), corrupted(1.0, 1.0)
    (_, one) = corrupted_networks(Evidence(runs=(run(same, "preresnet56"), run(corrupted(0.9, 0.8)))))
    assert one.error == pytest.approx(200) and one.relative is None
    (_, one) = corrupted_networks(Evidence(runs=(run(faultless, "preresnet56"), run(corrupted(0.9, 0.8)))))
    assert one.error is None and one.relative is None


def test_a_reference_on_fewer_images_gives_no_ratio():
    few = corrupted(0.9, 0.7)
    few = replace(few, rows=tuple(replace(row, images=10) for row in few.rows))
    found = corrupted_networks(Evidence(runs=(run(few, "preresnet56"), run(corrupted(0.9, 0.8)))))
    assert {one.name: (one.images, one.error) for one in found} == {
        "preresnet56": (10, pytest.approx(100)),
        "zerosnet56_opt": (100, None),
    }


def test_networks_with_growing_steps_stand_apart_from_those_without():
    runs = [run(corrupted(0.9, 0.8), "zerosnet56", scheme=UNSTABLE, beta_growth=rate) for rate in (None, "1841/1000")]
    names = {one.name for one in corrupted_networks(Evidence(runs=tuple(runs)))}
    assert names == {"zerosnet56 1,1,1;1", "zerosnet56 1,1,1;1, beta growth 1.841"}


def test_coefficients_of_many_digits_are_rounded_and_short_ones_stay():
    name = rounded_name("zerosnet56 1/3,543183/1000000;679/1250, beta growth 2")
    assert name == "zerosnet56 1/3,0.5432;0.5432, beta growth 2" and rounded_name("preresnet56") == "preresnet56"


def test_certificates_are_joined_over_seeds_and_ordered_by_their_mean_radius():
    evidence = Evidence(
        runs=(
            run(smoothed(0.5, 0.2, 0.0), "zerosnet56", scheme=UNSTABLE, trained=NOISE),
            run(smoothed(0.8, 0.6, 0.2), trained=NOISE),
            run(smoothed(0.6, 0.4, 0.0), seed=2, trained=NOISE),
        )
    )
    best, other = certified_networks(evidence)
    assert (best.runs, best.recipe, best.zero_stable) == (2, "noise", True)
    assert best.certified == pytest.approx({0.0: 70, 0.25: 50, 0.5: 10}) and best.abstained == pytest.approx(10)
    assert best.mean_radius == pytest.approx(0.25 * (0.6 + 0.3)) and other.zero_stable is False
    (axes,) = certified_figure([best, other]).axes
    assert [list(line.get_ydata()) for line in axes.lines] == [pytest.approx([70, 50, 10]), pytest.approx([50, 20, 0])]


def test_of_several_certificates_that_of_the_most_images_counts():
    few, more = smoothed(0.9, images=10), smoothed(0.5, images=20)
    (one,) = certified_networks(Evidence(runs=(attacked_run(few, more), run(few, seed=2))))
    assert (one.certified, one.images, one.runs) == ({0.0: 50}, 20, 1)


def test_networks_of_changed_recipes_are_not_joined_as_seeds():
    short = recipe("paper", "cifar10", epochs=4)
    runs = (run(corrupted(0.9, 0.8)), run(corrupted(0.9, 0.6), seed=2), run(corrupted(0.7, 0.5), trained=short))
    found = {one.recipe: one.runs for one in corrupted_networks(Evidence(runs=runs))}
    assert found == {"paper": 2, "paper (epochs 4)": 1}


def test_certificates_of_different_noises_stand_apart():
    wide = replace(smoothed(0.4, 0.3), protocol="smoothing-0.5")
    wide = replace(wide, rows=tuple(replace(row, settings={"sigma": 0.5}) for row in wide.rows))
    usual, other = certified_networks(Evidence(runs=(run(wide, seed=2), attacked_run(smoothed(0.8, 0.2), wide))))
    assert (usual.sigma, usual.runs, other.sigma, other.runs) == (0.25, 1, 0.5, 2)


def test_data_sets_are_listed_cifar10_first():
    others = [run(smoothed(0.5), "zerosnet20", dataset=name) for name in ("folder:a", "digits", "cifar10")]
    assert datasets(Evidence(runs=tuple(others))) == ["cifar10", "digits", "folder:a"]
    assert [len(certified_networks(Evidence(runs=tuple(others)), name)) for name in ("digits", "mnist")] == [1, 0]


def fooled(protocol: str, method: str, images: int, **kept: float) -> ProtocolResult:
    """A protocol's result: `e8=0.4` is what is left at 8/255."""
    rows = [
        ResultRow("clean", "clean", 0.7 + images / 5000, 0, images),
        ResultRow("huge", "huge eps", 0.0, 0, images, eps=0.5),
    ]
    rows += [ResultRow(key, method, value, 0, images, eps=int(key[1:]) / 255) for key, value in kept.items()]
    return ProtocolResult(protocol, tuple(rows))


def attacked_run(*results: ProtocolResult, **options) -> RunEvidence:
    record = run(results[0], **options).record
    return RunEvidence(Path(), record, attacks={f"{r.protocol}+{place}": r for place, r in enumerate(results)})


def test_attacks_on_some_images_count_and_more_images_win():
    few = fooled("pgd-whitebox", "pgd-50", 100, e4=0.6, e8=0.5)
    more = fooled("pgd-whitebox", "pgd-50", 500, e8=0.4)
    strongest = fooled("autoattack", "autoattack", 200, e8=0.3)
    other = fooled("pgd-whitebox", "pgd-50", 400, e4=0.3, e8=0.1)
    evidence = Evidence(
        runs=(
            attacked_run(few, more, strongest),
            attacked_run(other, model="zerosnet56", scheme=UNSTABLE),
        )
    )
    best, worst = attacked_networks(evidence)
    assert best.kept == {
        "pgd-50": {4 / 255: pytest.approx(60), 8 / 255: pytest.approx(40)},
        "autoattack": {8 / 255: 30},
    }
    assert (best.clean, worst.clean, worst.zero_stable) == (pytest.approx(80), pytest.approx(78), False)
    (axes,) = attacked_figure([best, worst]).axes
    assert list(axes.lines[0].get_ydata()) == pytest.approx([80, 60, 40])


def test_seeds_of_an_attacked_network_are_joined_where_all_were_attacked():
    runs = [
        attacked_run(fooled("pgd-whitebox", "pgd-20", 500, e4=0.6, e8=0.4)),
        attacked_run(fooled("pgd-whitebox", "pgd-20", 500, e8=0.2), seed=2),
    ]
    (joined,) = attacked_networks(Evidence(runs=tuple(runs)))
    assert joined.kept == {"pgd-20": {8 / 255: pytest.approx(30)}} and joined.images == {"pgd-20": 500}
    assert joined.runs == 2


def test_a_seed_that_was_attacked_on_fewer_images_than_others_does_not_count():
    runs = [
        attacked_run(fooled("pgd-whitebox", "pgd-20", 500, e8=0.4)),
        attacked_run(fooled("pgd-whitebox", "pgd-20", 400, e8=0.2), seed=2),
    ]
    (one,) = attacked_networks(Evidence(runs=tuple(runs)))
    assert one.kept == {"pgd-20": {8 / 255: pytest.approx(40)}} and one.images == {"pgd-20": 500} and one.runs == 1
