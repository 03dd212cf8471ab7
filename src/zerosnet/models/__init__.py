"""Networks built from a scheme: layers, the multistep stack, CIFAR- and ImageNet-size families by name."""

from zerosnet.models.card import model_card
from zerosnet.models.config import Config
from zerosnet.models.convert import multistep
from zerosnet.models.diagnose import diagnose
from zerosnet.models.diagnosis import BlockDiagnosis, Diagnosis
from zerosnet.models.export import export_model
from zerosnet.models.hub import from_pretrained, save_pretrained
from zerosnet.models.network import Network
from zerosnet.models.official import load_official
from zerosnet.models.parameters import ParameterRow, parameter_count, parameter_table
from zerosnet.models.pretrained import list_pretrained, pretrained_card
from zerosnet.models.registry import configure, create_model, list_models
from zerosnet.models.replicas import combine, extract
from zerosnet.models.stack import BlockStep
from zerosnet.models.stage import MultistepStage
from zerosnet.models.structure import Structure
from zerosnet.models.tails import Tail, tails
from zerosnet.models.timm_models import register_with_timm
from zerosnet.models.weights import load_model, model_facts, save_model

__all__ = [
    "BlockDiagnosis",
    "Config",
    "Diagnosis",
    "MultistepStage",
    "Network",
    "ParameterRow",
    "BlockStep",
    "Structure",
    "Tail",
    "combine",
    "configure",
    "create_model",
    "diagnose",
    "export_model",
    "extract",
    "from_pretrained",
    "list_models",
    "list_pretrained",
    "load_model",
    "load_official",
    "model_card",
    "model_facts",
    "multistep",
    "parameter_count",
    "parameter_table",
    "pretrained_card",
    "save_model",
    "save_pretrained",
    "tails",
]

register_with_timm()
