"""The native step against the plain one, on a CUDA device."""

import copy

import pytest
import torch

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]

OWN = ["1/3,5/9,1/9;16/9", "1,1,1;1", "9/4,-2,3/4;1/2"]  # a scheme per block, in turn
CASES = [
    ("zerosnet20_opt", {"replicas": 1}),
    ("zerosnet20", {"replicas": 3, "scheme": ["1,1,1;1", "9/4,-2,3/4;1/2", "1/3,5/9,1/9;16/9"]}),
    ("zerosnet20_tra", {"replicas": 2}),
    ("preresnet20", {"replicas": 2}),
    ("lmresnet20", {"replicas": 2}),
    ("zerosnet20", {"replicas": 2, "scheme": "1/4,1/4,1/4,1/4;1"}),  # a projected state is projected once more
    ("zerosnet20", {"replicas": 2, "scheme": "1,1,1;1", "beta_growth": ["1.839", "1"]}),
    ("zerosnet20", {"replicas": 1, "block_schemes": ["1,0,0;1", "1,1,0;1", *OWN, *OWN, OWN[0]]}),
    ("zerosnet20_opt", {"replicas": 2, "stage_change": "restart"}),
    ("preresnet20_x0", {"replicas": 2}),
    ("streams20", {"replicas": 2}),
    ("streams20_sinkhorn", {"replicas": 1}),
]


def setting(name, options, batch=32):
    from zerosnet.models import create_model

    model = create_model(name, seed=list(range(options["replicas"])), **options).cuda()
    model = model.to(memory_format=torch.channels_last)
    model.conv_dtype = torch.bfloat16
    generator = torch.Generator("cuda").manual_seed(0)
    with torch.no_grad():  # at their start streams are equal, and so is a matrix and its transpose
        for numbers in model.coefficient_parameters():
            numbers.add_(0.05 * torch.randn(numbers.shape, generator=generator, device="cuda"))
    images = torch.randn(batch, 3 * model.replicas, 32, 32, generator=generator, device="cuda")
    labels = torch.randint(10, (model.replicas, batch), generator=generator, device="cuda")
    return model, images.contiguous(memory_format=torch.channels_last), labels


@pytest.mark.parametrize("name, options", CASES)
def test_gradients_agree_with_float32_as_well_as_the_plain_step_does(name, options):
    from zerosnet.kernels.training_step import NativeStep
    from zerosnet.training.fused.passes import TorchStep

    model, images, labels = setting(name, options)
    exact = copy.deepcopy(model)
    exact.conv_dtype = None
    plain = copy.deepcopy(model)

    def torch_step(network):
        parameters = list(network.parameters())
        return TorchStep(network, parameters, replicas=network.replicas, label_smoothing=0.0, compiled=False)(
            images, labels
        )

    truth, bf16 = torch_step(exact), torch_step(plain)
    losses, _, gradients = NativeStep(model, batch=len(images))(images, labels)
    torch.testing.assert_close(losses, truth.losses, rtol=0.02, atol=0.02)
    for (key, _), ours, theirs, exactly in zip(model.named_parameters(), gradients, bf16.gradients, truth.gradients):
        scale = exactly.norm() + 1e-12
        error, allowed = (ours - exactly).norm() / scale, (theirs - exactly).norm() / scale
        assert error < 2 * allowed + 0.02, (key, error.item(), allowed.item())
    for key, value in exact.state_dict().items():
        if "running" in key:
            torch.testing.assert_close(model.state_dict()[key], value, rtol=0.05, atol=0.02, msg=key)


KINDS = ["zerosnet20_opt", "preresnet20_x0", "streams20", "streams20_sinkhorn"]


@pytest.mark.parametrize("name", KINDS)
def test_evaluation_agrees(name):
    from zerosnet.kernels.training_step import NativePredictor

    model, images, _ = setting(name, {"replicas": 2}, batch=50)
    model.train()(images)
    model.eval()
    with torch.no_grad():
        expected = model(images).transpose(0, 1)
    found = NativePredictor(model, batch=50)(images)
    assert (found - expected).norm() < 0.03 * expected.norm()


