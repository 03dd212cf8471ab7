import json
import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zerosnet import InputError, Scheme
from zerosnet.training import Cosine, RunSpec, recipe
from zerosnet.training.runs.spec import distinct

SHORT = {"model": "zerosnet20_opt", "dataset": "cifar10", "recipe": "paper", "seed": 1}
SPEC = RunSpec.from_json(SHORT)

SPECS = st.builds(
    lambda scheme, name, dataset, epochs, seed, precision, validation: RunSpec(
        "zerosnet56", dataset, recipe(name, dataset, epochs=epochs), seed, scheme, precision, validation
    ),
    st.sampled_from([None, Scheme(["1/3", "5/9", "1/9"], ["16/9"]), Scheme([1.0], [1.0]), Scheme([1], [1])]),
    st.sampled_from(["paper", "quick", "pgd-paper", "mnist-fgsm"]),
    st.sampled_from(["cifar10", "mnist", "folder:flowers@64"]),
    st.integers(1, 500),
    st.integers(0, 2**63 - 1),
    st.sampled_from([None, "fp32", "bf16"]),
    st.sampled_from([None, 0.1]),
)


def test_schemes_and_numbers_written_differently_are_one_run():
    short = {**SHORT, "model": "zerosnet56"}
    specs = [
        RunSpec.from_json({**short, "scheme": text}) for text in ("zerosnet(-1/5)", "zerosnet(3)", "zerosnet(-0.2)")
    ]
    assert distinct(specs) == specs[:2]


@given(SPECS)
def test_a_spec_is_replayed_from_its_own_record(spec):
    again = RunSpec.from_json(json.loads(json.dumps(spec.to_json())))
    assert again == spec and again.id == spec.id and again.canonical() == spec.canonical()


@given(SPECS, SPECS)
def test_ids_are_equal_exactly_where_specs_are(a, b):
    assert (a.id == b.id) == (a == b)


def test_an_id_can_be_read_and_stays_what_it_is():
    assert SPEC.id == "zerosnet20_opt-cifar10-paper-s1-a59376fa"
    assert RunSpec.from_json({**SHORT, "dataset": "folder:my pictures@64"}).id.startswith(
        "zerosnet20_opt-folder_my_pictures_64-paper-s1-"
    )


def test_an_id_is_the_same_in_another_process():
    code = f"from zerosnet.training import RunSpec; print(RunSpec.from_json({SHORT!r}).id)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == SPEC.id


def test_equal_numbers_give_equal_ids():
    a, b = (replace(SPEC, recipe=recipe("paper", "cifar10", lr=lr)) for lr in (1, 1.0))
    assert a.id == b.id


def test_precision_and_validation_are_part_of_the_id_only_if_given():
    assert "precision" not in SPEC.to_json() and "validation" not in SPEC.to_json()
    assert len({SPEC.id, replace(SPEC, precision="fp32").id, replace(SPEC, validation=0.1).id}) == 3


def test_exact_and_float_schemes_are_different_runs():
    ids = {replace(SPEC, scheme=scheme).id for scheme in (None, Scheme(["1/2"], [1]), Scheme([0.5], [1]))}
    assert len(ids) == 3


def test_short_forms_are_resolved():
    spec = RunSpec.from_json({**SHORT, "scheme": "1/3,5/9,1/9;16/9", "recipe": {"name": "paper", "epochs": 2}})
    assert spec.scheme == Scheme(["1/3", "5/9", "1/9"], ["16/9"])
    assert spec.recipe.epochs == 2 and spec.recipe.batch == 128 and spec.changes == {"epochs": 2}


