"""Networks without normalisation."""

import pytest
import torch

from zerosnet.errors import InputError
from zerosnet.kernels import reason_against_network
from zerosnet.models import Config, Structure, create_model, list_models, parameter_count
from zerosnet.models.layers.replicated import BatchNorm

OPT = "1/3,5/9,1/9;16/9"
NAMES = [("preresnet20_nonorm", {}), ("zerosnet20_nonorm", {"scheme": OPT}), ("zerosnet56_nonorm", {"scheme": OPT})]


def images(dtype=torch.float32, channels=3):
    return torch.randn(4, channels, 8, 8, generator=torch.Generator().manual_seed(0)).to(dtype)


def test_networks_without_norms_are_registered_at_cifar_size_with_basic_blocks():
    depths = (20, 32, 44, 56, 110)
    assert list_models("*_nonorm") == [f"{front}{n}_nonorm" for front in ("preresnet", "zerosnet") for n in depths]
    with pytest.raises(InputError, match=r"zerosnetN_nonorm with N one of 20, 32, 44, 56, 110$"):
        create_model("zerosnet164_nonorm", scheme=OPT)
    with pytest.raises(InputError, match="needs a scheme") as error:
        create_model("zerosnet20_nonorm")
    assert "nonorm_opt" not in str(error.value)
    with pytest.raises(InputError, match="expected size 'cifar'"):
        Structure("imagenet", "fixup", (2, 2, 2, 2))


@pytest.mark.parametrize(("name", "options"), NAMES)
def test_outputs_and_gradients_are_finite_at_the_start(name, options):
    model = create_model(name, seed=0, **options)
    assert not any(isinstance(module, BatchNorm) for module in model.modules())
    logits = model(images())
    assert 0.01 < logits.std() < 10
    logits.square().sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())
    assert Config.from_json(model.config.to_json()) == model.config


def test_every_branch_starts_at_zero_and_its_first_convolution_smaller_with_depth():
    short, deep = (create_model(f"preresnet{n}_nonorm", seed=0) for n in (20, 110))
    for model in (short, deep):
        assert all(step.slope.abs().max() == 0 for step in model.walk(images()))
    ratio = short.stack.blocks[0].f.conv1.weight.std() / deep.stack.blocks[0].f.conv1.weight.std()
    assert ratio.item() == pytest.approx((54 / 9) ** 0.5, rel=0.05)


@pytest.mark.parametrize(("name", "options"), NAMES[:2])
def test_a_batch_norm_leaves_a_bias_behind(name, options):
    normalised = create_model(name.removesuffix("_nonorm"), **options)
    norms = sum(m.channels for m in normalised.modules() if isinstance(m, BatchNorm))
    assert parameter_count(create_model(name, **options)) == parameter_count(normalised) - norms


def test_training_lowers_the_loss():
    model = create_model("zerosnet20_nonorm", scheme=OPT, seed=0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    losses = []
    for _ in range(30):
        loss = torch.nn.functional.cross_entropy(model(images()), torch.arange(4))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.2 * losses[0]


def test_the_kernels_report_that_there_are_no_batch_norms():
    model = create_model("preresnet20_nonorm")
    assert reason_against_network(model, (32, 32), torch.bfloat16) == "it has no batch norms"
