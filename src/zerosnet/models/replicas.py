"""State dicts of fused networks, cut apart and put together: every tensor stacks its replicas along dim 0."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from zerosnet.errors import InputError
from zerosnet.models.layers.replicated import rows


def extract(state_dict: Mapping[str, Tensor], k: int, replicas: int) -> dict[str, Tensor]:
    """The state dict of replica k, as the single network has it."""
    if not 0 <= k < replicas:
        raise InputError(f"k is {k}; expected a replica from 0 to {replicas - 1}")
    for name, tensor in state_dict.items():
        if tensor.dim() == 0 or tensor.shape[0] % replicas:
            raise InputError(f"{name} has shape {tuple(tensor.shape)}, which {replicas} replicas cannot share")
    return {name: rows(tensor, replicas)[k].clone() for name, tensor in state_dict.items()}


def combine(state_dicts: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """The state dict of the fused network whose replica k is state_dicts[k]; the inverse of `extract`."""
    if not state_dicts:
        raise InputError("state_dicts is empty; expected at least one state dict")
    first = state_dicts[0]
    for k, other in enumerate(state_dicts):
        if {n: t.shape for n, t in other.items()} != {n: t.shape for n, t in first.items()}:
            raise InputError(
                f"state_dicts[{k}] has other names or shapes than state_dicts[0]; expected the same network"
            )
    return {name: torch.cat([state[name] for state in state_dicts]) for name in first}