@pytest.mark.parametrize("name", KINDS)
def test_replicas_may_share_their_images(name):
    from zerosnet.kernels.training_step import NativePredictor

    model, images, _ = setting(name, {"replicas": 2}, batch=50)
    predict, shared = NativePredictor(model.eval(), batch=50), images[:, :3]
    assert torch.equal(predict(shared), predict(shared.repeat(1, 2, 1, 1)))


@pytest.mark.parametrize("name", KINDS)
def test_two_steps_are_bit_identical_and_a_nan_stays_in_its_replica(name):
    from zerosnet.kernels.training_step import NativeStep

    model, images, labels = setting(name, {"replicas": 4})
    step = NativeStep(model, batch=len(images))
    first = [g.clone() for g in step(images, labels)[2]]
    second = step(images, labels)[2]
    assert all(torch.equal(a, b) for a, b in zip(first, second))
    with torch.no_grad():
        model.stack.blocks[0].f.conv1.weight[16:32] = float("nan")
    losses, _, third = step(images, labels)
    assert losses.isnan().tolist() == [False, True, False, False]
    for a, b in zip(first, third):
        a, b = a.reshape(4, -1), b.reshape(4, -1)
        assert torch.equal(a[[0, 2, 3]], b[[0, 2, 3]])


@pytest.mark.parametrize("name", ["zerosnet20_tra", *KINDS[1:]])
def test_a_recorded_step_has_the_gradients_of_one_that_is_called(name):
    """Trained coefficients too, whose gradients are made of weights' gradients that a second stream adds up."""
    from zerosnet.kernels.training_step import NativeStep
    from zerosnet.training.fused.cuda_graph import captured

    model, images, labels = setting(name, {"replicas": 3})
    step = NativeStep(model, batch=len(images))
    called = [g.clone() for g in step(images, labels)[2]]
    recorded = captured(lambda: step(images, labels)[2], list(model.buffers()), images.device)
    for gradient in step.native.gradients.values():
        gradient.zero_()
    assert all(torch.equal(a, b) for a, b in zip(called, recorded()))


def curve(model, images, labels, step, count=50):
    """Losses of so many steps of plain SGD."""
    losses = []
    for i in range(count):
        at = slice(32 * (i % 8), 32 * (i % 8) + 32)
        loss, _, gradients = step(images[at].contiguous(memory_format=torch.channels_last), labels[:, at].contiguous())
        losses.append(loss.clone())
        with torch.no_grad():
            for parameter, gradient in zip(model.parameters(), gradients):
                parameter -= 0.05 * gradient
    return torch.stack(losses)


@pytest.mark.parametrize(("name", "options"), CASES)
def test_loss_curves_of_fifty_steps_agree(name, options):
    """The engines' curves differ by no more than those of the plain engine with bf16 and with float32 convolutions."""
    from zerosnet.kernels.training_step import NativeStep
    from zerosnet.training.fused.passes import TorchStep

    model, images, labels = setting(name, options, batch=256)
    labels = images.reshape(256, model.replicas, -1).mean(2).T.gt(0).long()  # something that can be learnt
    networks = [copy.deepcopy(model) for _ in range(3)]
    networks[2].conv_dtype = None

    def plain(network):
        parameters = list(network.parameters())
        return TorchStep(network, parameters, replicas=network.replicas, compiled=False)

    native = NativeStep(networks[0], batch=32)
    ours, bf16, exact = (curve(n, images, labels, s) for n, s in zip(networks, [native, *map(plain, networks[1:])]))
    assert ours[-8:].mean() < 0.9 * ours[:8].mean()
    spread = (bf16 - exact).abs().mean()
    assert (ours - exact).abs().mean() < 2 * spread + 0.02


@pytest.mark.parametrize("name", KINDS)
def test_gradients_of_images_agree(name):
    """An attack sees the same slopes through the kernels as through the network with float32 convolutions."""
    from zerosnet.kernels import NativeClassifier

    model, images, _ = setting(name, {"replicas": 2}, batch=40)
    model.train()(images)
    model.eval()
    exact = copy.deepcopy(model)
    exact.conv_dtype = None
    gradients = []
    for network in (NativeClassifier(model), model, exact):
        inputs = images.clone().requires_grad_()
        gradients += torch.autograd.grad(network(inputs).logsumexp(-1).sum(), inputs)
    ours, bf16, truth = (g.double() for g in gradients)
    assert (ours - truth).norm() < 2 * (bf16 - truth).norm() + 0.02 * truth.norm()
