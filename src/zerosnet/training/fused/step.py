"""The step: parameters and a batch in; losses, correct answers and gradients out.

`TorchStep` is the reference, in plain torch. `choose_backend` takes our own kernels in its place if they serve the
network and the chip; tests hold them to the reference.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import torch
from torch import Tensor, nn

from zerosnet.data import gather
from zerosnet.kernels import KernelsUnavailable, NativePredictor, NativeStep, native_gather, reason_against
from zerosnet.models import Conv, Network, per_channel
from zerosnet.training.fused.cuda_graph import compile_static
from zerosnet.training.fused.optimizer import Optimizer
from zerosnet.training.fused.passes import LEAST, Predict, Predictor, per_replica, scores
from zerosnet.training.options import check_kernels


class StepResult(NamedTuple):
    """The outcome of one batch for each of K replicas."""

    losses: Tensor  # (K,), mean over the batch
    correct: Tensor  # (K,), int64
    gradients: Sequence[Tensor]  # shaped like the parameters, in their order; the next step may write over them


class GradientStep(Protocol):
    """A function that computes one step of K replicas; it changes only running statistics and its own gradients.

    It never waits for the host and allocates nothing that outlives it, so that it can be captured.
    """

    def __call__(self, images: Tensor, labels: Tensor) -> tuple[Tensor, Tensor, Sequence[Tensor]]:
        """Compute the step for images (B, K*C, H, W) and labels (K, B); return what `StepResult` names."""
        ...


class TorchStep:
    """The reference: autograd through the network, in training mode.

    The losses of the replicas are summed before the backward pass. No parameter of one replica enters the loss of
    another, so the gradient of the sum with respect to a replica's parameters is the gradient of its own mean loss.
    `ready` holds copies of all convolution weights in half precision.
    """

    def __init__(
        self,
        model: nn.Module,
        parameters: Sequence[nn.Parameter],
        *,
        replicas: int,
        label_smoothing: float = 0.0,
        compiled: bool = False,
        ready: "ReadyWeights | None" = None,
    ) -> None:
        self.model, self.ready = model, ready
        self.parameters = list(parameters)

        def forward(images: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
            return scores(per_replica(model(images), replicas), labels, label_smoothing)

        self._forward: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]] = (
            compile_static(forward) if compiled else forward
        )

    def __call__(self, images: Tensor, labels: Tensor) -> StepResult:
        if not self.model.training:
            self.model.train()
        ready = self.ready
        leaves: Sequence[Tensor] = self.parameters if ready is None else ready.leaves
        with torch.enable_grad(), nullcontext() if ready is None else ready.in_use():
            losses, correct = self._forward(images, labels)
            gradients: Sequence[Tensor] = torch.autograd.grad(losses.sum(), leaves)
        return StepResult(losses.detach(), correct, gradients if ready is None else ready.take_back(gradients))


def ready_weights(network: Network, optimizer: Optimizer) -> "ReadyWeights | None":
    """Make the copies; None if convolutions have no type of their own, scales are trained, or updates are not flat."""
    trained = any(True for _ in network.coefficient_parameters())
    if network.conv_dtype is None or trained or optimizer.gradients is None:
        return None
    return ReadyWeights(network, optimizer)


class ReadyWeights:
    """Half-precision copies of all convolution weights, refreshed in one kernel, and the way back for their gradients.

    A convolution in half precision on float32 parameters computes with ready = half(scale * w), and hands back
    dL/dw = scale * float32(dL/dready). Convolution by convolution that is two kernels of a microsecond each, a
    twentieth of the step of a single network.
    """

    def __init__(self, network: Network, optimizer: Optimizer) -> None:
        assert optimizer.gradients is not None
        self.flat, self.flat_gradients = optimizer.flat, optimizer.flat_gradients
        self.gradients = optimizer.gradients
        values, parameters = self.flat.values, dict(network.named_parameters())
        self.buffer, self.scales = torch.zeros_like(values, dtype=network.conv_dtype), torch.ones_like(values)
        places = {id(parameters[name]): place for place, name in enumerate(self.flat.names)}
        for conv, scale in network.stack.scaled_convolutions(values):
            self.flat.views(self.scales)[places[id(conv.weight)]].mul_(per_channel(scale, conv.channels, 3))
        ready = self.flat.views(self.buffer)
        self.leaves: list[Tensor] = [parameters[name] for name in self.flat.names]
        """The tensors to differentiate with respect to, in the order of the parameters."""
        self.convolutions: dict[int, Conv] = {}
        for conv in (module for module in network.modules() if isinstance(module, Conv)):
            place = places[id(conv.weight)]
            self.convolutions[place], self.leaves[place] = conv, ready[place].detach().requires_grad_()

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Refresh the copies, and let the convolutions use them instead of their own weights for a while."""
        with torch.no_grad():
            torch.mul(self.flat.values, self.scales, out=self.buffer)
        try:
            for place, conv in self.convolutions.items():
                conv.ready = self.leaves[place]
            yield
        finally:
            for conv in self.convolutions.values():
                conv.ready = None

    @torch.no_grad()
    def take_back(self, gradients: Sequence[Tensor]) -> Sequence[Tensor]:
        """Turn the gradients of the leaves into those of the parameters, in the optimizer's buffer."""
        self.flat.fill(self.flat_gradients, gradients)
        self.flat_gradients.mul_(self.scales)
        return self.gradients


