import json
import subprocess
import sys
import time
from contextlib import suppress

import numpy as np
import pytest
from tests.best import best_of

from zerosnet.cli.main import run

pytest.importorskip("pydantic", reason="the explorer's extra is not installed")

from zerosnet.explorer import documents
from zerosnet.explorer.limits import SECONDS, BadParameter
from zerosnet.explorer.query import NamedScheme, Region
from zerosnet.numerics import Scheme, forecast, log10_envelope, stability_region

SOON = 0.1  # seconds: within these the page has to follow a drag


def test_the_runs_of_a_region_are_its_stable_points():
    query = Region(family="adams-bashforth", param="3", nx=40, ny=30, left=-1, right=0.5, bottom=-1, top=1)
    document = documents.region_document(query.scheme(), query)
    stable = np.zeros((30, 40), bool)
    for row, runs in zip(stable, document["runs"]):
        for first, last in runs:
            row[first : last + 1] = True
    expected = stability_region(query.scheme(), np.linspace(-1, 0.5, 40), np.linspace(-1, 1, 30))
    assert expected.any()
    assert (stable == expected).all()


HARDEST = Region(
    family="from-roots", param=",".join(["1.000000000001"] * 7), nx=400, ny=400, left=-2, right=1, bottom=-1, top=1
)


@pytest.mark.timing
def test_the_largest_grid_of_the_hardest_scheme_ends_in_time():
    def once():
        start = time.monotonic()
        with suppress(BadParameter):  # a fast machine has it in time
            documents.region_document(HARDEST.scheme(), HARDEST)
        return time.monotonic() - start

    assert best_of(3, once, 3 * SECONDS) < 3 * SECONDS


def test_a_grid_that_takes_too_long_is_refused(monkeypatch):
    monkeypatch.setattr(documents.limits, "SECONDS", 0.0)
    with pytest.raises(BadParameter, match="coarser grid"):
        documents.region_document(HARDEST.scheme(), HARDEST)


def test_the_window_stands_still_under_small_changes():
    windows = {documents.calm_window(Scheme.parse(f"zerosnet({x})")) for x in ("-1.80", "-1.81", "-1.82", "-1.83")}
    assert len(windows) == 1
    ((left, right), (bottom, top)) = windows.pop()
    assert left < -0.5 < 0 < right
    assert top == -bottom == (right - left) / 2


def test_an_envelope_is_that_of_the_numerics_and_null_if_it_vanishes():
    scheme = Scheme.parse("1/2,1/4;1")
    assert documents.envelope_document(scheme, 9)["log10"] == log10_envelope(scheme, 9).tolist()
    nothing = documents.envelope_document(Scheme.parse("0;1"), 9)
    assert nothing["log10"] == [0.0] + [None] * 9
    json.dumps(nothing, allow_nan=False)


@pytest.mark.parametrize(
    "query",
    [
        {"family": "zerosnet", "param": "-9/5"},
        {"family": "lm", "param": "1/2", "beta": "paper"},
        {"family": "from-roots", "param": "-1/3, z^2 + 1/9"},
        {"family": "leapfrog"},
        {"alphas": "1,1,1", "betas": "1"},
    ],
)
def test_what_is_copied_names_the_same_scheme(query):
    named = NamedScheme(**query)
    copied = documents.copy_document(named)
    assert Scheme.parse(named.text()) == named.scheme()
    assert copied["latex"] == named.scheme().to_latex()
    assert named.text() in copied["command"]
    compile(copied["python"], "copied", "exec")


def test_copied_python_runs():
    code = documents.copy_document(NamedScheme(family="lm", param="1/2"))["python"]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "strongly stable" in done.stdout


@pytest.mark.parametrize("ny", [30, 31])
def test_a_region_about_the_axis_is_its_own_mirror_image(ny):
    window = {"left": -2, "right": 1, "bottom": -1.5, "top": 1.5}
    query = Region(family="adams-bashforth", param="2", nx=33, ny=ny, **window)
    document = documents.region_document(query.scheme(), query)
    stable = stability_region(query.scheme(), np.linspace(-2, 1, 33), np.linspace(-1.5, 1.5, ny))
    counted = [sum(last - first + 1 for first, last in runs) for runs in document["runs"]]
    assert len(counted) == ny
    assert counted == stable.sum(axis=1).tolist()


def test_measured_and_printed_are_kept_apart_and_have_a_modulus():
    document = documents.accuracies_document()
    assert document["measured"]
    for entry in document["measured"]:
        assert entry["runs"] >= 1
        assert entry["parasitic_modulus"] >= 0
        assert 10 < entry["accuracy"] <= 100
    printed = {(entry["model"], entry["scheme"]): entry for entry in document["printed"]}
    optimum = printed["zerosnet56", "1/3,5/9,1/9;16/9"]
    assert (optimum["accuracy"], optimum["deviation"]) == (94.04, 0.12)
    assert optimum["parasitic_modulus"] == pytest.approx(1 / 3)
    assert len(document["printed"]) == 39


@pytest.mark.parametrize("layers", ["56", "110"])
def test_forecast_answers_what_predict_prints(client, capsys, layers):
    answer = client.get("/api/forecast", params={"alphas": "1,1,1", "betas": "1", "layers": layers})
    assert run(["predict", "1,1,1;1", "--layers", layers, "--json"]) == 0
    assert answer.json() == json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("scheme", ["1;0", "0;0", "1e40;1e-40", "0,0,1;0"])
def test_a_forecast_of_blocks_that_add_nothing_is_finite(scheme):
    document = documents.forecast_document(Scheme.parse(scheme), 56)
    json.dumps(document, allow_nan=False)
    assert document["accuracy"] is None or document["accuracy"] >= 0
    assert document["calibration"]["calibrated"] == (document["accuracy"] is not None)


@pytest.mark.timing
@pytest.mark.parametrize("scheme", ["zerosnet(-9/5)", "adams-bashforth(8)"])
def test_a_forecast_takes_a_small_part_of_the_time_of_a_drag(scheme):
    known = Scheme.parse(scheme)

    def once():
        start = time.perf_counter()
        documents.forecast_document(known, 56)
        return time.perf_counter() - start

    assert best_of(5, once, SOON / 2) < SOON / 2


@pytest.mark.parametrize(("re", "im"), [(-0.5, 0.0), (0.1, 0.8), (0.6, 0.6), (1.2, 0.5)])
def test_the_map_has_the_accuracy_that_the_scheme_is_predicted(re, im):
    document = documents.map_document()
    (left, right), (bottom, top), rows = document["re"], document["im"], document["accuracy"]
    row = rows[round((im - bottom) / (top - bottom) * (len(rows) - 1))]
    found = row[round((re - left) / (right - left) * (len(row) - 1))]
    trace, norm = 2 * re, re * re + im * im
    scheme = Scheme([1 + trace, -trace - norm, norm], [1 - trace + norm])
    assert found == pytest.approx(forecast(scheme).prediction.accuracy, abs=0.01)


def test_measured_networks_lie_where_their_roots_are():
    measured = {one["scheme"]: one for one in documents.map_document()["measured"]}
    assert len(measured) >= 10
    optimum = measured["1/3,5/9,1/9;16/9"]
    assert optimum["root"] == pytest.approx([-1 / 3, 0])
    assert 93 < optimum["accuracy"] < 94
    assert all(one["root"][1] >= 0 for one in measured.values())
