"""The paper's claims about its accuracies."""

from zerosnet.experiments.paper.declare import MODULI, paper_row
from zerosnet.experiments.paper_claims.verdicts import (
    FAILS,
    HOLDS,
    OPTIMUM_MODULI,
    PARTLY,
    Claim,
    claim,
    graded,
    groups,
    rows,
)
from zerosnet.numerics import root_condition

_TEST = "Test acc. (%)"
_COMPARED = ("C100 (%)", "C10 (%)")


@claim
def alpha_gap() -> Claim:
    return _gap(
        "gap over alpha",
        "table-preresnet-alpha",
        "there is a significant gap in the test accuracy between zero-stable and non-zero-stable models",
        "but only alpha = 1 is consistent",
    )


@claim
def alpha_one() -> Claim:
    table = {row.labels["alpha"]: row.numbers[_TEST] for row in rows("table-preresnet-alpha")}
    lead = table["1"].value - table["0.7"].value
    return Claim(
        "alpha = 1 is best",
        "table-preresnet-alpha",
        "the original PreResNet (alpha = 1) outperforms other models with the same structure",
        PARTLY,
        f"it is best, but by {lead:.2f} over alpha = 0.7, with deviations of {table['1'].deviation} and "
        f"{table['0.7'].deviation} over three runs: no evidence of a difference",
    )


@claim
def k_gap() -> Claim:
    return _gap(
        "gap over k",
        "table-lmresnet-k",
        "the second-order discretization's performance can also be predicted by zero stability",
        "with the printed beta none is consistent",
    )


def _gap(name: str, table: str, text: str, caution: str) -> Claim:
    """Return True if every zero-stable row of a table is above every other one."""
    low = min(row.value(_TEST) for row in rows(table) if row.stable)
    high = max(row.value(_TEST) for row in rows(table) if not row.stable)
    because = f"the worst zero-stable row has {low}, the best other one {high}; {caution}"
    return Claim(name, table, text, HOLDS if low > high else FAILS, because)


@claim
def rows_gap() -> Claim:
    by_depth = groups("table-zerosnet-cifar10", "# Layers")
    gaps = {
        layers: min(r.value(_TEST) for r in table if r.stable) - max(r.value(_TEST) for r in table if not r.stable)
        for layers, table in by_depth.items()
    }
    text = ", ".join(f"{gap:.2f} at {layers} layers" for layers, gap in gaps.items())
    return Claim(
        "gap over ten rows",
        "table-zerosnet-cifar10",
        "if the model is zero-stable, it performs well; if it is non-zero-stable, its performance is relatively poor",
        graded(sum(gap > 0 for gap in gaps.values()), len(gaps)),
        f"the worst zero-stable row is above the best other one by {text}",
    )


@claim
def optimum_on_cifar10() -> Claim:
    by_depth = groups("table-zerosnet-cifar10", "# Layers")
    best = {layers: max(table, key=lambda r: r.value(_TEST)) for layers, table in by_depth.items()}
    good = [layers for layers, row in best.items() if row.moduli == OPTIMUM_MODULI]
    lost = {layers: row for layers, row in best.items() if layers not in good}
    optimum = {layers: next(r for r in table if r.moduli == OPTIMUM_MODULI) for layers, table in by_depth.items()}
    text = "; ".join(
        f"at {layers} layers {optimum[layers].value(_TEST)} against {row.value(_TEST)}" for layers, row in lost.items()
    )
    return Claim(
        "optimum on CIFAR-10",
        "table-zerosnet-cifar10",
        "the optimal coefficients indeed outperform other coefficients in most cases",
        HOLDS if 2 * len(good) > len(best) else FAILS,
        f"best at {' and '.join(good)} layers of {len(best)} depths, not elsewhere ({text}); the figure on CIFAR-100 "
        "prints no numbers",
    )


@claim
def bold_in_comparison() -> Claim:
    wrong, cells = [], 0
    for layers, table in groups("table-comparison", "# Layer").items():
        for column in _COMPARED:
            cells += 1
            bold = next(row.numbers[column] for row in table if row.numbers[column].bold)
            above = sorted((r.value(column) for r in table if r.value(column) > bold.value), reverse=True)
            if above:
                wrong.append(
                    f"{column[:-4]}, {layers} layers: {bold.value} is bold below {' and '.join(map(str, above))}"
                )
    return Claim(
        "bold is best",
        "table-comparison",
        "best results of each # Layers are bold",
        graded(cells - len(wrong), cells),
        f"right in {cells - len(wrong)} of {cells}; {'; '.join(wrong)}",
    )


@claim
def zerosnet_outperforms() -> Claim:
    wins, cells, lost = 0, 0, []
    for layers, table in groups("table-comparison", "# Layer").items():
        for column in _COMPARED:
            value = {row.labels["Model"]: row.value(column) for row in table}
            others = max(value["ResNet"], value["LM-ResNet"])
            for model in ("ZeroSNet-Opt", "ZeroSNet-Tra"):
                cells += 1
                wins += value[model] > others
                if value[model] <= others:
                    lost.append(f"{model} {layers} on {column[:-4]} ({value[model]} against {others})")
    rivals = [r.numbers["C10 (%)"] for r in rows("table-comparison") if "ZeroSNet" not in r.labels["Model"]]
    quoted = sum(number.quoted for number in rivals)
    return Claim(
        "ZeroSNets outperform",
        "table-comparison",
        "ZeroSNets outperform LM-ResNets and PreResNets",
        graded(wins, cells),
        f"{wins} of {cells} comparisons; not {', '.join(lost)}. On CIFAR-10 {quoted} of {len(rivals)} rivals "
        "are quoted from another paper, the ResNets of 20 to 56 layers not being pre-activation ones",
    )


