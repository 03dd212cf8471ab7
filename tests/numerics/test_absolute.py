"""Regions of absolute stability: closed forms, the root condition point by point, and the boundary locus."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zerosnet.errors import InputError
from zerosnet.numerics import Scheme, boundary_locus, root_radius, stability_region

RE, IM = np.linspace(-3, 1, 81), np.linspace(-2, 2, 80)
SCHEMES = ["euler(1)", "zerosnet(-9/5)", "zerosnet(10)", "lm(1/2)", "ab2", "ab3", "ab5", "1/4,3/4;0,1"]
quarters = st.integers(-8, 8).map(lambda n: n / 4)


def test_euler_is_stable_in_its_closed_disc():
    region = stability_region(Scheme.parse("euler"), RE, IM)
    assert (region == (np.abs(1 + RE + 1j * IM[:, None]) <= 1)).all()


def test_heun_like_closed_form_of_two_steps():
    # z^2 - (1+3w/2) z + w/2 has a root -1 at w = -1 and is stable just before
    region = stability_region(Scheme.parse("ab2"), [-1 - 1e-6, -1, -1 + 1e-6, 0, 1e-6], [0])
    assert region.tolist() == [[False, True, True, True, False]]


@settings(max_examples=60, deadline=None)
@given(st.lists(quarters, min_size=1, max_size=5), st.lists(quarters, min_size=1, max_size=5))
def test_region_agrees_with_the_roots_of_any_scheme(alphas, betas):
    scheme = Scheme(alphas, betas)
    re, im = np.linspace(-2.03, 1.01, 13), np.linspace(-1.47, 1.52, 11)
    radius = root_radius(scheme, re, im)
    clear = np.abs(radius - 1) > 1e-5
    assert (stability_region(scheme, re, im) == (radius < 1))[clear].all()


def test_leapfrog_is_stable_on_the_open_imaginary_interval_only():
    region = stability_region(Scheme.parse("leapfrog"), [-0.01, 0, 0.01], [-1, -0.5, 0, 0.999, 1, 1.001])
    assert region[:, 1].tolist() == [False, True, True, True, False, False]  # a double root at w = +-i
    assert not region[:, [0, 2]].any()


def test_without_slopes_the_plane_is_stable_or_not_as_the_scheme_is():
    assert stability_region(Scheme.parse("1/2;0"), RE, IM).all()
    assert not stability_region(Scheme.parse("zerosnet(1/3)"), RE, IM).any()


def test_the_origin_belongs_to_the_region_of_zero_stable_schemes_only():
    for lam, stable in {"-9/5": True, "-1": True, "1/4": False, "10": True, "-1/5": False}.items():
        assert stability_region(Scheme.parse(f"zerosnet({lam})"), [0], [0]).tolist() == [[stable]]


@pytest.mark.parametrize("text", SCHEMES)
def test_on_the_locus_some_root_has_modulus_one(text):
    scheme = Scheme.parse(text)
    for w in boundary_locus(scheme, 24)[1:]:
        roots = np.roots(np.array(scheme.rho, float) - w * np.array([0, *scheme.sigma], float))
        assert np.min(np.abs(np.abs(roots) - 1)) < 1e-7


def test_locus_starts_and_ends_at_the_origin_for_a_consistent_scheme():
    locus = boundary_locus(Scheme.parse("zerosnet(-9/5)"))
    assert abs(locus[0]) < 1e-14 and abs(locus[-1]) < 1e-14
    assert locus[360] == pytest.approx(-0.5)


def test_locus_is_nan_where_sigma_vanishes():
    locus = boundary_locus(Scheme([1], [1, 1]), 5)  # sigma = z + 1
    assert np.isnan(locus[2]) and np.isfinite(locus[[0, 1, 3, 4]]).all()


def test_shape_is_rows_of_im_by_columns_of_re():
    assert stability_region(Scheme.parse("euler"), np.zeros(3), np.zeros(5)).shape == (5, 3)
    assert stability_region(Scheme.parse("euler"), [], [1.0]).shape == (1, 0)


@pytest.mark.parametrize("re", [[float("nan")], [[0.0]], ["x"], 1.0])
def test_a_bad_grid_is_refused_in_one_line(re):
    with pytest.raises(InputError, match="re"):
        stability_region(Scheme.parse("euler"), re, [0.0])
