import numpy as np
import pytest

from zerosnet.errors import InputError
from zerosnet.numerics import Scheme, parasitic_roots, root_condition


@pytest.mark.parametrize("text", ["zerosnet(-9/5)", "zerosnet(1/4)", "lm(3/2)", "1,1,1;1", "ab3"])
def test_the_roots_of_many_are_those_of_each(text):
    scheme = Scheme.parse(text)
    expected = sorted(abs(z) for z in root_condition(scheme).parasitic_roots if z != 0)
    found = parasitic_roots([[float(a) for a in scheme.alphas]] * 3)
    assert found.shape[0] == 3
    assert sorted(np.abs(found[1])) == pytest.approx(expected, abs=1e-6)


def test_a_one_step_scheme_with_weight_one_has_no_parasitic_root():
    assert parasitic_roots([[1.0], [1.0]]).shape == (2, 0)


def test_weights_that_are_not_finite_are_refused():
    with pytest.raises(InputError, match="alphas"):
        parasitic_roots([[np.nan]])
