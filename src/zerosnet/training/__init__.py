"""Training: recipes, runs and their store, checkpoints, and the engine that trains many networks as one."""

from zerosnet.training.adversarial import Adversarial
from zerosnet.training.checkpoint import Checkpoint, CheckpointError, join, read_checkpoint, snapshot, write_checkpoint
from zerosnet.training.recipe import Recipe, lr_at
from zerosnet.training.recipes import RECIPES, changes, recipe
from zerosnet.training.result import Result
from zerosnet.training.run import Run
from zerosnet.training.schedule import SCHEDULES, Constant, Cosine, OneCycle, Schedule, Step
from zerosnet.training.spec import RunSpec
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
    "Constant",
    "Cosine",
    "OneCycle",
    "Recipe",
    "Result",
    "Run",
    "RunRecord",
    "RunSpec",
    "Schedule",
    "Step",
    "Store",
    "changes",
    "expand",
    "join",
    "lr_at",
    "read_checkpoint",
    "read_sweep",
    "recipe",
    "snapshot",
    "write_checkpoint",
]
