"""`zerosnet diagnose`, as a user calls it."""

import json
from functools import partial

import pytest

from zerosnet.models import create_model, save_model
from zerosnet.numerics import OPTIMUM, Wiring
from zerosnet.training import Result, RunSpec, Store


def test_a_name_and_a_scheme_give_one_line_per_block(call):
    code, out, _ = call("diagnose", "zerosnet20", "--scheme", "zerosnet(-1/5)", "--images", "2")
    assert code == 0
    assert "unstable" in out
    assert len([line for line in out.splitlines() if line.strip()[:1].isdigit()]) == 9


def test_effective_depth_is_printed_first_and_predicted_shares_stand_beside_measured_ones(call):
    depth = Wiring.of(OPTIMUM, (9, 9, 9)).effective_depth()
    titles = {"zerosnet56_opt": "untrained zerosnet56_opt", "zerosnet56_opt.cifar10": "zerosnet56_opt"}
    for name, title in titles.items():
        code, out, _ = call("diagnose", name, "--images", "2")
        first, *_ = out.splitlines()
        assert code == 0
        assert first.startswith(f"{title}: effective depth {depth:.1f} predicted, ")
        assert first.endswith(" measured, of 27 blocks")
        assert "share predicted" in " ".join(out.split())
        assert "1 %" not in out


def test_json_is_one_object(call):
    code, out, _ = call("diagnose", "zerosnet20_opt", "--images", "2", "--json")
    data = json.loads(out)
    assert code == 0
    assert (data["images"], data["accuracy"], len(data["blocks"])) == (2, None, 9)


def test_a_weights_file_is_diagnosed_on_digits_with_accuracies(call, tmp_path):
    path = save_model(create_model("zerosnet20_tra", in_chans=1, seed=0), tmp_path / "net.safetensors")
    code, out, _ = call("diagnose", str(path), "--dataset", "digits", "--images", "16", "--json")
    data = json.loads(out)
    assert code == 0
    assert data["model"] == "zerosnet20_tra"
    assert 0 <= data["accuracy"] <= 1
    assert all(0 <= block["accuracy_without"] <= 1 for block in data["blocks"])


def test_a_runs_folder_stands_for_its_weights(call, tmp_path):
    save_model(create_model("zerosnet20_opt", seed=0), tmp_path / "weights.safetensors")
    code, out, _ = call("diagnose", str(tmp_path), "--images", "2")
    assert code == 0
    assert out.startswith("zerosnet20_opt: ")


def test_a_part_of_a_runs_id_or_a_trained_networks_name_is_enough(call, tmp_path):
    spec = RunSpec.from_json({"model": "zerosnet20_opt", "dataset": "digits", "recipe": "quick", "seed": 7})
    with Store(tmp_path).claim(spec) as claimed:
        model = create_model("zerosnet20_opt", in_chans=1, seed=7)
        claimed.finish(Result("finished", 1, 1.0, test_accuracy=0.5), partial(save_model, model))
    for name in ("quick-s7-", "zerosnet20_opt.cifar10"):
        code, out, err = call("diagnose", name, "--store", str(tmp_path), "--images", "2")
        assert code == 0, err
        assert out.startswith(("zerosnet20_opt-digits-quick-s7-", "zerosnet20_opt: "))
    assert "running statistics" in out


@pytest.fixture
def finished(tmp_path):
    """A store with one finished run on digits."""
    spec = RunSpec.from_json({"model": "zerosnet20_opt", "dataset": "digits", "recipe": "quick", "seed": 7})
    with Store(tmp_path).claim(spec) as claimed:
        model = create_model("zerosnet20_opt", in_chans=1, seed=7)
        claimed.finish(Result("finished", 1, 1.0, test_accuracy=0.5), partial(save_model, model))
    return tmp_path


def test_a_run_is_diagnosed_on_its_own_data_and_the_used_depth_comes_first(call, finished):
    code, out, err = call("diagnose", "quick-s7-", "--store", str(finished), "--images", "16")
    assert code == 0, err
    first, second, *_ = out.splitlines()
    assert ": used depth " in first and first.endswith(" of 9 blocks")
    assert second.startswith("accuracy ")
    assert "16 images of digits" in out
    code, out, _ = call("diagnose", "quick-s7-", "--store", str(finished), "--images", "16", "--json")
    found = json.loads(out)
    assert code == 0 and 0 <= found["used_depth"] <= 9


