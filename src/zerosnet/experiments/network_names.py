"""Names of networks for tables: the scheme, and what is unusual about its network."""

from zerosnet.numerics import Scheme
from zerosnet.training import RunSpec

_SHORT = len("-1/20")  # coefficients that are no longer stay as they are


def wired_name(spec: RunSpec, scheme: str) -> str:
    """Name a network by its scheme and what is unusual about it: "1,1,1;1, beta growth 1.841"."""
    growths = {"beta growth": spec.beta_growth, "initial growth": spec.init_growth}
    told = [f"{kind} {float(rate):.4g}" for kind, rate in growths.items() if rate is not None]
    told += [] if spec.stage_change is None else [spec.stage_change]
    told += [] if spec.block_schemes is None else ["a scheme per block"]
    return ", ".join([scheme, *told])


def rounded_name(name: str) -> str:
    """Round the coefficients of many digits in a name, to four digits.

    Examples:
        >>> rounded_name("zerosnet56 1/3,543183/1000000;679/1250, beta growth 2")
        'zerosnet56 1/3,0.5432;0.5432, beta growth 2'
    """
    first, comma, rest = name.partition(", ")
    *model, text = first.split(" ")
    if ";" not in text:
        return name
    scheme = Scheme.parse(text)
    parts = (
        ",".join(str(value) if len(str(value)) <= _SHORT else f"{float(value):.4g}" for value in values)
        for values in (scheme.alphas, scheme.betas)
    )
    return " ".join([*model, ";".join(parts)]) + comma + rest
