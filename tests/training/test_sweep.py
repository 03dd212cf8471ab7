import json

import pytest

from zerosnet import InputError
from zerosnet.training import RunSpec, Store, expand, read_sweep

SHORT = {"model": "zerosnet20_opt", "dataset": "digits", "recipe": "quick", "seed": 1}


def test_a_grid_gives_all_combinations_the_last_field_fastest():
    grid = {**SHORT, "scheme": ["1/2,1/2;1", "1;1"], "seed": [1, 2, 3]}
    runs = expand({"grid": {key: grid[key] for key in ("model", "dataset", "recipe", "scheme", "seed")}})
    assert [(str(r.scheme), r.seed) for r in runs] == [(s, i) for s in ("1/2,1/2;1", "1;1") for i in (1, 2, 3)]


def test_a_list_of_specs_is_read_and_doubles_are_dropped():
    runs = expand([SHORT, {**SHORT, "seed": 2}, SHORT])
    assert [r.seed for r in runs] == [1, 2]


def test_lists_and_grids_can_be_mixed():
    grids = [{**SHORT, "seed": [5, 6]}, {**SHORT, "recipe": [{"name": "quick", "epochs": e} for e in (1, 2)]}]
    assert len(expand({"specs": [SHORT], "grid": grids})) == 5


def test_runs_without_a_seed_have_seed_1():
    without = {key: value for key, value in SHORT.items() if key != "seed"}
    assert expand({"grid": without}) == expand([without]) == expand(SHORT)


def test_the_spec_file_of_a_run_is_a_sweep_of_one(tmp_path):
    spec = RunSpec.from_json({**SHORT, "recipe": {"name": "quick", "epochs": 1}})
    with Store(tmp_path).claim(spec) as run:
        assert read_sweep(run.folder / "spec.json") == [spec]


def test_toml_and_json_give_the_same_runs(tmp_path):
    (tmp_path / "a.toml").write_text(
        '[grid]\nmodel = "zerosnet20_opt"\ndataset = "digits"\nrecipe = {name = "quick", epochs = 2}\nseed = [1, 2]\n'
    )
    grid = {**SHORT, "recipe": {"name": "quick", "epochs": 2}, "seed": [1, 2]}
    (tmp_path / "a.json").write_text(json.dumps({"grid": grid}))
    assert read_sweep(tmp_path / "a.toml") == read_sweep(tmp_path / "a.json")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not valid JSON"),
        ("[" * 100_000, "is not valid JSON: maximum recursion depth"),
        ("3", "expected a list of specs"),
        ("{}", "expected a list of specs"),
        ("[]", "not a single run"),
        ('{"grids": {}}', "expected a list of specs"),
        ('{"specs": {}}', "specs is {}; expected a list"),
        ('{"grid": 3}', "grid is 3"),
        ('{"grid": {"seed": []}}', "grid field 'seed' is an empty list"),
        ('{"model": "zerosnet20"}', "spec 1: a spec lacks 'dataset'"),
        ('[{"model": "zerosnet20"}]', "spec 1: a spec lacks 'dataset'"),
        ('{"grid": {"model": "m", "dataset": "digits", "recipe": "quick", "seed": "x"}}', "grid: seed is 'x'"),
    ],
)
def test_errors_name_the_file_the_place_and_the_field(tmp_path, text, message):
    path = tmp_path / "sweep.json"
    path.write_text(text)
    with pytest.raises(InputError, match=r"sweep file .*sweep\.json.*" + message):
        read_sweep(path)


def test_a_missing_file_is_a_clear_error(tmp_path):
    with pytest.raises(InputError, match=r"nothing\.json cannot be read \(No such file"):
        read_sweep(tmp_path / "nothing.json")
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match=r"binary\.json cannot be read \(not text\)"):
        read_sweep(tmp_path / "binary.json")


