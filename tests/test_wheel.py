"""The wheel, built and installed where nothing of the source tree is, without the network."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    pytest.importorskip("hatchling", reason="hatchling builds the wheel; pip install hatchling")
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


@pytest.mark.slow
def test_the_installed_wheel_works_without_the_source_tree(wheel, tmp_path):
    place = tmp_path / "site"
    install = ["install", "--quiet", "--no-deps", "--no-index", "--target", str(place), str(wheel)]
    subprocess.run([sys.executable, "-m", "pip", *install], check=True, capture_output=True)
    environment = {**os.environ, "PYTHONPATH": str(place)}

    def output(*words: str) -> str:
        done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
        return done.stdout

    where = output(sys.executable, "-c", "import zerosnet; print(zerosnet.__file__)")
    assert Path(where.strip()).is_relative_to(place)
    script = str(place / "bin" / "zerosnet")
    assert output(script, "--version").strip() == PROJECT["version"]
    assert "strongly stable" in output(script, "analyze", "zerosnet(-9/5)")
    assert "of 27 blocks" in output(script, "predict", "1,1,1;1")
    network = "from zerosnet.models import load_model; print(load_model('zerosnet20_opt.cifar10').config.name)"
    assert output(sys.executable, "-c", network).strip() == "zerosnet20_opt"


@pytest.mark.slow
def test_the_wheel_has_all_files_of_the_package_and_nothing_else(wheel):
    names = {name for name in ZipFile(wheel).namelist() if not name.split("/")[0].endswith(".dist-info")}
    listed = subprocess.run(["git", "ls-files", "src/zerosnet"], cwd=ROOT, capture_output=True, text=True)
    tracked = {name.removeprefix("src/") for name in listed.stdout.splitlines() if (ROOT / name).exists()}
    assert tracked <= names and all(name.startswith("zerosnet/") for name in names)


def test_the_long_description_renders_and_needs_no_other_file():
    markdown = pytest.importorskip("markdown")
    text = (ROOT / PROJECT["readme"]).read_text(encoding="utf-8")
    page = markdown.markdown(text, extensions=["tables", "fenced_code"])
    assert page.startswith("<h1>zerosnet</h1>") and page.count("<pre>") == text.count("```") // 2 and "<table>" in page
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert not [link for link in links if not link.startswith("https://")]


def test_the_commands_of_the_long_description_are_there():
    from zerosnet.cli.main import app

    known = {command.name or command.callback.__name__ for command in app.registered_commands}
    named = set(re.findall(r"^zerosnet (\w+)", (ROOT / PROJECT["readme"]).read_text(encoding="utf-8"), re.MULTILINE))
    assert named and named <= known


def test_classifiers_are_known_ones():
    known = pytest.importorskip("trove_classifiers").classifiers
    assert set(PROJECT["classifiers"]) <= known


def test_every_extra_of_the_long_description_is_there():
    text = (ROOT / PROJECT["readme"]).read_text(encoding="utf-8")
    assert set(re.findall(r"`(?:zerosnet)?\[(\w+)\]`", text)) <= set(PROJECT["optional-dependencies"])


def test_the_workflow_runs_the_checks_and_builds_wheel_and_site():
    yaml = pytest.importorskip("yaml")
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())
    steps = [step.get("run") for job in workflow["jobs"].values() for step in job["steps"]]
    assert {".ci/run", "make dist", "make docs"} <= set(steps)
    makefile = (ROOT / "Makefile").read_text()
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in ("dist", "docs"))
