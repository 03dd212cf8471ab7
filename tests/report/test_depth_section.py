"""The part of the page about blocks that are used: what has no curve is named."""

import json
import re
from dataclasses import replace
from html import escape

import pytest
from tests.report.synthetic import specs_of_rows, write_run

from zerosnet.experiments import read_evidence
from zerosnet.numerics import Scheme
from zerosnet.report import write_report
from zerosnet.report.page.configurations import legible, panels
from zerosnet.report.page.curves import depth_charts
from zerosnet.training import Store


def page_of(tmp_path, curves, others):
    for number, spec in enumerate([*curves, *others]):
        write_run(tmp_path / "runs", spec, attacks=number < len(curves))
    return write_report(tmp_path / "report.html", [tmp_path / "runs"]).read_text()


def test_networks_without_a_curve_are_named(tmp_path):
    curves, others = specs_of_rows((56,), (1,)), specs_of_rows((20,), (1,))[:1]
    page = page_of(tmp_path, curves, others)
    assert "Without a curve: 1,1,1;1 (cifar10, 20 layers, recipe paper).</p>" in page


def test_many_of_them_are_counted_and_none_is_not_mentioned(tmp_path):
    page = page_of(tmp_path, specs_of_rows((56,), (1,)), specs_of_rows((20,), (1,)))
    assert page.partition("Without a curve: ")[2].partition("</p>")[0].endswith("; 2 more.")
    assert "Without a curve" not in page_of(tmp_path / "all", specs_of_rows((56,), (1,)), [])


def test_curves_end_with_the_whole_network(tmp_path):
    page = page_of(tmp_path, specs_of_rows((56,), (1, 2)), [])
    (panel,) = panels(read_evidence([Store(tmp_path / "runs")]).runs)
    off, _ = depth_charts(panel)
    for one, line in zip(panel.members, off.series, strict=True):
        whole = 100 * sum(run.ablation.accuracy for run in one.runs) / len(one.runs)
        assert len(line.points) == 28 and line.points[-1] == (27, pytest.approx(whole))
    assert "all of them are on" in page and ">block n; at the right end all are on</text>" in page


def test_a_crowded_panel_is_split_into_named_and_other_schemes(tmp_path):
    paper = specs_of_rows((56,), (1,))
    others = [replace(paper[0], scheme=scheme) for scheme in (Scheme([k / 4], [1]) for k in range(1, 4))]
    named = [*paper, replace(paper[0], scheme=None, model="preresnet56")]
    page = page_of(tmp_path, [*named, *others], [])
    both = legible(panels(read_evidence([Store(tmp_path / "runs")]).runs))
    assert legible(both) == both, "lines of either part can be told apart"
    assert [len(panel.members) for panel in both] == [11, 3]
    for panel in both:
        assert f"<h4>{escape(panel.title)}</h4>" in page
        assert [line.name for line in depth_charts(panel)[0].series] == [one.name for one in panel.members]
    assert "<title>0.25;1 (zero-stable)</title>" in page and "<title>preresnet56 (zero-stable)</title>" in page


def table_of(tmp_path, specs, used):
    """The page's table of numbers where the runs use so many blocks, one after the other."""
    for spec, blocks in zip(specs, used, strict=True):
        path = write_run(tmp_path / "runs", spec) / "ablation.json"
        found = {"accuracy": 0.9, "accuracy_without": [0.889] * blocks + [0.891] * (27 - blocks)}
        path.write_text(json.dumps(json.loads(path.read_text()) | found | {"convolutions": "bfloat16"}))
    page = write_report(tmp_path / "report.html", [tmp_path / "runs"]).read_text()
    return page[page.index("Blocks of cifar10, 56 layers") :].partition("</table>")[0]


def test_used_blocks_show_their_range_and_the_number_of_seeds(tmp_path):
    first = specs_of_rows((56,), (1, 2, 3))[12:18]  # zero-stable: all ratios are one half
    table = table_of(tmp_path, first, (24, 25, 25, 19, 19, 19))
    rows = [re.findall(r'<td class="n">(.*?)</td>', row) for row in table.split("</tr>")[1:-1]]
    assert rows == [["27", "9.6", "24.7 (24 to 25)", "90.00", "3"], ["27", "24.0", "19", "90.00", "3"]]


def test_the_table_explains_its_words_and_names_the_source_of_its_accuracy(tmp_path):
    table = table_of(tmp_path, specs_of_rows((56,), (1,))[:1], (5,))
    heads = re.findall(r'<th scope="col"[^>]*>(?:<abbr [^>]*>)?([^<]+)<', table)
    assert heads == ["scheme", "zero-stable", "blocks", "effective depth", "used depth", "accuracy %", "seeds"]
    assert table.count("<abbr title=") == 3 and "within one point, all later ones switched off" in table
    assert "evaluated again by plain torch with convolutions in bfloat16 on 256 test images" in table
