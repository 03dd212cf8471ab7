"""The paper's claims about its coefficients, parameters and run time."""

from fractions import Fraction

from zerosnet.experiments.paper_claims.verdicts import FAILS, HOLDS, PARTLY, Claim, claim, graded, groups, rows
from zerosnet.numerics import PAPER_ROWS, is_consistent, is_zero_stable, lm, root_condition, zerosnet


@claim
def moduli_are_right() -> Claim:
    right = sum(
        all(
            abs(found - float(printed)) < 0.0051
            for found, printed in zip(sorted(root_condition(row.scheme).moduli), sorted(row.printed_moduli, key=float))
        )
        for row in PAPER_ROWS
    )
    verdicts = sum(is_zero_stable(row.scheme) is row.printed_zero_stable for row in PAPER_ROWS)
    return Claim(
        "mapping to roots",
        "table-coefficients",
        "mapping from coefficients to moduli of roots, and zero stability",
        graded(right + verdicts, 2 * len(PAPER_ROWS)),
        f"{right} of {len(PAPER_ROWS)} rows have the printed moduli, {verdicts} the printed verdict",
    )


@claim
def rows_are_consistent() -> Claim:
    consistent = [row for row in PAPER_ROWS if is_consistent(row.scheme)]
    return Claim(
        "ZeroSNets are consistent",
        "table-coefficients",
        "ZeroSNet meets the consistency condition",
        PARTLY if len(consistent) < len(PAPER_ROWS) else HOLDS,
        f"true of the lambda family, which {len(consistent)} of the {len(PAPER_ROWS)} rows belong to; the others are "
        "no consistent methods, so stability, consistency and beta are confounded",
    )


@claim
def stable_region() -> Claim:
    return Claim(
        "stable region",
        "table-coefficients",
        "zero-stable for lambda in (-inf, -1) and (1/3, inf)",
        PARTLY if is_zero_stable(zerosnet(-1)) else HOLDS,
        "true, and lambda = -1 (leap-frog, roots 0, 1, -1, all simple) is zero-stable too, which is left out; "
        f"lambda = 1/3 is {'' if is_zero_stable(zerosnet(Fraction(1, 3))) else 'not '}zero-stable",
    )


@claim
def lm_consistency() -> Claim:
    ks = [row.labels["k"] for row in rows("table-lmresnet-k")]
    good = sum(is_consistent(lm(k, "paper")) for k in ks)
    return Claim(
        "beta = 2k+1 is consistent",
        "table-lmresnet-k",
        "a modification on beta, 2k+1, to ensure consistency",
        graded(good, len(ks)),
        f"consistent at {good} of the {len(ks)} printed k, where 1+k is at {sum(is_consistent(lm(k)) for k in ks)}; at "
        "k = -0.5 the printed beta is 0, a network without any f, and yet 92.95 is printed",
    )


@claim
def parameters_close() -> Claim:
    table = rows("table-parameters")
    close = sum(abs(r.value("ZeroSNet") - r.value("PreResNet")) < 0.0051 for r in table)
    return Claim(
        "parameters are close",
        "table-parameters",
        "ZeroSNets have a close number of parameters compared with PreResNets",
        graded(close, len(table)),
        f"the same to the printed digits at {close} of {len(table)} depths; projections of the history are all it adds",
    )


@claim
def lm_parameters() -> Claim:
    values = {int(r.labels["# Layers"]): r.value("LMResNet") for r in rows("table-parameters")}
    slope = (values[56] - values[20]) / 36
    expected = values[56] + slope * (110 - 56)
    return Claim(
        "parameters of LM-ResNet",
        "table-parameters",
        "LM-ResNet-110 has 1.14M parameters",
        HOLDS if abs(values[110] - expected) < 0.02 else FAILS,
        f"20 to 56 layers are on a line that gives {expected:.2f}M at 110, where 1.14M is printed",
    )


@claim
def run_time_close() -> Claim:
    table = {label: row[0] for label, row in groups("table-run-time", "Model").items()}
    ratios = {
        f"{part} {column[3:]}": table[f"ZeroSNet20 ({part})"].value(column)
        / table[f"PreResNet20 ({part})"].value(column)
        for part in ("training", "test")
        for column in ("BS=128", "BS=512", "BS=4096")
    }
    text = ", ".join(f"{name}: {ratio:.3f}" for name, ratio in ratios.items())
    large = all(
        ratios[f"{part} {size}"] < ratios[f"{part} 128"] for part in ("training", "test") for size in (512, 4096)
    )
    return Claim(
        "run time is close",
        "table-run-time",
        "time consumption of ZeroSNet20 is close to PreResNet20, especially for large batch sizes",
        HOLDS if large and max(ratios.values()) < 1.1 else PARTLY,
        f"times that of PreResNet by part and batch: {text}",
    )
