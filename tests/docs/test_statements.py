"""Single sentences of the pages, held to the code."""

import re

import pytest
from tests.docs.blocks import DOCS, ROOT

from zerosnet.errors import InputError
from zerosnet.models.stepping.laws import RADIUS, StableRootsLaw
from zerosnet.robustness import pgd

PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]


def test_the_radii_of_stable_networks_are_those_of_the_law():
    text = (DOCS / "differences.md").read_text(encoding="utf-8")
    said = re.search(r"disk of radius (\S+), and from (\d+) steps on .*?\((0\.98 at .*?)\)", text, re.DOTALL)
    assert said is not None and float(said[1]) == RADIUS
    first = int(said[2])
    assert StableRootsLaw(first - 1).radius == RADIUS > StableRootsLaw(first).radius
    radii = {int(steps): radius for radius, steps in re.findall(r"(\S+) at (\d+)", said[3])}
    assert len(radii) == 4 and radii == {steps: f"{StableRootsLaw(steps).radius:.2f}" for steps in radii}


def test_an_l2_radius_may_exceed_1_and_a_largest_component_may_not():
    assert "In L2 it may exceed 1" in (DOCS / "differences.md").read_text(encoding="utf-8")
    assert pgd(2.0, norm="l2").eps == 2
    with pytest.raises(InputError, match=r"eps is 2\.0; expected 0 to 1"):
        pgd(2.0)


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_networks_are_registered_before_timm_is_asked_for_them(page):
    before, *others = page.read_text(encoding="utf-8").split('timm.create_model("zerosnet')
    assert not others or re.search(r"(import|from) zerosnet\.models", before)
