"""The paper's parameter table, and where it comes from."""

from pathlib import Path

import pytest

from zerosnet.models import create_model, parameter_count, parameter_table

TABLE = {row.name: row for row in parameter_table()}
COUNTED = {20: 278_490, 32: 472_922, 44: 667_354, 56: 861_786, 110: 1_736_730}


@pytest.mark.parametrize("depth", COUNTED)
def test_zerosnets_have_the_authors_parameters_less_the_unused_ones(depth):
    row = TABLE[f"zerosnet{depth}_opt"]
    assert row.authors == COUNTED[depth]
    assert row.ours == row.authors_used == COUNTED[depth] - 1088
    trained = (depth - 2) // 2 - 2  # lambda, from the third block on
    assert parameter_count(create_model(f"zerosnet{depth}_tra")) == row.ours + trained


def test_imagenet_sizes_have_the_authors_parameters():
    rows = {row.name: row for row in parameter_table(imagenet=True)}
    assert rows["preresnet18"].ours == 11_686_824
    assert rows["zerosnet18_opt"].ours == 12_030_888
    assert rows["zerosnet50_opt"].ours == 31_050_408
    assert all(rows[name].authors == rows[name].ours for name in ("preresnet18", "zerosnet18_opt", "zerosnet50_opt"))


def test_the_printed_zerosnet_column_fits_100_classes_and_not_10():
    hundred = {row.name: row for row in parameter_table(100)}
    zerosnets = [name for name in TABLE if name.startswith("zerosnet")]
    assert all(abs(hundred[name].ours / 1e6 - TABLE[name].printed_millions) < 0.0065 for name in zerosnets)
    assert any(abs(TABLE[name].ours / 1e6 - TABLE[name].printed_millions) > 0.0065 for name in zerosnets)
    assert all(hundred[name].authors is None for name in zerosnets)


def test_the_printed_lmresnet_column_fits_10_classes_except_at_110_layers():
    fits = {
        name: abs(row.ours / 1e6 - row.printed_millions) < 0.01
        for name, row in TABLE.items()
        if name.startswith("lmresnet")
    }
    assert fits == {name: name != "lmresnet110" for name in fits}
    assert round(TABLE["lmresnet110"].ours / 1e6, 2) == 1.73


def test_zerosnet_has_two_more_projections_a_stage_change_than_preresnet():
    for depth in COUNTED:
        assert TABLE[f"zerosnet{depth}_opt"].ours - TABLE[f"preresnet{depth}"].ours == 2 * (16 * 32 + 32 * 64)


@pytest.mark.parametrize("depth", COUNTED)
def test_the_table_in_the_docs_is_the_one_counted(depth):
    rows = [TABLE[name] for name in (f"lmresnet{depth}", f"preresnet{depth}", f"zerosnet{depth}_opt")]
    cells = [f"{row.ours:,} ({row.printed_millions:.2f})" for row in rows]
    cells += [f"{rows[-1].authors:,}", f"{rows[-1].authors_used:,}"]
    page = Path(__file__).parents[2] / "docs" / "differences.md"
    assert f"| {depth} | {' | '.join(cells)} |\n" in page.read_text()
