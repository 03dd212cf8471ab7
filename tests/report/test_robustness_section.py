"""The section on robustness: made of the records, and nothing if there are none."""

from dataclasses import replace

from tests.experiments.test_robust_networks import NOISE, UNSTABLE, attacked_run, corrupted, fooled, run, smoothed
from tests.measured_runs import RUNS, needs_runs

from zerosnet.experiments import Evidence, read_evidence
from zerosnet.report.page.robustness_section import robustness_section
from zerosnet.training import Store


def test_nothing_is_shown_of_nothing():
    assert robustness_section(Evidence()) == []


@needs_runs
def test_noise_is_compared_at_equal_accuracy_and_depth():
    text = "".join(robustness_section(read_evidence(Store(RUNS))))
    assert text.count("<svg") >= 2 and "equal clean accuracy" in text and "equal effective parameters" in text
    assert "The root condition adds" in text and "uniform [-0.08, 0]" in text


def test_corruptions_and_certificates_are_shown_with_their_reference():
    evidence = Evidence(
        runs=(
            run(corrupted(0.9, 0.7), "preresnet56"),
            run(corrupted(0.9, 0.8), "zerosnet56", scheme=UNSTABLE),
            run(smoothed(0.8, 0.4), trained=NOISE),
        )
    )
    text = "".join(robustness_section(evidence))
    assert "relative mCE" in text and "regenerated" in text and "zerosnet56 1,1,1;1" in text and "66.7" in text
    assert "Certified accuracy" in text and "mean radius" in text and "Noise: compared" not in text


def test_without_its_reference_there_is_no_mean_corruption_error_and_the_page_tells_why():
    evidence = Evidence(runs=(run(corrupted(0.9, 0.7)), run(corrupted(0.8, 0.5), "zerosnet56", scheme=UNSTABLE)))
    text = "".join(robustness_section(evidence))
    assert "mCE" not in text and "PreResNet-56, has not been measured on the same images" in text
    assert "30.00" in text and "20.00" in text, "mean error, and what of it is lost to corruption"
    assert text.count("<svg") >= 1 and "severity, 0 is clean" in text


def test_certificates_name_their_number_of_images():
    same = Evidence(runs=(run(smoothed(0.8, 0.4, images=500)), run(smoothed(0.4), "zerosnet20", dataset="digits")))
    text = "".join(robustness_section(same))
    assert "the part of 500 test images" in text and "the part of 100 test images" in text
    mixed = Evidence(runs=(run(smoothed(0.8, images=1500)), run(smoothed(0.4, images=500), "zerosnet20")))
    assert "the part of 500 to 1,500 test images" in "".join(robustness_section(mixed))


def test_certificates_of_several_noises_have_a_chart_each():
    wide = replace(smoothed(0.4, 0.3), protocol="smoothing-0.5")
    text = "".join(robustness_section(Evidence(runs=(run(smoothed(0.8, 0.2)), run(wide, seed=2)))))
    assert text.count("Certificates: cifar10") == 1
    assert "Certified accuracy, noise of 0.25" in text and "Certified accuracy, noise of 0.5" in text
    assert "noise of" not in "".join(robustness_section(Evidence(runs=(run(smoothed(0.8, 0.2)),))))


def test_certificates_of_several_recipes_name_them():
    both = Evidence(runs=(run(smoothed(0.8, 0.2)), run(smoothed(0.6, 0.2), trained=NOISE)))
    text = "".join(robustness_section(both))
    assert "zerosnet56_opt, recipe paper" in text and "zerosnet56_opt, recipe noise" in text


def test_every_data_set_has_a_part():
    runs = [run(smoothed(0.8), "zerosnet20", dataset=name) for name in ("cifar10", "digits", "folder:flowers@64")]
    runs += [attacked_run(fooled("pgd-whitebox", "pgd-50", 50, e8=0.4), model="zerosnet20", dataset="mosaics")]
    text = "".join(robustness_section(Evidence(runs=tuple(runs))))
    for title in ("Certificates: digits", "Certificates: folder:flowers@64", "White-box attacks: mosaics"):
        assert title in text


def test_attacks_are_drawn_over_the_radius_and_listed():
    attacked = (fooled("pgd-whitebox", "pgd-50", 500, e4=0.6, e8=0.5), fooled("autoattack", "autoattack", 100, e8=0.3))
    text = "".join(robustness_section(Evidence(runs=(attacked_run(*attacked),))))
    assert text.count("<svg") >= 1 and "Accuracy under PGD-50, recipe paper" in text
    assert "zerosnet56_opt: 30.0 %" in text, "AutoAttack as a cross"
    assert "pgd-50 8/255" in text and "pgd-50 500, autoattack 100" in text


def test_the_weaker_attack_is_drawn_if_no_other_was_made():
    text = "".join(robustness_section(Evidence(runs=(attacked_run(fooled("autoattack", "pgd-20", 50, e8=0.4)),))))
    assert "Accuracy under PGD-20" in text and "crosses" not in text
