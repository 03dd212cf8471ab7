"""The paper's claims about noise and adversarial examples."""

from zerosnet.experiments.paper_claims.verdicts import (
    FAILS,
    HOLDS,
    OPTIMUM_MODULI,
    PARTLY,
    Claim,
    PrintedRow,
    claim,
    graded,
    mean,
    rows,
)

_APPENDIX = ("table-uniform-noise", "table-gaussian-noise", "table-constant-noise")
_NOISE = ("table-robustness", *_APPENDIX)
_CLEAN = ("Noise-free", "delta = 0")
_LOST = {False: 12.38, True: 6.40}
"""The paper's example of a dramatic decrease, by rows that are not zero-stable, and of a robust one."""


def _levels(name: str) -> list[str]:
    return [column for column in rows(name)[0].numbers if column not in (*_CLEAN, "eps=0")]


def _degradation(column: str, table: tuple[PrintedRow, ...], stable: bool) -> float:
    """Mean loss against no noise, which only two of the tables print: the 56-layer rows are the same in all."""
    clean = {row.moduli: row.value("Noise-free") for row in rows("table-robustness")}
    return mean([clean[row.moduli] - row.value(column) for row in table if row.stable is stable])


@claim
def stable_rows_are_robust() -> Claim:
    """The text has no measure of "dramatically"; what is nearer to its example of it than to that of "robust" is."""
    table, middle = rows("table-robustness"), mean(list(_LOST.values()))
    lost = {
        column: (_degradation(column, table, False), _degradation(column, table, True))
        for column in _levels("table-robustness")
    }
    good = [column for column, (other, stable) in lost.items() if stable < middle < other]
    unlike = (f"{c} ({lost[c][0]:.2f} and {lost[c][1]:.2f})" for c in lost if c not in good)
    optimum = next(row for row in table if row.moduli == OPTIMUM_MODULI)
    clean, noisy = (optimum.value(column) for column in ("Noise-free", "delta = 0.04"))
    return Claim(
        "robust where zero-stable",
        "table-robustness",
        "the non-zero-stable models' test accuracies decrease dramatically after injecting noises, while zero-stable "
        "models are robust",
        graded(len(good), len(lost)),
        f"by the example's {_LOST[False]:.2f} for dramatic and {_LOST[True]:.2f} for robust, mean losses parted at "
        f"{middle:.2f}: so at {len(good)} of {len(lost)} levels; not {', '.join(unlike)}. The optimum itself falls "
        f"from {clean} to {noisy} at delta = 0.04",
    )


@claim
def uniform_degradation() -> Claim:
    table = rows("table-robustness")
    lost = {stable: _degradation("[-0.08, 0]", table, stable) for stable in (False, True)}
    right = all(abs(lost[stable] - said) < 0.0051 for stable, said in _LOST.items())
    return Claim(
        "12.38 against 6.40",
        "table-robustness",
        "under uniform noise in [-0.08, 0] non-zero-stable models lose 12.38 % on average, zero-stable ones 6.40 %",
        HOLDS if right else FAILS,
        f"the table gives {lost[False]:.2f} and {lost[True]:.2f}",
    )


@claim
def other_noise() -> Claim:
    """The levels of the appendix: those of the main table are among them, with the same numbers."""
    smaller, of, lost = 0, 0, []
    for name in _APPENDIX:
        for column in _levels(name):
            of += 1
            stable, other = (_degradation(column, rows(name), kind) for kind in (True, False))
            smaller += stable < other
            if stable >= other:
                lost.append(f"{column} ({stable:.2f} against {other:.2f})")
    return Claim(
        "other noises",
        "table-robustness",
        "similar phenomenons are clear in other noise-model pairs",
        graded(smaller, of),
        f"zero-stable rows lose less on average at {smaller} of {of} levels, those of the appendix included"
        + (f"; not {', '.join(lost)}" if lost else ""),
    )


@claim
def bold_under_noise() -> Claim:
    """A level that two tables print is one column, wrong if it is wrong in either."""
    right: dict[str, bool] = {}
    wrong: dict[str, None] = {}
    for name in _NOISE:
        for column in rows(name)[0].numbers:
            bold = [row.numbers[column] for row in rows(name) if row.numbers[column].bold]
            best = max(row.value(column) for row in rows(name))
            good = bool(bold) and bold[0].value == best
            level = _CLEAN[0] if column in _CLEAN else column
            right[level] = right.get(level, True) and good
            if not good:
                wrong[f"{level} has {bold[0].value if bold else 'nothing'} in bold below {best}"] = None
    return Claim(
        "bold is best under noise",
        "table-uniform-noise",
        "(bold marks the best of a column)",
        graded(sum(right.values()), len(right)),
        f"right in {sum(right.values())} of {len(right)} columns; {'; '.join(wrong)}",
    )


