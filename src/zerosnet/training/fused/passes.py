"""Passes of K replicas over images on the device: steps to learn, with gradients, and scores in evaluation mode.

`TorchStep` and `Predictor` are the reference, in plain torch. `choose_backend` takes our own kernels in their place if
they serve the network and the chip; tests hold them to the reference.
"""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from zerosnet.data import ImageSet, gather, image_weight
from zerosnet.kernels import KernelsUnavailable, NativePredictor, NativeStep, native_gather, reason_against
from zerosnet.models import Network
from zerosnet.training.fused.cuda_graph import captured, compile_static
from zerosnet.training.fused.optimizer import Optimizer
from zerosnet.training.fused.ready_weights import ReadyWeights
from zerosnet.training.options import ASKED_FOR, check_kernels
from zerosnet.training.trainer import GradientStep, Predict, Score, StepResult

# images of 32 x 32; does not depend on the number of replicas: results are the same to the bit alone or fused
CPU_BATCH = 256
CUDA_IMAGES = 2_500  # such images, times replicas, fill a large GPU in one forward pass, in little memory
NATIVE_IMAGES = 10_000  # the same for our own kernels
LEAST = 100  # images per replica, however many replicas there are
TORCH_BATCH = 500  # weights are scaled and rounded anew for every batch; needs no more memory than a training step
PLAIN = {torch.bfloat16: "bf16 convolutions, state in float32", None: "all in the type of the parameters"}


class Predictor:
    """The network in evaluation mode as a function of images: (B, K*C, H, W) or (B, C, H, W) to (K, B, classes)."""

    shares_images = True

    def __init__(self, model: nn.Module, *, replicas: int, compiled: bool) -> None:
        self.model, self.replicas = model, replicas

        def forward(images: Tensor) -> Tensor:
            return per_replica(model(images), replicas)

        self._forward: Callable[[Tensor], Tensor] = compile_static(forward) if compiled else forward

    def refresh(self) -> None:
        """Do nothing: the network itself is used."""

    def __call__(self, images: Tensor) -> Tensor:
        if self.model.training:
            self.model.eval()
        with torch.no_grad():
            return self._forward(images)


