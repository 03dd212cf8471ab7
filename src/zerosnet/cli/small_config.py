"""Small configurations of model types of transformers whose default size would not fit."""

from typing import TYPE_CHECKING, Any

from zerosnet.errors import InputError

if TYPE_CHECKING:
    from torch import nn

MOST_PARAMETERS = 1_000_000_000
"""Types that have more at their default size are built small."""

_AT_MOST = {
    "vocab_size": 2048,
    "max_position_embeddings": 2048,
    "num_hidden_layers": 6,
    "max_window_layers": 6,
    "hidden_size": 256,
    "intermediate_size": 512,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "head_dim": 64,
    "q_lora_rank": 64,
    "kv_lora_rank": 64,
    "qk_nope_head_dim": 32,
    "qk_rope_head_dim": 32,
    "v_head_dim": 64,
    "o_groups": 2,
    "o_lora_rank": 32,
    "index_n_heads": 2,
    "index_head_dim": 64,
    "index_topk": 8,
    "moe_intermediate_size": 128,
    "n_routed_experts": 4,
    "num_local_experts": 4,
    "num_experts": 4,
    "num_experts_per_tok": 2,
    "first_k_dense_replace": 1,
    "n_group": 1,
    "topk_group": 1,
}
"""By the name of a field; fields that a type does not have, or has smaller, stay as they are."""


def transformers_network(name: str, default: Any) -> "tuple[nn.Module, str]":
    """Build a network of a configuration, small if that has too many parameters; also a note that tells so."""
    import transformers

    causal = type(default) in transformers.MODEL_FOR_CAUSAL_LM_MAPPING
    if not causal:
        _refuse_towers(name)
    if not causal and type(default) not in transformers.MODEL_MAPPING:
        raise InputError(f"transformers:{name} names a part that AutoModel does not build; expected "
                         "package.module:function, which builds it")  # fmt: skip
    kind: Any = transformers.AutoModelForCausalLM if causal else transformers.AutoModel
    count = _parameters(kind, default)
    if count <= MOST_PARAMETERS:
        return kind.from_config(default), ""
    refused = InputError(f"transformers:{name} has {count:.1e} parameters at its default size; expected "
                         "package.module:function, which builds a smaller one")  # fmt: skip
    try:
        config = _small(default)
        if _parameters(kind, config) > MOST_PARAMETERS:
            raise refused
        model = kind.from_config(config)
    except (ValueError, RuntimeError, TypeError, AttributeError, KeyError):  # whatever a foreign type may raise
        raise refused from None
    note = (
        f"cut to {config.num_hidden_layers} layers of width {config.hidden_size} "
        f"(its default size has {count:.1e} parameters, more than {MOST_PARAMETERS:.0e})"
    )
    return model, note


def _refuse_towers(name: str) -> None:
    """Refuse a type that is two networks, one for images and one for texts."""
    import transformers

    known = transformers.CONFIG_MAPPING
    towers = [f"{name}_{part}_model" for part in ("vision", "text")]
    built = [tower for tower in towers if tower in known and known[tower] in transformers.MODEL_MAPPING]
    if built and all(tower in known for tower in towers):
        ones = " or ".join(f"transformers:{tower}" for tower in built)
        raise InputError(f"transformers:{name} is two networks, for images and for texts; expected one of them: {ones}")


def _parameters(kind: Any, config: Any) -> int:
    import torch

    with torch.device("meta"):
        return sum(p.numel() for p in kind.from_config(config).parameters())


def _small(default: Any) -> Any:
    """Build a configuration of the same type with smaller fields; lists with an entry per layer follow by default."""
    fields = {name: getattr(default, name, None) for name in _AT_MOST}
    chosen = {name: min(value, _AT_MOST[name]) for name, value in fields.items() if isinstance(value, int)}
    for name in ("bos_token_id", "eos_token_id", "pad_token_id"):
        token = getattr(default, name, None)
        if isinstance(token, int) and token >= chosen.get("vocab_size", token + 1):
            chosen[name] = 0
    return type(default)(**chosen)
