"""Networks built from a scheme: layers, the multistep stack, CIFAR- and ImageNet-size families by name."""

from zerosnet.models.config import Config
from zerosnet.models.network import Network
from zerosnet.models.registry import configure, create_model, list_models
from zerosnet.models.replicas import combine, extract
from zerosnet.models.stack import Step
from zerosnet.models.structure import Structure

__all__ = ["Config", "Network", "Step", "Structure", "combine", "configure", "create_model", "extract", "list_models"]
