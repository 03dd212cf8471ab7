"""The part of the page about blocks that are used: what has no curve is named."""

import pytest
from tests.report.synthetic import specs_of_rows, write_run

from zerosnet.report import write_report
from zerosnet.report.configurations import panels
from zerosnet.report.curves import depth_charts
from zerosnet.report.evidence import read_evidence
from zerosnet.training import Store


def page_of(tmp_path, curves, others):
    for number, spec in enumerate([*curves, *others]):
        write_run(tmp_path / "runs", spec, attacks=number < len(curves))
    return write_report(tmp_path / "report.html", [tmp_path / "runs"]).read_text()


def test_networks_without_a_curve_are_named(tmp_path):
    curves, others = specs_of_rows((56,), (1,)), specs_of_rows((20,), (1,))[:1]
    page = page_of(tmp_path, curves, others)
    assert "Without a curve: 1.84, 0.74, 0.74 (cifar10, 20 layers, recipe paper).</p>" in page


def test_many_of_them_are_counted(tmp_path):
    page = page_of(tmp_path, specs_of_rows((56,), (1,)), specs_of_rows((20,), (1,)))
    assert page.partition("Without a curve: ")[2].partition("</p>")[0].endswith("; 2 more.")


def test_where_all_have_one_nothing_is_said(tmp_path):
    assert "Without a curve" not in page_of(tmp_path, specs_of_rows((56,), (1,)), [])


def test_curves_end_with_the_whole_network(tmp_path):
    page = page_of(tmp_path, specs_of_rows((56,), (1, 2)), [])
    (panel,) = panels(read_evidence([Store(tmp_path / "runs")]).runs)
    off, _ = depth_charts(panel)
    for one, line in zip(panel.members, off.series, strict=True):
        whole = 100 * sum(run.ablation.accuracy for run in one.runs) / len(one.runs)
        assert len(line.points) == 28 and line.points[-1] == (27, pytest.approx(whole))
    assert "all of them are on" in page and ">block n; at the right end all are on</text>" in page
