"""Whatever is in a run's id is in its file, for all fields; and runs whose short ids are equal stay apart."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.training.engines import OPTIONS

from zerosnet import InputError, Scheme
from zerosnet.data import Augmentation, DataSet
from zerosnet.training import Adversarial, Constant, Cosine, OneCycle, Recipe, RunSpec, StepDecay, Store, recipe, train
from zerosnet.training.runs.spec import distinct

PART = st.floats(0.01, 0.99)
SIZE = st.floats(0, 1e3)
PAIR = st.tuples(PART, PART).map(lambda pair: tuple(sorted(pair)))
SCHEDULES = st.one_of(
    st.builds(Constant),
    st.builds(StepDecay, st.lists(PART, max_size=3, unique=True).map(sorted), PART, st.integers(0, 5)),
    st.builds(Cosine, SIZE),
    st.builds(OneCycle, PART, PART, PART),
)
AUGMENTATIONS = st.one_of(
    st.builds(Augmentation, crop=st.integers(0, 9), flip=st.booleans(), aspect=PAIR),
    st.builds(Augmentation, flip=st.booleans(), area=PAIR, aspect=PAIR),
    st.builds(Augmentation, flip=st.booleans(), area=PAIR),
)
ADVERSARIAL = st.builds(
    Adversarial,
    st.just("white-box"),
    PART,
    PART,
    st.integers(1, 9),
    project=st.booleans(),
    random_start=st.booleans(),
    clean_step=st.booleans(),
) | st.builds(Adversarial, st.just("surrogate"), PART, PART, st.just(1), surrogate=st.text(), surrogate_seed=st.just(3))
SHARED = {
    "name": st.text(max_size=9),
    "epochs": st.integers(1, 10**6),
    "batch": st.integers(1, 10**6),
    "lr": SIZE,
    "schedule": SCHEDULES,
    "weight_decay": SIZE,
    "coefficient_decay": SIZE,
    "augmentation": AUGMENTATIONS,
    "scaling": st.sampled_from(["normalised", "unit", "signed"]),
    "label_smoothing": PART,
    "reset_momentum": st.booleans(),
    "adversarial": st.none() | ADVERSARIAL,
    "decay_norms": st.booleans(),
}
RECIPES = st.builds(Recipe, momentum=PART, nesterov=st.booleans(), **SHARED) | st.builds(
    Recipe, optimiser=st.just("adam"), momentum=PART, beta2=PART, **SHARED
)
SPECS = st.builds(
    RunSpec,
    st.sampled_from(["zerosnet20", "preresnet56"]),
    st.sampled_from(["digits", "cifar10", "folder:flowers@64", "imagefolder"]),
    RECIPES,
    st.integers(0, 2**63 - 1),
    st.sampled_from([None, Scheme(["1/3", "5/9", "1/9"], ["16/9"]), Scheme([0.1, 0.9], [1.0])]),
    st.sampled_from([None, "fp32", "bf16", "mixed", "fp64"]),
    st.none() | PART,
)


@given(SPECS)
def test_whatever_is_in_an_id_is_in_the_file(spec: RunSpec) -> None:
    again = RunSpec.from_json(json.loads(json.dumps(spec.to_json())))
    assert again == spec
    assert again.canonical() == spec.canonical()


@pytest.mark.parametrize("name", ["project", "random_start", "clean_step"])
@pytest.mark.parametrize("value", ["false", 0, None])
def test_a_flag_that_is_no_boolean_is_refused(name: str, value: object) -> None:
    settings = {"kind": "white-box", "eps": 0.1, "step": 0.1, "steps": 1, name: value}
    with pytest.raises(InputError, match=f"adversarial {name} is {value!r}; expected true or false"):
        recipe("quick", "digits", adversarial=settings)


# -- two specs with one 32-bit hash ------------------------------------------------------------------------------------


def colliding(batch: int = 64) -> list[RunSpec]:
    chosen = recipe("quick", "digits", epochs=1, batch=batch)
    schemes = ("31569/1000,-30569/1000;1", "76733/1000,-75733/1000;1")
    return [RunSpec("zerosnet20", "digits", chosen, 1, Scheme.parse(text)) for text in schemes]


def test_specs_that_share_a_short_id_are_two_runs(tmp_path: Path, tiny: DataSet) -> None:
    first, second = colliding()
    assert first.id == second.id and first.long_id != second.long_id
    assert distinct([first, second, first]) == [first, second]
    store = Store(tmp_path)
    train([first, second], store, OPTIONS)
    assert store.folder(first).name == first.id and store.folder(second).name == second.long_id
    assert [record.spec for record in store.records()] == [first, second]
    assert all(record.result is not None for record in store.records())
