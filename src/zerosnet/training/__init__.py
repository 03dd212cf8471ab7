"""Training: recipes, runs and their store, checkpoints, and the engine that trains many networks as one."""

from zerosnet.training.adversarial import Adversarial
from zerosnet.training.checkpoint import Checkpoint, CheckpointError, join, read_checkpoint, snapshot, write_checkpoint
from zerosnet.training.engine import train
from zerosnet.training.evaluate import Score
from zerosnet.training.fused import FusedTraining
from zerosnet.training.loop import Options
from zerosnet.training.recipe import Recipe, lr_at
from zerosnet.training.recipes import RECIPES, changes, recipe
from zerosnet.training.result import Result
from zerosnet.training.run import Run
from zerosnet.training.schedule import SCHEDULES, Constant, Cosine, OneCycle, Schedule, StepDecay
from zerosnet.training.spec import RunSpec
from zerosnet.training.stopping import Clock, SaveInterval
from zerosnet.training.store import RunRecord, Store
from zerosnet.training.sweep import expand, read_sweep
from zerosnet.training.writer import BackgroundWriter

__all__ = [
    "RECIPES",
    "SCHEDULES",
    "Adversarial",
    "BackgroundWriter",
    "Checkpoint",
    "CheckpointError",
    "Clock",
    "Constant",
    "Cosine",
    "FusedTraining",
    "SaveInterval",
    "OneCycle",
    "Options",
    "Recipe",
    "Result",
    "Run",
    "RunRecord",
    "RunSpec",
    "Schedule",
    "Score",
    "StepDecay",
    "Store",
    "changes",
    "expand",
    "join",
    "lr_at",
    "read_checkpoint",
    "read_sweep",
    "recipe",
    "snapshot",
    "train",
    "write_checkpoint",
]