def test_every_option_of_a_recipe_can_be_changed_its_schedule_too():
    changes = {"schedule": "cosine", "epochs": 3, "batch": 32, "lr": 0.2}
    found = RunSpec.from_json({**SHORT, "recipe": {"name": "paper", **changes}}).recipe
    assert found == replace(recipe("paper", SHORT["dataset"], epochs=3, batch=32, lr=0.2), schedule=Cosine())
    record = found.to_json()
    del record["decay_norms"]  # a record from before there was such a field
    assert RunSpec.from_json({**SHORT, "recipe": record}).recipe == found


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": None}, "lacks 'model'"),
        ({"seed": None}, "lacks 'seed'"),
        ({"model": 3}, "model is 3"),
        ({"seed": -1}, "seed is -1"),
        ({"seed": "1"}, "seed is '1'"),
        ({"seed": True}, "seed is True"),
        ({"dataset": "imagenet"}, "dataset is 'imagenet'"),
        ({"dataset": 5}, "dataset is 5"),
        ({"dataset": ["digits"]}, r"dataset is \['digits'\]"),
        ({"model": ["zerosnet20_opt"], "recipe": "imagenet"}, r"model is \['zerosnet20_opt'\]"),
        ({"recipe": "papr"}, "recipe is 'papr'"),
        ({"recipe": {"name": "paper", "epoch": 2}}, "recipe has no option 'epoch'"),
        ({"recipe": 3}, "recipe is 3"),
        ({"scheme": "1/0;1"}, "scheme: .*divides by zero"),
        ({"scheme": [1, 2]}, "scheme: "),
        ({"precision": "fp8"}, "precision is 'fp8'"),
        ({"validation": 1.0}, "validation is 1.0"),
        ({"validation": "half"}, "validation is 'half'"),
        ({"sed": 2}, "a spec has no field 'sed'"),
    ],
)
def test_errors_name_the_field(change, message):
    with pytest.raises(InputError, match=message):
        RunSpec.from_json({**SHORT, **change})


def test_something_else_than_an_object_is_refused():
    with pytest.raises(InputError, match="expected an object with model"):
        RunSpec.from_json(["zerosnet20"])


# -- wirings -----------------------------------------------------------------------------------------------------------


def wired(**fields: object) -> RunSpec:
    return RunSpec.from_json(
        {"model": "zerosnet20", "dataset": "digits", "recipe": "quick", "seed": 1, "scheme": "1,1,1;1", **fields}
    )


def test_runs_without_growth_or_stage_change_keep_their_identity():
    plain = wired()
    assert plain.id == wired(beta_growth=None, stage_change=None).id == wired(beta_growth="1").id
    assert plain.id == wired(init_growth=None).id == wired(init_growth=1).id
    assert not {"beta_growth", "init_growth", "stage_change", "block_schemes"} & set(plain.to_json())


def test_growth_and_stage_change_are_part_of_a_run_and_come_back_from_its_record():
    specs = [wired(), wired(beta_growth="1.839"), wired(stage_change="restart"), wired(beta_growth=1.839)]
    specs += [wired(init_growth="1.839"), wired(init_growth=1.839)]
    assert len({spec.id for spec in specs}) == len(specs)
    assert [RunSpec.from_json(spec.to_json()) for spec in specs] == specs


def test_a_scheme_per_block_is_part_of_a_run():
    schemes = ["1,1,1;1"] * 6 + ["1/3,5/9,1/9;16/9"]
    spec = wired(scheme=None, block_schemes=schemes)
    assert RunSpec.from_json(spec.to_json()) == spec
    assert len(spec.block_schemes) == 7


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"beta_growth": 0}, "beta_growth is 0; expected a positive number"),
        ({"beta_growth": "fast"}, "beta_growth"),
        ({"init_growth": -1}, "init_growth is -1; expected a positive number"),
        ({"stage_change": "jump"}, "stage_change is 'jump'; expected one of project-each"),
        ({"block_schemes": ["1,1,1;1"]}, "block_schemes is given with a scheme"),
        ({"scheme": None, "block_schemes": []}, r"block_schemes is \[\]; expected a list of schemes"),
    ],
)
def test_bad_wirings_are_refused(fields, message):
    with pytest.raises(InputError, match=message):
        wired(**fields)


def test_a_spec_tells_if_its_network_is_rewired():
    assert not wired().rewired and not wired(beta_growth=1).rewired
    assert wired(init_growth="3/2").rewired
    assert wired(beta_growth="3/2").rewired and wired(stage_change="restart").rewired
