import getpass
import json
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from zerosnet.environment import environment


def test_environment_is_json_and_names_what_a_result_depends_on():
    record = environment()
    assert json.loads(json.dumps(record)) == record
    assert record["packages"]["torch"] and record["cpu"]["cores"] >= 1
    assert record["python"].split(".")[0] == "3"


def test_environment_holds_no_paths_and_no_user_names():
    record = environment()
    record["packages"] = record["cpu"] = None
    text = json.dumps(record)
    assert str(Path.home()) not in text
    user = getpass.getuser()
    assert f'"{user}"' not in text and f"/{user}/" not in text
    assert str(Path(__file__).resolve().parents[1]) not in text


def test_environment_does_not_load_heavy_packages():
    code = (
        "import sys; from zerosnet.environment import environment; environment();"
        "print([m for m in ('torch', 'timm', 'sklearn', 'triton', 'numpy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


ROOT = Path(__file__).resolve().parents[1]


def _git_state_of(copy: Path) -> object:
    code = "import json; from zerosnet.environment import git_state; print(json.dumps(git_state()))"
    path = {"PYTHONPATH": str(copy / "src")}
    done = subprocess.run([sys.executable, "-c", code], cwd=copy, env=path, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.skipif(shutil.which("git") is None or not (ROOT / ".git").exists(), reason="needs git and a checkout")
def test_an_archive_names_the_commit_it_was_made_of(tmp_path):
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True)
    commit, archive = head.stdout.strip(), tmp_path / "archive.tar"
    subprocess.run(["git", "archive", "-o", archive, commit, "src/zerosnet"], cwd=ROOT, check=True)
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path, filter="data")
    assert _git_state_of(tmp_path) == {"commit": commit, "dirty": None}


@pytest.mark.parametrize("content", ["$Format:%H$\n", "", None])
def test_a_copy_that_does_not_know_its_commit_names_none(content, tmp_path):
    package = tmp_path / "src" / "zerosnet"
    package.mkdir(parents=True)
    for name in ("__init__.py", "environment.py"):
        shutil.copy(ROOT / "src" / "zerosnet" / name, package)
    if content is not None:
        (package / "commit.txt").write_text(content)
    assert _git_state_of(tmp_path) is None
