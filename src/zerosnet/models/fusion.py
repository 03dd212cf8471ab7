"""Networks side by side: one config made of several."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from zerosnet.errors import InputError
from zerosnet.models.config import Config
from zerosnet.models.stepping.block_plan import BlockPlan
from zerosnet.numerics import Number, Scheme


def fuse(configs: Sequence[Config]) -> Config:
    """Put networks of one `fusion_key` side by side: the replicas of the result are those of the configs in order."""
    if len({config.fusion_key for config in configs}) != 1:
        raise InputError("configs are of networks that differ in more than their schemes; expected one fusion_key")
    first, replicas = configs[0], sum(config.replicas for config in configs)
    initial = _growths(configs, "init_growth")
    if any(config.block_schemes for config in configs):
        longest = max(len(schemes) for config in configs for schemes in config.fixed_schemes())
        each = (schemes for config in configs for schemes in config.fixed_schemes())
        full = tuple(_with_start(schemes, longest, first.plans()) for schemes in each)
        return replace(first, schemes=(), beta_growth=(), block_schemes=full, init_growth=initial, replicas=replicas)
    schemes = tuple(scheme for config in configs for scheme in config.schemes)
    growths = _growths(configs, "beta_growth")
    return replace(first, schemes=schemes, beta_growth=growths, init_growth=initial, replicas=replicas)


def _growths(configs: Sequence[Config], field: str) -> tuple[Number, ...]:
    """List the growth of every replica, 1 for networks without one; nothing if no network has one."""
    if not any(getattr(config, field) for config in configs):
        return ()
    one: tuple[Number, ...] = (Fraction(1),)
    return tuple(growth for config in configs for growth in (getattr(config, field) or one * config.replicas))


def _with_start(schemes: tuple[Scheme, ...], length: int, plans: tuple[BlockPlan, ...]) -> tuple[Scheme, ...]:
    """Give start-up blocks the scheme that they have anyway, y_{n+1} = y_n + f_n, if other replicas list theirs."""
    if len(schemes) == length:
        return schemes
    alphas, betas = len(schemes[0].alphas), len(schemes[0].betas)
    start = Scheme([1] + [0] * (alphas - 1), [1] + [0] * (betas - 1))
    slots = iter(schemes)
    return tuple(next(slots) if block.multistep else start for block in plans)
