import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from zerosnet import InputError, Scheme
from zerosnet.training import Result, RunSpec, Store

SPEC = RunSpec.from_json({"model": "zerosnet20_opt", "dataset": "digits", "recipe": "quick", "seed": 1})
DONE = Result("finished", epochs=12, seconds=1.5, test_accuracy=0.9, best_epoch=1, best_test_accuracy=0.95)


def test_a_run_lives_in_the_folder_of_its_id_with_its_spec(tmp_path):
    store = Store(tmp_path / "deep" / "store")
    with store.claim(SPEC) as run:
        assert run.folder == store.root / SPEC.id == store.folder(SPEC)
    assert RunSpec.from_json(json.loads((run.folder / "spec.json").read_text())) == SPEC


def test_a_claimed_run_is_not_given_twice_until_it_is_released(tmp_path):
    store = Store(tmp_path)
    with store.claim(SPEC):
        assert store.claim(SPEC) is None
        with store.claim(replace(SPEC, seed=2)) as other:
            assert other is not None
    with store.claim(SPEC) as again:
        assert again is not None


def test_status_follows_the_life_of_a_run(tmp_path):
    store = Store(tmp_path)
    with store.claim(SPEC) as run:
        assert store.find(SPEC.id).status == "running"
        run.append_metrics({"epoch": 3})
    assert store.find(SPEC.id).status == "stopped"
    assert store.find(SPEC.id).summary()["epochs"] == 3
    with store.claim(SPEC) as run:
        run.finish(DONE)
        assert store.find(SPEC.id).status == "finished"
    with store.claim(replace(SPEC, seed=2)) as run:
        run.finish(Result("diverged", epochs=2, seconds=0.1))
    assert [record.status for record in store.records()] == ["finished", "diverged"]


def test_a_listing_does_not_disturb_a_run(tmp_path):
    store = Store(tmp_path)
    with store.claim(SPEC) as run:
        store.records()
        assert store.claim(SPEC) is None
        run.append_metrics({"epoch": 1})
    store.records()
    with store.claim(SPEC) as run:
        assert run is not None and run.metrics() == [{"epoch": 1}]


def test_summaries_have_what_a_list_of_runs_shows(tmp_path):
    store = Store(tmp_path)
    spec = replace(SPEC, scheme=Scheme(["1/3", "5/9", "1/9"], ["16/9"]))
    with store.claim(spec) as run:
        run.finish(DONE)
    (line,) = (record.summary() for record in store.records())
    expected = {
        "model": "zerosnet20_opt",
        "scheme": "1/3,5/9,1/9;16/9",
        "dataset": "digits",
        "recipe": "quick",
        "seed": 1,
    }
    assert expected.items() <= line.items()
    assert line["id"] == spec.id and line["status"] == "finished"
    assert (line["test_accuracy"], line["best_test_accuracy"]) == (0.9, 0.95)


def test_an_empty_or_missing_store_holds_no_runs(tmp_path):
    assert Store(tmp_path).records() == [] == Store(tmp_path / "missing").records()
    assert not (tmp_path / "missing").exists()


def test_a_file_is_no_store(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="which is a file; expected a folder"):
        Store(tmp_path / "file")


def test_runs_are_found_by_id_or_by_a_part_only_they_have(tmp_path):
    store = Store(tmp_path)
    for seed in (1, 2, 22):
        store.claim(replace(SPEC, seed=seed)).release()
    assert store.find("-s1-").spec.seed == 1 and store.find("s2").spec.seed == 2
    with pytest.raises(InputError, match=r"3 runs in store .*: zerosnet20_opt-.*; expected one of these ids"):
        store.find("zerosnet20")
    with pytest.raises(InputError, match="expected the id, or a part of it, of a run in store"):
        store.find("resnet")


def test_a_folder_with_another_spec_than_its_id_is_not_touched(tmp_path):
    store = Store(tmp_path)
    store.claim(SPEC).release()
    path = store.folder(SPEC) / "spec.json"
    path.write_text(json.dumps(replace(SPEC, seed=5).to_json()))
    with pytest.raises(InputError, match="holds another spec than that of its id"):
        store.claim(SPEC)
    path.write_text("{")
    with pytest.raises(InputError, match=r"spec\.json is damaged"):
        store.claim(SPEC)


def test_one_unreadable_run_does_not_hide_the_others(tmp_path):
    store = Store(tmp_path)
    for seed in (1, 2):
        store.claim(replace(SPEC, seed=seed)).release()
    (store.folder(SPEC) / "spec.json").write_text('{"model": 1}')
    records, problems = store.scan()
    assert [record.spec.seed for record in records] == [2]
    assert len(problems) == 1 and SPEC.id in problems[0]
    with pytest.raises(InputError, match=SPEC.id):
        store.records()


def test_claiming_clears_away_what_a_killed_process_left(tmp_path):
    store = Store(tmp_path)
    with store.claim(SPEC) as run:
        run.save_checkpoint(1, {"w": torch.ones(1)}, {})
        (run.folder / ".result.json.99.tmp").write_text("half")
        (run.folder / "result.json").write_text(json.dumps(DONE.to_json()))
    with store.claim(SPEC) as run:
        assert run.result() == DONE
        assert not list(run.folder.glob(".*")) and not run.checkpoints.exists()


def test_a_run_is_got_by_its_spec_without_looking_at_others(tmp_path, monkeypatch):
    store = Store(tmp_path)
    store.claim(SPEC).release()
    monkeypatch.setattr(Path, "glob", lambda *_: pytest.fail("the store was searched"))
    assert store.get(SPEC).spec == SPEC == store.find(SPEC.id).spec
    assert store.get(replace(SPEC, seed=9)) is None


@pytest.mark.parametrize("name", ["../outside", "", ".", ".."])
def test_no_name_leads_out_of_the_store(tmp_path, name):
    Store(tmp_path / "outside").claim(SPEC).release()
    (tmp_path / "runs").mkdir()
    for folder in (tmp_path, tmp_path / "outside", tmp_path / "runs"):
        (folder / "spec.json").write_text(json.dumps(SPEC.to_json()))
    with pytest.raises(InputError, match="expected the id, or a part of it, of a run in store"):
        Store(tmp_path / "runs").find(name)
