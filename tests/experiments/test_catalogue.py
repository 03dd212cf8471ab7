import pytest
from tests.experiments.made_up import finish

from zerosnet.experiments import EXPERIMENTS, Evidence, catalogue, cost, listing, read_evidence
from zerosnet.training import RunSpec, Store, recipe


def test_ten_networks_of_56_layers_cost_what_was_measured():
    specs = [RunSpec("zerosnet56_opt", "cifar10", recipe("paper", "cifar10"), seed) for seed in range(10)]
    found = cost(specs)
    assert (found.networks, found.epochs) == (10, 1600)
    assert found.gpu_seconds == pytest.approx(1600 * 0.27, rel=0.01)
    assert found.cpu_seconds is None
    hard = cost([RunSpec("zerosnet56_opt", "cifar10", recipe("pgd-paper", "cifar10", epochs=160), 1)])
    assert hard.gpu_seconds > 3 * found.gpu_seconds / 10, "adversarial training costs more than plain"


def test_runs_that_were_never_timed_have_no_cost():
    assert cost(EXPERIMENTS["table-imagenet"].specs("full")).gpu_seconds is None
    assert cost([]).gpu_seconds == 0


def test_bottleneck_networks_cost_what_plain_torch_took(monkeypatch):
    book = recipe("paper", "cifar100", epochs=500)
    deep, deeper = (RunSpec(f"zerosnet{layers}_opt", "cifar100", book, 1) for layers in (164, 326))
    monkeypatch.setattr(catalogue, "_rates", lambda: {"torch": {"164": 2.5}})
    assert cost([deep]).gpu_seconds == 500 * 2.5 and cost([deep, deeper]).gpu_seconds is None


def test_mnist_costs_what_was_measured_of_it_and_data_without_a_rate_what_their_pixels_do(monkeypatch):
    rates = {"native": {"20": 0.1, "56": 0.25}, "torch": {"56": 0.75}, "mnist": {"56": 0.5}}
    monkeypatch.setattr(catalogue, "_rates", lambda: rates)
    first, second = (
        RunSpec(f"zerosnet{layers}", "mnist", recipe("mnist-fgsm", "mnist", epochs=20), 1, "1,0,0;1")
        for layers in (56, 20)
    )
    assert cost([first]).gpu_seconds == pytest.approx(20 * 0.5)
    assert cost([second]).gpu_seconds == pytest.approx(20 * 0.5 * 0.1 / 0.25), "depths differ as with our kernels"
    del rates["mnist"]
    assert cost([first]).gpu_seconds == pytest.approx(20 * 0.75 * 1.2 * 28**2 / 32**2)


def test_listing_counts_what_is_done_and_what_is_left(tmp_path):
    store = Store(tmp_path)
    spec = EXPERIMENTS["table-robustness"].specs("full")[0]
    finish(store, spec, 0.9)
    listed = {one.name: one for one in listing(read_evidence(store), "full")}
    assert len(listed) == len(EXPERIMENTS) >= 16
    one = listed["table-robustness"]
    assert (one.status, one.runs_done, one.runs, one.attacks_done, one.attacks) == ("partial", 1, 33, 0, 33)
    assert one.left.networks == 32
    assert listed["table-parameters"].status == "computed"
    assert listed["scan-disc"].status == "not run"
    assert {one.status for one in listing(Evidence(), "demo") if one.name == "table-imagenet"} == {"not at this scale"}


def test_a_number_of_the_store_counts_as_measured_beside_those_of_the_package(tmp_path):
    before = {one.name: one for one in listing(Evidence(), "full")}
    store = Store(tmp_path)
    for spec in EXPERIMENTS["table-preresnet-alpha"].specs("full")[:5]:
        finish(store, spec, 0.9)
    after = {one.name: one for one in listing(read_evidence(store), "full")}["table-preresnet-alpha"]
    assert (after.measured, after.numbers) == (5, 5)
    assert before["table-preresnet-alpha"].numbers == 5
