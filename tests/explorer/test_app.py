import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from zerosnet.cli.main import run

ENDPOINTS = ("analyze", "envelope", "region", "forecast", "copy", "view", "locus", "wiring")


def printed(capsys, *arguments):
    assert run(["analyze", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("query", "arguments"),
    [
        ({"alphas": "1/3,5/9,1/9", "betas": "16/9"}, ["--alphas", "1/3,5/9,1/9", "--betas", "16/9"]),
        ({"family": "zerosnet", "param": "-9/5"}, ["--family", "zerosnet", "--param", "-9/5"]),
        ({"family": "zerosnet", "param": "1/3"}, ["zerosnet(1/3)"]),
        ({"family": "lm", "param": "-1/2", "beta": "paper"}, ["lm(-1/2, paper)"]),
        ({"family": "leapfrog"}, ["leapfrog"]),
        ({"family": "adams-bashforth", "param": "5"}, ["ab5"]),
        ({"family": "from-roots", "param": "-1/3,z^2+1/9"}, ["from-roots(-1/3, z^2+1/9)"]),
        ({"alphas": "0.1", "betas": "0"}, ["0.1;0"]),
    ],
)
def test_analyze_answers_what_the_command_prints(client, capsys, query, arguments):
    answer = client.get("/api/analyze", params=query)
    assert answer.status_code == 200
    assert answer.json() == printed(capsys, *arguments)


def test_paper_answers_what_the_command_prints(client, capsys):
    assert client.get("/api/paper").json() == printed(capsys, "--paper")


def test_a_view_is_made_of_the_other_answers(client):
    query = {"family": "zerosnet", "param": "1/4"}
    view = client.get("/api/view", params=query | {"blocks": 54, "nx": 31, "ny": 21}).json()
    assert view["analysis"] == client.get("/api/analyze", params=query).json()
    assert view["envelope"] == client.get("/api/envelope", params=query | {"blocks": 54}).json()
    assert view["region"] == client.get("/api/region", params=query | {"nx": 31, "ny": 21}).json()
    assert view["forecast"] == client.get("/api/forecast", params=query).json()
    assert view["copy"] == client.get("/api/copy", params=query).json()
    assert view["places"] == ["principal", "outside", "inside"]
    assert view["parasitic_modulus"] == pytest.approx(2.1754, abs=1e-4)


@pytest.mark.parametrize(
    ("path", "query", "parameter"),
    [
        ("analyze", {}, "family"),
        ("analyze", {"alphas": "1"}, "betas"),
        ("analyze", {"alphas": "1", "betas": "1", "family": "lm"}, "family"),
        ("analyze", {"alphas": "1", "betas": "1", "param": "1"}, "param"),
        ("analyze", {"alphas": "1,x", "betas": "1"}, "alphas"),
        ("analyze", {"alphas": "", "betas": "1"}, "alphas"),
        ("analyze", {"alphas": "1", "betas": "1/0"}, "betas"),
        ("analyze", {"alphas": "1" * 51, "betas": "1"}, "alphas"),
        ("analyze", {"alphas": ",".join("1" * 9), "betas": "1"}, "alphas"),
        ("analyze", {"family": "nothing"}, "family"),
        ("analyze", {"family": "zerosnet"}, "param"),
        ("analyze", {"family": "zerosnet", "param": "0"}, "param"),
        ("analyze", {"family": "zerosnet", "param": "1", "beta": "paper"}, "beta"),
        ("analyze", {"family": "lm", "param": "1", "beta": "other"}, "beta"),
        ("analyze", {"family": "from-roots", "param": ",".join(["z^2+1/4"] * 4)}, "param"),
        ("analyze", {"family": "adams-bashforth", "param": "9"}, "param"),
        ("analyze", {"family": "leapfrog", "file": "/etc/passwd"}, "file"),
        ("envelope", {"family": "leapfrog", "blocks": "433"}, "blocks"),
        ("envelope", {"family": "leapfrog", "blocks": "many"}, "blocks"),
        ("region", {"family": "leapfrog", "nx": "401"}, "nx"),
        ("region", {"family": "leapfrog", "ny": "401"}, "ny"),
        ("region", {"family": "leapfrog", "left": "1"}, "right"),
        ("region", {"family": "leapfrog", "left": "1", "right": "0", "bottom": "0", "top": "1"}, "right"),
        ("region", {"family": "leapfrog", "left": "nan", "right": "0", "bottom": "0", "top": "1"}, "left"),
        ("forecast", {"family": "leapfrog", "layers": "57"}, "layers"),
        ("forecast", {"family": "leapfrog", "layers": "deep"}, "layers"),
        ("locus", {"family": "zerosnet", "param": "1", "points": "602"}, "points"),
        ("locus", {"family": "zerosnet", "param": "1", "low": "2", "high": "1"}, "high"),
        ("locus", {"family": "zerosnet", "param": "1", "vary": "root0"}, "vary"),
        ("locus", {"alphas": "1", "betas": "1", "vary": "alpha1"}, "vary"),
        ("locus", {"alphas": "1", "betas": "1", "vary": "gamma"}, "vary"),
        ("wiring", {"form": "other"}, "form"),
        ("wiring", {"form": "constant", "keep": "x"}, "keep"),
        ("wiring", {"form": "constant", "keep": "1,2"}, "keep"),
        ("wiring", {"form": "constant", "spread": "1"}, "spread"),
        ("wiring", {"form": "scaled", "power": "-1"}, "power"),
        ("wiring", {"form": "lists", "add": ""}, "add"),
        ("wiring", {"form": "lists", "add": "1,2,3", "blocks": "2"}, "add"),
        ("wiring", {"form": "matrix", "matrix": "1,2"}, "matrix"),
        ("wiring", {"form": "matrix", "matrix": "1,2;3"}, "matrix"),
        ("wiring", {"form": "matrix", "matrix": ";".join([",".join("1" * 9)] * 9)}, "matrix"),
        ("wiring", {"form": "matrix", "matrix": "1/0"}, "matrix"),
        ("wiring", {"form": "matrix", "write": "1"}, "write"),
        ("wiring", {"form": "free", "read": "nobody"}, "read"),
        ("wiring", {"form": "free", "streams": "9"}, "streams"),
        ("wiring", {"form": "free", "streams": "0"}, "streams"),
        ("wiring", {"form": "free", "seed": "-1"}, "seed"),
        ("wiring", {"form": "free", "seed": "²"}, "seed"),
        ("wiring", {"form": "row-stochastic", "spread": "3/2"}, "spread"),
        ("wiring", {"form": "free", "blocks": "433"}, "blocks"),
        ("wiring", {"form": "free", "blocks": "9", "layers": "20"}, "blocks"),
        ("wiring", {"form": "free", "layers": "164"}, "layers"),
    ],
)
def test_a_bad_request_is_answered_with_the_name_of_the_parameter(client, path, query, parameter):
    answer = client.get(f"/api/{path}", params=query)
    assert answer.status_code == 422
    assert answer.json()["parameter"] == parameter
    assert "\n" not in answer.json()["error"]


def test_long_queries_are_refused_unread(client):
    answer = client.get("/api/analyze", params={"alphas": "1" * 5000, "betas": "1"})
    assert (answer.status_code, answer.json()["parameter"]) == (414, "query")


def test_only_get_is_answered(client):
    assert client.post("/api/analyze").status_code == 405


@pytest.mark.parametrize(
    "path", ["/api/nothing", "/nothing.html", "/../app.py", "/..%2fapp.py", "/%2e%2e/app.py", "//etc/passwd"]
)
def test_nothing_but_the_page_is_served(client, path):
    answer = client.get(path)
    assert answer.status_code == 404
    assert "error" in answer.json()


@settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(
    path=st.sampled_from(ENDPOINTS),
    query=st.dictionaries(
        st.sampled_from(["alphas", "betas", "family", "param", "beta", "blocks", "layers", "nx", "low", "vary", "x"]),
        st.one_of(
            st.text(max_size=20), st.sampled_from(["zerosnet", "lm", "1/3,5/9", "-1", "0.5", "1e9", "inf", "nan"])
        ),
        max_size=5,
    ),
)
def test_whatever_is_asked_the_server_does_not_fail(client, path, query):
    answer = client.get(f"/api/{path}", params=query)
    assert answer.status_code == 200 or 400 <= answer.status_code < 500
    assert isinstance(answer.json(), dict)


def test_every_answer_has_the_security_headers(client):
    for path in ("/", "/main.js", "/api/families", "/api/nothing", "/api/analyze"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "http" not in policy
        assert headers["x-content-type-options"] == "nosniff"


def test_the_page_loads_nothing_from_other_servers(client):
    from zerosnet.explorer.app import _page_files

    for name, (content, _) in _page_files().items():
        text = content.decode().replace("http://www.w3.org/", "")  # names of XML languages
        assert "http:" not in text, name
        assert "https:" not in text, name
        assert "//cdn" not in text, name


def test_openapi_describes_every_endpoint_and_parameter(client):
    paths = client.get("/api/openapi.json").json()["paths"]
    assert {f"/api/{name}" for name in (*ENDPOINTS, "families", "wirings", "map", "paper", "accuracies")} == set(paths)
    for path in paths.values():
        assert path["get"]["description"]
    names = {parameter["name"] for parameter in paths["/api/region"]["get"]["parameters"]}
    assert {"alphas", "betas", "family", "param", "beta", "nx", "ny"} <= names
    assert client.get("/api").status_code == 200


def test_a_mistake_of_ours_is_a_500_without_details(client, monkeypatch):

    monkeypatch.setattr("zerosnet.explorer.app.facts", lambda scheme: 1 / 0)
    answer = client.get("/api/analyze", params={"family": "leapfrog"})
    assert answer.status_code == 500
    assert answer.json() == {"error": "the server failed on this request", "parameter": None}
    assert "default-src 'none'" in answer.headers["content-security-policy"]


def test_a_request_by_the_name_of_another_site_is_refused(client):
    answer = client.get("/api/paper", headers={"host": "evil.example:8765"})
    assert answer.status_code == 421 and "host is 'evil.example:8765'" in answer.json()["error"]
    assert answer.headers["x-content-type-options"] == "nosniff"
