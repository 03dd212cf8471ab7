"""Write the sweeps of the experiments that tell effective depth from stability, and of tables, by stated rules.

    python -m tools.make_sweeps

A file that exists stays as it is: its predictions are on record.

block-schemes   unstable alphas whose betas grow as fast as their state, zero-stable alphas (the same roots, scaled into
                the disc) with betas that shrink, and these with constant betas; (1,1,1) and lambda = 1/4, two seeds
block-schemes-control   the unstable alphas with constant betas, whose initial weights grow in place of the betas
ten-rows        the paper's ten schemes at 32 and 44 layers, one seed
depth           the optimum without f from block m on; restart at stage changes; stable and unstable schemes of equal
                effective parameters
alpha-and-k     PreResNet-32 over alpha and LM-ResNet-44 over k with three betas: the paper's first two tables
cifar100        the paper's ten schemes on CIFAR-100, and three of them with the weight decay of the authors' code
cifar100-preresnet   PreResNet-56 on CIFAR-100, three seeds
recipes         the four rows that are not zero-stable, and the optimum, without weight decay and with the learning rate
                divided and multiplied by three
adam            the same five schemes with Adam, without decay, so that blocks with small gradients move too
plain-torch     two unstable rows with the state in float32: train with --kernels torch
layers-110      four networks of 110 layers, three seeds each
fgsm-seeds      the networks behind the FGSM table, seeds 2 and 3
no-norm-search  five schemes without normalisation at four learning rates, eight epochs, on nine tenths of the images
no-norm         the five at one learning rate: the one with the best mean validation accuracy over all five
best-designs    the optimum, PreResNet and the law's best three-step scheme at 56 and 110 layers, five seeds
stopped-early   the optimum and Euler's scheme after 1 to 16 epochs: deep, and no better than unstable rows
smoothing       the optimum, (1,1,1), and a stable and an unstable scheme of equal effective parameters (of `depth`),
                trained on images with noise of 0.25
adversarial     the same four, trained on white-box adversarial examples
screen-known    every network of 56 layers that recipe `paper` has trained, by recipe `screen`, two seeds
screen-map      consistent three-step schemes by their pair of parasitic roots, on a square grid of ninths over the
                upper half of the disc of radius 1.2, by recipe `screen`; pairs on the real axis are double roots
small-betas     the optimum's and Euler's alphas with betas of 0.016 to 0.064, where laws of depth differ most; two are
                second seeds of networks of `depth`
wirings         residual wirings of other people's networks (simplex, gains, scaled, first state, streams) beside
                PreResNet, the optimum and LM-ResNet, at 20 and 56 layers, one seed
"""

import json
from fractions import Fraction
from math import ceil
from pathlib import Path
from statistics import mean
from typing import Any

from tools.screen_sweeps import screen_known, screen_map
from zerosnet.experiments import experiment
from zerosnet.numerics import (
    OPTIMUM,
    PAPER_ROWS,
    Scheme,
    Wiring,
    design_by_depth,
    from_roots,
    is_zero_stable,
    load_law,
)
from zerosnet.numerics.wirings.companion import largest_root
from zerosnet.training import RunSpec

RESULTS = Path(__file__).parents[1] / "results"
SWEEPS = RESULTS / "sweeps"
COMMON = {"dataset": "cifar10", "recipe": "paper"}
UNSTABLE = ("1,1,1;1", "15/4,-4,5/4;-1/2")
LAST_BLOCKS = (4, 7, 10, 14, 18, 22)
RESTARTED = ("1,1,1;1", "-3,5,-1;4", "9/4,-2,3/4;1/2", "1/3,5/9,1/9;16/9")
ROOTS = ("-11/10", "-6/5", "-27/20")
EQUALLY_DEEP = ("1/3,5/9,1/9;4539/100000", "-1/5,6/5,0;11/5")  # one pair of `depth`, zero-stable and not
UNSTABLE_ROWS = tuple(str(row.scheme) for row in PAPER_ROWS if not row.printed_zero_stable)
DECAYED = ("zerosnet56_opt", "1,1,1;1", "9/4,-2,3/4;1/2")
NOT_NORMALISED = ("1,0,0;1", str(OPTIMUM), str(from_roots(["-21/20", 0])), str(from_roots(["-6/5", 0])), "1,1,1;1")
WIRINGS = (
    "preresnet{}",
    "zerosnet{}_opt",
    "lmresnet{}",
    "zerosnet{}_simplex",
    "preresnet{}_gains",
    "preresnet{}_scaled",
    "preresnet{}_x0",
    "streams{}",
    "streams{}_sinkhorn",
)
RATES = (0.3, 0.1, 0.03, 0.01)


def rounded(value: float) -> str:
    return f"{value:.4g}"


def growth_of(scheme: Scheme) -> float:
    """Return a number slightly above the largest root, so that rounding leaves the scaled roots inside the disc."""
    return ceil(1000 * largest_root(scheme)) / 1000 + 0.001


