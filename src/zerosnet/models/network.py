"""The network: stem, multistep stack, head; and several networks fused to one: their configs and state dicts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import torch
from torch import Tensor, nn, relu_
from torch.nn import functional

from zerosnet.errors import InputError
from zerosnet.models.config import Config
from zerosnet.models.io.timm import TimmMethods
from zerosnet.models.layers.replicated import BatchNorm, Bias, Conv, Linear, average, initialise, rows
from zerosnet.models.stepping.history import BlockPlan
from zerosnet.models.stepping.stack import BlockStep, Coefficients, Stack
from zerosnet.models.stepping.stream_stack import StreamStack
from zerosnet.models.stepping.streams import StreamCoefficients, StreamsLaw
from zerosnet.numerics import Number, Scheme

KEEP_STATES = {"realize_reads_threshold": 3}  # of torch.compile: see Network.compile


class CifarStem(nn.Module):
    """One 3x3 convolution, without batch norm."""

    def __init__(self, in_chans: int, channels: int, *, replicas: int) -> None:
        super().__init__()
        self.conv = Conv(in_chans, channels, 3, replicas=replicas)

    def forward(self, images: Tensor) -> Tensor:
        return self.conv(images)


class ImageNetStem(nn.Module):
    """7x7 convolution, BN, ReLU and a 3x3 max pool, with stride 2 each."""

    def __init__(self, in_chans: int, channels: int, *, replicas: int) -> None:
        super().__init__()
        self.conv = Conv(in_chans, channels, 7, stride=2, replicas=replicas)
        self.bn = BatchNorm(channels, replicas=replicas)

    def forward(self, images: Tensor) -> Tensor:
        return functional.max_pool2d(relu_(self.bn(self.conv(images))), 3, stride=2, padding=1)


STEMS: dict[str, type[CifarStem | ImageNetStem]] = {"cifar": CifarStem, "imagenet": ImageNetStem}
"""By the size of a structure: the module that turns images into the first state y_0."""


class Network(TimmMethods):
    """K independent networks, images (B, K * in_chans, H, W) -> logits (B, K, classes), for K = 1 (B, classes).

    Images (B, in_chans, H, W) are shared by all replicas, network(x)[:, k] = network_k(x), as if they were repeated K
    times: on the CPU to the bit, elsewhere to rounding and quicker, for the stem is then one ordinary convolution.

    The state y, the batch statistics and the multistep sum are in float32, or in the images' type if it is wider;
    `conv_dtype` is the type that convolutions compute in (None: the state's). `state_dtype` makes the state narrower,
    for networks of few blocks: if it grows from block to block, a narrow state rounds the residual away.
    """

    state_dtype: torch.dtype | None = None
    global_pool: str = "avg"

    def __init__(self, config: Config, seeds: Sequence[int] | None = None) -> None:
        super().__init__()
        size, replicas = config.structure.traits, config.replicas
        plans = config.plans()
        self.config, self.replicas = config, replicas
        self.in_chans, self.num_classes, self.num_features = (
            config.in_chans,
            config.num_classes,
            config.structure.features,
        )
        self.stem = STEMS[config.structure.size](config.in_chans, size.stem_channels, replicas=replicas)
        coefficients = config.coefficients(plans)
        self.stack = self._stack(coefficients, plans)
        if config.init_growth:
            for block, gains in zip(self.stack.steps, config.initial_gains(plans)):
                block.f.last.gain = gains
        norm = BatchNorm if config.structure.normalised else Bias
        self.bn = norm(self.num_features, replicas=replicas) if size.final_norm else None
        self.fc = self._classifier(config.num_classes)
        self._conv_dtype: torch.dtype | None = None
        initialise(self, self._draw_seeds() if seeds is None else list(seeds))

    def _stack(self, coefficients: Coefficients, plans: tuple[BlockPlan, ...]) -> Stack:
        if isinstance(coefficients, StreamCoefficients):
            return StreamStack(self.config.structure, plans, coefficients, replicas=self.replicas)
        return Stack(self.config.structure, plans, coefficients, replicas=self.replicas)

    def forward(self, images: Tensor) -> Tensor:
        return self.logits(self.stack(self.first_state(images)))

    def forward_features(self, images: Tensor) -> Tensor:
        """Compute the feature map before the pool, (B, K * num_features, h, w)."""
        return self.normalise(self.stack(self.first_state(images)))

    def forward_head(self, features: Tensor, pre_logits: bool = False) -> Tensor:
        """Apply the average pool (none if `global_pool` is empty), and the classifier unless `pre_logits`."""
        if not self.global_pool:
            return features
        pooled = average(features)
        return pooled if pre_logits else self.fc(pooled)

    def first_state(self, images: Tensor) -> Tensor:
        """Compute y_0, from the stem."""
        if images.dim() != 4 or images.shape[1] not in (self.replicas * self.in_chans, self.in_chans):
            expected = f"(B, {self.replicas * self.in_chans}, H, W)"
            shared = f", or (B, {self.in_chans}, H, W) for all replicas" if self.replicas > 1 else ""
            raise InputError(f"images have shape {tuple(images.shape)}; expected {expected}{shared}")
        dtype, own = torch.promote_types(images.dtype, torch.float32), self.parameter_dtype
        if dtype != own:
            raise InputError(
                f"images are {images.dtype}, so that the state is {dtype}, but parameters are {own}; expected the "
                "same type for both (for convolutions in half precision set conv_dtype)"
            )
        return self.stem(images.to(dtype)).to(self.state_dtype or dtype)

    def normalise(self, state: Tensor) -> Tensor:
        """Apply the BN-ReLU before the pool to a last state, if the network has one (without norms a bias and ReLU)."""
        return state if self.bn is None else relu_(self.bn(state))

    def logits(self, state: Tensor) -> Tensor:
        """Apply the head to a last state y_N."""
        return self.forward_head(self.normalise(state))

    def walk(self, images: Tensor, *, silent_from: int | None = None) -> Iterator[BlockStep]:
        """Walk block by block, for diagnosis (see `Stack.walk`); `logits` of the last `state` is the output."""
        return self.stack.walk(self.first_state(images), silent_from=silent_from)

    def compile(self, *args: Any, **options: Any) -> None:
        """Compile as `nn.Module.compile` does, but compute every state once.

        Left alone, the compiler computes y_{n+1} = sum a_i y_{n-i} + b f(y_n) anew for each of its readers (the next
        batch norm and the next sums), which reads the history several times over. A `mode` or a `backend` of the
        caller's own is taken as it is.
        """
        if not args and not {"mode", "backend", "options"} & options.keys():
            options["options"] = KEEP_STATES
        super().compile(*args, **options)

    # -- the scheme ---------------------------------------------------------------------------------------------------

    def schemes(self) -> list[Any]:
        """List the scheme of every block as it is now; for K > 1 a list of such lists, one per replica.

        The list is empty if trained coefficients are no longer finite.
        """
        schemes: list[list[Scheme]] = self.stack.schemes()
        return schemes[0] if self.replicas == 1 else schemes

    def coefficient_parameters(self) -> Iterator[nn.Parameter]:
        """List the parameters that coefficients are made from; as a rule an optimiser does not decay them."""
        return self.stack.coefficients.parameters()

    def trained_coefficients(self) -> list[dict[str, Any]] | None:
        """Describe the trained coefficients of every replica for a record; None if they are fixed.

        {"coefficients": a scheme per block} or, with several streams, {"matrices": A, b, c per block}; empty if they
        are no longer finite.
        """
        if not any(True for _ in self.coefficient_parameters()):
            return None
        if isinstance(self.stack.coefficients, StreamCoefficients):
            return [{"matrices": blocks} if blocks else {} for blocks in self.stack.coefficients.records()]
        every: list[list[Scheme]] = self.stack.schemes()
        return [{"coefficients": [scheme.to_json() for scheme in own]} if own else {} for own in every]

    # -- precision ----------------------------------------------------------------------------------------------------

    @property
    def parameter_dtype(self) -> torch.dtype:
        return self.stem.conv.weight.dtype

    @property
    def conv_dtype(self) -> torch.dtype | None:
        return self._conv_dtype

    @conv_dtype.setter
    def conv_dtype(self, dtype: torch.dtype | None) -> None:
        if dtype is not None and not (isinstance(dtype, torch.dtype) and dtype.is_floating_point):
            raise InputError(f"conv_dtype is {dtype!r}; expected a floating-point type, or None for the state's own")
        self._conv_dtype = dtype
        for module in self.modules():
            if isinstance(module, Conv):
                module.dtype = dtype

    # -- the head -----------------------------------------------------------------------------------------------------

    def get_classifier(self) -> nn.Module:
        return self.fc

    def reset_classifier(
        self, num_classes: int, global_pool: str | None = None, *, seeds: Sequence[int] | None = None
    ) -> None:
        """Draw a new classifier; num_classes=0 removes it, and global_pool="" the pool too.

        Args:
            num_classes: How many classes it tells apart.
            global_pool: "avg", "" to remove the pool, None to leave it as it is.
            seeds: One per replica; None draws them from torch's own generator.
        """
        if global_pool not in (None, "avg", *([] if num_classes else [""])):
            raise InputError(f"global_pool is {global_pool!r}; expected 'avg', or '' if num_classes is 0")
        self.global_pool = global_pool if global_pool is not None else "avg" if num_classes else self.global_pool
        self.config, self.num_classes = replace(self.config, num_classes=num_classes), num_classes
        self.fc = self._classifier(num_classes)
        initialise(self.fc, self._draw_seeds() if seeds is None else list(seeds))

    def _classifier(self, num_classes: int) -> nn.Module:
        return Linear(self.num_features, num_classes, replicas=self.replicas) if num_classes else nn.Identity()

    def _draw_seeds(self) -> list[int]:
        """Draw seeds from torch's own generator, so that torch.manual_seed decides."""
        return torch.randint(2**62, (self.replicas,), device="cpu").tolist()


def fuse(configs: Sequence[Config]) -> Config:
    """Put networks of one `fusion_key` side by side: the replicas of the result are those of the configs in order."""
    if len({config.fusion_key for config in configs}) != 1:
        raise InputError("configs are of networks that differ in more than their schemes; expected one fusion_key")
    first, replicas = configs[0], sum(config.replicas for config in configs)
    initial = _growths(configs, "init_growth")
    if isinstance(first.law, StreamsLaw):
        single = (config.of_replica(k).law for config in configs for k in range(config.replicas))
        laws = tuple(law for law in single if isinstance(law, StreamsLaw))
        return replace(first, laws=laws if len(set(laws)) > 1 else (), init_growth=initial, replicas=replicas)
    if any(config.block_schemes for config in configs):
        longest = max(len(schemes) for config in configs for schemes in config.fixed_schemes())
        each = (schemes for config in configs for schemes in config.fixed_schemes())
        full = tuple(_with_start(schemes, longest, first.plans()) for schemes in each)
        return replace(first, schemes=(), beta_growth=(), block_schemes=full, init_growth=initial, replicas=replicas)
    schemes = tuple(scheme for config in configs for scheme in config.schemes)
    growths = _growths(configs, "beta_growth")
    return replace(first, schemes=schemes, beta_growth=growths, init_growth=initial, replicas=replicas)


def _growths(configs: Sequence[Config], field: str) -> tuple[Number, ...]:
    """List the growth of every replica, 1 for networks without one; nothing if no network has one."""
    if not any(getattr(config, field) for config in configs):
        return ()
    one: tuple[Number, ...] = (Fraction(1),)
    return tuple(growth for config in configs for growth in (getattr(config, field) or one * config.replicas))


def _with_start(schemes: tuple[Scheme, ...], length: int, plans: tuple[BlockPlan, ...]) -> tuple[Scheme, ...]:
    """Give start-up blocks the scheme that they have anyway, y_{n+1} = y_n + f_n, if other replicas list theirs."""
    if len(schemes) == length:
        return schemes
    alphas, betas = len(schemes[0].alphas), len(schemes[0].betas)
    start = Scheme([1] + [0] * (alphas - 1), [1] + [0] * (betas - 1))
    slots = iter(schemes)
    return tuple(next(slots) if block.multistep else start for block in plans)


def extract(state_dict: Mapping[str, Tensor], k: int, replicas: int) -> dict[str, Tensor]:
    """Cut out the state dict of replica k, as the single network has it."""
    if not 0 <= k < replicas:
        raise InputError(f"k is {k}; expected a replica from 0 to {replicas - 1}")
    for name, tensor in state_dict.items():
        if tensor.dim() == 0 or tensor.shape[0] % replicas:
            raise InputError(f"{name} has shape {tuple(tensor.shape)}, which {replicas} replicas cannot share")
    return {name: rows(tensor, replicas)[k].clone() for name, tensor in state_dict.items()}


def combine(state_dicts: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """Join state dicts to that of the fused network whose replica k is state_dicts[k]; the inverse of `extract`."""
    if not state_dicts:
        raise InputError("state_dicts is empty; expected at least one state dict")
    first = state_dicts[0]
    for k, other in enumerate(state_dicts):
        if {n: t.shape for n, t in other.items()} != {n: t.shape for n, t in first.items()}:
            raise InputError(
                f"state_dicts[{k}] has other names or shapes than state_dicts[0]; expected the same network"
            )
    return {name: torch.cat([state[name] for state in state_dicts]) for name in first}


def snapshot(tensors: Mapping[str, Tensor], replicas: int) -> list[dict[str, Tensor]]:
    """Copy each replica's part of a fused network's tensors to the CPU, by one copy per data type.

    All tensors stack their replicas along the first dimension. The parts do not share memory with the originals, so
    that training may go on while they are written.
    """
    parts: list[dict[str, Tensor]] = [{} for _ in range(replicas)]
    for dtype in dict.fromkeys(tensor.dtype for tensor in tensors.values()):
        group = {name: tensor.detach() for name, tensor in tensors.items() if tensor.dtype == dtype}
        host = torch.cat([tensor.reshape(replicas, -1) for tensor in group.values()], dim=1).cpu()
        columns = host.split([tensor.numel() // replicas for tensor in group.values()], dim=1)
        for (name, tensor), column in zip(group.items(), columns):
            shape = (tensor.shape[0] // replicas, *tensor.shape[1:])
            for part, row in zip(parts, column):
                part[name] = row.view(shape)
    return parts
