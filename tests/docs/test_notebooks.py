"""The notebooks of the documentation: every cell runs, and outputs are not kept."""

import json
from typing import Any

import matplotlib
import pytest
from tests.docs.blocks import DOCS

NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))


def cells(path: Any, kind: str) -> list[str]:
    found = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in found if cell["cell_type"] == kind]


def run(name: str) -> dict[str, Any]:
    """Run the code cells of a notebook one after the other, as a kernel would, and return what they defined."""
    from matplotlib import pyplot

    matplotlib.use("agg")
    (path,) = (path for path in NOTEBOOKS if path.stem == name)
    names: dict[str, Any] = {"__name__": "__main__"}
    try:
        for number, source in enumerate(cells(path, "code"), start=1):
            exec(compile(source, f"{path.name}, code cell {number}", "exec"), names)
    finally:
        pyplot.close("all")
    return names


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_of_format_4_and_keeps_no_outputs(path):
    document = json.loads(path.read_text(encoding="utf-8"))
    code = [cell for cell in document["cells"] if cell["cell_type"] == "code"]
    assert (document["nbformat"], document["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in document["cells"]}) == len(document["cells"])
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    assert document["cells"][0]["cell_type"] == "markdown" and "# " in document["cells"][0]["source"][0]


def test_four_numbers_become_a_trained_network(capsys):
    names = run("four-numbers")
    stable, unstable = (names["found"][one.name] for one in (names["scheme"], names["rival"]))
    assert stable.used_depth > unstable.used_depth
    for one in (names["scheme"], names["rival"]):
        predicted = names["promises"][one.name].effective_depth
        assert names["found"][one.name].effective_depth.measured == pytest.approx(predicted, abs=2)
    assert "used depth" in capsys.readouterr().out


def test_the_depth_of_timm_networks_is_measured_from_outside(capsys):
    names = run("how-deep")
    assert len(names["found"].blocks) == 24
    assert names["depths"][True] == 0 < 4 < names["depths"][False] <= 8
    assert names["measured"].effective_depth.measured > 15
    assert "effective depth" in capsys.readouterr().out
