"""`zerosnet predict`: what is printed, what programs get, and what is refused."""

import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from zerosnet.cli.main import run
from zerosnet.models import create_model, predicted_shares
from zerosnet.numerics import load_law


def predict(*arguments: str) -> int:
    return run(["predict", *arguments])


def document(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, object]:
    assert predict(*arguments, "--json") == 0
    return json.loads(capsys.readouterr().out)


def test_the_json_document_has_what_programs_need(capsys: pytest.CaptureFixture[str]) -> None:
    found = document(capsys, "zerosnet(-9/5)")
    keys = {"shares", "effective_depth", "effective_parameters", "accuracy", "interval", "calibration"}
    assert keys <= set(found)
    assert len(found["shares"]) == 27
    low, high = found["interval"]
    assert low < found["accuracy"] < high
    assert found["calibration"]["calibrated"] is True
    assert 0 < found["accuracy"] - found["last_epoch"]["accuracy"] < 1, "the best epoch is chosen by the test set"


def test_growing_betas_bring_an_unstable_scheme_back(capsys: pytest.CaptureFixture[str]) -> None:
    plain = document(capsys, "1,1,1;1")
    grown = document(capsys, "1,1,1;1", "--beta-growth", "1.839")
    assert grown["accuracy"] - plain["accuracy"] > 10
    assert grown["effective_depth"] > 4 * plain["effective_depth"]