def test_the_used_depth_of_a_network_that_guesses_tells_nothing(call):
    code, out, _ = call("diagnose", "zerosnet20_opt", "--dataset", "digits", "--images", "256")
    assert code == 0
    assert "hardly more than chance, so that the used depth tells nothing" in out.splitlines()[1]


def test_runs_of_an_untrained_network_are_named(call, finished):
    code, out, err = call("diagnose", "zerosnet20_opt", "--store", str(finished), "--images", "2")
    assert code == 0 and out.startswith("untrained zerosnet20_opt: ")
    assert err.startswith(
        f"zerosnet: store {finished} has 1 trained zerosnet20_opt; try zerosnet20_opt-digits-quick-s7"
    )
    code, _, err = call("diagnose", "preresnet20", "--store", str(finished), "--images", "2")
    assert (code, err) == (0, "")


def test_noise_can_be_asked_for(call, finished):
    code, out, _ = call("diagnose", "quick-s7-", "--store", str(finished), "--dataset", "random", "--images", "2")
    assert code == 0
    assert "2 images of noise" in out and "used depth" not in out


def test_missing_data_come_with_a_remedy(refused, tmp_path):
    spec = RunSpec.from_json({"model": "zerosnet20_opt", "dataset": "cifar10", "recipe": "quick", "seed": 7})
    with Store(tmp_path).claim(spec) as claimed:
        model = create_model("zerosnet20_opt", seed=7)
        claimed.finish(Result("finished", 1, 1.0, test_accuracy=0.5), partial(save_model, model))
    refused(["diagnose", "cifar10-quick-s7", "--store", str(tmp_path)], "--data DIR", "--dataset random")


def test_tables_fit_80_columns(call, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = call("diagnose", "zerosnet56", "--scheme", "1,1,1;1", "--dataset", "digits", "--images", "2")
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    assert "…" not in out


def test_narrow_screens_cut_no_number(call, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    words = ("diagnose", "preresnet20", "--dataset", "digits", "--images", "2", "--depth")
    assert "…" not in call(*words)[1]


def test_plot_draws_a_file(call, tmp_path):
    code, *_ = call(
        "diagnose", "preresnet20", "--dataset", "digits", "--images", "4", "--plot", str(tmp_path / "d.png")
    )
    assert code == 0
    assert (tmp_path / "d.png").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["zerosnet21_opt"],
            "'zerosnet21_opt'; expected a run in store runs, a file, or a name such as zerosnet20_opt",
        ),
        (["zerosnet20"], "needs a scheme"),
        (["resnetv2_50"], "(did you mean timm:resnetv2_50?)"),
        (["resnet18"], "(did you mean timm:resnet18 or torchvision:resnet18?)"),
        (["nowhere.safetensors"], "is no file"),
        (["zerosnet20_opt", "--dataset", "cifar11"], "cifar11"),
        (["zerosnet20_opt.cifar10", "--dataset", "digits"], "images of 1 channels; zerosnet20_opt.cifar10 takes 3"),
        (["zerosnet20_opt", "--statistics", "best"], "statistics is 'best'"),
        (["zerosnet20_opt", "--images", "2", "--plot", "d.docx"], "docx"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(refused, arguments, message):
    refused(["diagnose", *arguments], message)


def test_a_python_path_with_a_dot_for_the_colon_is_recognised(refused, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nets_of_mine.py").touch()
    refused(["diagnose", "nets_of_mine.small"], "(did you mean nets_of_mine:small?)")
    refused(["diagnose", "zerosnet20_opt.cifar11"], "there is no network called 'zerosnet20_opt.cifar11'; expected")


def test_a_weights_file_takes_no_scheme(refused, tmp_path):
    path = save_model(create_model("zerosnet20_opt"), tmp_path / "net.safetensors")
    refused(["diagnose", str(path), "--scheme", "zerosnet(10)"], "--scheme")


def test_depth_measures_are_shown_and_written_as_json_on_digits(call):
    arguments = ("zerosnet20_opt", "--dataset", "digits", "--images", "8", "--depth")
    code, out, _ = call("diagnose", *arguments)
    assert code == 0
    assert "influence" in out
    assert "norms new" in out
    code, out, _ = call("diagnose", *arguments, "--json")
    data = json.loads(out)
    assert code == 0
    assert len(data["depth"]["blocks"]) == len(data["blocks"]) == 9
    assert data["depth"]["accuracy"] == data["accuracy"]


def test_depth_measures_need_labels(refused):
    refused(["diagnose", "zerosnet20_opt", "--depth"], "--depth needs images with labels")
