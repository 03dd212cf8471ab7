"""zerosnet analyze, design and region: what they print, as tables and as JSON, and how they refuse bad input."""

import json
import os
import subprocess
import sys

import pytest

from zerosnet.numerics import PAPER_ROWS, Scheme

SCHEME_KEYS = [
    "alphas",
    "betas",
    "roots",
    "moduli",
    "zero_stable",
    "kind",
    "consistent",
    "order",
    "error_constant",
    "reason",
]


@pytest.fixture
def document(call):
    def document(*arguments: str):
        code, out, err = call(*arguments, "--json")
        assert (code, err) == (0, "")
        return json.loads(out)

    return document


OPTIMAL = [
    ["zerosnet(-9/5)"],
    ["1/3,5/9,1/9;16/9"],
    ["--alphas", "1/3,5/9,1/9", "--betas", "16/9"],
    ["--family", "zerosnet", "--param", "-9/5"],
    ["--family", "zerosnet", "--param=-1.8"],
    ["--family", "from-roots", "--param", "-1/3,-1/3"],
]


@pytest.mark.parametrize("arguments", OPTIMAL)
def test_every_way_to_name_a_scheme_is_the_same_scheme(document, arguments):
    found = document("analyze", *arguments)
    assert Scheme.from_json({key: found[key] for key in ("alphas", "betas")}) == Scheme.parse("zerosnet(-9/5)")
    assert set(SCHEME_KEYS) <= set(found)
    assert found["roots"] == [[1.0, 0.0], [pytest.approx(-1 / 3), 0.0], [pytest.approx(-1 / 3), 0.0]]
    assert found["zero_stable"] is True and found["order"] == 2 and found["error_constant"] == "11/27"
    assert found["real_interval"] == "1/2"


@pytest.mark.parametrize("alphas", [["--alphas", "-3,5,-1"], ["--alphas=-3,5,-1"]])
def test_negative_numbers_are_values(document, alphas):
    found = document("analyze", *alphas, "--betas", "4")
    assert found["alphas"] == ["-3", "5", "-1"] and found["zero_stable"] is False
    assert "-4.2361" in found["reason"]


def test_a_scheme_may_begin_with_a_minus(document):
    assert document("analyze", "-3,5,-1;4")["alphas"] == ["-3", "5", "-1"]
    assert document("analyze", "-.5;1")["alphas"] == ["-1/2"]


def test_decimals_are_exact(document):
    assert document("analyze", "0.1;0.9")["alphas"] == ["1/10"]


def test_lm_has_three_betas(document):
    for beta, value in {"consistent": "3/2", "paper": "2", "original": "1"}.items():
        assert document("analyze", "--family", "lm", "--param", "1/2", "--beta", beta)["betas"] == [value]


def test_the_table_has_verdict_and_roots_without_colour_codes(call):
    code, out, err = call("analyze", "leapfrog")
    assert (code, err) == (0, "")
    assert "weakly stable" in out and "simple root at -1" in out and "at 0 only on the real axis" in out
    assert "\x1b" not in out
    assert "at 0 only" not in call("analyze", "1,1,1;1")[1]  # absolute stability at 0 is zero stability


def test_paper_reproduces_the_ten_rows(document, call):
    rows = document("analyze", "--paper")
    assert [row["label"] for row in rows] == [row.label for row in PAPER_ROWS]
    assert all(row["zero_stable"] == row["printed_zero_stable"] for row in rows)
    assert sum(row["consistent"] for row in rows) == 6
    for row in rows:
        assert sorted(f"{m:.2f}" for m in row["moduli"]) == sorted(row["printed_moduli"])
    assert call("analyze", "--paper")[1].count("\n") >= 13


def test_concepts_count_the_rows_that_have_them(document):
    found = {row["concept"]: len(row["paper_rows"]) for row in document("analyze", "--concepts")}
    assert found == {"A-stability": 0, "BIBO stability": 3, "zero stability": 6}


def test_infinite_intervals_are_null(document):
    assert document("analyze", "lm(-1/2, paper)")["real_interval"] is None


def test_design_three_two_is_theorem_three(document):
    found = document("design", "--steps", "3", "--order", "2")
    assert found["alphas"] == ["1/3", "5/9", "1/9"] and found["betas"] == ["16/9"]
    assert found["modulus"] == pytest.approx(1 / 3) and found["exact_modulus"] == "1/3"


