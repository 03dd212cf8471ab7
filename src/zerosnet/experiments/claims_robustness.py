"""What the paper says of noise and adversarial examples."""

from zerosnet.experiments.claims import FAILS, HOLDS, OPTIMUM, PARTLY, Claim, PrintedRow, claim, graded, mean, rows

_NOISE = ("table-robustness", "table-uniform-noise", "table-gaussian-noise", "table-constant-noise")
_CLEAN = ("Noise-free", "delta = 0")


def _levels(name: str) -> list[str]:
    return [column for column in rows(name)[0].numbers if column not in (*_CLEAN, "eps=0")]


def _degradation(column: str, table: tuple[PrintedRow, ...], stable: bool) -> float:
    """Mean loss against no noise, which only two of the tables print: the 56-layer rows are the same in all."""
    clean = {row.moduli: row.value("Noise-free") for row in rows("table-robustness")}
    return mean([clean[row.moduli] - row.value(column) for row in table if row.stable is stable])


@claim
def uniform_degradation() -> Claim:
    table = rows("table-robustness")
    lost = {stable: _degradation("[-0.08, 0]", table, stable) for stable in (False, True)}
    right = abs(lost[False] - 12.38) < 0.0051 and abs(lost[True] - 6.40) < 0.0051
    return Claim(
        "12.38 against 6.40",
        "table-robustness",
        "under uniform noise in [-0.08, 0] non-zero-stable models lose 12.38 % on average, zero-stable ones 6.40 %",
        HOLDS if right else FAILS,
        f"the table gives {lost[False]:.2f} and {lost[True]:.2f}",
    )


@claim
def other_noise() -> Claim:
    smaller, of, lost = 0, 0, []
    for name in _NOISE:
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
        f"zero-stable rows lose less on average in {smaller} of {of} columns"
        + (f"; not {', '.join(lost)}" if lost else ""),
    )


@claim
def bold_under_noise() -> Claim:
    wrong, of = [], 0
    for name in _NOISE:
        for column in rows(name)[0].numbers:
            bold = [row.numbers[column] for row in rows(name) if row.numbers[column].bold]
            best = max(row.value(column) for row in rows(name))
            of += 1
            if not bold or bold[0].value < best:
                wrong.append(f"{column} has {bold[0].value if bold else 'nothing'} in bold below {best}")
    return Claim(
        "bold is best under noise",
        "table-uniform-noise",
        "(bold marks the best of a column)",
        graded(of - len(wrong), of),
        f"right in {of - len(wrong)} of {of} columns; {'; '.join(wrong)}",
    )


@claim
def optimal_in_practice() -> Claim:
    tables = {**{name: list(rows(name)[0].numbers) for name in _NOISE[1:]}, "table-fgsm": _levels("table-fgsm")}
    best, of, lost = 0, 0, []
    for name, columns in tables.items():
        for column in columns:
            of += 1
            first = max(rows(name), key=lambda row: row.value(column))
            if first.moduli == OPTIMUM:
                best += 1
            else:
                lost.append(column)
    cifar = [row for row in rows("table-zerosnet-cifar10") if row.labels["# Layers"] == "44"]
    top = max(row.value("Test acc. (%)") for row in cifar)
    ours = next(row.value("Test acc. (%)") for row in cifar if row.moduli == OPTIMUM)
    return Claim(
        "optimal in practice",
        "table-gaussian-noise",
        "the theoretically optimal coefficients are also optimal in practice",
        PARTLY,
        f"best in {best} of {of} columns of the noise and FGSM tables; not under {', '.join(lost)}, nor at 44 layers "
        f"without noise ({ours} against {top})",
    )


@claim
def same_numbers() -> Claim:
    main = rows("table-robustness")
    same, of = 0, 0
    for name in _NOISE[1:]:
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
    return _all_above("PGD", "table-pgd", "a transfer test on another network's examples, single runs")


@claim
def fgsm_better() -> Claim:
    return _all_above("FGSM", "table-fgsm", "100 images, so one image is 1 %, single runs")


def _all_above(attack: str, name: str, caution: str) -> Claim:
    """Whether every zero-stable row is above every other one, at every level."""
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
