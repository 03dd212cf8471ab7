"""`zerosnet reproduce`: the list, bad input, and a table from nothing to the report."""

import json
import signal

import pytest
from tests.data.pictures import write_folder

from zerosnet.cli.main import run as command


def test_list_as_json_is_one_list_of_at_least_sixteen_objects(tmp_path, capsys):
    assert command(["reproduce", "--list", "--json", "--store", str(tmp_path)]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert len(listed) >= 16
    assert {"name", "reference", "status", "runs", "runs_done", "cost", "left"} <= set(listed[0])


def test_list_for_people_names_every_experiment(tmp_path, capsys):
    from zerosnet.experiments import EXPERIMENTS

    assert command(["reproduce", "--list", "--scale", "full", "--store", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert all(f"{name} " in text for name in EXPERIMENTS)
    assert max(map(len, text.splitlines())) <= 100


def test_names_in_the_list_stay_whole_on_narrow_screens(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    assert command(["reproduce", "--list", "--store", str(tmp_path)]) == 0
    assert "table-generalisation-gap " in capsys.readouterr().out


def test_list_counts_the_papers_numbers_that_are_measured_and_their_seeds(tmp_path, capsys):
    listed = _listed(capsys, "--store", str(tmp_path))
    noise = listed["table-uniform-noise"]
    assert (noise["measured"], noise["numbers"], noise["seeds"]) == (60, 60, [3, 3])
    assert listed["table-coefficients"]["measured"] == 30 and listed["table-coefficients"]["seeds"] is None
    assert listed["table-zerosnet-cifar10"]["numbers"] == 30 > listed["table-imagenet"]["measured"]
    assert command(["reproduce", "--list", "--store", str(tmp_path)]) == 0
    counted = sum(one["measured"] for name, one in listed.items() if name.startswith("table-"))
    assert f"all tables of the paper together: {counted} of 505" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("names", "last"),
    [
        (["table-pgd"], "seeds: how many runs each of these numbers is the mean of"),
        (["table-pgd", "table-fgsm"], "these tables of the paper together: 56 of 56 numbers"),
    ],
)
def test_only_listed_tables_are_counted_together(names, last, tmp_path, capsys):
    assert command(["reproduce", *names, "--list", "--store", str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == last


def test_the_list_tells_runs_in_the_store_from_recorded_numbers(tmp_path, capsys):
    assert command(["reproduce", "table-robustness", "--list", "--scale", "full", "--store", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert "runs: how many ended in the store (--store)" in text
    assert "measured at full scale, in the store or in our records" in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["table-nine"], "expected one of table-preresnet-alpha"),
        (["--scale", "huge"], "expected one of demo, reduced, full"),
        (["table-fgsm", "--scale", "full"], "--data DIR"),
        (["table-fgsm", "--device", "abacus"], "device"),
        (["table-fgsm", "--max-seconds", "0"], "max-seconds"),
        (["table-fgsm", "-o", "report.pdf"], "suffix"),
        (["table-fgsm", "--only", "*999*"], "one is zerosnet56-digits-quick-s1-"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(tmp_path, refused, arguments, words):
    refused(["reproduce", "--store", str(tmp_path / "runs"), *arguments], words)


def test_a_table_that_needs_no_run_is_shown_with_claims_about_it(tmp_path, capsys):
    (tmp_path / "runs").mkdir()
    report = tmp_path / "report.html"
    assert command(["reproduce", "table-coefficients", "--store", str(tmp_path / "runs"), "-o", str(report)]) == 0
    text = capsys.readouterr().out
    assert "0.33" in text and "holds" in text
    assert "undecided" not in text  # nothing was trained that could be compared
    assert report.exists()


def test_tables_that_need_no_run_need_no_store(tmp_path, capsys):
    report, names = tmp_path / "r1.html", ["table-coefficients", "table-parameters"]
    assert command(["reproduce", *names, "--store", str(tmp_path / "runs"), "-o", str(report)]) == 0
    assert f"report: {report}" in capsys.readouterr().err
    page = report.read_text()
    assert "There are no runs. What you see was measured earlier" in page
    for name in names:
        section = page.partition(f'id="{name}"')[2].partition("</div></details>")[0]
        assert "Computed; nothing is trained for it." in section and "as printed" in section


def test_an_experiment_without_claims_has_no_table_of_them(tmp_path, capsys):
    where = ["--store", str(tmp_path / "runs"), "-o", str(tmp_path / "r.html")]
    assert command(["reproduce", "figure-roots-cifar100", *where]) == 0
    text = capsys.readouterr().out
    assert "not at this scale" in text and "What the paper says" not in text


@pytest.mark.parametrize("names, runs", [([], 8), (["table-zerosnet-cifar10"], 20)])
def test_an_interruption_without_new_results_shows_no_table(tmp_path, capsys, monkeypatch, names, runs):
    from zerosnet.training import Clock

    def interrupted(specs, store, options, clock, progress):
        clock.signal = signal.SIGINT

    monkeypatch.setattr("zerosnet.training.Local.train", staticmethod(interrupted))
    monkeypatch.setattr(Clock, "must_stop", lambda clock: clock.signal is not None)
    where = ["--store", str(tmp_path / "runs"), "-o", str(tmp_path / "r.html")]
    assert command(["reproduce", *names, *where]) == 130
    told = capsys.readouterr()
    assert "accuracy" not in told.out, "at most what is predicted"
    assert f"zerosnet: stopped by SIGINT; the same command goes on with {runs} run(s)" in told.err
    assert (tmp_path / "r.html").exists() is not bool(names), "the predictions are in the store"


def test_runs_that_are_there_are_shown_by_the_command_that_is_named_last(attacked, capsys, tmp_path):
    assert command(attacked) == 0
    assert capsys.readouterr().err.endswith(f"runs: zerosnet runs --store {tmp_path / 'runs'}\n")


def test_tables_as_json_are_one_list(tmp_path, capsys):
    (tmp_path / "runs").mkdir()
    arguments = ["table-coefficients", "--json", "--store", str(tmp_path / "runs"), "-o", str(tmp_path / "r.html")]
    assert command(["reproduce", *arguments]) == 0
    (table,) = json.loads(capsys.readouterr().out)
    assert table["complete"] and len(table["cells"]) == 30


def test_predictions_of_rows_are_in_the_json(tmp_path, capsys):
    where = ["--store", str(tmp_path / "runs"), "-o", str(tmp_path / "r.html"), "--max-seconds", "0.001"]
    assert command(["reproduce", "table-zerosnet-cifar10", "--scale", "full", "--json", "--data", ".", *where]) == 0
    (table,) = json.loads(capsys.readouterr().out)
    found = {one["row"]: one for one in table["predicted"]}
    assert len(found) == 31 and found["56 1.84, 0.74, 0.74"]["registered"] is None
    assert found["32 1.84, 0.74, 0.74"]["registered"] == "threshold"
    assert {"accuracy", "effective_depth", "blocks", "column"} <= set(found["32 1.84, 0.74, 0.74"])


@pytest.fixture
def attacked(tmp_path):
    """All networks of the PGD table, made up, with an attack of which a sanity check failed."""
    from tests.report.synthetic import write_run

    from zerosnet.experiments import experiment

    for spec in experiment("table-pgd").specs("full"):
        write_run(tmp_path / "runs", spec)
    return ["reproduce", "table-pgd", "--scale", "full", "--store", str(tmp_path / "runs"), "-o", f"{tmp_path}/r.html"]


def test_failed_sanity_checks_stand_beside_the_numbers_they_are_about(attacked, capsys, tmp_path):
    assert command(attacked) == 0
    text = capsys.readouterr().out
    assert "(!)" in text.partition("WARNING")[0], "numbers in the table are marked"
    assert text.count("WARNING (!) zerosnet56-cifar10-pgd_paper-s1-") >= 3
    assert 'paper-pgd: failed check "PGD not weaker than FGSM": pgd-20' in text
    section = (tmp_path / "r.html").read_text().partition('id="table-pgd"')[2]
    assert "⚠ check failed" in section and "PGD not weaker than FGSM" in section


def test_failed_sanity_checks_are_in_the_json_with_their_values(attacked, capsys):
    assert command([*attacked, "--json"]) == 0
    (table,) = json.loads(capsys.readouterr().out)
    warned = {cell["column"] for cell in table["cells"] for value in cell["values"] if value.get("warnings")}
    assert warned == {"white-box 3/255", "white-box 5/255", "white-box 8/255"}, "what is clean needs no warning"


def test_time_that_is_up_leaves_the_rest_to_the_next_call(tmp_path, capsys):
    where = ["--store", str(tmp_path / "runs"), "-o", str(tmp_path / "r.html")]
    assert command(["reproduce", "table-zerosnet-cifar10", "--max-seconds", "0.001", *where]) == 0
    assert "goes on with 20 run(s)" in capsys.readouterr().err


def _listed(capsys, *arguments):
    assert command(["reproduce", "--list", "--json", "--scale", "full", *arguments]) == 0
    return {one["name"]: one for one in json.loads(capsys.readouterr().out)}


def test_patterns_of_run_ids_choose_depth_data_and_seed(tmp_path, capsys):
    store = ["--store", str(tmp_path)]
    ten = _listed(capsys, "table-zerosnet-cifar10", "--only", "*56*-s1-*", *store)["table-zerosnet-cifar10"]
    models = sorted(run.partition("-")[0] for run in ten["waiting"])
    assert models == ["preresnet56", *["zerosnet56"] * 9, "zerosnet56_opt"]
    assert all("-cifar10-paper-s1-" in run for run in ten["waiting"]) and ten["runs"] == 11
    small = _listed(capsys, "table-comparison", "--only", "*20*-cifar10-*", *store)["table-comparison"]
    models = ["lmresnet20", "preresnet20", "zerosnet20_opt", "zerosnet20_stable", "zerosnet20_tra"]
    assert sorted({run.partition("-")[0] for run in small["waiting"]}) == models and small["runs"] == 15
    noise = _listed(capsys, "table-robustness", "--only", "*-s1-*", *store)["table-robustness"]
    assert noise["attacks"] == 11 and set(noise["waiting"]) == set(ten["waiting"])


def test_a_pattern_leaves_the_surrogate_of_an_experiment_in(tmp_path, capsys):
    pgd = _listed(capsys, "table-pgd", "--only", "zerosnet56_opt*-s1-*", "--store", str(tmp_path))["table-pgd"]
    assert [run.partition("-")[0] for run in pgd["waiting"]] == ["preresnet20", "zerosnet56_opt"]


def test_a_folder_of_other_classes_is_not_taken_for_imagenet(tmp_path, capsys):
    folder, runs = write_folder(tmp_path / "small", train=1, val=1), tmp_path / "runs"
    arguments = ["table-imagenet", "--scale", "reduced", "--data", str(folder), "--max-seconds", "60"]
    assert command(["reproduce", "--store", str(runs), *arguments]) == 2
    told = f"zerosnet: table-imagenet needs ImageNet: 1000 classes in {folder / 'train'}, found 3\n"
    assert capsys.readouterr().err == told and not runs.exists()


@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("words", [["table-coefficients"], ["--list"]])
def test_torchrun_is_refused_by_every_process_before_anything_is_written(rank, words, tmp_path, capsys, monkeypatch):
    place = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": 2, "LOCAL_WORLD_SIZE": 2, "MASTER_ADDR": "127.0.0.1"}
    for name, value in place.items():
        monkeypatch.setenv(name, str(value))
    (tmp_path / "runs").mkdir()
    report = tmp_path / "report.html"
    assert command(["reproduce", *words, "--store", str(tmp_path / "runs"), "-o", str(report)]) == 2
    told = capsys.readouterr()
    assert told.err.startswith("zerosnet: torchrun is for train; reproduce is one process") and not told.out
    assert told.err.count("\n") == 1 and not report.exists()


def test_a_run_of_train_is_the_run_that_the_imagenet_table_asks_for(monkeypatch):
    from zerosnet.experiments import EXPERIMENTS

    trained = []
    monkeypatch.setattr("zerosnet.training.Local.train", lambda engine, specs, *rest: trained.extend(specs))
    monkeypatch.setattr("zerosnet.cli.commands.train.show_outcome", lambda *arguments: 0)
    for spec in EXPERIMENTS["table-imagenet"].specs("full"):
        words = ["train", spec.model, "--dataset", "imagefolder", "--recipe", "imagenet", "--data", "DIR"]
        assert command(words) == 0
        assert trained.pop().id == spec.id