class Evaluation:
    """A set of images and the sums over it; every replica sees the same images.

    Batches have one fixed shape: the last one is filled up with images that do not count. `batch` None: a size that
    suits the device and the number of replicas.
    """

    def __init__(
        self,
        predict: Predict,
        images: ImageSet,
        statistics: tuple[Tensor, Tensor],
        *,
        batch: int | None = None,
        channels_last: bool = False,
        dtype: torch.dtype = torch.float32,
        gather: Callable[..., Tensor] = gather,
        pool: Any = None,
        capture: bool = True,
    ) -> None:
        self.predict, self.images, self.statistics = predict, images, statistics
        self.options: dict[str, Any] = {"channels_last": channels_last, "dtype": dtype}
        device, replicas = images.labels.device, predict.replicas
        self.batch = batch or batch_size(images, replicas, device)
        self.passes = -(-len(images) // self.batch)
        self.start = torch.zeros(1, dtype=torch.int64, device=device)
        self.offsets = torch.arange(self.batch, device=device)
        self.losses = torch.zeros(replicas, dtype=torch.float64, device=device)
        self.correct = torch.zeros(replicas, dtype=torch.int64, device=device)
        self._gather = gather
        state = (self.start, self.losses, self.correct)
        recorded = capture and device.type == "cuda"
        self._pass = captured(self._one_batch, state, device, pool) if recorded else self._one_batch

    def run(self) -> None:
        """Start the pass over the set; on CUDA this returns before the device is done."""
        for tensor in (self.start, self.losses, self.correct):
            tensor.zero_()
        self.predict.refresh()
        for _ in range(self.passes):
            self._pass()

    def scores(self) -> list[Score]:
        """Return one score per replica, of the last pass; waits for the device."""
        n = len(self.images)
        return [Score(loss / n, hits / n) for loss, hits in zip(self.losses.tolist(), self.correct.tolist())]

    def _one_batch(self) -> None:
        index = self.start + self.offsets
        counts = index < len(self.images)
        index = index.clamp(max=len(self.images) - 1)
        copies = index.expand(1 if self.predict.shares_images else self.predict.replicas, -1)
        pixels = self._gather(self.images.images, copies, None, None, None, *self.statistics, **self.options)
        labels = self.images.labels[index].expand(self.predict.replicas, -1)
        logits = self.predict(pixels)
        losses = sample_losses(logits, labels).double()
        self.losses += torch.where(counts, losses, 0).sum(1)
        self.correct += ((logits.argmax(-1) == labels) & counts).sum(1)
        self.start += self.batch


def batch_size(
    images: ImageSet, replicas: int, device: torch.device, *, filled_by: int = CUDA_IMAGES, least: int = LEAST
) -> int:
    """Choose how many images to take at a time, such that they fill the device and the batches evenly.

    So many images, times replicas, fill a GPU (`filled_by`); `least` is the smallest batch there, however many replicas
    there are.
    """
    most = max(min(filled_by // replicas, CUDA_IMAGES), least) if device.type == "cuda" else CPU_BATCH
    passes = -(-len(images) // max(1, most // image_weight(images.images)))
    return -(-len(images) // passes)


def per_replica(logits: Tensor, replicas: int) -> Tensor:
    """Reshape logits (B, classes) of one network or (B, K, classes) of K to (K, B, classes)."""
    return logits.view(len(logits), replicas, -1).transpose(0, 1)


def sample_losses(logits: Tensor, labels: Tensor, label_smoothing: float = 0.0) -> Tensor:
    """Compute cross entropies (K, B) of logits (K, B, classes) and labels (K, B), in at least float32."""
    replicas, batch, classes = logits.shape
    flat = logits.contiguous().view(-1, classes)
    flat = flat if flat.dtype == torch.float64 else flat.float()
    losses = F.cross_entropy(flat, labels.reshape(-1), reduction="none", label_smoothing=label_smoothing)
    return losses.view(replicas, batch)


def scores(logits: Tensor, labels: Tensor, label_smoothing: float = 0.0) -> tuple[Tensor, Tensor]:
    """Compute the mean loss (K,) and the number of correct answers (K,) of logits (K, B, classes)."""
    correct = (logits.argmax(-1) == labels).sum(1)
    return sample_losses(logits, labels, label_smoothing).mean(1), correct


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
        ready: ReadyWeights | None = None,
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


def ready_weights(network: Network, optimizer: Optimizer) -> ReadyWeights | None:
    """Make the copies; None if convolutions have no type of their own, scales are trained, or updates are not flat."""
    if network.conv_dtype is None or optimizer.gradients is None:
        return None
    scales = (scale for _, scale in network.stack.scaled_convolutions(optimizer.flat.values))
    if any(isinstance(scale, Tensor) and scale.requires_grad for scale in scales):
        return None
    return ReadyWeights(network, optimizer)


@dataclass(frozen=True)
class Backend:
    """A way to make batches, and to compute a network's step and its predictions.

    Attributes:
        predictor: Makes a predictor for batches of a size.
        gather: Makes a batch, as `zerosnet.data.gather`.
        filled_by: Images, times replicas, that fill a GPU in one pass.
        least_batch: Images per replica in one GPU pass.
    """

    kernels: str
    arithmetic: str
    step: GradientStep
    predictor: Callable[[int], Predict]
    gather: Callable[..., Tensor]
    why_not_native: str = ""
    filled_by: int = CUDA_IMAGES
    least_batch: int = LEAST


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
    if kernels == "torch":
        why = ASKED_FOR
    elif kernels is None and device.type != "cuda":
        why = "no CUDA device"
    else:
        why = reason_against(network, size, network.conv_dtype, device) or ""
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
            return Backend(
                "native",
                native.native.arithmetic,
                native,
                lambda size: NativePredictor(network, batch=size),
                native_gather,
                filled_by=NATIVE_IMAGES,
            )
    replicas = network.replicas
    step = TorchStep(
        network,
        list(network.parameters()),
        replicas=replicas,
        label_smoothing=label_smoothing,
        compiled=compiled,
        ready=None if optimizer is None else ready_weights(network, optimizer),
    )
    predictor = Predictor(network, replicas=replicas, compiled=compiled)
    batches = compile_static(gather) if compiled else gather
    return Backend("torch", PLAIN[network.conv_dtype], step, lambda _: predictor, batches, why, least_batch=TORCH_BATCH)