def with_recipe(**settings):
    return {**SHORT, "recipe": {"name": "quick", **settings}}


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (with_recipe(schedule={"kind": "step", "at": 0.5}), "schedule at is 0.5; expected a list of fractions"),
        (with_recipe(scaling=["unit"]), r"scaling is \['unit'\]; expected one of"),
        (with_recipe(schedule={"kind": "cosine", "warmup": float("inf")}), "warmup is inf; expected 0 or more epochs"),
        (with_recipe(lr=10**400), "lr is 1000"),
        ({**SHORT, "precision": ["fp32"]}, r"precision is \['fp32'\]"),
        ({**SHORT, "scheme": "1e39;1"}, "coefficient of size 1e\\+39"),
    ],
)
def test_a_value_of_a_wrong_type_is_an_error_that_names_it(spec, message):
    with pytest.raises(InputError, match=message):
        expand([spec])


HOSTILE = [None, True, "false", "x", "", [], ["unit"], {}, 0, 0.5, -1, float("inf"), float("nan"), 10**400]
WHITE_BOX = {"kind": "white-box", "eps": 0.1, "step": 0.1, "steps": 1}
INNER = {
    "schedule": [
        {"kind": "step", "at": [0.5], "gamma": 0.1, "zero_steps": 0},
        {"kind": "cosine", "warmup": 5.0},
        {"kind": "one-cycle", "rise": 0.25, "start": 0.1, "end": 0.0},
    ],
    "augmentation": [{"crop": 4, "flip": True, "area": None, "aspect": [0.8, 1.25]}],
    "adversarial": [
        WHITE_BOX | {"project": True, "random_start": True, "clean_step": False},
        WHITE_BOX | {"kind": "surrogate", "surrogate": "preresnet20", "surrogate_seed": 1},
    ],
}


def hostile_specs():
    for value in HOSTILE:
        for field in (*SHORT, "scheme", "precision", "validation"):
            yield {**SHORT, field: value}
        for field in RunSpec.from_json(SHORT).recipe.to_json():
            yield with_recipe(**{field: value}) if field != "name" else {**SHORT, "recipe": {"name": value}}
        for setting, forms in INNER.items():
            for form in forms:
                for field in form:
                    yield with_recipe(**{setting: {**form, field: value}})


def test_any_value_of_any_field_is_refused_or_survives_its_record():
    read = 0
    for spec in hostile_specs():
        try:
            (run,) = expand([spec])
        except InputError:
            continue
        again = json.loads(json.dumps(run.to_json()))
        assert RunSpec.from_json(again).canonical() == run.canonical()
        read += 1
    assert read > 50


def test_a_key_that_stands_twice_is_an_error(tmp_path):
    path = tmp_path / "twice.json"
    path.write_text(json.dumps(SHORT)[:-1] + ', "seed": 2}')
    with pytest.raises(InputError, match=r"twice\.json is not valid JSON: the key 'seed' stands twice"):
        read_sweep(path)


def test_the_keys_of_a_grid_are_checked_before_its_values_are_combined():
    grid = {f"unknown{number}": list(range(1000)) for number in range(10)}
    with pytest.raises(InputError, match="grid has no field 'unknown0'"):
        expand({"grid": SHORT | grid})


def test_a_grid_of_too_many_runs_is_refused_before_it_is_combined():
    grid = SHORT | {"seed": list(range(100_000)), "scheme": [f"{number};1" for number in range(1, 1001)]}
    with pytest.raises(InputError, match="grid has 100,000,000 combinations; expected at most 100,000"):
        expand({"grid": grid})


def test_the_text_of_a_scheme_of_long_numbers_is_read_back():
    from zerosnet.numerics import Scheme

    scheme = Scheme.parse(f"1{'0' * 1200}1/3{'0' * 1200}1,{'7' * 200}/{'9' * 200};1")
    assert len(str(scheme)) > 2000 and Scheme.parse(str(scheme)) == scheme
