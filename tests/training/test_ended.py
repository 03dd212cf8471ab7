"""Runs that have ended are left as they are, on machines that have neither their data nor their precision."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from zerosnet.data import DataSet
from zerosnet.errors import InputError
from zerosnet.training import RunSpec, Store, recipe, train
from zerosnet.training.cluster import Cluster, Collected
from zerosnet.training.machine import Clock
from zerosnet.training.options import Options
from zerosnet.training.runs.spec import Result

HERE = Options("cpu")
CIFAR = RunSpec("zerosnet20_opt", "cifar10", recipe("paper", "cifar10"), 1)
FOLDER = RunSpec("zerosnet18_opt", "imagefolder:absent", recipe("imagenet", "imagefolder", "zerosnet18_opt"), 1)
ENDED = Result("finished", 160, 1.0, test_accuracy=0.9, best_epoch=1, best_test_accuracy=0.9, train_accuracy=1.0)
DIVERGED = Result("diverged", 3, 1.0, reason="loss or weights not finite after 7 steps")


def end(store: Store, spec: RunSpec, result: Result = ENDED) -> None:
    run = store.claim(spec)
    assert run is not None
    run.finish(result)
    run.release()


def contents(store: Store) -> dict[Path, tuple[int, bytes]]:
    return {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in store.root.rglob("*") if path.is_file()}


@pytest.mark.parametrize("spec", [CIFAR, FOLDER, replace(CIFAR, precision="bf16")], ids=["array", "folder", "bf16"])
@pytest.mark.parametrize("result", [ENDED, DIVERGED], ids=["finished", "diverged"])
def test_a_run_that_has_ended_is_left_alone_on_a_machine_that_could_not_train_it(
    spec: RunSpec, result: Result, tmp_path: Path
) -> None:
    store, said = Store(tmp_path), Collected()
    with pytest.raises(InputError, match=r"give the folder that holds them|for CUDA devices"):
        train([spec], store, HERE)
    end(store, spec, result)
    before = contents(store)
    train([spec], store, HERE, progress=said)
    assert said.lines == [f"{spec.id} has {result.status} already; nothing to do"]
    assert contents(store) == before


def test_the_others_are_trained(tmp_path: Path, tiny: DataSet, make_specs: Callable[..., list[RunSpec]]) -> None:
    store, said, (waiting,) = Store(tmp_path), Collected(), make_specs(1, epochs=1)
    ended = replace(waiting, seed=7, precision="bf16")
    end(store, ended)
    train([ended, waiting], store, HERE, progress=said)
    assert store.find(waiting.id).status == "finished"
    assert [line for line in said.lines if ended.id in line] == [f"{ended.id} has finished already; nothing to do"]


def test_a_cluster_is_given_nothing_to_do_for_runs_that_have_ended(tmp_path: Path) -> None:
    store, said = Store(tmp_path), Collected()
    cluster = Cluster(SimpleNamespace(cluster_resources=lambda: {"CPU": 1}))
    for spec in (CIFAR, FOLDER):
        end(store, spec)
    cluster.train([CIFAR, FOLDER], store, HERE, Clock(), said)
    assert [line.split()[0] for line in said.lines] == [CIFAR.id, FOLDER.id]
