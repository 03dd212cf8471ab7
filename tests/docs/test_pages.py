"""What the pages claim is what the package, the benchmarks and the results say."""

import re
from fractions import Fraction
from math import comb
from pathlib import Path

import pytest
import sympy
import torch
from tests.docs.blocks import DOCS, ROOT
from tests.docs.pages import page, rows

from zerosnet.experiments import EXPERIMENTS
from zerosnet.models import create_model, diagnose
from zerosnet.numerics import Scheme, design, from_roots, growth, order, real_interval, root_condition
from zerosnet.numerics.designs.optimum import barrier, shifted_symmetric
from zerosnet.training import RECIPES, recipe


def test_every_experiment_has_its_row_and_its_table() -> None:
    listed = {re.findall(r"`([\w-]+)`", row[1])[0]: row[0] for row in rows(page("reproduce.md")) if "`" in row[1]}
    assert set(listed) == set(EXPERIMENTS)
    for name, where in listed.items():
        assert where.split(",")[0] == EXPERIMENTS[name].reference.partition(" (")[0]


def test_the_choosing_table_is_true() -> None:
    checked = 0
    for row in rows(page("choose.md")):
        if len(row) != 6 or not (name := re.match(r"`(.+?)`", row[0])):
            continue
        text = name[1]
        scheme = design(4, 2).scheme if text.startswith("design") else Scheme.parse(text)
        assert scheme is not None
        moduli = sorted(root_condition(scheme).moduli)[:-1]
        if row[1] == "none":
            assert moduli == []
        else:
            assert max(moduli) == pytest.approx(float(Fraction(row[1])), abs=6e-3), text
        assert growth(scheme, 27).constant == pytest.approx(float(row[2]), rel=0.01), text
        assert real_interval(scheme) == (0 if row[3] == "none" else Fraction(row[3])), text
        assert order(scheme) == int(row[4]), text
        checked += 1
    assert checked >= 8


def test_the_barrier_of_low_orders_is_passed_by_fifteen_steps_of_order_9() -> None:
    """With A = m / (1 + m) rational, six parasitic roots at -m leave a scheme with rational coefficients."""
    steps, wanted, a = 15, 9, Fraction(4961, 10_000)
    n = steps - 1
    shifted = [shifted_symmetric(steps, k, a) if k < wanted else Fraction(0) for k in range(n + 1)]
    z = sympy.symbols("z")
    q = sum(
        sum(comb(n - j, k - j) * shifted[j] * (-a) ** (k - j) for j in range(k + 1)) * (z - 1) ** k * z ** (n - k)
        for k in range(n + 1)
    )
    q = sympy.Poly(q, z).monic()
    rho = (q * sympy.Poly(z - 1, z)).all_coeffs()
    scheme = Scheme([-c for c in rho[1:]], [q.eval(1)])
    assert order(scheme) == wanted and root_condition(scheme).kind == "strongly stable"
    assert barrier(14, wanted) is not None


def test_an_unstable_scheme_is_a_stable_one_whose_steps_shrink() -> None:
    """Branches normalise what they read: with z_n = R^-n y_n the alphas become alpha_i R^-(i+1), beta R^-(n+1)."""
    model = create_model("zerosnet56", scheme="1,1,1;1", seed=0).double().train()
    for module in model.modules():
        if hasattr(module, "eps"):
            module.eps = 1e-300
    images = torch.randn(4, 3, 32, 32, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    branches, start = [block.f for block in model.stack.blocks[:9]], model.stem(images)

    def last_state(base: float) -> torch.Tensor:
        states = [start]
        for n, f in enumerate(branches):
            back = range(1 if n < 2 else 3)
            kept = sum(base ** -(i + 1) * states[-1 - i] for i in back)
            states.append(kept + base ** -(n + 1) * f(states[-1]))
        return states[-1]

    largest = max(root_condition(Scheme.parse("1,1,1;1")).moduli)
    whole, scaled = last_state(1.0), last_state(float(largest))
    torch.testing.assert_close(scaled * float(largest) ** 9, whole, rtol=1e-9, atol=1e-9)


def test_slow_growth_is_not_seen_before_training() -> None:
    scheme = from_roots(["-6/5", "19/99"])
    assert scheme.betas == (Fraction(16, 9),)
    images = torch.randn(16, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    found = diagnose(create_model("zerosnet56", scheme=scheme, seed=0), images)
    assert min(block.ratio for block in found.blocks) > 0.02
    assert "every block adds more than 2 % before training" in page("choose.md")


def test_the_recipes_are_all_listed_with_their_epochs() -> None:
    listed = {row[0].strip("`"): row[2] for row in rows(page("train.md")) if row[0].startswith("`")}
    assert set(RECIPES) <= set(listed)
    for name in RECIPES:
        first, _, second = listed[name].partition(" / ")
        assert recipe(name, "cifar10").epochs == int(first)
        assert recipe(name, "cifar100").epochs == int(second or first)


def test_every_address_of_the_explorer_page_is_answered() -> None:
    testing = pytest.importorskip("fastapi.testclient", reason="the explorer's extra is not installed")
    from zerosnet.explorer.app import create_app

    client = testing.TestClient(create_app(), "http://localhost")
    addresses = re.findall(r"`(/api[^`]*)`", page("explorer.md"))
    assert {address.partition("?")[0] for address in addresses} >= set(create_app().openapi()["paths"])
    assert [client.get(address).status_code for address in addresses] == [200] * len(addresses)


def test_the_architecture_page_has_the_rooms_as_they_are() -> None:
    listed = {row[0].strip("`") for row in rows(page("architecture.md")) if row[0].startswith("`")}
    source = ROOT / "src/zerosnet"
    assert listed == {path.name for path in source.iterdir() if (path / "__init__.py").exists()}


def test_the_files_that_the_architecture_page_names_exist() -> None:
    """The walk names files relative to the package; `trainer.py` is the protocol of the training room."""
    named = re.findall(r"`((?:src/zerosnet/)?[\w/]+\.py)`", page("architecture.md").partition("## Decisions")[0])
    assert len(named) > 25
    places = [ROOT / name if name.startswith(("src/", "tests/")) else ROOT / "src/zerosnet" / name for name in named]
    assert [str(place.relative_to(ROOT)) for place in places if not place.is_file()] == []


def test_every_figure_of_the_docs_is_drawn_by_the_script() -> None:
    scripts = [
        (DOCS / "figures" / name).read_text(encoding="utf-8") for name in ("draw.py", "explorer.py", "report_page.py")
    ]
    drawn = set(re.findall(r'"(\w+\.(?:svg|png))"', "".join(scripts)))
    used = {Path(name).name for text in map(page, _pages()) for name in re.findall(r"\(images/(\S+?)\)", text)}
    assert used - drawn == set()


def _pages() -> list[str]:
    return [str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md")]


def test_the_readme_is_short_and_has_the_two_commands_and_the_figure_on_its_first_screen() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 110
    first = "\n".join(lines[:25])
    assert "docs/images/law.png" in first and "make demo" in first and "make test" in first