@claim
def optimal_in_practice() -> Claim:
    tables = {**{name: list(rows(name)[0].numbers) for name in _APPENDIX}, "table-fgsm": _levels("table-fgsm")}
    best, of, lost = 0, 0, []
    for name, columns in tables.items():
        for column in columns:
            of += 1
            first = max(rows(name), key=lambda row: row.value(column))
            if first.moduli == OPTIMUM_MODULI:
                best += 1
            else:
                lost.append(column)
    cifar = [row for row in rows("table-zerosnet-cifar10") if row.labels["# Layers"] == "44"]
    top = max(row.value("Test acc. (%)") for row in cifar)
    ours = next(row.value("Test acc. (%)") for row in cifar if row.moduli == OPTIMUM_MODULI)
    return Claim(
        "optimal in practice",
        "table-gaussian-noise",
        "the theoretically optimal coefficients are also optimal in practice",
        PARTLY,
        f"best in {best} of {of} columns of the noise and FGSM tables; not under {', '.join(lost)}, nor at 44 layers "
        f"without noise ({ours} against {top})",
    )


@claim
def appendix_outperforms() -> Claim:
    """Every zero-stable row against every other one, at every level that the three tables print."""
    margins = {column: _margin(name, column) for name in _APPENDIX for column in rows(name)[0].numbers}
    above = sum(margin > 0 for margin in margins.values())
    least, most = (pick(margins, key=lambda column: margins[column]) for pick in (min, max))
    return Claim(
        "outperform under noise",
        "table-uniform-noise",
        "The results consistently show that zero-stable models outperform the non-zero-stable counterparts",
        graded(above, len(margins)),
        f"all zero-stable rows above all others in {above} of {len(margins)} columns of the three tables, by "
        f"{margins[least]:.2f} ({least}) to {margins[most]:.2f} ({most}); delta = 0 is without noise",
    )


def _margin(name: str, column: str) -> float:
    """The worst zero-stable row less the best other one."""
    values = {kind: [row.value(column) for row in rows(name) if row.stable is kind] for kind in (True, False)}
    return min(values[True]) - max(values[False])


@claim
def same_numbers() -> Claim:
    main = rows("table-robustness")
    same, of = 0, 0
    for name in _APPENDIX:
        values = {row.moduli: row for row in rows(name)}
        for column in set(_levels(name)) & set(_levels("table-robustness")):
            for row in main:
                of += 1
                same += row.numbers[column].value == values[row.moduli].numbers[column].value
    return Claim(
        "main and appendix agree",
        "table-robustness",
        "the appendix gives more levels of the same experiments",
        graded(same, of),
        f"{same} of {of} shared numbers are the same",
    )


@claim
def pgd_reductions() -> Claim:
    off = []
    for row in rows("table-pgd"):
        for column in _levels("table-pgd"):
            number = row.numbers[column]
            assert number.change is not None
            off.append(abs(number.value - row.value("eps=0") - number.change))
    return Claim(
        "PGD reductions",
        "table-pgd",
        "adversarial accuracies (-reduction)",
        HOLDS if max(off) < 0.0151 else FAILS,
        f"the {len(off)} reductions are the differences to within {max(off):.2f}, which rounding explains",
    )


@claim
def pgd_better() -> Claim:
    return _all_above(
        "PGD",
        "table-pgd",
        "a transfer test on another network's examples, single runs; in ours white-box PGD-20 leaves none anything",
    )


@claim
def fgsm_better() -> Claim:
    return _all_above("FGSM", "table-fgsm", "100 images, so one image is 1 %, single runs")


def _all_above(attack: str, name: str, caution: str) -> Claim:
    """Return True if every zero-stable row is above every other one, at every level."""
    above, overlaps = 0, []
    for column in _levels(name):
        low = min(row.value(column) for row in rows(name) if row.stable)
        high = max(row.value(column) for row in rows(name) if not row.stable)
        above += low > high
        if low <= high:
            overlaps.append(f"{column}: {low:g} against {high:g}")
    return Claim(
        f"better under {attack}",
        name,
        f"the zero-stable models' robustness under {attack} perturbations is better than the others'",
        graded(above, len(_levels(name))),
        f"all zero-stable rows above all others at {above} of {len(_levels(name))} levels"
        + (f" (not at {'; '.join(overlaps)})" if overlaps else "")
        + f"; {caution}",
    )
