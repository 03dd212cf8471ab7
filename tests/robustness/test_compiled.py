"""Compiled networks, as attacks on a GPU use them, measure what plain ones do."""

import pytest
import torch

from zerosnet.data import load
from zerosnet.models import create_model
from zerosnet.robustness import PAPER_NOISES, Normalised, pgd, subject, under_attack, under_noises, under_transfer

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