def block_schemes() -> list[dict[str, Any]]:
    found = []
    for text in UNSTABLE:
        scheme = Scheme.parse(text)
        growth = growth_of(scheme)
        alphas = ",".join(f"{float(a) / growth ** (i + 1):.6f}" for i, a in enumerate(scheme.alphas))
        inside = f"{alphas};{rounded(float(scheme.betas[0]) / growth)}"
        assert is_zero_stable(Scheme.parse(inside)), inside
        for one, rate in ((text, rounded(growth)), (inside, rounded(1 / growth)), (inside, None)):
            for seed in (1, 2):
                spec = {"model": "zerosnet56", "scheme": one, **COMMON, "seed": seed}
                found.append(spec if rate is None else {**spec, "beta_growth": rate})
    return found


def block_schemes_control() -> list[dict[str, Any]]:
    growths = {text: rounded(growth_of(Scheme.parse(text))) for text in UNSTABLE}
    return [
        {"model": "zerosnet56", "scheme": text, **COMMON, "seed": seed, "init_growth": growth}
        for text, growth in growths.items()
        for seed in (1, 2)
    ]


def ten_rows() -> list[dict[str, Any]]:
    models = ("zerosnet32", "zerosnet44")
    schemes = [str(row.scheme) for row in PAPER_ROWS if row.scheme != OPTIMUM]
    rows = [{"model": model, "scheme": text, **COMMON, "seed": 1} for model in models for text in schemes]
    return rows + [{"model": f"{model}_opt", **COMMON, "seed": 1} for model in models]


def depth() -> list[dict[str, Any]]:
    silent = Scheme(OPTIMUM.alphas, [0])
    blocks = range(2, 27)
    found = []
    for last in LAST_BLOCKS:
        schemes = [str(OPTIMUM if block < last else silent) for block in blocks]
        found.append({"model": "zerosnet56", "block_schemes": schemes, **COMMON, "seed": 1})
    for text in RESTARTED:
        found.append({"model": "zerosnet56", "scheme": text, "stage_change": "restart", **COMMON, "seed": 1})
    for root in ROOTS:
        unstable = from_roots([root, 0])
        for scheme in (unstable, as_deep_as(unstable)):
            found.append({"model": "zerosnet56", "scheme": str(scheme), **COMMON, "seed": 1})
    return found


def small_betas() -> list[dict[str, Any]]:
    optimum = [str(Scheme(OPTIMUM.alphas, [Fraction(beta)])) for beta in ("0.016", "0.027", "0.032", "0.038", "0.064")]
    euler = [f"1,0,0;{Fraction(beta)}" for beta in ("0.016", "0.032", "0.064")]
    known = [str(Scheme(OPTIMUM.alphas, [Fraction(beta)])) for beta in ("0.02173", "0.04539")]
    seeds = [(text, 1) for text in (*optimum, *euler)] + [(text, 2) for text in known]
    return [{"model": "zerosnet56", "scheme": text, **COMMON, "seed": seed} for text, seed in seeds]


def as_deep_as(scheme: Scheme) -> Scheme:
    """Find the beta that gives the optimum's alphas the effective parameters of a scheme."""
    law = load_law()
    wanted, low, high = law.quantity(Wiring.of(scheme)), 1e-6, float(OPTIMUM.betas[0])
    for _ in range(60):
        middle = (low * high) ** 0.5
        enough = law.quantity(Wiring.of(Scheme(OPTIMUM.alphas, [middle]))) > wanted
        low, high = (low, middle) if enough else (middle, high)
    return Scheme(OPTIMUM.alphas, [Fraction(rounded(high))])


def of_tables(*names: str, model: str = "", **wanted: Any) -> list[dict[str, Any]]:
    """List the runs that tables ask for, those with these values of a spec's fields; `model` is a part of its name."""
    specs = {spec.id: spec for name in names for spec in experiment(name).specs()}
    return [
        short(spec)
        for spec in specs.values()
        if model in spec.model and all(getattr(spec, field) in values for field, values in wanted.items())
    ]


def short(spec: RunSpec) -> dict[str, Any]:
    """Write a spec as it stands in a sweep file: the recipe by name, the scheme as text."""
    scheme = {} if spec.scheme is None else {"scheme": str(spec.scheme)}
    return {"model": spec.model, **scheme, "dataset": spec.dataset, "recipe": spec.recipe.name, "seed": spec.seed}


def cifar100() -> list[dict[str, Any]]:
    rows = of_tables("figure-roots-cifar100", seed=(1,))
    return [one for one in rows if one["recipe"] == "paper" or one.get("scheme", one["model"]) in DECAYED]


def with_recipes(*changes: dict[str, Any]) -> list[dict[str, Any]]:
    unstable = [{"model": "zerosnet56", "scheme": text} for text in UNSTABLE_ROWS]
    recipes = [{"name": "paper", **change} for change in changes]
    return [
        {**network, "dataset": "cifar10", "recipe": recipe, "seed": 1}
        for recipe in recipes
        for network in (*unstable, {"model": "zerosnet56_opt"})
    ]


