"""The native network on the plain model of the kernels, in float64, against autograd through the network itself."""

import weakref
from functools import partial

import pytest
import torch
from tests.kernels.reference import ReferenceKernels

from zerosnet.kernels.native import NativeNetwork
from zerosnet.kernels.training_step import NativeClassifier, prepared
from zerosnet.models import create_model
from zerosnet.models.layers.replicated import BatchNorm
from zerosnet.robustness import PAPER_NOISES, Normalised, pgd, subject, under_attack, under_noises
from zerosnet.robustness.classifiers import replica_logits
from zerosnet.training.fused.optimizer import Flat

TEN = ["1,1,1;1", "9/4,-2,3/4;1/2", "1/3,5/9,1/9;16/9"]
START = ["2,0,0;1/2", "1/2,1/4,0;3"]  # the second block reads both states that exist
OWN = ["1,1/2,0;1", *TEN, *TEN]
STREAMS = [
    ("preresnet20_x0", {"replicas": 2}),
    ("streams20", {"replicas": 2}),
    ("streams20_sinkhorn", {"streams": 3}),
    ("streams20", {"streams": 1}),
    ("streams20", {"streams": 8}),
]
MODELS = [
    ("zerosnet20_opt", {}),
    ("zerosnet20", {"scheme": TEN, "replicas": 3}),
    ("zerosnet20_tra", {"replicas": 2}),
    ("zerosnet20_stable", {}),
    ("zerosnet20_simplex", {"replicas": 2}),
    ("preresnet20_gains", {"replicas": 2}),
    ("preresnet20_scaled", {}),
    ("preresnet20", {"replicas": 2}),
    ("lmresnet20", {"replicas": 2}),
    ("zerosnet20", {"scheme": "from-roots(1/2,-1/4,1/8)"}),
    ("zerosnet20", {"scheme": "1/4,1/4,1/4,1/4;1", "replicas": 2}),  # a projected state is projected once more
    ("zerosnet20", {"scheme": TEN, "replicas": 3, "beta_growth": ["3/2", 1, 0.5]}),
    *STREAMS,
    ("zerosnet20", {"block_schemes": [[*START, *OWN], [*START, *OWN[::-1]]], "replicas": 2}),
]


def build(name, options, batch=3, weights=True, kernels=ReferenceKernels):
    options = dict(options)
    replicas = options.pop("replicas", 1)
    model = create_model(name, replicas=replicas, seed=list(range(replicas)), **options).double()
    device = torch.device("cpu")
    native = prepared(model, lambda c, w: kernels(c, w, replicas, batch, device), weights=weights)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():  # at their start the streams are equal, and so is a matrix and its transpose
        for numbers in model.coefficient_parameters():
            numbers.add_(0.2 * torch.randn(numbers.shape, generator=generator, dtype=torch.float64))
    images = torch.randn(batch, replicas * 3, 32, 32, generator=generator, dtype=torch.float64)
    labels = torch.randint(10, (replicas, batch), generator=generator)
    return model, native, images, labels


def losses_of(logits, labels):
    losses = torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="none")
    return losses.view(labels.shape).mean(1)


class LateKernels(ReferenceKernels):
    """Weight gradients appear at `join` and no sooner, as on a second stream."""

    def backward_inner(self, call):
        super().backward_inner(self._later(call))

    def backward_outer(self, call):
        super().backward_outer(self._later(call))

    def _later(self, call):
        place, found = call.weight_gradient, torch.empty_like(call.weight_gradient)
        place.fill_(float("nan"))
        self.__dict__.setdefault("late", []).append((place, found))
        return call._replace(weight_gradient=found)

    def join(self):
        for place, found in self.__dict__.pop("late", []):
            place.copy_(found)


class CountedKernels(ReferenceKernels):
    """Knows how many bytes of activations are alive, and how many ever were at once."""

    alive = most = 0

    def activation(self):
        made = super().activation()
        CountedKernels.alive += made.nbytes
        CountedKernels.most = max(CountedKernels.most, CountedKernels.alive)
        weakref.finalize(made, self._gone, made.nbytes)
        return made

    @staticmethod
    def _gone(size):
        CountedKernels.alive -= size


