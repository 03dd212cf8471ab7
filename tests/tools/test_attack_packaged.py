"""Attacks on the networks that come with the package are kept beside the records of their runs."""

import json
from pathlib import Path

import pytest
from tools.attack_packaged import NETWORKS, attack, main

from zerosnet.models import model_facts

NAME = NETWORKS[1]


def attacked(store, runs, protocol, **options):
    """Write what an attack writes into the folder of the network that it is given."""
    folder = runs[0].folder / "attacks"
    folder.mkdir()
    options = {key: options[key] for key in ("images", "eps")} | {"weights": runs[0].has_weights}
    (folder / f"{protocol}+small.json").write_text(json.dumps({"run": runs[0].id, "notes": ["one"], **options}))


def test_a_result_is_kept_beside_the_run_whose_weights_come_with_the_package(tmp_path):
    run = model_facts(NAME)["run"]
    (tmp_path / run).mkdir()
    (tmp_path / run / "spec.json").write_text("{}")
    path = attack(NAME, Path("DATA"), tmp_path, images=7, attack_runs=attacked)
    found = json.loads(path.read_text())
    assert path == tmp_path / run / "attacks/pgd-whitebox+small.json"
    assert found["run"] == run and found["images"] == 7 and found["weights"]
    assert found["eps"] == pytest.approx([0.25 / 255, 0.5 / 255, 1 / 255, 2 / 255])
    assert found["notes"][0] == "one" and f"come with the package ({NAME})" in found["notes"][1]


def test_a_store_without_the_run_is_refused_before_anything_is_attacked(tmp_path, capsys):
    assert main(["DATA", str(tmp_path)]) == 2
    assert "expected one with it" in capsys.readouterr().err