def plain_torch() -> list[dict[str, Any]]:
    return [
        {"model": "zerosnet56", "scheme": text, **COMMON, "seed": 1, "precision": "bf16"}
        for text in ("1,1,1;1", "-3,5,-1;4")
    ]


def not_normalised(lr: float, **options: Any) -> list[dict[str, Any]]:
    epochs = {"epochs": 8} if options else {}
    recipe = {"name": "paper", "lr": lr, **epochs}
    common = {"model": "zerosnet56_nonorm", "dataset": "cifar10", "recipe": recipe, "seed": 1, **options}
    return [{"scheme": text, **common} for text in NOT_NORMALISED]


def not_normalised_search() -> list[dict[str, Any]]:
    return [one for lr in RATES for one in not_normalised(lr, validation=0.1)]


def best_rate() -> float | None:
    """Choose the rate of the best mean validation accuracy over all five schemes; None before the search has ended."""
    found: dict[float, list[float]] = {}
    for one in not_normalised_search():
        result = RESULTS / "runs" / RunSpec.from_json(one).id / "result.json"
        if not result.exists():
            return None
        accuracy = json.loads(result.read_text()).get("validation_accuracy") or 0.0
        found.setdefault(one["recipe"]["lr"], []).append(accuracy)
    return max(found, key=lambda lr: mean(found[lr]))


def best_designs() -> list[dict[str, Any]]:
    found = []
    for layers in (56, 110):
        n = (layers - 2) // 6
        best = {"model": f"zerosnet{layers}", "scheme": str(best_design((n, n, n)))}
        networks = ({"model": f"zerosnet{layers}_opt"}, {"model": f"preresnet{layers}"}, best)
        found += [{**network, **COMMON, "seed": seed} for network in networks for seed in range(1, 6)]
    return found


def best_design(blocks: tuple[int, ...]) -> Scheme:
    """Round the law's best three-step scheme to thousandths; beta follows from consistency."""
    found = design_by_depth(3, blocks, objective="accuracy").scheme
    older = [Fraction(round(1000 * float(alpha)), 1000) for alpha in found.alphas[1:]]
    slope = 1 + sum(lag * alpha for lag, alpha in enumerate(older, 1))
    return Scheme([1 - sum(older), *older], [slope])


def stopped_early() -> list[dict[str, Any]]:
    return [
        {
            "model": "zerosnet56",
            "scheme": text,
            "dataset": "cifar10",
            "recipe": {"name": "paper", "epochs": n},
            "seed": 1,
        }
        for n in (1, 2, 4, 8, 16)
        for text in (str(OPTIMUM), "1;1")
    ]


def wirings() -> list[dict[str, Any]]:
    return [{"model": model.format(layers), **COMMON, "seed": 1} for layers in (20, 56) for model in WIRINGS]


def robust(recipe: str) -> list[dict[str, Any]]:
    """Two zero-stable schemes and two others: one pair far apart in depth, one of equal predicted depth."""
    schemes = (str(OPTIMUM), "1,1,1;1", *EQUALLY_DEEP)
    return [
        {"model": "zerosnet56", "scheme": text, "dataset": "cifar10", "recipe": recipe, "seed": 1} for text in schemes
    ]


def main() -> None:
    rate = best_rate()
    sweeps = {
        "block-schemes": block_schemes,
        "block-schemes-control": block_schemes_control,
        "ten-rows": ten_rows,
        "depth": depth,
        "alpha-and-k": lambda: of_tables("table-preresnet-alpha", "table-lmresnet-k", seed=(1,)),
        "cifar100": cifar100,
        "cifar100-preresnet": lambda: of_tables("table-comparison", model="preresnet56", dataset=("cifar100",)),
        "recipes": lambda: with_recipes({"weight_decay": 0.0}, {"lr": 0.0333}, {"lr": 0.3}),
        "adam": lambda: with_recipes({"optimiser": "adam", "beta2": 0.999, "lr": 0.001, "weight_decay": 0.0}),
        "plain-torch": plain_torch,
        "layers-110": lambda: of_tables("table-comparison", model="110", dataset=("cifar10",)),
        "fgsm-seeds": lambda: of_tables("table-fgsm", seed=(2, 3)),
        "no-norm-search": not_normalised_search,
        **({} if rate is None else {"no-norm": lambda: not_normalised(rate)}),
        "best-designs": best_designs,
        "stopped-early": stopped_early,
        "smoothing": lambda: robust("noise"),
        "adversarial": lambda: robust("pgd-madry"),
        "screen-known": screen_known,
        "screen-map": screen_map,
        "small-betas": small_betas,
        "wirings": wirings,
    }
    for name, make in sweeps.items():
        path = SWEEPS / f"{name}.json"
        if not path.exists():
            path.write_text(json.dumps({"specs": make()}, indent=1) + "\n")
        print(f"{name}: {len(json.loads(path.read_text())['specs'])} runs")


if __name__ == "__main__":
    main()