@claim
def opt_is_competitive() -> Claim:
    """The text does not define competitive; here: above, or below by no more than the larger deviation."""
    above, below, lost, of = 0, 0, [], 0
    for layers, table in groups("table-comparison", "# Layer").items():
        by_model = {row.labels["Model"]: row for row in table}
        for column in _COMPARED:
            opt, tra = (by_model[model].numbers[column] for model in ("ZeroSNet-Opt", "ZeroSNet-Tra"))
            of += 1
            if opt.value >= tra.value:
                above += 1
            elif tra.value - opt.value <= max(opt.deviation or 0, tra.deviation or 0):
                below += 1
            else:
                lost.append(f"{layers} layers on {column[:-4]} ({opt.text} against {tra.text})")
    return Claim(
        "Opt is competitive with Tra",
        "table-comparison",
        "Compared to ZeroSNet-Tra with several trainable lambda_n, ZeroSNet-Opt with one training-free lambda shared "
        "for all blocks is competitive",
        graded(above + below, of),
        f"of {of} comparisons it is not below in {above}, and below by no more than the larger of the two deviations "
        f"in {below}" + (f"; by more at {', '.join(lost)}" if lost else ""),
    )


@claim
def same_runs_twice() -> Claim:
    opt = groups("table-zerosnet-cifar10", "# Layers")
    compared = {r.labels["# Layer"]: r for r in rows("table-comparison") if r.labels["Model"] == "ZeroSNet-Opt"}
    same = [
        layers
        for layers, table in opt.items()
        if next(r for r in table if r.moduli == OPTIMUM_MODULI).numbers[_TEST].text
        == compared[layers].numbers["C10 (%)"].text
    ]
    return Claim(
        "one network in two tables",
        "table-comparison",
        "ZeroSNet-Opt has the optimal coefficients (so both tables print the same numbers)",
        graded(len(same), len(opt)),
        f"the same at {', '.join(same)} layers",
    )


@claim
def imagenet_advantage() -> Claim:
    gains = {
        f"{layers} layers, {column[:5]}": round(table[1].value(column) - table[0].value(column), 2)
        for layers, table in groups("table-imagenet", "# Layer").items()
        for column in ("Top-1 (%)", "Top-5 (%)")
    }
    return Claim(
        "ImageNet",
        "table-imagenet",
        "ZeroSNet-Opt has the advantage of top-1 and top-5 accuracies on ImageNet",
        graded(sum(gain > 0 for gain in gains.values()), len(gains)),
        f"by {min(gains.values())} to {max(gains.values())}; single runs, so nothing is known about their spread",
    )


@claim
def gap_networks_have_repeated_roots() -> Claim:
    found = {paper_row(row.labels[MODULI]) for row in rows("table-generalisation-gap")}
    pairs = {str(row.lam): root_condition(row.scheme).parasitic_roots for row in found}
    repeated = sorted(lam for lam, (one, other) in pairs.items() if abs(one - other) < 1e-9)
    complex_pairs = sorted(
        lam for lam, pair in pairs.items() if lam not in repeated and all(root.imag for root in pair)
    )
    return Claim(
        "repeated roots",
        "table-generalisation-gap",
        "all involved ZeroSNets have a root as 1 and two repeated roots",
        graded(len(repeated), len(pairs)),
        f"all have the root 1; only lambda = {', '.join(repeated)} has a repeated one, lambda = "
        f"{' and '.join(complex_pairs)} have a pair of complex conjugates, alike in modulus alone",
    )


@claim
def gap_falls_with_moduli() -> Claim:
    ordered, best, by_model = [], [], groups("table-generalisation-gap", "Model")
    for model, table in by_model.items():
        gaps = [row.value("Gap") for row in sorted(table, key=lambda row: row.moduli[0])]
        ordered += [model] if gaps == sorted(gaps) else []
        best += [model] if gaps[0] == min(gaps) else []
    out_of_order = ", ".join(model for model in by_model if model not in ordered)
    return Claim(
        "gap falls with the moduli",
        "table-generalisation-gap",
        "smaller moduli of roots generally lead to a smaller generalization gap; the optimal coefficients to the best",
        PARTLY if len(ordered) < len(by_model) else HOLDS,
        f"in order at {len(ordered)} of {len(by_model)} depths (not {out_of_order}); "
        f"the optimum has the smallest gap at {len(best)} of {len(by_model)}; single runs",
    )


@claim
def gap_is_a_difference() -> Claim:
    table = rows("table-generalisation-gap")
    right = sum(abs(r.value("Training") - r.value("Test") - r.value("Gap")) < 0.0051 for r in table)
    return Claim(
        "gap is training less test",
        "table-generalisation-gap",
        "generalization gap: training acc. - test acc.",
        graded(right, len(table)),
        f"{right} of {len(table)} rows add up",
    )