def test_a_restart_at_stage_changes_changes_the_shares(capsys: pytest.CaptureFixture[str]) -> None:
    each, restart = (document(capsys, "1,1,1;1", "--stage-change", name) for name in ("project-each", "restart"))
    assert each["shares"] != restart["shares"]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["zerosnet(-9/5)", "--dataset", "mnist"], "fitted on cifar10"),
        (["zerosnet(-9/5)", "--layers", "326"], "basic blocks"),
        (["0;1"], "largest root is"),
    ],
)
def test_no_accuracy_is_given_if_the_law_was_not_calibrated(
    arguments: list[str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = document(capsys, *arguments)
    assert found["accuracy"] is None and found["interval"] is None
    assert why in found["calibration"]["why_not"]
    assert all(share > 0 for share in found["shares"])


@pytest.mark.parametrize(
    "arguments", [["1;1", "--dataset", "mosaics"], ["0,0,0;1"], ["1;0.01", "--dataset", "mosaics"]]
)
def test_survivors_are_not_mentioned_where_they_are_unknown(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert predict(*arguments) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "survive training unknown" in printed and "blocks that survive" not in printed
    assert "(by how much of each block reaches the head)" in printed


def test_all_blocks_count_where_survivors_are_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    used = []
    for dataset in ("cifar10", "mosaics"):
        assert predict("1/3,5/9,1/9;2/125", "--dataset", dataset) == 0
        used.append(int(capsys.readouterr().out.split("parameters in use")[1].split()[0]))
    assert used[0] < used[1]


def test_the_schemes_without_accuracy_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert predict("euler", "0;1", "10;1") == 0
    low, high = load_law().roots
    reasons = capsys.readouterr().out.splitlines()[-2:]
    assert reasons[0] == (
        f"no accuracy for euler(0): the law was fitted on schemes whose largest root is {low:g} to {high:g}, not 0"
    )
    assert reasons[1].startswith("no accuracy for ") and reasons[1].endswith("not 10")


def test_one_scheme_is_shown_with_a_bar_per_block(capsys: pytest.CaptureFixture[str]) -> None:
    assert predict("1,1,1;1") == 0
    printed = capsys.readouterr().out
    assert "The state grows 1.84-fold per block" in printed
    assert printed.count(" %  ") >= 27


def test_parts_of_stem_and_blocks_add_up_to_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert predict("1,1,1;1") == 0
    rows = capsys.readouterr().out.partition("part of what the head reads\n")[2].splitlines()
    assert len(rows) == 28 and rows[0].split() == ["stem", "30.7", "%"]
    assert sum(float(row.removesuffix("  dies").split()[-2]) for row in rows) == pytest.approx(100, abs=0.5)
    assert [row.endswith("dies") for row in rows[1:]] == [False] * 7 + [True] * 20


def test_several_schemes_are_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert predict("1,1,1;1", "-3,5,-1;4", "zerosnet(10)") == 0
    printed = capsys.readouterr().out
    assert printed.count("%") >= 6 and "zerosnet(-1/5)" in printed


def test_numbers_name_a_scheme_as_text_does(capsys: pytest.CaptureFixture[str]) -> None:
    assert document(capsys, "--alphas", "-3,5,-1", "--betas", "4") == document(capsys, "-3,5,-1;4")


@pytest.mark.parametrize(("layers", "nearby"), [("56", True), ("110", False)])
def test_networks_measured_nearby_are_named_if_there_are_any(
    layers: str, nearby: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    assert predict("zerosnet(-9/5)", "--layers", layers) == 0
    assert ("measured nearby" in capsys.readouterr().out) == nearby


def test_very_deep_networks_get_a_reason_in_place_of_parameters_in_use(capsys: pytest.CaptureFixture[str]) -> None:
    assert predict("zerosnet(-9/5)", "--layers", "1298") == 0
    assert "parameters in use  none: among so many blocks" in capsys.readouterr().out
    assert predict("euler", "zerosnet(-9/5)", "--layers", "1298") == 0
    assert capsys.readouterr().out.count("none      none") == 2


@pytest.mark.parametrize("options", [["--layers", "164"], ["--dataset", "mnist"]])
def test_no_map_is_drawn_if_the_law_was_not_calibrated(options: list[str], tmp_path: Path, capsys) -> None:
    assert predict("--map", str(tmp_path / "map.png"), *options) == 2
    assert "there are none: the law was fitted on" in " ".join(capsys.readouterr().err.split())


def test_figure_and_map_are_drawn(tmp_path: Path) -> None:
    figure, picture = tmp_path / "shares.png", tmp_path / "map.png"
    assert predict("zerosnet(1/2)", "--plot", str(figure), "--map", str(picture)) == 0
    assert figure.stat().st_size > 10_000 and picture.stat().st_size > 10_000


def test_predictions_are_appended_and_never_edited(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "predictions.json"
    assert predict("zerosnet(1/2)", "--register", str(file)) == 0
    assert predict("1,1,1;1", "--register", str(file)) == 0
    held = json.loads(file.read_text())["predictions"]
    assert [one["scheme"] for one in held] == ["9/4,-2,3/4;1/2", "1,1,1;1"]
    assert all(one["date"].endswith("UTC") and "git" in one for one in held)
    before = file.read_bytes()
    assert predict("1,1,1;1", "--register", str(file)) == 2
    assert "never edited" in capsys.readouterr().err
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "no scheme given"),
        (["1,1,1;1", "--layers", "57"], "layers is 57; expected one of 20"),
        (["1,1,1;1", "--stage-change", "jump"], "stage_change is 'jump'"),
        (["1,1,1;1", "--beta-growth", "fast"], "beta_growth"),
        (["1,1,1;1", "--colour"], "no such option: --colour; see zerosnet predict --help"),
        (["1,1,1"], "scheme is '1,1,1', without a semicolon"),
        (["resnet"], "'resnet' is a network"),
        (["resnet56"], "; that of resnet56 is euler\n"),
        (["--alphas", "1,1,1"], "--betas is missing"),
        (["euler", "--dataset", "cifar-10"], "dataset is 'cifar-10'"),
        (["zerosnet20_opt"], "; that of zerosnet20_opt is zerosnet(-9/5)\n"),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], message: str, refused) -> None:
    refused(["predict", *arguments], message)


def test_nothing_heavy_is_loaded() -> None:
    code = (
        "import sys; from zerosnet.cli.main import run; run(['predict', 'zerosnet(-9/5)', '--json']);"
        "print([m for m in ('torch', 'scipy', 'matplotlib', 'timm') if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


@pytest.mark.timing
def test_predict_is_about_as_fast_as_analyze() -> None:
    """CPU seconds of whole commands, the least of several; each imports numpy and little else."""

    def cpu_seconds(command: str) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-m", "zerosnet", command, "zerosnet(-9/5)"], capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    seconds = {name: min(cpu_seconds(name) for _ in range(5)) for name in ("analyze", "predict")}
    assert seconds["predict"] < 1.2 * seconds["analyze"]


@pytest.mark.parametrize("name", ["preresnet20_gains", "preresnet20_scaled", "preresnet20_x0", "streams20"])
def test_networks_with_trained_coefficients_have_the_shares_that_a_diagnosis_predicts(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["predict", name, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["shares"] == predicted_shares(create_model(name, seed=0))
    assert run(["predict", name]) == 0
    printed = capsys.readouterr().out
    assert f"{found['effective_depth']:.1f} of 9 blocks" in printed and "at the start of training" in printed


def test_options_of_schemes_are_refused_for_a_network(refused) -> None:
    refused(["predict", "preresnet20_x0", "--layers", "56"], "--layers is given beside preresnet20_x0")
    refused(["predict", "preresnet20_x0", "euler"], "euler is given beside preresnet20_x0")


def test_a_network_of_another_package_is_sent_to_diagnose(refused) -> None:
    refused(["predict", "timm:resnet18"], "is a network of another package", "zerosnet diagnose timm:resnet18")
