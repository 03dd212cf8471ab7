"""The gauge theorem: a network whose branches and head begin with a norm does not know the scale of its state.

With z_n = c_n y_n, c_n > 0 and c_0 = 1, the scheme alphas_i c_{n+1} / c_{n-i}, beta c_{n+1} of block n makes the same
network: the same function of the images and of the weights, hence the same gradients and the same training.
"""

from itertools import pairwise

import pytest
import torch
from torch.nn import functional

from zerosnet.models import create_model
from zerosnet.models.layers.replicated import BatchNorm
from zerosnet.numerics import Scheme

TRIPLE, OPT = "1,1,1;1", "1/3,5/9,1/9;16/9"
BLOCKS = 9
SHRINKING = [1.8393**-n for n in range(BLOCKS + 1)]
RANDOM = [
    1.0,
    *(0.2 + 3 * torch.rand(BLOCKS, generator=torch.Generator().manual_seed(1), dtype=torch.float64)).tolist(),
]


def build(name, **options):
    model = create_model(name, seed=3, **options).double().train()
    for module in model.modules():
        if isinstance(module, BatchNorm):
            module.eps = 1e-100  # torch refuses 0
    return model


def twin_of(model, scales):
    """The schemes of all blocks of the same network in another gauge; start-up blocks are padded with zeros."""
    steps = max(scheme.steps for scheme in model.schemes())
    schemes = []
    for n, scheme in enumerate(model.schemes()):
        alphas = [float(a) * scales[n + 1] / scales[n - i] for i, a in enumerate(scheme.alphas)]
        alphas += [0.0] * (steps - len(alphas))
        schemes.append(Scheme(alphas, [float(scheme.betas[0]) * scales[n + 1]]))
    return schemes


def data():
    generator = torch.Generator().manual_seed(0)
    images = torch.randn(4, 3, 8, 8, generator=generator, dtype=torch.float64)
    return images, torch.randint(10, (4,), generator=generator)


def train(model, steps):
    """Logits before the first step, the gradients of it, and all parameters after the last."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
    images, labels = data()
    first = None
    for _ in range(steps):
        optimizer.zero_grad()
        logits = model(images)
        functional.cross_entropy(logits, labels).backward()
        if first is None:
            first = [logits.detach(), *(p.grad.clone() for p in model.parameters())]
        optimizer.step()
    return first, [p.detach().clone() for p in model.parameters()]


def difference(ours, theirs):
    return max(float((a - b).abs().max() / (1 + b.abs().max())) for a, b in zip(ours, theirs, strict=True))


CASES = [
    ("zerosnet20", {"scheme": TRIPLE}, SHRINKING),
    ("zerosnet20", {"scheme": TRIPLE}, RANDOM),
    ("zerosnet20", {"scheme": OPT}, RANDOM),
    ("zerosnet20", {"scheme": OPT, "beta_growth": 1.5}, RANDOM),
    ("zerosnet20", {"scheme": OPT, "stage_change": "restart"}, RANDOM),
    ("preresnet20", {}, RANDOM),
    ("lmresnet20", {"scheme": "lm(-1/2)"}, SHRINKING),
]


@pytest.mark.parametrize(("name", "options", "scales"), CASES)
def test_the_twin_has_the_same_logits_gradients_and_training(name, options, scales):
    model = build(name, **options)
    kept = {key: value for key, value in options.items() if key == "stage_change"}
    twin = build(name, block_schemes=twin_of(model, scales), **kept)
    assert twin.schemes() != model.schemes()
    first, last = train(model, steps=3)
    same_first, same_last = train(twin, steps=3)
    assert difference(first, same_first) < 1e-10
    assert difference(last, same_last) < 1e-10


def test_the_twin_of_an_unstable_scheme_has_its_roots_divided_and_its_steps_shrinking():
    schemes = twin_of(build("zerosnet20", scheme=TRIPLE), SHRINKING)
    ratio = SHRINKING[1]
    assert schemes[-1].alphas == pytest.approx([ratio, ratio**2, ratio**3])
    betas = [scheme.betas[0] for scheme in schemes]
    assert [b / a for a, b in pairwise(betas[2:])] == pytest.approx([ratio] * 6)


def test_a_twin_without_its_own_start_up_is_another_network():
    model = build("zerosnet20", scheme=TRIPLE)
    partial = build("zerosnet20", block_schemes=twin_of(model, SHRINKING)[2:])
    assert difference(train(model, 1)[0], train(partial, 1)[0]) > 1e-3


@pytest.mark.parametrize("scales", [SHRINKING, RANDOM])
def test_without_normalisation_the_twin_is_another_network(scales):
    model = build("zerosnet20_nonorm", scheme=OPT)
    twin = build("zerosnet20_nonorm", block_schemes=twin_of(model, scales))
    (logits, *gradients), last = train(model, steps=3)
    (other_logits, *other_gradients), other_last = train(twin, steps=3)
    assert difference([logits], [other_logits]) > 1e-3
    assert difference(gradients, other_gradients) > 1e-3
    assert difference(last, other_last) > 1e-3
