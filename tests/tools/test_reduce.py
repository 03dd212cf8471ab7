import json
from functools import partial

from tools.reduce import main, reduce

from zerosnet.models import create_model, save_model
from zerosnet.training import Result, RunSpec, Store


def run(store, seed, finished=True):
    spec = RunSpec.from_json({"model": "zerosnet20_opt", "dataset": "digits", "recipe": "quick", "seed": seed})
    with store.claim(spec) as claimed:
        claimed.write_environment({"zerosnet": "0"})
        claimed.append_metrics({"epoch": 1, "loss": 1.0})
        if finished:
            weights = partial(save_model, create_model("zerosnet20_opt", in_chans=1, seed=seed))
            claimed.finish(Result("finished", 1, 1.0, test_accuracy=0.5), weights)
    folder = store.folder(spec)
    (folder / "attacks").mkdir()
    (folder / "attacks" / "paper-noise.json").write_text("{}")
    (folder / "ablation.json").write_text("{}")
    return folder


def test_ended_runs_are_kept_without_their_tensors(tmp_path):
    store, target = Store(tmp_path / "store"), tmp_path / "records"
    folder = run(store, 1)
    run(store, 2, finished=False)
    assert (folder / "weights.safetensors").exists()
    assert reduce(store, target) == [folder.name]
    kept = sorted(str(path.relative_to(target / folder.name)) for path in target.rglob("*") if path.is_file())
    assert kept == [
        "ablation.json",
        "attacks/paper-noise.json",
        "environment.json",
        "metrics.jsonl",
        "result.json",
        "spec.json",
    ]
    assert [(record.id, record.result.test_accuracy) for record in Store(target).records()] == [(folder.name, 0.5)]


def test_what_is_new_is_added_and_what_is_there_stays(tmp_path):
    store, target = Store(tmp_path / "store"), tmp_path / "records"
    folder = run(store, 1)
    reduce(store, target)
    assert reduce(store, target) == []
    (folder / "attacks" / "paper-noise.json").unlink()
    (folder / "attacks" / "paper-fgsm.json").write_text("{}")
    assert reduce(store, target) == [folder.name]
    assert len(list((target / folder.name / "attacks").iterdir())) == 2


def test_the_command_names_what_it_wrote(tmp_path, capsys):
    folder = run(Store(tmp_path / "store"), 1)
    assert main([str(tmp_path / "store"), str(tmp_path / "records")]) == 0
    assert folder.name in capsys.readouterr().out
    assert main([str(tmp_path / "nowhere"), str(tmp_path / "records")]) == 2
    assert "does not exist" in capsys.readouterr().err
    assert main([str(tmp_path)]) == 2


def test_a_record_of_another_training_is_not_overwritten(tmp_path, capsys):
    target = tmp_path / "records"
    first = run(Store(tmp_path / "first"), 1)
    reduce(Store(tmp_path / "first"), target)
    again, new = run(Store(tmp_path / "again"), 1), run(Store(tmp_path / "again"), 2)
    result = json.loads((again / "result.json").read_text())
    (again / "result.json").write_text(json.dumps(result | {"test_accuracy": 0.25}))
    (again / "metrics.jsonl").write_text("")
    (again / "attacks" / "other.json").write_text("{}")
    assert main([str(tmp_path / "again"), str(target)]) == 1
    assert f"{again.name} is in {target} with another outcome" in capsys.readouterr().err
    assert not (target / first.name / "attacks" / "other.json").exists()
    assert (target / first.name / "metrics.jsonl").read_text() and (target / new.name / "result.json").exists()
