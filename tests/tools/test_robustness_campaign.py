"""The commands of the campaigns on robustness, and what they refuse; nothing is trained."""

import shutil
import signal
import sys
import types

import pytest
from tools.reduce import RESULT
from tools.robustness_campaign import campaigns, main

from tools import robustness_campaign
from zerosnet.training import Store

LIMIT = 600  # seconds of a command on a machine that is lent


@pytest.fixture(autouse=True)
def known(monkeypatch, tmp_path):
    """A folder of records, empty so far."""
    monkeypatch.setattr(robustness_campaign, "KNOWN", tmp_path / "known")
    return tmp_path / "known"


@pytest.fixture
def nothing_is_run(monkeypatch):
    monkeypatch.setattr(robustness_campaign, "_call", lambda command: pytest.fail("something was run"))


def test_a_campaign_trains_and_measures_the_same_networks(capsys):
    found = campaigns()["undefended"]
    trained, *attacks = found.commands("DIR", "runs")
    assert trained[:3] == ["zerosnet", "sweep", "results/sweeps/undefended.json"]
    assert all(spec.id in command for spec in found.specs for command in attacks)
    assert [command.count("--eps") for command in attacks] == [0, 0, 4, 1, 1, 1, 1]
    assert len(campaigns()["table-pgd"].specs) == 4
    assert main(["nothing"]) == 2 and "expected one of undefended" in capsys.readouterr().err
    assert main(["table-pgd"]) == 0 and capsys.readouterr().out.count("zerosnet attack") == 2


@pytest.mark.parametrize("name", campaigns())
def test_every_measurement_fits_into_ten_minutes_and_has_a_cost(name):
    trained, *measured = campaigns()[name].seconds()
    assert trained > 0 and all(0 < seconds < LIMIT for seconds in measured)


def test_noises_and_corruptions_take_all_images_whatever_the_attacks_take():
    found = campaigns()["undefended"]
    counts = {
        command[command.index("--protocol") + 1]: "--images" in command for command in found.commands("D", "S", 7)[1:]
    }
    assert counts == {"paper-noise": False, "corruptions": False, "pgd-whitebox": True, "autoattack": True}
    assert [a == b for a, b in zip(found.seconds(7), found.seconds())][:3] == [True] * 3
    assert all(a < b for a, b in zip(found.seconds(7)[3:], found.seconds()[3:]))


def test_the_report_of_the_paper_s_table_is_written_into_the_store():
    trained = campaigns()["table-pgd"].commands("DIR", "STORE")[0]
    assert trained[trained.index("--output") + 1] == "STORE/report.html"


def test_a_campaign_runs_its_commands_until_one_fails_or_the_time_is_over(monkeypatch, capsys):
    ran, now = [], iter([0.0, 0.0, 300.0, 800.0])

    def run(command):
        ran.append(command[2:])
        return 3 if fails in command else 0

    monkeypatch.setattr(robustness_campaign, "_call", run)
    fails = "none"
    assert main(["adversarial", "DIR", "STORE", "--images", "7"]) == 0
    trained, *attacks = ran
    assert trained[:3] == ["zerosnet", "sweep", "results/sweeps/adversarial-seeds.json"] and "--images" not in trained
    assert len(attacks) == 2 and all(
        one[-6:] == ["--images", "7", "--data", "DIR", "--store", "STORE"] for one in attacks
    )
    ran.clear()
    monkeypatch.setattr(robustness_campaign, "time", types.SimpleNamespace(monotonic=lambda: next(now)))
    assert main(["adversarial", "DIR", "--max-seconds", "900"]) == 0
    assert [one[1] for one in ran] == ["sweep", "attack"]
    assert "was not begun, 100 s are left" in capsys.readouterr().out
    assert ran[0][-2:] == ["--max-seconds", "900"] and "--max-seconds" not in ran[1]
    ran.clear()
    fails = "sweep"
    assert main(["adversarial", "DIR", "--images", "7"]) == 3 and len(ran) == 1
    ran.clear()
    now = iter([0.0, 899.8, 1000.0])
    assert main(["adversarial", "DIR", "--max-seconds", "900"]) == 3 and ran[0][-1] == "1"


def test_records_are_kept_after_every_command(monkeypatch, tmp_path):
    kept = []
    monkeypatch.setattr(robustness_campaign, "_call", lambda command: 0)
    monkeypatch.setattr(robustness_campaign, "_keep", lambda store, records: kept.append((store.name, records.name)))
    assert main(["table-pgd", "DIR", str(tmp_path / "S"), "--records", str(tmp_path / "R")]) == 0
    assert kept == [("S", "R")] * 3
    monkeypatch.undo()
    robustness_campaign._keep(tmp_path / "none", tmp_path / "R")
    assert not (tmp_path / "R").exists()


def test_a_report_in_a_store_is_no_run(tmp_path):
    (tmp_path / "report.html").touch()
    assert not Store(tmp_path).records()


def test_networks_on_record_are_not_trained_again(known, tmp_path, capsys, nothing_is_run):
    run = campaigns()["table-pgd"].specs[0].id
    (known / run).mkdir(parents=True)
    (known / run / RESULT).write_text("{}")
    assert main(["table-pgd", "DIR", str(tmp_path)]) == 2
    assert f"{run} is on record" in capsys.readouterr().err
    shutil.copytree(known / run, tmp_path / "store" / run)
    assert not campaigns()["table-pgd"].on_record(known, tmp_path / "store"), "its weights are there"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_a_campaign_when_its_command_has_stopped(number):
    command = "import os, signal, sys, time; signal.signal({0}, lambda *_: (time.sleep(1), sys.exit(7)));"
    command += "os.kill(os.getppid(), {0}); time.sleep(30)"
    before = signal.getsignal(number)
    assert robustness_campaign._call([sys.executable, "-c", command.format(int(number))]) == 7
    assert signal.getsignal(number) is before


@pytest.mark.parametrize("more", [["--images", "0"], ["--max-seconds", "0"], ["--max-seconds", "nan"]])
def test_a_campaign_refuses_wrong_numbers_before_it_trains(nothing_is_run, capsys, more):
    assert main(["adversarial", "DIR", "STORE", *more]) == 2 and "expected a" in capsys.readouterr().err


def test_a_campaign_needs_its_packages_before_it_trains(monkeypatch, nothing_is_run, capsys):
    monkeypatch.setattr("zerosnet.robustness.attacks.autoattack.PACKAGES", ())
    assert main(["adversarial", "DIR"]) == 2 and "AutoAttack is not installed" in capsys.readouterr().err