def test_a_step_keeps_two_activations_a_block_and_frees_them_on_the_way_back():
    _, native, images, labels = build("zerosnet56_opt", {}, batch=1, kernels=CountedKernels)
    unit = 32 * 32 * 16 * 8
    native.refresh(training=True)
    CountedKernels.alive = CountedKernels.most = 0
    tape = native.forward(images, training=True)
    # f's inner activation and the high half of the state; the first blocks of later stages get f's from a product
    kept = sum(2 * unit / 2**stage * 9 for stage in range(3)) - unit / 2 - unit / 4
    assert CountedKernels.alive == kept
    native.head.losses(tape, lambda logits: losses_of(logits, labels))
    native.backward(tape)
    assert CountedKernels.most < kept + 2 * unit
    del tape
    assert CountedKernels.alive == 0


def test_an_evaluation_keeps_no_more_than_the_states_that_a_block_reads():
    _, native, images, _ = build("zerosnet56_opt", {}, batch=1, kernels=CountedKernels)
    unit = 32 * 32 * 16 * 8
    native.refresh(training=False)
    CountedKernels.alive = CountedKernels.most = 0
    native.head.logits(native.forward(images, training=False, record=False))
    assert CountedKernels.most == 9 * unit  # three states in two parts, f's inner activation, the new state
    assert CountedKernels.alive == 0


@pytest.mark.parametrize("kernels", [ReferenceKernels, LateKernels])
@pytest.mark.parametrize("name, options", MODELS)
def test_losses_gradients_and_statistics_are_those_of_the_network(name, options, kernels):
    model, native, images, labels = build(name, options, kernels=kernels)
    before = {key: value.clone() for key, value in model.state_dict().items()}
    native.refresh(training=True)
    tape = native.forward(images, training=True)
    losses, _ = native.head.losses(tape, lambda logits: losses_of(logits, labels))
    native.backward(tape)
    statistics = {key: value.clone() for key, value in model.state_dict().items()}
    model.load_state_dict(before)
    logits = model.train()(images).view(len(images), model.replicas, -1).transpose(0, 1)
    expected = losses_of(logits, labels)
    expected.sum().backward()
    torch.testing.assert_close(losses, expected.detach(), rtol=1e-10, atol=0)
    for key, parameter in model.named_parameters():
        torch.testing.assert_close(native.gradients[parameter], parameter.grad, rtol=1e-6, atol=1e-10, msg=key)
    for key, value in model.state_dict().items():
        torch.testing.assert_close(statistics[key], value, rtol=1e-9, atol=1e-12, msg=key)


@pytest.mark.parametrize("name, options", MODELS[:3])
def test_a_gamma_of_nothing_and_a_dead_channel_have_the_networks_gradients(name, options):
    model, native, images, labels = build(name, options)
    with torch.no_grad():
        for norm in (module for module in model.modules() if isinstance(module, BatchNorm)):
            norm.weight[:3] = torch.tensor([0.0, 1e-8, -1e-6], dtype=torch.float64)
            norm.bias[:4] = torch.tensor([0.3, 0.2, 0.1, -1e4], dtype=torch.float64)  # the fourth one never opens
    native.refresh(training=True)
    tape = native.forward(images, training=True)
    native.head.losses(tape, lambda logits: losses_of(logits, labels))
    native.backward(tape)
    logits = model.train()(images).view(len(images), model.replicas, -1).transpose(0, 1)
    losses_of(logits, labels).sum().backward()
    for key, parameter in model.named_parameters():
        torch.testing.assert_close(native.gradients[parameter], parameter.grad, rtol=1e-6, atol=1e-10, msg=key)
    dead = model.bn
    assert native.gradients[dead.weight][3] == native.gradients[dead.bias][3] == 0


@pytest.mark.parametrize("name, options", [*MODELS[:3], *STREAMS])
def test_evaluation_and_image_gradients_are_those_of_the_network(name, options):
    model, native, images, labels = build(name, options, weights=False)
    model.train()(torch.randn_like(images))  # statistics that are not the initial ones
    model.eval()
    before = {key: value.clone() for key, value in model.state_dict().items()}
    classifier = NativeClassifier(model, lambda batch: native)
    images.requires_grad_()
    found, expected = classifier(images), model(images)
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-12)
    gradients = []
    for logits in (found, expected):
        per_replica = logits.view(len(images), model.replicas, -1).transpose(0, 1)
        gradients += torch.autograd.grad(losses_of(per_replica, labels).sum(), images)
    torch.testing.assert_close(*gradients, rtol=1e-8, atol=1e-14)
    assert all(torch.equal(before[key], value) for key, value in model.state_dict().items())
    assert all(parameter.grad is None for parameter in model.parameters())


