"""Networks in their fastest form, compiled or through our own kernels, measure what plain ones do."""

import pytest
import torch

from zerosnet.data import load
from zerosnet.models import create_model, load_model
from zerosnet.robustness import (
    PAPER_NOISES,
    Normalised,
    pgd,
    subject,
    under_attack,
    under_noises,
    under_transfer,
    why_not_native,
)

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]


def digits_subject(device: str):
    """Two untrained networks and a surrogate, on 33 digits in batches of 11."""
    data = load("digits")
    networks = [
        create_model("zerosnet20_opt", in_chans=1, replicas=replicas, seed=list(range(replicas))) for replicas in (2, 1)
    ]
    model, surrogate = (Normalised(network.eval(), data.mean, data.std).to(device) for network in networks)
    images, labels = data.test.images[:33].to(device), data.test.labels[:33].to(device)
    return subject(model, images, labels, surrogate=surrogate, batch=11)


def test_compiled_networks_measure_what_plain_ones_do():
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()  # of what tests before this one compiled
    plain = digits_subject("cuda")
    compiled = plain.compiled()
    transfer = [pgd(0.1, 3, random_start=False)]
    attack = pgd(0.1, 3, restarts=2)
    pairs = [
        (under_noises(plain, PAPER_NOISES), under_noises(compiled, PAPER_NOISES)),
        (under_attack(plain, attack), under_attack(compiled, attack)),
        (under_transfer(plain, transfer), under_transfer(compiled, transfer)),
    ]
    for usual, other in pairs:
        assert (usual == other).float().mean() > 0.97
    graphs = torch._dynamo.utils.counters["stats"]["unique_graphs"]
    assert graphs <= 4, (
        "model with and without gradients, surrogate with gradients; more means that it is compiled anew"
    )
    assert not torch._dynamo.utils.counters["graph_break"]


def test_attacks_on_the_gpu_measure_what_the_cpu_measures():
    here, there = digits_subject("cpu"), digits_subject("cuda")
    assert (under_noises(here, PAPER_NOISES) == under_noises(there, PAPER_NOISES)).float().mean() > 0.97
    attack = pgd(0.1, 3, restarts=2)
    assert (under_attack(here, attack) == under_attack(there, attack)).float().mean() > 0.95


def test_our_kernels_measure_what_a_plain_network_does():
    """A trained network on images of CIFAR's size; its own answers are the labels."""
    images = load("mosaics").test.images[:40].to("cuda")
    network = load_model("zerosnet20_opt.cifar10").eval()
    network.conv_dtype = torch.bfloat16
    plain = Normalised(network, (0.49, 0.48, 0.45), (0.25, 0.24, 0.26)).to("cuda")
    assert why_not_native(plain, (32, 32)) is None
    with torch.no_grad():
        labels = plain(images / 255).argmax(-1)
    usual = subject(plain, images, labels, batch=16)
    ours = usual.compiled()
    assert (under_noises(usual, PAPER_NOISES) == under_noises(ours, PAPER_NOISES)).float().mean() > 0.95
    attack = pgd(4 / 255, 5)
    left = under_attack(usual, attack)
    assert (left == under_attack(ours, attack)).float().mean() > 0.9
    assert 0 < left.float().mean() < 1