def test_design_reports_orders_without_a_zero_stable_scheme(document, call):
    assert document("design", "--steps", "5", "--order", "4")["feasible"] is False
    assert "no, proved" in call("design", "--steps", "5", "--order", "4")[1]


def test_design_by_depth_finds_more_depth_than_euler(document, call):
    found = document("design", "--steps", "3", "--objective", "depth", "--blocks", "9,9,9")
    assert (found["steps"], found["order"], found["blocks"], found["objective"]) == (3, 1, [9, 9, 9], "depth")
    assert found["value"] == pytest.approx(23.5, abs=0.1)
    assert found["euler"] < found["value"]
    assert len(found["alphas"]) == 3
    assert sum(found["alphas"]) == pytest.approx(1)
    assert "effective depth" in call("design", "--steps", "3", "--objective", "depth")[1]


def test_design_by_depth_without_steps_lists_one_to_four(document, call):
    table = document("design", "--objective", "depth", "--blocks", "3,3,3")
    assert [row["steps"] for row in table] == [1, 2, 3, 4]
    assert "The schemes with the most depth" in call("design", "--objective", "depth", "--blocks", "3,3,3")[1]


def test_design_by_depth_takes_layers_and_finds_betas(document, call):
    found = document("design", "--objective", "accuracy", "--steps", "2", "--layers", "110", "--free-betas")
    assert found["blocks"] == [18, 18, 18]
    assert len(found["free_betas"]["betas"]) == 53 and found["free_betas"]["value"] >= found["value"]
    text = call("design", "--objective", "head", "--steps", "1", "--layers", "20", "--free-betas")[1]
    assert "betas after start-up" in text


def test_the_trade_off_of_depth_is_drawn(call, tmp_path):
    figure = tmp_path / "trade-off.svg"
    assert call("design", "--objective", "depth", "--steps", "2", "--layers", "20", "--plot", str(figure))[0] == 0
    assert figure.read_text().startswith("<?xml")


def test_design_table_lists_all_orders(document, call):
    assert [(row["steps"], row["order"]) for row in document("design", "--steps", "3")] == [(3, 1), (3, 2), (3, 3)]
    assert "77 m^3 - 51 m^2 - 9 m - 1 = 0" in call("design")[1]


@pytest.mark.parametrize(("name", "stable"), [("zerosnet", "(-oo, -1] U (1/3, oo)"), ("momentum", "[-1, 1)")])
def test_region_is_the_exact_stable_set(document, call, name, stable):
    assert document("region", "--family", name)["stable_set"]["text"] == stable
    assert stable in call("region", "--family", name)[1]


def test_region_with_param_tells_of_the_member(document):
    member = document("region", "--family", "zerosnet", "--param", "10")["member"]
    assert member["real_interval"] == "44/29" and member["zero_stable"] is True


@pytest.mark.parametrize(
    "arguments",
    [
        ["analyze", "zerosnet(-9/5)"],
        ["analyze", "--paper"],
        ["analyze", "--concepts"],
        ["design", "--steps", "3", "--order", "2"],
        ["region", "--family", "zerosnet", "--param", "-9/5"],
        ["region", "--family", "lm", "--param", "1/2", "--beta", "original"],
        ["region", "--family", "from-roots", "--param", "-1/3,1/2"],
    ],
)
def test_plot_draws_a_file_and_json_stays_alone(call, tmp_path, arguments):
    target = tmp_path / "figures" / "figure.png"
    code, out, _ = call(*arguments, "--plot", str(target), "--json")
    assert code == 0 and json.loads(out)
    assert target.read_bytes().startswith(b"\x89PNG")
    assert len(list(target.parent.iterdir())) == 1