def test_a_network_of_streams_keeps_three_activations_a_block_and_frees_them_on_the_way_back():
    """What a block sees, f's inner activation, and what f adds."""
    _, native, images, labels = build("streams56", {}, batch=1, kernels=CountedKernels)
    unit = 32 * 32 * 16 * 8
    native.refresh(training=True)
    CountedKernels.alive = CountedKernels.most = 0
    tape = native.forward(images, training=True)
    # two inner ones come from products; first blocks of later stages see a state of the stage before, the head one more
    kept = sum(3 * 9 * unit / 2**stage for stage in range(3)) - 3 * unit / 4 + unit
    assert CountedKernels.alive == kept
    native.head.losses(tape, lambda logits: losses_of(logits, labels))
    native.backward(tape)
    assert CountedKernels.most < kept + 2 * unit
    del tape
    assert CountedKernels.alive == 0


@pytest.mark.parametrize("name, options", [("zerosnet20_opt", {"replicas": 2}), STREAMS[1]])
def test_attacks_through_the_kernels_leave_what_they_leave_of_the_network(name, options):
    model, *_ = build(name, options)
    model.train()(torch.randn(8, 6, 32, 32, dtype=torch.float64))
    model.eval()

    def make(batch):
        kernels = partial(ReferenceKernels, replicas=2, batch=batch, device=torch.device("cpu"))
        return prepared(model, kernels, weights=False)

    images = torch.randint(256, (3, 3, 32, 32), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    plain = Normalised(model, (0.5,) * 3, (0.25,) * 3)
    labels = replica_logits(plain, images / 255)[:, 0].argmax(-1)  # the first network is right when clean
    ours = Normalised(NativeClassifier(model, make), (0.5,) * 3, (0.25,) * 3)
    found, expected = (subject(network, images, labels, batch=2) for network in (ours, plain))
    assert torch.equal(under_noises(found, PAPER_NOISES[:2]), under_noises(expected, PAPER_NOISES[:2]))
    attack = pgd(0.2, 2)
    left = under_attack(found, attack)
    assert torch.equal(left, under_attack(expected, attack)) and not left[:, 0].all()


def test_a_classifier_without_gradients_keeps_nothing_but_the_logits():
    model, native, images, _ = build("zerosnet20_opt", {}, weights=False)
    classifier = NativeClassifier(model.eval(), lambda batch: native)
    with torch.no_grad():
        logits = classifier(images)
    assert logits.grad_fn is None
    torch.testing.assert_close(logits, model(images).detach(), rtol=1e-9, atol=1e-12)


def test_gradients_go_where_they_are_wanted():
    model, native, images, labels = build("zerosnet20_opt", {})
    flat = Flat(dict(model.named_parameters()), {name: 0 for name, _ in model.named_parameters()}, 1)
    buffer = flat.empty()
    kernels = list(native.kernels.values())
    there = NativeNetwork(model, lambda c, w: next(k for k in kernels if k.channels == c), gradients=flat.views(buffer))
    for one in (native, there):
        one.refresh(training=True)
        tape = one.forward(images, training=True)
        one.head.losses(tape, lambda logits: losses_of(logits, labels))
        one.backward(tape)
    for found, expected in zip(flat.views(buffer), native.gradients.values(), strict=True):
        assert torch.equal(found, expected)


def test_a_network_is_what_it_was_at_its_last_refresh():
    model, native, images, _ = build("zerosnet20_opt", {})
    model.eval()

    def logits():
        return native.head.logits(native.forward(images, training=False, record=False))[0]

    native.refresh(training=False)
    before = logits()
    with torch.no_grad():
        model.bn.running_mean.add_(0.1)
    assert torch.equal(logits(), before)
    native.refresh(training=False)
    assert not torch.allclose(logits(), before)
    torch.testing.assert_close(logits(), model(images).detach(), rtol=1e-9, atol=1e-9)
