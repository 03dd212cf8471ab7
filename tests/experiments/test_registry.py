"""The declarations: complete, shared where they should be, and sound."""

import pytest

from zerosnet.data import source
from zerosnet.errors import InputError
from zerosnet.experiments import EXPERIMENTS, SCALES, experiment, scale
from zerosnet.experiments.ours import PAIRS, disc_schemes
from zerosnet.models import create_model
from zerosnet.numerics import is_consistent, is_zero_stable
from zerosnet.training import RECIPES

every = pytest.mark.parametrize("one", EXPERIMENTS.values(), ids=list(EXPERIMENTS))


def ids(name: str, at: str = "full") -> set[str]:
    return {spec.id for spec in EXPERIMENTS[name].specs(at)}


def test_there_are_the_papers_sixteen_and_our_three():
    assert len(EXPERIMENTS) == 19
    assert [name for name, one in EXPERIMENTS.items() if one.reference == "ours"] == ["mosaics", "scan-disc", "pairs"]


@every
def test_cells_stand_in_rows_and_columns_that_are_there(one):
    rows, columns = [row.key for row in one.rows], [column.key for column in one.columns]
    places = [(cell.row, cell.column) for cell in one.cells]
    assert len(set(rows)) == len(rows) and len(set(columns)) == len(columns) and len(set(places)) == len(places)
    assert {row for row, _ in places} == set(rows) and {column for _, column in places} <= set(columns)
    assert all(len(row.labels) == len(one.heads) for row in one.rows)


@every
def test_every_cell_can_be_filled_or_has_a_reason_why_not(one):
    for cell in one.cells:
        assert cell.training is not None or cell.compute is not None or cell.note


@every
def test_the_printed_verdict_is_the_root_conditions(one):
    for row in one.rows:
        if row.scheme is not None and row.zero_stable is not None:
            assert is_zero_stable(row.scheme) is row.zero_stable, row.key


def test_noise_tables_read_the_56_layer_networks_of_the_accuracy_table():
    noisy = ids("table-robustness")
    assert noisy <= ids("table-zerosnet-cifar10")
    for name in ("table-uniform-noise", "table-gaussian-noise", "table-constant-noise"):
        assert ids(name) == noisy


def test_the_optimum_is_trained_once_for_all_tables():
    shared = ids("table-comparison") & ids("table-zerosnet-cifar10")
    assert len([run for run in shared if run.startswith("zerosnet56_opt-cifar10")]) == 3
    assert len([run for run in ids("pairs") & ids("table-comparison") if "zerosnet56_opt" in run]) == 3


def test_full_scale_has_the_papers_settings():
    by_name = {name: EXPERIMENTS[name].specs("full")[0] for name in EXPERIMENTS if EXPERIMENTS[name].specs("full")}
    assert by_name["table-zerosnet-cifar10"].recipe == RECIPES["paper"]("cifar10")
    assert by_name["table-generalisation-gap"].recipe.epochs == 500
    assert by_name["figure-roots-cifar100"].recipe.epochs == 300
    assert by_name["table-fgsm"].recipe.name == "mnist-fgsm"
    assert by_name["table-imagenet"].recipe.name == "imagenet"


def test_reduced_runs_are_never_taken_for_full_ones():
    for one in EXPERIMENTS.values():
        assert not ids(one.name, "reduced") & ids(one.name, "full")
        assert all(spec.changes for spec in one.specs("reduced"))


def test_demo_runs_are_on_embedded_data():
    names = {spec.dataset for one in EXPERIMENTS.values() for spec in one.specs("demo")}
    assert names == {"digits", "mosaics"} and all(source(name).embedded for name in names)


def test_the_surrogate_is_trained_before_the_runs_that_need_it():
    specs = EXPERIMENTS["table-pgd"].specs("full")
    assert (specs[0].model, specs[0].recipe.name) == ("preresnet20", "paper")
    assert all(spec.recipe.adversarial is not None for spec in specs[1:])


def test_a_first_seed_of_every_row_comes_before_a_second_of_any():
    seeds = [spec.seed for spec in EXPERIMENTS["table-zerosnet-cifar10"].specs("full")]
    assert seeds == sorted(seeds)


def test_the_disc_holds_two_hundred_different_consistent_schemes_of_both_kinds():
    schemes = disc_schemes()
    assert len(set(schemes)) == 200 and all(map(is_consistent, schemes))
    stable = sum(is_zero_stable(scheme) is True for scheme in schemes)
    assert 60 < stable < 140
    assert schemes == disc_schemes()


@pytest.mark.parametrize("layers", [20, 56])
def test_the_note_names_the_blocks_of_lm_resnet_that_train_a_coefficient(layers):
    network = create_model(f"lmresnet{layers}", seed=0)
    (trained,) = network.coefficient_parameters()
    each = (layers - 2) // 6
    steps = [scheme.steps for scheme in network.schemes()]
    assert steps == 3 * [1, *[2] * (each - 1)] and len(trained) == steps.count(2)
    assert all(scheme.betas == (1,) for scheme in network.schemes())
    assert any("in every block but the first of a stage" in note for note in EXPERIMENTS["table-comparison"].notes)


def test_the_note_counts_the_pairs_that_change_two_things():
    two = [name for name in PAIRS if " and " in name.partition(", with the same")[0].partition(",")[0]]
    assert len(two) == 3 and EXPERIMENTS["pairs"].notes[0].endswith("three pairs change two")


@pytest.mark.parametrize("name", PAIRS)
def test_pairs_differ_in_what_their_name_tells_and_nothing_else(name):
    (_, one), (_, other) = PAIRS[name]
    differ = {
        "stability": is_zero_stable(one) is not is_zero_stable(other),
        "consistency": is_consistent(one) is not is_consistent(other),
        "beta": one.betas != other.betas,
    }
    named = name.partition(", with the same")[0]
    assert {word: word in named for word in differ} == differ
    if "size of beta" in name and "stability" not in name:
        assert one.alphas == other.alphas


def test_unknown_names_are_the_users_mistake():
    with pytest.raises(InputError, match="table-fgsm"):
        experiment("table-fgms")
    with pytest.raises(InputError, match="demo, reduced, full"):
        scale("huge")
    assert set(SCALES) == {"demo", "reduced", "full"}