BAD = {
    "lambda": ["analyze", "--family", "zerosnet", "--param", "0"],
    "alphas": ["analyze", "--alphas", "", "--betas", "1"],
    "betas": ["analyze", "--alphas", "1", "--betas", ""],
    "nan": ["analyze", "--alphas", "nan", "--betas", "1"],
    "inf": ["analyze", "--alphas", "1,inf", "--betas", "1"],
    "divides by zero": ["analyze", "--alphas", "1/0", "--betas", "1"],
    "unknown family 'nope'": ["analyze", "--family", "nope"],
    "unknown family 'no'": ["region", "--family", "no"],
    "--nope": ["analyze", "--nope"],
    "no such option: -x": ["analyze", "-x"],
    "option '--alphas' requires an argument; see zerosnet": ["analyze", "--alphas"],
    "no such option: --alpha (did you mean --alphas?); see zerosnet analyze --help": ["analyze", "--alpha", "1"],
    "a scheme is one word, in quotes if need be": ["analyze", "zerosnet", "-9/5"],
    "missing option '--family'; see zerosnet region --help": ["region"],
    "no such command: analyse (did you mean analyze?)": ["analyse", "leapfrog"],
    "1 0": ["analyze", "1 0;1"],
    "1e9_999_999": ["analyze", "1e9_999_999;1"],
    "no scheme": ["analyze"],
    "more than one way": ["analyze", "euler", "--alphas", "1", "--betas", "1"],
    "exclude each other": ["analyze", "euler", "--paper"],
    "--betas is missing": ["analyze", "--alphas", "1"],
    "--alphas is missing": ["analyze", "--betas", "1"],
    "--param is given without": ["analyze", "euler", "--param", "1"],
    "missing a required": ["analyze", "--family", "zerosnet"],
    "scheme is 'zerosnet(1'": ["analyze", "zerosnet(1"],
    "beta": ["analyze", "--family", "lm", "--param", "1", "--beta", "mine"],
    "steps is 9": ["design", "--steps", "9", "--order", "2"],
    "order is 4": ["design", "--steps", "3", "--order", "4"],
    "--order is given without": ["design", "--order", "2"],
    "--order is given": ["design", "--objective", "depth", "--order", "2"],
    "objective is 'width'": ["design", "--steps", "3", "--objective", "width"],
    "--blocks is given without": ["design", "--steps", "3", "--blocks", "9,9,9"],
    "--blocks is '9,x'": ["design", "--steps", "3", "--objective", "depth", "--blocks", "9,x"],
    "--blocks is '9999,9'": ["design", "--steps", "3", "--objective", "depth", "--blocks", "9999,9"],
    "--layers is given without": ["design", "--layers", "56"],
    "--free-betas is given without": ["design", "--objective", "accuracy", "--free-betas"],
    "expected accuracy or head": ["design", "--objective", "depth", "--steps", "2", "--free-betas"],
    "--blocks and --layers": ["design", "--objective", "depth", "--blocks", "9,9,9", "--layers", "56"],
    "layers is 57": ["design", "--objective", "depth", "--layers", "57"],
    "--steps": ["design", "--steps", "three"],
    "--family": ["region"],
    "expected .png": ["analyze", "euler", "--plot", "figure.gif"],
    "cannot be written": ["analyze", "euler", "--plot", "/dev/null/figure.png"],
}


@pytest.mark.parametrize("complaint", BAD)
def test_bad_input_is_one_line_and_exit_code_two(refused, complaint):
    refused(BAD[complaint], complaint)


ENORMOUS = {
    "a million digits": "1" * 10**6 + ";1",
    "thousands of weights": ",".join(["1/5000"] * 5000) + ";1",
    "thousands of roots": f"from-roots({','.join(['1/2'] * 5000)})",
    "thousands of slopes": "1;" + ",".join(["1"] * 5000),
    "seventeen steps": "0," * 16 + "1;1",
    "many long weights": ",".join(f"1/{10**200 + 2 * i + 1}" for i in range(12)) + ";1",
}


@pytest.mark.parametrize("text", ENORMOUS.values(), ids=ENORMOUS)
def test_what_would_take_minutes_is_refused_at_once(call, text):
    code, out, err = call("analyze", text)
    assert (code, out) == (2, "")
    assert "too long" in err and len(err) < 300


@pytest.mark.parametrize("text", ["0,0,0;0", "1;1e200", "zerosnet(1e-300)", f"{10**400 + 1}/{10**400};1", "1e-300;1,0"])
def test_extreme_schemes_are_analysed(document, text):
    found = document("analyze", text)
    assert len(found["roots"]) == len(found["moduli"]) == found["steps"]


def test_a_bad_scheme_leaves_no_folder_behind(call, tmp_path):
    assert call("analyze", "zerosnet(0)", "--plot", str(tmp_path / "new" / "figure.png"))[0] == 2
    assert list(tmp_path.iterdir()) == []


def shell(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from zerosnet.__main__ import main; main()", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, "FORCE_COLOR": ""})


def test_as_a_process_it_pipes_plain_text_and_exits_properly():
    good, bad = shell("analyze", "--paper"), shell("analyze", "--family", "zerosnet", "--param", "0")
    assert good.returncode == 0 and "\x1b" not in good.stdout and "…" not in good.stdout
    assert (bad.returncode, bad.stdout, bad.stderr.count("\n")) == (2, "", 1)
