"""The cost of runs and of groups."""

import pytest

from zerosnet.experiments import EXPERIMENTS, cost, costs, group_seconds
from zerosnet.training import RunSpec, recipe


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
    monkeypatch.setattr(costs, "_rates", lambda: {"torch": {"164": 2.5}})
    assert cost([deep]).gpu_seconds == 500 * 2.5 and cost([deep, deeper]).gpu_seconds is None


def test_mnist_costs_what_was_measured_of_it_and_data_without_a_rate_what_their_pixels_do(monkeypatch):
    rates = {"native": {"20": 0.1, "56": 0.25}, "torch": {"56": 0.75}, "mnist": {"56": 0.5}}
    monkeypatch.setattr(costs, "_rates", lambda: rates)
    first, second = (
        RunSpec(f"zerosnet{layers}", "mnist", recipe("mnist-fgsm", "mnist", epochs=20), 1, "1,0,0;1")
        for layers in (56, 20)
    )
    assert cost([first]).gpu_seconds == pytest.approx(20 * 0.5)
    assert cost([second]).gpu_seconds == pytest.approx(20 * 0.5 * 0.1 / 0.25), "depths differ as with our kernels"
    del rates["mnist"]
    assert cost([first]).gpu_seconds == pytest.approx(20 * 0.75 * 1.2 * 28**2 / 32**2)


def networks(model, count, **more):
    return [RunSpec(model, "cifar10", recipe("paper", "cifar10"), seed, **more) for seed in range(count)]


def test_a_group_takes_what_was_measured_of_its_size():
    """Seconds per epoch of one, ten and thirty networks of 56 layers: benchmarks/results/training-cuda.json."""
    for count, epoch in ((1, 0.6533), (10, 2.6954), (30, 7.2236)):
        assert group_seconds(networks("zerosnet56_opt", count)) == pytest.approx(160 * epoch, rel=1e-3)
    per_network = [group_seconds(networks("zerosnet56_opt", count)) / count for count in range(1, 33)]
    assert per_network == sorted(per_network, reverse=True)
    assert group_seconds(networks("zerosnet110_opt", 10)) == pytest.approx(160 * 5.2119, rel=1e-3)


def test_only_plain_torch_trains_networks_without_normalisation_and_named_precisions():
    (usual,) = networks("zerosnet56", 1)
    others = [*networks("zerosnet56_nonorm", 1), *networks("zerosnet56", 1, precision="bf16")]
    assert costs.is_native(usual) and not any(map(costs.is_native, others))
    assert all(group_seconds([one]) == pytest.approx(160 * 1.7687, rel=1e-3) for one in others)


@pytest.mark.parametrize(("model", "bytes"), [("streams56", 2.5), ("streams56_sinkhorn", 2.5), ("preresnet56_x0", 2.0)])
def test_streams_are_estimated_by_the_bytes_that_their_kernels_move(model, bytes):
    assert group_seconds(networks(model, 10)) == pytest.approx(bytes * group_seconds(networks("zerosnet56_opt", 10)))
    assert all(map(costs.is_estimated, networks(model, 1)))
    assert not any(map(costs.is_estimated, networks("preresnet56_gains", 1)))


def test_streams_without_kernels_have_no_cost():
    assert group_seconds(networks("streams56", 1, precision="fp32")) is None


def test_a_group_that_was_never_timed_has_no_time():
    assert group_seconds(EXPERIMENTS["table-imagenet"].specs("full")[:1]) is None
