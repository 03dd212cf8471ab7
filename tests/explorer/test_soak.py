import pytest
from benchmarks.soak import Siege, soak


def test_the_explorer_answers_many_clients_rightly_and_hostile_ones_with_a_refusal():
    pytest.importorskip("uvicorn", reason="the explorer's extra is not installed")
    found = soak(requests=120, clients=20, slow=3, half_open=10, seed=1)
    assert found["failures"] == [] and found["alive_at_the_end"]
    assert found["requests"] == 120 and set(found["outcomes"]) == {"right", "hostile, refused"}


def test_a_wrong_answer_is_a_failure():
    siege = Siege(connect=None, asked=[], requests=1, seed=1)
    siege._judge("/api/analyze", 200, b'{"kind": "a"}', {"kind": "b"}, 0.1)
    siege._judge("/api/x", 500, b"", None, 0.1)
    siege._judge("/api/view", 200, b'{"analysis": 1, "more": 2}', {"analysis": 1}, 0.1)
    assert siege.outcomes == {"failure": 2, "right": 1} and len(siege.failures) == 2
