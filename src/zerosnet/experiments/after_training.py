"""What training made of coefficients, from the record of a run alone: its journal has those of every epoch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from zerosnet.models import StreamsLaw, configure
from zerosnet.numerics import Scheme, Wiring, is_zero_stable
from zerosnet.training import RunSpec

_ON_THE_CIRCLE = 1e-5  # the journal has six digits


@dataclass(frozen=True)
class TrainedWiring:
    """The wiring at the end of a run, and whether its blocks are zero-stable, each by itself.

    Attributes:
        outside: How many blocks are not: a root of the scheme, or an eigenvalue of A, outside the unit circle (or on
            it and multiple).
        largest_modulus: Of a root or an eigenvalue of any block.
        growth: The most that products of the A_n multiply a disturbance of the streams by, up to any depth.
    """

    wiring: Wiring
    outside: int
    largest_modulus: float
    growth: float

    @property
    def blocks(self) -> int:
        return len(self.wiring.steps)


def trained_wiring(spec: RunSpec, metrics: Sequence[Mapping[str, Any]]) -> TrainedWiring | None:
    """Read the wiring that a run ended with off its journal; None if coefficients are fixed, or were not kept."""
    kept = [row for row in metrics if row.get("coefficients") or row.get("matrices")]
    return _of_row(spec, kept[-1]) if kept else None


def _of_row(spec: RunSpec, row: Mapping[str, Any]) -> TrainedWiring:
    options: dict[str, Any] = {} if spec.stage_change is None else {"stage_change": spec.stage_change}
    config = configure(spec.model, scheme=spec.scheme, **options)
    counts = config.structure.blocks
    if isinstance(config.law, StreamsLaw):
        A, b, c = ([block[name] for block in row["matrices"]] for name in "Abc")
        read = config.law.kind.read(config.law.streams)
        wiring = Wiring.of_matrices(A, b, c, read, blocks=counts, projection="each")
        moduli = [float(np.abs(np.linalg.eigvals(np.array(matrix))).max()) for matrix in A]
        outside = sum(modulus > 1 + _ON_THE_CIRCLE for modulus in moduli)
    else:
        schemes = [Scheme.from_json(block) for block in row["coefficients"]]
        wiring = Wiring.per_block(schemes, counts, config.stage_change)
        moduli = [float(np.abs(np.roots([float(x) for x in scheme.rho])).max()) for scheme in schemes]
        outside = sum(not is_zero_stable(scheme) for scheme in schemes)
    return TrainedWiring(wiring, outside, max(moduli), float(10 ** wiring.gains().forward_rows.max()))
