"""Means over corruptions below the table of `zerosnet attack`, and the end of an attack that measured nothing."""

import pytest
from tests.training.attacked import finished

from zerosnet.cli.attack_tables import print_results
from zerosnet.robustness import ProtocolResult, ResultRow
from zerosnet.training import RunSpec, Store, recipe


def result(clean, source="regenerated", **accuracies):
    rows = [ResultRow("clean", "clean", clean, 0, 100)]
    for name, values in accuracies.items():
        for severity, accuracy in enumerate(values, start=1):
            settings = {"corruption": name, "severity": severity, "source": source}
            label = f"{name}, severity {severity}"
            rows.append(ResultRow(label, "corruption", accuracy, 0, 100, settings=settings))
    return ProtocolResult("corruptions", tuple(rows))


def spec(model, dataset="cifar10"):
    return RunSpec(model, dataset, recipe("paper", dataset), 1)


ONE = result(0.9, fog=(0.8, 0.6), snow=(0.7, 0.7), frost_generated=(0.1, 0.1))
OTHER = result(0.9, fog=(0.6, 0.6), snow=(0.85, 0.85), frost_generated=(0.9, 0.9))


def printed(capsys, results, *models):
    print_results(results, dict(zip(results, models)))
    return capsys.readouterr().out.partition("Mean over corruptions")[2].strip()


def test_the_mean_error_leaves_generated_frost_out_and_names_the_source(capsys):
    out = printed(capsys, {"a": ONE}, spec("zerosnet56_opt"))
    assert out.splitlines()[0].split() == ["images", "corruptions", "mean", "error,", "%"]
    assert out.splitlines()[2].split() == ["regenerated", "2", "30.00"]


def test_the_mce_is_relative_to_preresnet56_if_it_was_measured_too(capsys):
    lines = printed(capsys, {"a": ONE, "b": OTHER}, spec("zerosnet56_opt"), spec("preresnet56")).splitlines()
    assert lines[2].split() == ["1", "regenerated", "2", "30.00", "137.50"]
    assert lines[3].split() == ["2", "regenerated", "2", "27.50", "100.00"]
    assert lines[4] == "mCE: errors relative to those of b"


@pytest.mark.parametrize(
    ("reference", "dataset"), [(result(0.9, "published", fog=(0.5, 0.5)), "cifar10"), (OTHER, "cifar100")]
)
def test_other_corruptions_or_data_are_no_reference(capsys, reference, dataset):
    out = printed(capsys, {"a": ONE, "b": reference}, spec("zerosnet56_opt"), spec("preresnet56", dataset))
    assert out.splitlines()[2].split()[-1] == "-"


def test_a_reference_without_errors_gives_no_mce(capsys):
    perfect = result(1.0, fog=(1.0, 1.0), snow=(1.0, 1.0), frost_generated=(1.0, 1.0))
    out = printed(capsys, {"a": ONE, "b": perfect}, spec("zerosnet56_opt"), spec("preresnet56"))
    assert "mCE, %" not in out and "no mCE: b makes no error under some corruption" in out


def test_other_protocols_have_no_mean_over_corruptions(capsys):
    rows = (ResultRow("clean", "clean", 0.9, 9, 10), ResultRow("noise", "noise", 0.5, 5, 10))
    assert printed(capsys, {"a": ProtocolResult("paper-noise", rows)}, spec("preresnet56")) == ""


@pytest.mark.parametrize("shown", [[], ["--json"]])
def test_nothing_measured_is_a_failure_and_draws_no_figure(tmp_path, call, shown):
    name, figure = finished(Store(tmp_path), "zerosnet20_opt", 1), tmp_path / "a.png"
    words = ["--protocol", "corruptions", "--store", tmp_path, "--device", "cpu", "--plot", figure, *shown]
    code, out, err = call("attack", name, *words)
    assert code == 1 and "digits-C is not there" in out
    assert err.endswith(f"zerosnet: nothing was measured; {figure} is not drawn\n") and not figure.exists()
