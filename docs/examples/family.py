"""A new family: Euler's step blended with the two-step Adams-Bashforth method.

y_{n+1} = y_n + h ((1 + theta/2) f(y_n) - theta/2 f(y_{n-1})): Euler at theta = 0, Adams-Bashforth at theta = 1.
"""

from typing import Any

from zerosnet.numerics import FAMILIES, Family, Scheme, number


def ab2_blend(theta: Any) -> Scheme:
    """The member with this theta; exact numbers stay exact."""
    t = number(theta, "theta")
    return Scheme([1, 0], [1 + t / 2, -t / 2])


BLEND = Family(
    name="ab2-blend",
    parameter="theta",
    symbol=r"\theta",
    description="Euler's step blended with Adams-Bashforth 2",
    formula=r"y_{n+1} = y_n + h \left((1+\tfrac{\theta}{2}) f(y_n) - \tfrac{\theta}{2} f(y_{n-1})\right)",
    build=ab2_blend,
    alphas=lambda theta: (1, 0 * theta),
)


def register() -> None:
    """Make "ab2-blend(1/2)" a scheme everywhere in this process."""
    FAMILIES[BLEND.name] = BLEND
