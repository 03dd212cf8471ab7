"""One network in training on images that are decoded as they are needed, by one process or by several together.

Images come from worker processes, and gradients are averaged over the processes by torch's DistributedDataParallel.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel

from zerosnet.data import Batch, Decoder, FileSet, FolderData, Stream, reason_against, training_items
from zerosnet.errors import InputError
from zerosnet.models import BatchNorm, Network
from zerosnet.training.fused.cuda_graph import compile_static
from zerosnet.training.fused.optimizer import make_optimizer
from zerosnet.training.fused.passes import sample_losses
from zerosnet.training.grouping import network_config, run_precision
from zerosnet.training.machine import World
from zerosnet.training.options import ASKED_FOR, StreamOptions
from zerosnet.training.recipes.recipe import lr_at
from zerosnet.training.runs.checkpoint import copy_into
from zerosnet.training.runs.spec import RunSpec
from zerosnet.training.streamed.evaluation import Prepare, StreamedEvaluation, normalisation
from zerosnet.training.streamed.sync_batch_norm import synchronise_batch_norms
from zerosnet.training.trainer import Score

NO_KERNELS = "there are none for networks on imagefolder"


def micro_batch(batch: int, world: World, wanted: int | None) -> int:
    """Find the number of images that one process computes with at once."""
    if batch % world.size:
        raise InputError(f"{world.size} processes do not share a batch of {batch} evenly; expected a divisor of it")
    share = batch // world.size
    micro = share if wanted is None else wanted
    if micro < 1 or share % micro:
        raise InputError(f"micro-batch is {micro}; expected a divisor of {share}, the images of a process in a step")
    return micro


def check_decoder(decoder: str, device: torch.device, *, deterministic: bool) -> None:
    """Refuse a decoder that the device does not have, or whose pixels are not the same every time."""
    if decoder == "gpu" and deterministic:
        raise InputError("--deterministic needs --decoder workers: GPU decoding is not reproducible")
    if decoder == "gpu" and (why := reason_against(device)):
        raise InputError(f"decoder is 'gpu', but {why}; expected workers")


class StreamedTrainer:
    """The network of a run, its optimiser and its stream of images; the same on every process of the world.

    Everything that decides the outcome is a function of the spec and of the micro-batch, but for the rounding of pixels
    if a GPU decodes them. Running statistics of batch norm move by the mean over a step's micro-batches, so it does not
    matter which process has which.

    Args:
        spec: The run.
        data: Its folder of images.
        device: The device of this process.
        world: The processes that train together.
        options: How images reach the network.
        workers: Processes that decode, for this process.
        report: Is told about skipped files.
        kernels: "torch" if plain torch was asked for; it computes the step in any case.
        compiled: Use torch.compile; None is yes on CUDA.
    """

    def __init__(
        self,
        spec: RunSpec,
        data: FolderData,
        device: torch.device,
        world: World,
        options: StreamOptions,
        *,
        workers: int,
        report: Callable[[str], None],
        kernels: str | None = None,
        compiled: bool | None = None,
    ) -> None:
        self.spec, self.specs, self.data, self.device, self.world = spec, [spec], data, device, world
        self.options, self.workers, self.report = options, workers, report
        recipe, numbers = spec.recipe, run_precision(spec, device)
        self.why_not_native = ASKED_FOR if kernels == "torch" else NO_KERNELS
        self.steps = len(data.train) // recipe.batch
        self.micro = micro_batch(recipe.batch, world, options.micro_batch)
        self.turns = recipe.batch // world.size // self.micro
        if compiled is None:
            compiled = device.type == "cuda" and not options.sync_bn
        compiled = compiled and not torch.are_deterministic_algorithms_enabled()  # see `compile_static`

        model = Network(network_config(spec, data), [spec.seed]).to(device, numbers.dtype)
        self.model = model.to(memory_format=torch.channels_last)
        self.model.conv_dtype, self.model.state_dtype = numbers.conv_dtype, numbers.state_dtype
        if options.sync_bn:
            synchronise_batch_norms(self.model)
        self.optimizer = make_optimizer(self.model, [recipe])
        self.parameters = list(self.model.parameters())
        norms = [module for module in self.model.modules() if isinstance(module, BatchNorm)]
        self.running = [buffer for norm in norms for buffer in (norm.running_mean, norm.running_var)]
        if compiled:
            self.model.compile(dynamic=False)
        self.network: Any = self.model
        if world.size > 1:
            self.network = _parallel(self.model, device)
        prepare = normalisation(data, recipe.scaling, device, numbers.dtype)
        self.prepare: Prepare = compile_static(prepare) if compiled else prepare

        self.lr = torch.zeros(1, dtype=torch.float64, device=device)
        self.alive = torch.ones(1, dtype=torch.bool, device=device)
        self.lived = torch.zeros(1, dtype=torch.int64, device=device)
        self.sums = torch.zeros(1, 2, dtype=torch.float64, device=device)  # of losses and of correct answers
        self.loss = torch.zeros(1, dtype=torch.float64, device=device)  # of the last step, over all processes
        self.position = 0
        self.skipped: set[str] = set()  # lines about broken files that this process reported
        self._batches: Iterator[Batch] | None = None  # from the first epoch on
        self.tests = {"test": self._evaluation(data.test)}
        if data.validation is not None:
            self.tests["validation"] = self._evaluation(data.validation)
        self.facts = {
            "data": data.fingerprint,
            "kernels": "torch",
            "processes": world.size,
            "micro_batch": self.micro,
            "sync_bn": options.sync_bn,
            "workers": workers,
            "decoder": options.decoder,
            "arithmetic": str(numbers),
        }

    def begin_epoch(self, epoch: int, step: int) -> None:
        """Begin an epoch; the first one has images decoded to the end of the training, without a pause in between."""
        if self._batches is None:
            self.position = epoch * self.steps + step
            self._batches = self._decoded(self.position)
        if step == 0:
            self.sums.zero_()
            if self.spec.recipe.reset_momentum:
                self.optimizer.reset()

    def _decoded(self, position: int) -> Iterator[Batch]:
        recipe = self.spec.recipe
        items = partial(
            training_items,
            len(self.data.train),
            seed=self.spec.seed,
            batch=recipe.batch,
            part=self.world.part,
            micro=self.micro,
            position=position,
            steps=self.steps * recipe.epochs,
        )
        decoder = Decoder(self.data.train, self.data.side, recipe.augmentation, self.spec.seed)
        return iter(
            Stream(
                decoder,
                items,
                batch=self.micro,
                device=self.device,
                workers=self.workers,
                report=self._broken,
                on_device=self.options.decoder == "gpu",
            )
        )

    def step(self) -> None:
        """Make one step of the optimiser, on one batch over all processes; nothing waits for the device."""
        assert self._batches is not None
        if not self.model.training:
            self.model.train()
        found = torch.zeros(1, 2, dtype=torch.float64, device=self.device)
        before = [buffer.clone() for buffer in self.running] if self.turns > 1 else []
        collected = [torch.zeros_like(buffer) for buffer in before]
        for turn in range(self.turns):
            more = turn < self.turns - 1
            with self.network.no_sync() if more and self.world.size > 1 else nullcontext():
                found += self._learn(next(self._batches))
            if before:
                torch._foreach_add_(collected, self.running, alpha=1 / self.turns)
                torch._foreach_copy_(self.running, before if more else collected)
        self.world.add_up(found)
        self.loss.copy_(found[:, 0] / (self.turns * self.world.size))
        self.alive &= self.loss.isfinite()
        self.lived += self.alive
        self.sums += torch.stack([self.loss, found[:, 1]], dim=1)
        self.lr.fill_(lr_at(self.spec.recipe, self.position, self.steps))
        gradients = [parameter.grad for parameter in self.parameters if parameter.grad is not None]
        self.optimizer.update(gradients, self.lr, self.alive)
        for parameter in self.parameters:
            parameter.grad = None
        self.position += 1

    def _learn(self, batch: Batch) -> Tensor:
        """Add the gradient of a micro-batch; its mean loss and its number of correct answers."""
        logits = self.network(self.prepare(batch.images, batch.flips))
        loss = sample_losses(logits[None], batch.labels[None], self.spec.recipe.label_smoothing).mean()
        (loss / self.turns).backward()
        correct = (logits.detach().argmax(1) == batch.labels).sum()
        return torch.stack([loss.detach().double(), correct.double()])[None]

    @torch.no_grad()
    def settle(self) -> None:
        """Average the running statistics over the processes, before they are looked at."""
        if self.world.size > 1:
            flat = self.world.add_up(torch.cat(self.running)) / self.world.size
            torch._foreach_copy_(self.running, list(flat.split([len(buffer) for buffer in self.running])))

    def _evaluation(self, files: FileSet, *, persistent: bool = True) -> StreamedEvaluation:
        return StreamedEvaluation(
            self.model,
            self.prepare,
            files,
            self.data.side,
            device=self.device,
            world=self.world,
            workers=self.workers,
            report=self._broken,
            persistent=persistent,
            settle=self.settle,
        )

    def _broken(self, line: str) -> None:
        if self.options.broken == "fatal":
            raise InputError(f"{line}; --broken skip goes on without it")
        if line not in self.skipped:
            self.skipped.add(line)
            self.report(f"skipped: {line}")

    # -- what the journal and the checkpoints ask for ------------------------------------------------------------------

    def train_scores(self) -> list[Score]:
        """Score the epoch so far, as the steps saw it."""
        steps = (self.position - 1) % self.steps + 1
        loss, correct = self.sums[0].tolist()
        return [Score(loss / steps, correct / (steps * self.spec.recipe.batch))]

    def watch_training_set(self) -> None:
        """Have the training images scored after every epoch, too: centre crops, in evaluation mode."""
        self.tests["train_eval"] = self._evaluation(self.data.train)

    def final_train_scores(self) -> list[Score]:
        """Score the training images: centre crops, in evaluation mode."""
        evaluation = self._evaluation(self.data.train, persistent=False)
        evaluation.run()
        return evaluation.scores()

    def counted(self) -> dict[str, Any]:
        """Count test images and skipped files, if files were skipped."""
        return {"test_images": self.tests["test"].images, "skipped_files": len(self.skipped)} if self.skipped else {}

    @torch.no_grad()
    def diverged(self) -> list[bool]:
        """Check if a loss or a parameter is not finite; the network is frozen from then on."""
        self.alive &= torch.stack([parameter.isfinite().all() for parameter in self.parameters]).all()
        return [not bool(self.alive)]

    def tensors(self) -> dict[str, Tensor]:
        state = {f"model.{name}": tensor for name, tensor in self.model.state_dict().items()}
        state |= {f"optimizer.{name}": tensor for name, tensor in self.optimizer.state().items()}
        return state | {"alive": self.alive, "lived": self.lived, "epoch.sums": self.sums}

    def load(self, tensors: Mapping[str, Tensor] | None) -> None:
        """Take up the state of `tensors()`, in place: the process that writes has it for all."""
        own = self.tensors()
        if tensors is not None:
            copy_into(own, tensors)
        self.world.spread(own.values())

    def trained_coefficients(self) -> list[dict[str, Any]] | None:
        """Describe the trained coefficients per replica, for the record of an epoch; None if they are fixed."""
        return self.model.trained_coefficients()

    def close(self) -> None:
        """Let the workers go."""
        self._batches = None
        self.tests = {}


def _parallel(model: Network, device: torch.device) -> DistributedDataParallel:
    """Have gradients averaged over the processes; running statistics are left to `StreamedTrainer.settle`."""
    known = inspect.signature(DistributedDataParallel).parameters
    buffers = "forward_sync_buffers" if "forward_sync_buffers" in known else "broadcast_buffers"  # its name up to 2.1x
    ids = [device.index] if device.type == "cuda" else None
    options: dict[str, Any] = {"device_ids": ids, "gradient_as_bucket_view": True, buffers: False}
    return DistributedDataParallel(model, **options)
