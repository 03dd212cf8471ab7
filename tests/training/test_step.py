import pytest
import torch
from torch.nn import functional as F

from zerosnet.models import create_model
from zerosnet.training.fused.passes import per_replica, sample_losses, scores
from zerosnet.training.fused.step import TorchStep


def test_gradients_of_replicas_do_not_mix() -> None:
    seeds = [1, 2, 3]
    generator = torch.Generator().manual_seed(0)
    images = torch.randn(8, 3, 8, 8, generator=generator).double()
    labels = torch.randint(10, (3, 8), generator=generator)
    fused = create_model("zerosnet20_opt", in_chans=1, replicas=3, seed=seeds).double()
    losses, correct, gradients = TorchStep(fused, list(fused.parameters()), replicas=3)(images, labels)
    for k, seed in enumerate(seeds):
        single = create_model("zerosnet20_opt", in_chans=1, seed=seed).double()
        own = TorchStep(single, list(single.parameters()), replicas=1)(images[:, k : k + 1], labels[k : k + 1])
        assert losses[k] == own.losses[0] and correct[k] == own.correct[0]
        for ours, reference in zip(gradients, own.gradients):
            torch.testing.assert_close(ours.view(3, -1)[k], reference.reshape(-1))


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_losses_are_mean_cross_entropies(smoothing: float) -> None:
    logits, labels = torch.randn(5, 3, 4).double(), torch.randint(4, (3, 5))
    losses, correct = scores(per_replica(logits, 3), labels, smoothing)
    for k in range(3):
        expected = F.cross_entropy(logits[:, k], labels[k], label_smoothing=smoothing)
        torch.testing.assert_close(losses[k], expected)
        assert correct[k] == (logits[:, k].argmax(1) == labels[k]).sum()


@pytest.mark.parametrize("batch", [1, 5, 64, 129])
def test_the_loss_of_a_replica_has_the_same_bits_alone_or_among_others(batch: int) -> None:
    logits, labels = torch.randn(batch, 7, 10), torch.randint(10, (7, batch))
    together = scores(per_replica(logits, 7), labels)[0]
    for k in range(7):
        assert scores(per_replica(logits[:, k].contiguous(), 1), labels[k : k + 1])[0][0] == together[k]


def test_narrow_logits_are_scored_in_float32() -> None:
    assert (
        sample_losses(torch.zeros(1, 2, 3, dtype=torch.bfloat16), torch.zeros(1, 2, dtype=torch.int64)).dtype
        == torch.float32
    )


def test_the_step_leaves_the_parameters_alone_and_trains_the_statistics() -> None:
    model = create_model("zerosnet20_opt", in_chans=1, seed=0).eval()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    TorchStep(model, list(model.parameters()), replicas=1)(
        torch.randn(4, 1, 8, 8), torch.zeros(1, 4, dtype=torch.int64)
    )
    changed = {name for name, tensor in model.state_dict().items() if not torch.equal(tensor, before[name])}
    assert changed and all("running" in name for name in changed)
    assert all(parameter.grad is None for parameter in model.parameters())
