import json
from fractions import Fraction

import pytest

from zerosnet.errors import InputError
from zerosnet.numerics import Interval, ParameterSet

STABLE = ParameterSet((Interval(None, Fraction(-1), False, True), Interval(Fraction(1, 3), None)))


def test_text_shows_open_and_closed_ends():
    assert str(STABLE) == "(-oo, -1] U (1/3, oo)"
    assert str(ParameterSet()) == "{}"
    assert str(ParameterSet.points([2, 1])) == "{1, 2}"
    assert str(ParameterSet.reals(without=[0])) == "(-oo, 0) U (0, oo)"


def test_membership_is_decided_exactly():
    assert all(value in STABLE for value in (-1, "-1", -1.0, -100, "0.3334", 0.5, Fraction(1, 2)))
    assert not any(value in STABLE for value in ("1/3", 0, -0.999999, "-0.9999999999999999999999"))
    assert STABLE and not ParameterSet()
    with pytest.raises(InputError):
        assert "x" in STABLE


def test_json_gives_exact_ends():
    data = json.loads(json.dumps(STABLE.to_json()))
    assert data["text"] == "(-oo, -1] U (1/3, oo)"
    assert data["intervals"][0] == {"low": None, "high": "-1", "low_closed": False, "high_closed": True}
