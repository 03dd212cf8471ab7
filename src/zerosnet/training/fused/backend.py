"""Choose what computes the step: our own kernels if they serve the network and the chip, plain torch if not."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from zerosnet.data import gather
from zerosnet.kernels import KernelsUnavailable, NativePredictor, NativeStep, native_gather, reason_against
from zerosnet.models import Network
from zerosnet.training.fused.cuda_graph import compile_static
from zerosnet.training.fused.evaluation import LEAST, Predict, Predictor
from zerosnet.training.fused.optimizer import Optimizer
from zerosnet.training.fused.prepacked_weights import ready_weights
from zerosnet.training.fused.step import GradientStep, TorchStep
from zerosnet.training.options import check_kernels

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
