"""Mosaics need depth: networks that are alike but for four numbers, trained as `make demo` does."""

from dataclasses import replace
from statistics import fmean

import pytest

from zerosnet.experiments import EXPERIMENTS, collect, reproduce, scale
from zerosnet.numerics import blocks_of, forecast, is_zero_stable
from zerosnet.training import Options, Store

MOSAICS = EXPERIMENTS["mosaics"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_zero_stable_rows_are_ten_points_better_and_effective_depth_tells_which(seed, tmp_path):
    """Two to four minutes per seed on two cores."""
    at = replace(scale("demo"), seeds=(seed,))
    evidence = reproduce([MOSAICS], at, Store(tmp_path / "runs"), Options(device="cpu"))
    table = collect(MOSAICS, evidence, at)
    accuracy = {row.scheme: table.cell(row.key, MOSAICS.columns[0].key).compared.mean for row in MOSAICS.rows}
    stable, others = ([accuracy[s] for s in accuracy if is_zero_stable(s) is kind] for kind in (True, False))
    assert fmean(stable) > fmean(others) + 10
    half = sum(blocks_of(56)) / 2
    deep = [mean for scheme, mean in accuracy.items() if forecast(scheme, 56).effective_depth > half]
    shallow = [mean for mean in accuracy.values() if mean not in deep]
    assert min(deep) > max(shallow) + 10, "also those that are zero-stable and use little of their depth"
