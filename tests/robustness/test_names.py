"""The table of what protocols take, which is read without torch, agrees with the protocols."""

import pytest

from zerosnet.errors import InputError
from zerosnet.robustness import PROTOCOLS, check_options, protocol, sigma_of, smoothing_name
from zerosnet.robustness.protocols.names import SMOOTHING, TAKES


def test_the_table_agrees_with_the_protocols():
    options = {"restarts": "restarts", "eps": "radii", "samples": "samples"}
    for name, one in PROTOCOLS.items():
        assert {option for option, flag in options.items() if getattr(one, flag)} == set(TAKES[name]) - {"sigma"}


def test_the_noise_is_an_option_of_smoothing_alone():
    assert [name for name, takes in TAKES.items() if "sigma" in takes] == [SMOOTHING]


@pytest.mark.parametrize("sigma", [0.25, 0.5, 1, 0.1 + 0.2, 1e-5])
def test_a_name_holds_its_sigma(sigma):
    name = smoothing_name(sigma)
    assert sigma_of(name) == pytest.approx(sigma) and protocol(name).name == name


@pytest.mark.parametrize(
    "name", ["smoothing-0.25", "smoothing-0.50", "smoothing-0", "smoothing-3", "smoothing-x", "0.5"]
)
def test_a_sigma_has_one_name(name):
    assert sigma_of(name) is None
    with pytest.raises(InputError, match="protocol is"):
        protocol(name)


@pytest.mark.parametrize("sigma", [0, -1, 3, float("nan"), "0.5", True])
def test_what_is_no_deviation_is_refused(sigma):
    with pytest.raises(InputError, match="expected a number above 0, at most 2"):
        smoothing_name(sigma)


def test_a_protocol_named_after_its_sigma_takes_no_other():
    check_options("smoothing-0.5", samples=100, sigma=None)
    with pytest.raises(InputError, match=r"sigma is given; protocol smoothing-0\.5 does not take it"):
        check_options("smoothing-0.5", sigma=1.0)


def test_an_unknown_protocol_is_named_with_the_nearest_one():
    with pytest.raises(InputError, match=r"protocol is 'smoothin' \(did you mean smoothing\?\)"):
        check_options("smoothin")
