"""Tiny random networks of known packages; a test of one whose package is missing skips itself."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest
import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class KnownNetwork:
    make: Callable[[], nn.Module]
    example: Callable[[], Tensor]
    counts: tuple[int, ...]
    first: str
    streams: int = 1

    def build(self) -> nn.Module:
        torch.manual_seed(0)
        return self.make().eval()


def images(size: int) -> Callable[[], Tensor]:
    return lambda: torch.randn(2, 3, size, size, generator=torch.Generator().manual_seed(3))


def texts() -> Tensor:
    return torch.randint(100, (3, 12), generator=torch.Generator().manual_seed(3))


def awake(model: nn.Module) -> None:
    """Give layer scales and dynamic parts of hyper-connections numbers that matter."""
    generator = torch.Generator().manual_seed(4)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            part = name.rpartition(".")[2]
            if part in ("gamma", "layer_scale") and "norm" not in name:
                parameter.copy_(0.5 + torch.rand(parameter.shape, generator=generator))
            elif part.startswith("dynamic_") and part.endswith("_fn"):
                parameter.copy_(torch.randn(parameter.shape, generator=generator))


def from_timm(name: str, **options: object) -> Callable[[], nn.Module]:
    return lambda: pytest.importorskip("timm").create_model(name, num_classes=5, **options)


def from_torchvision(name: str, **options: object) -> Callable[[], nn.Module]:
    return lambda: getattr(pytest.importorskip("torchvision").models, name)(num_classes=5, **options)


def vision_transformer() -> nn.Module:
    models = pytest.importorskip("torchvision").models
    return models.VisionTransformer(32, 8, num_layers=2, num_heads=2, hidden_dim=32, mlp_dim=64, num_classes=5)


def convnext() -> nn.Module:
    module = pytest.importorskip("torchvision.models.convnext")
    settings = [module.CNBlockConfig(16, 32, 2), module.CNBlockConfig(32, None, 2)]
    return module.ConvNeXt(settings, num_classes=5)


def llama() -> nn.Module:
    transformers = pytest.importorskip("transformers")
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(vocab_size=100, **sizes))


def gpt2() -> nn.Module:
    transformers = pytest.importorskip("transformers")
    sizes = {"n_embd": 32, "n_layer": 2, "n_head": 4, "vocab_size": 100, "bos_token_id": 0, "eos_token_id": 0}
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(**sizes))


def deepseek() -> nn.Module:
    transformers = pytest.importorskip("transformers")
    if not hasattr(transformers, "DeepseekV4Config"):
        pytest.skip("transformers has no DeepSeek-V4")
    config = transformers.DeepseekV4Config(
        vocab_size=100,
        hidden_size=64,
        moe_intermediate_size=32,
        num_hidden_layers=3,
        num_attention_heads=4,
        head_dim=16,
        q_lora_rank=16,
        num_experts_per_tok=2,
        n_routed_experts=4,
        o_groups=2,
        o_lora_rank=8,
        index_n_heads=2,
        index_head_dim=16,
        index_topk=4,
        layer_types=["sliding_attention"] * 3,
        mlp_layer_types=["hash_moe", "moe", "moe"],
        sliding_window=16,
        max_position_embeddings=64,
    )
    config._experts_implementation = "eager"
    return transformers.DeepseekV4ForCausalLM(config)


class Hyper(nn.Module):
    """A chain of branches wrapped by the package `hyper-connections`."""

    def __init__(self, kind: str, blocks: int = 3, streams: int = 4, width: int = 32) -> None:
        super().__init__()
        package = pytest.importorskip("hyper_connections")
        wrap, self.expand, self.reduce = getattr(package, kind)(streams, dim=width)
        self.stem, self.head = nn.Linear(8, width), nn.Linear(width, 3)
        self.blocks = nn.ModuleList(wrap(layer_index=n, branch=self.branch(width)) for n in range(blocks))

    @staticmethod
    def branch(width: int) -> nn.Module:
        return nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width), nn.GELU(), nn.Linear(width, width))

    def forward(self, x: Tensor) -> Tensor:
        y = self.expand(self.stem(x))
        for block in self.blocks:
            y = block(y)
        return self.head(self.reduce(y))


def hyper_vit() -> nn.Module:
    module = pytest.importorskip("hyper_connections.vit")
    return module.ViT(image_size=32, patch_size=8, num_classes=5, dim=32, depth=2, heads=2, mlp_dim=64, dim_head=16)


def sequences() -> Tensor:
    return torch.randn(3, 7, 8, generator=torch.Generator().manual_seed(3))


VIT = {"img_size": 32, "depth": 2, "embed_dim": 32, "num_heads": 2}
NETWORKS = {
    "timm vit": KnownNetwork(from_timm("vit_tiny_patch16_224", **VIT), images(32), (4,), "blocks.0.attn"),
    "timm vit with layer scale": KnownNetwork(
        from_timm("vit_tiny_patch16_224", init_values=0.1, **VIT), images(32), (4,), "blocks.0.attn"
    ),
    "timm beit, plain gains": KnownNetwork(
        from_timm("beit_base_patch16_224", init_values=0.3, **VIT), images(32), (4,), "blocks.0.attn"
    ),
    "timm resnet v2": KnownNetwork(from_timm("resnetv2_18"), images(32), (2, 2, 2, 2), "stages.0.blocks.0.conv2"),
    "timm convnext": KnownNetwork(
        from_timm("convnext_atto", depths=(1, 1, 2, 1)), images(64), (1, 1, 2, 1), "stages.0.blocks.0.mlp"
    ),
    "torchvision resnet": KnownNetwork(from_torchvision("resnet18"), images(32), (2, 2, 2, 2), "layer1.0.bn2"),
    "torchvision vit": KnownNetwork(
        vision_transformer, images(32), (4,), "encoder.layers.encoder_layer_0.self_attention"
    ),
    "torchvision convnext": KnownNetwork(convnext, images(64), (2, 2), "features.1.0.block"),
    "llama": KnownNetwork(llama, texts, (4,), "model.layers.0.self_attn"),
    "gpt2": KnownNetwork(gpt2, texts, (4,), "transformer.h.0.attn"),
    "deepseek": KnownNetwork(deepseek, texts, (6,), "model.layers.0.self_attn", 4),
    "hyper-connections": KnownNetwork(
        lambda: Hyper("get_init_and_expand_reduce_stream_functions"), sequences, (3,), "blocks.0.branch", 4
    ),
    "mhc": KnownNetwork(
        lambda: Hyper("mc_get_init_and_expand_reduce_stream_functions"), sequences, (3,), "blocks.0.branch", 4
    ),
    "mhc vit": KnownNetwork(hyper_vit, images(32), (4,), "transformer.layers.0.0.branch", 4),
}