ASKED_FOR = "asked for"
NATIVE = "bf16 convolutions, state in two bf16 halves, its gradient in bf16"
TORCH_BATCH = 500  # weights are scaled and rounded anew for every batch; needs no more memory than a training step
PLAIN = {torch.bfloat16: "bf16 convolutions, state in float32", None: "all in the type of the parameters"}


_REPORTED: dict[str, object] = {}  # reasons for plain torch that this process has reported


@dataclass(frozen=True)
class Backend:
    """A way to make batches, and to compute a network's step and its predictions.

    Attributes:
        predictor: Makes a predictor for batches of a size.
        gather: Makes a batch, as `zerosnet.data.gather`.
        least_batch: Images per replica in one GPU pass.
    """

    kernels: str
    arithmetic: str
    step: GradientStep
    predictor: Callable[[int], Predict]
    gather: Callable[..., Tensor]
    why_not_native: str = ""
    least_batch: int = LEAST


def report_plain_torch(why: str, report: Callable[[str], None]) -> None:
    """Report once in a process why plain torch computes what our kernels might; not if it was asked for."""
    mine = object()
    if why and why != ASKED_FOR and _REPORTED.setdefault(why, mine) is mine:
        report(f"plain torch instead of the native kernels: {why}")


def choose_backend(
    kernels: str | None,
    network: Network,
    *,
    size: tuple[int, int],
    batch: int,
    label_smoothing: float,
    device: torch.device,
    compiled: bool,
    optimizer: Optimizer | None = None,
) -> Backend:
    """Make the backend of that name, or the best there is; plain torch if our own kernels cannot serve.

    The step leaves its gradients in the buffers of `optimizer`, if there is one.
    """
    check_kernels(kernels)
    why = ASKED_FOR if kernels == "torch" else reason_against(network, size, network.conv_dtype, device) or ""
    if not why:
        try:
            gradients = None if optimizer is None else optimizer.gradients
            native = NativeStep(network, batch=batch, label_smoothing=label_smoothing, gradients=gradients)
            native.native.warm_up()
        except KernelsUnavailable as error:
            why = str(error)
        else:
            if optimizer is not None:
                optimizer.native = True
            return Backend("native", NATIVE, native, lambda size: NativePredictor(network, batch=size), native_gather)
    replicas = network.replicas
    parameters = list(network.parameters())
    step = TorchStep(
        network,
        parameters,
        replicas=replicas,
        label_smoothing=label_smoothing,
        compiled=compiled,
        ready=None if optimizer is None else ready_weights(network, optimizer),
    )
    predictor = Predictor(network, replicas=replicas, compiled=compiled)
    batches = compile_static(gather) if compiled else gather
    return Backend("torch", PLAIN[network.conv_dtype], step, lambda _: predictor, batches, why, TORCH_BATCH)
