"""The network: stem, multistep stack, head."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, cast

import torch
from torch import Tensor, nn, relu_

from zerosnet.errors import InputError
from zerosnet.models.config import Config
from zerosnet.models.io.timm import TimmMethods
from zerosnet.models.layers.replicated import BatchNorm, Bias, Conv, Linear, average, initialise
from zerosnet.models.stepping.stack import BlockStep, Stack
from zerosnet.numerics import Scheme

KEEP_STATES = {"realize_reads_threshold": 3}  # of torch.compile: see Network.compile


class Network(TimmMethods):
    """K independent networks, images (B, K * in_chans, H, W) -> logits (B, K, classes), for K = 1 (B, classes).

    Images (B, in_chans, H, W) are shared by all replicas, network(x)[:, k] = network_k(x), as if they were repeated K
    times: on the CPU to the bit, elsewhere to rounding and quicker, for the stem is then one ordinary convolution.

    The state y, the batch statistics and the multistep sum are in float32, or in the images' type where it is wider;
    `conv_dtype` is the type that convolutions compute in (None: the state's). `state_dtype` makes the state narrower,
    for networks of few blocks: where it grows from block to block, a narrow state rounds the residual away.
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
        self.stem = size.stem(config.in_chans, size.stem_channels, replicas=replicas)
        coefficients = config.coefficients(plans)
        self.stack = Stack(config.structure, plans, coefficients, replicas=replicas)
        if config.init_growth:
            for block, gains in zip(self.stack.steps, config.initial_gains(plans)):
                block.f.last.gain = gains
        norm = BatchNorm if config.structure.normalised else Bias
        self.bn = norm(self.num_features, replicas=replicas) if size.final_norm else None
        self.fc = self._classifier(config.num_classes)
        self._conv_dtype: torch.dtype | None = None
        initialise(self, self._draw_seeds() if seeds is None else list(seeds))

    def forward(self, images: Tensor) -> Tensor:
        return self.logits(self.stack(self.first_state(images)))

    def forward_features(self, images: Tensor) -> Tensor:
        """The feature map before the pool, (B, K * num_features, h, w)."""
        return self.normalise(self.stack(self.first_state(images)))

    def forward_head(self, features: Tensor, pre_logits: bool = False) -> Tensor:
        """Average pool (none where `global_pool` is empty), and the classifier unless `pre_logits`."""
        if not self.global_pool:
            return features
        pooled = average(features)
        return pooled if pre_logits else self.fc(pooled)

    def first_state(self, images: Tensor) -> Tensor:
        """y_0, from the stem."""
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
        """Block by block, for diagnosis (see `Stack.walk`); `logits` of the last `state` is the network's output."""
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
        """The parameters that coefficients are made from: an optimiser's group of their own, as a rule undecayed."""
        return self.stack.coefficients.parameters()

    # -- precision ----------------------------------------------------------------------------------------------------

    @property
    def parameter_dtype(self) -> torch.dtype:
        return cast(Conv, self.stem.conv).weight.dtype

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
