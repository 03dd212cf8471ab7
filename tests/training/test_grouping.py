from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from zerosnet.data import DataSet
from zerosnet.errors import InputError
from zerosnet.models import create_model
from zerosnet.numerics import Scheme
from zerosnet.training import RunSpec, recipe
from zerosnet.training.capacity import MOST, _bound, _host_memory, fitting, share_out
from zerosnet.training.grouping import build_model, group, key, work

MakeSpecs = Callable[..., list[RunSpec]]
CPU = torch.device("cpu")


def sizes(specs: list[RunSpec], data: DataSet, replicas: int | None, workers: int = 1) -> list[int]:
    return [len(members) for members in group(specs, dict.fromkeys(specs, data), CPU, replicas, workers)]


def test_scheme_seed_rate_schedule_and_decay_may_differ(make_specs: MakeSpecs, small_digits: DataSet) -> None:
    spec = make_specs(1)[0]
    other = replace(
        make_specs(2)[1], recipe=replace(spec.recipe, name="fast", lr=0.3, weight_decay=0.1, coefficient_decay=0.2)
    )
    assert key(spec, small_digits) == key(other, small_digits)
    optimal = replace(spec, model="zerosnet20_opt", scheme=None)
    assert key(spec, small_digits) == key(optimal, small_digits)


@pytest.mark.parametrize(
    "change",
    [
        {"model": "zerosnet32"},
        {"precision": "fp64"},
        {"validation": 0.5},
        {"scheme": Scheme([1], [1])},
        {"model": "zerosnet20_tra", "scheme": None},
    ],
)
def test_runs_of_different_shapes_are_not_grouped(
    change: dict[str, object], make_specs: MakeSpecs, small_digits: DataSet
) -> None:
    spec = make_specs(1)[0]
    assert key(spec, small_digits) != key(replace(spec, **change), small_digits)  # type: ignore[arg-type]


@pytest.mark.parametrize("change", [{"batch": 32}, {"epochs": 3}, {"momentum": 0.5}, {"label_smoothing": 0.1}])
def test_other_settings_of_the_recipe_keep_runs_apart(
    change: dict[str, object], make_specs: MakeSpecs, small_digits: DataSet
) -> None:
    assert key(make_specs(1)[0], small_digits) != key(make_specs(1, **change)[0], small_digits)


def test_streams_share_a_step_however_they_are_mixed(make_specs: MakeSpecs, small_digits: DataSet) -> None:
    spec = replace(make_specs(1)[0], scheme=None)
    names = ["streams20", "streams20_sinkhorn", "preresnet20_x0"]
    free, stochastic, first = (replace(spec, model=name) for name in names)
    assert key(free, small_digits) == key(stochastic, small_digits) != key(first, small_digits)
    assert sizes([free, stochastic, first], small_digits, 2) == [2, 1]
    mixings = [law.mixing for law in build_model([free, stochastic], small_digits).config.laws]
    assert mixings == ["free", "doubly-stochastic"]


def test_groups_are_even_and_no_larger_than_asked_for(make_specs: MakeSpecs, small_digits: DataSet) -> None:
    assert sizes(make_specs(7), small_digits, 3) == [3, 2, 2]
    assert sizes(make_specs(7), small_digits, None) == [7]
    assert sizes(make_specs(7), small_digits, None, workers=2) == [4, 3]
    assert sizes(make_specs(1), small_digits, None, workers=2) == [1]


def test_places_get_even_shares_and_long_runs_come_first_in_small_groups(
    make_specs: MakeSpecs, small_digits: DataSet
) -> None:
    def shared(specs: list[RunSpec], places: int, replicas: int | None = None) -> list[list[RunSpec]]:
        return share_out(specs, dict.fromkeys(specs, small_digits), CPU, replicas, places)

    short, long = make_specs(8, epochs=1), make_specs(4, epochs=4)
    assert work(long[0], small_digits) == 4 * work(short[0], small_digits)
    assert [len(members) for members in shared(short, 2)] == [4, 4]
    assert [len(members) for members in shared(short, 100)] == [1] * 8
    assert [len(members) for members in shared(short, 1)] == [8]
    both = shared(short + long, 4)
    assert [(len(members), members[0].recipe.epochs) for members in both] == [(2, 4), (2, 4), (4, 1), (4, 1)]
    assert [len(members) for members in shared(short, 2, replicas=3)] == [3, 3, 2]
    assert shared([], 2) == []
    with pytest.raises(InputError, match="replicas is 0"):
        shared(short, 2, replicas=0)
    assert sizes([], small_digits, None) == []
    with pytest.raises(InputError, match="replicas"):
        sizes(make_specs(1), small_digits, 0)


def test_every_replica_is_drawn_as_its_run_alone(make_specs: MakeSpecs, small_digits: DataSet) -> None:
    specs = make_specs(2)
    specs[0] = replace(specs[0], model="zerosnet20_opt", scheme=None)
    fused = build_model(specs, small_digits)
    single = create_model("zerosnet20", scheme=specs[1].scheme, in_chans=1, seed=specs[1].seed)
    for name, tensor in single.state_dict().items():
        both = fused.state_dict()[name]
        assert torch.equal(both.view(2, -1)[1], tensor.view(-1)), name


def test_memory_bounds_the_number_of_replicas_on_the_cpu(
    make_specs: MakeSpecs, small_digits: DataSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = make_specs(1)[0]
    assert fitting(spec, small_digits, CPU) == MOST
    _, needed = _host_memory(spec, small_digits)
    assert 1e5 < needed < 1e8
    assert _host_memory(replace(spec, recipe=replace(spec.recipe, batch=32)), small_digits)[1] == 2 * needed
    monkeypatch.setattr("zerosnet.training.capacity._free", lambda device: 10 * needed)
    assert fitting(spec, small_digits, CPU) == 8
    assert sizes(make_specs(9), small_digits, None) == [5, 4]


@pytest.mark.parametrize(
    "model",
    [
        *("zerosnet20_opt", "zerosnet56_opt", "preresnet164", "lmresnet56"),
        *("zerosnet56_tra", "zerosnet110_stable", "zerosnet56_simplex", "preresnet56_gains", "preresnet56_scaled"),
        *("streams20", "streams110", "streams56_sinkhorn", "preresnet110_x0"),
    ],
)
def test_what_fits_for_sure_is_known_without_a_step(
    small_digits: DataSet, monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    spec = RunSpec(model, "digits", recipe("quick", "digits", model), 1)
    bound = _bound(spec, small_digits, CPU)
    assert bound > 1.1 * _host_memory(spec, small_digits)[1]

    def unwanted(*_: object) -> tuple[int, int]:
        raise AssertionError

    monkeypatch.setattr("zerosnet.training.capacity._host_memory", unwanted)
    monkeypatch.setattr("zerosnet.training.capacity._free", lambda device: 20 * bound)
    assert fitting(spec, small_digits, CPU, 16) == MOST
    with pytest.raises(AssertionError):
        fitting(spec, small_digits, CPU)
