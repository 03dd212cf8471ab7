"""Schemes at and next to the border of zero stability, each with the right answer.

The answers follow from how a case is made, not from a computation: the ZeroSNet family is zero-stable exactly for
lambda in (-oo, -1] U (1/3, oo), and roots on the circle are allowed exactly where they are simple.
"""

from dataclasses import dataclass
from fractions import Fraction

from zerosnet.numerics import Scheme, from_roots, zerosnet


@dataclass(frozen=True)
class Case:
    name: str
    scheme: Scheme
    zero_stable: bool


# exact quadratic factors z^2 + b z + c with their roots on the circle, at angles pi/3, pi/2, arccos(3/5) and 2 pi/3
PAIRS = {"pi/3": (-1, 1), "pi/2": (0, 1), "arccos(3/5)": (Fraction(-6, 5), 1), "2 pi/3": (1, 1)}


def borderline_cases(most_digits: int = 15) -> list[Case]:
    """lambda = 1/3 +- 10^-k and -1 +- 10^-k, multiple roots on the circle, complex pairs on it, single and double."""
    cases = [Case("lambda = 1/3", zerosnet("1/3"), False), Case("lambda = -1", zerosnet(-1), True)]
    for k in range(1, most_digits + 1):
        tiny = Fraction(1, 10**k)
        for border, sign, stable in (("1/3", 1, True), ("1/3", -1, False), ("-1", 1, False), ("-1", -1, True)):
            name = f"lambda = {border} {'+' if sign > 0 else '-'} 1e-{k}"
            cases.append(Case(name, zerosnet(Fraction(border) + sign * tiny), stable))
    for order, word in ((2, "double"), (3, "triple")):
        cases.append(Case(f"{word} root 1", from_roots([1] * (order - 1)), False))
        cases.append(Case(f"{word} root -1", from_roots([-1] * order), False))
    for angle, factor in PAIRS.items():
        cases.append(Case(f"pair at {angle}", from_roots([factor]), True))
        cases.append(Case(f"pair at {angle}, root 1/2", from_roots([factor, "1/2"]), True))
        cases.append(Case(f"double pair at {angle}", from_roots([factor, factor]), False))
    cases.append(Case("pairs at pi/3 and pi/2, root -1", from_roots([(-1, 1), (0, 1), -1]), True))
    return cases
