import json
import time

import pytest
from tests.best import best_of

from zerosnet.cli.main import run

pytest.importorskip("pydantic", reason="the explorer's extra is not installed")

from zerosnet.explorer.documents import forecast_document, map_document
from zerosnet.numerics import Scheme, forecast

SOON = 0.1  # seconds: within these the page has to follow a drag


@pytest.mark.parametrize("layers", ["56", "110"])
def test_forecast_answers_what_predict_prints(client, capsys, layers):
    answer = client.get("/api/forecast", params={"alphas": "1,1,1", "betas": "1", "layers": layers})
    assert run(["predict", "1,1,1;1", "--layers", layers, "--json"]) == 0
    assert answer.json() == json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("scheme", ["1;0", "0;0", "1e40;1e-40", "0,0,1;0"])
def test_a_forecast_of_blocks_that_add_nothing_is_finite(scheme):
    document = forecast_document(Scheme.parse(scheme), 56)
    json.dumps(document, allow_nan=False)
    assert document["accuracy"] is None or document["accuracy"] >= 0
    assert document["calibration"]["calibrated"] == (document["accuracy"] is not None)


@pytest.mark.timing
@pytest.mark.parametrize("scheme", ["zerosnet(-9/5)", "adams-bashforth(8)"])
def test_a_forecast_takes_a_small_part_of_the_time_of_a_drag(scheme):
    known = Scheme.parse(scheme)

    def once():
        start = time.perf_counter()
        forecast_document(known, 56)
        return time.perf_counter() - start

    assert best_of(5, once, SOON / 2) < SOON / 2


@pytest.mark.parametrize(("re", "im"), [(-0.5, 0.0), (0.1, 0.8), (0.6, 0.6), (1.2, 0.5)])
def test_the_map_has_the_accuracy_that_the_scheme_is_predicted(re, im):
    document = map_document()
    (left, right), (bottom, top), rows = document["re"], document["im"], document["accuracy"]
    row = rows[round((im - bottom) / (top - bottom) * (len(rows) - 1))]
    found = row[round((re - left) / (right - left) * (len(row) - 1))]
    trace, norm = 2 * re, re * re + im * im
    scheme = Scheme([1 + trace, -trace - norm, norm], [1 - trace + norm])
    assert found == pytest.approx(forecast(scheme).prediction.accuracy, abs=0.01)


def test_measured_networks_lie_where_their_roots_are():
    measured = {one["scheme"]: one for one in map_document()["measured"]}
    assert len(measured) >= 10
    optimum = measured["1/3,5/9,1/9;16/9"]
    assert optimum["root"] == pytest.approx([-1 / 3, 0])
    assert 93 < optimum["accuracy"] < 94
    assert all(one["root"][1] >= 0 for one in measured.values())
