"""K networks in training as one, on images in memory: the trainer of small data sets."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from zerosnet.data import DataSet, Feed, pixel_statistics
from zerosnet.training.finished.networks import as_classifier, load_network
from zerosnet.training.fused.cuda_graph import captured, forget_compiled
from zerosnet.training.fused.examples import AdversarialExamples, NoisyExamples, make_examples
from zerosnet.training.fused.optimizer import make_optimizer
from zerosnet.training.fused.passes import Evaluation, batch_size, choose_backend
from zerosnet.training.grouping import build_model, run_precision
from zerosnet.training.machine import World
from zerosnet.training.recipes.recipe import lr_at
from zerosnet.training.runs.checkpoint import copy_into
from zerosnet.training.runs.spec import RunSpec
from zerosnet.training.runs.store import RunRecord
from zerosnet.training.trainer import Score


class FusedTrainer:
    """The replicas of a group of runs that share a step (`grouping.key`), freshly drawn, on a device.

    The images live on the device, and on CUDA the whole step is one recorded graph.

    Args:
        specs: The runs.
        data: Their data set.
        device: Where to train.
        surrogate: The finished run whose network makes adversarial examples, if the recipe asks for one.
        kernels: "native" or "torch"; None is the best there is.
        compiled: Use torch.compile; None is yes on CUDA.
    """

    world = World()  # one process

    def __init__(
        self,
        specs: Sequence[RunSpec],
        data: DataSet,
        device: torch.device,
        *,
        surrogate: RunRecord | None = None,
        kernels: str | None = None,
        compiled: bool | None = None,
    ) -> None:
        on_gpu = device.type == "cuda"
        if on_gpu:
            forget_compiled(device)
        recipe, self.replicas = specs[0].recipe, len(specs)
        source = None if surrogate is None else as_classifier([surrogate], [load_network(surrogate)], data, device)
        self.facts: dict[str, Any] = {"data": data.fingerprint}
        if surrogate is not None:
            self.facts["surrogate"] = surrogate.id
        data = data.to(device)
        self.specs, self.device, self.data = list(specs), device, data
        numbers = run_precision(specs[0], device)
        compiled = on_gpu if compiled is None else compiled
        layout = torch.channels_last if on_gpu else torch.contiguous_format
        self.model = build_model(specs, data).to(device, numbers.dtype).to(memory_format=layout)
        self.model.conv_dtype = numbers.conv_dtype
        self.optimizer = make_optimizer(self.model, [spec.recipe for spec in specs])
        self.reset_momentum = recipe.reset_momentum
        self.backend = choose_backend(
            kernels,
            self.model,
            size=data.size,
            batch=recipe.batch,
            label_smoothing=recipe.label_smoothing,
            device=device,
            compiled=compiled,
            optimizer=self.optimizer,
        )
        self.why_not_native = self.backend.why_not_native
        self.facts |= {"kernels": self.backend.kernels, "arithmetic": self.backend.arithmetic}
        mean, std = pixel_statistics(data, recipe.scaling)
        statistics = (torch.tensor(mean, device=device), torch.tensor(std, device=device))
        options: dict[str, Any] = {"channels_last": on_gpu, "dtype": numbers.dtype, "gather": self.backend.gather}
        self.feed = Feed(
            data.train,
            seeds=[spec.seed for spec in specs],
            batch=recipe.batch,
            augmentation=recipe.augmentation,
            statistics=statistics,
            rates=lambda epoch: _rates(specs, epoch, len(data.train) // recipe.batch),
            epochs=recipe.epochs,
            **options,
        )
        self.steps, self.batch = self.feed.steps, recipe.batch
        self.lived = torch.zeros(self.replicas, dtype=torch.int64, device=device)
        self.alive = torch.ones(self.replicas, dtype=torch.bool, device=device)
        self.losses = torch.zeros(self.replicas, dtype=torch.float64, device=device)
        self.correct = torch.zeros(self.replicas, dtype=torch.int64, device=device)
        # what to learn from: the images as they are (None), or examples of them
        self._passes: list[AdversarialExamples | NoisyExamples | None] = [None]
        if recipe.adversarial is not None:
            examples = make_examples(
                recipe.adversarial,
                self.model,
                source,
                seeds=[spec.seed for spec in specs],
                statistics=statistics,
                counter=self.feed.counter,
                compiled=compiled,
                native=kernels != "torch",
            )
            self._passes = [None, examples] if recipe.adversarial.clean_step else [examples]
        elif recipe.noise:
            seeds = [spec.seed for spec in specs]
            self._passes = [NoisyExamples(recipe.noise, seeds=seeds, statistics=statistics, counter=self.feed.counter)]
        pool = torch.cuda.graph_pool_handle() if on_gpu else None
        self.step = captured(self._step, self._changing(), device, pool) if on_gpu else self._step
        # one size for all sets: the network is compiled once
        sizes = {"filled_by": self.backend.filled_by, "least": self.backend.least_batch}
        batch = batch_size(data.test, self.replicas, device, **sizes)
        predict = self.backend.predictor(batch)

        options |= {"statistics": statistics, "pool": pool, "batch": batch}
        self.tests = {"test": Evaluation(predict, data.test, **options)}
        if data.validation is not None:
            self.tests["validation"] = Evaluation(predict, data.validation, **options)
        self._on_training_set = partial(Evaluation, predict, data.train, capture=False, **options)

    def _step(self) -> None:
        """Augment, forward, backward, update, count: all on the device, nothing waits for the host."""
        images, labels, lr = self.feed.batch()
        for examples in self._passes:
            shown = images if examples is None else examples(images, labels)
            losses, correct, gradients = self.backend.step(shown, labels)
            self.alive &= torch.isfinite(losses)
            self.optimizer.update(gradients, lr, self.alive)
        self.lived += self.alive
        self.losses += losses
        self.correct += correct
        self.feed.counter += 1

    def begin_epoch(self, epoch: int, step: int) -> None:
        """Lay out an epoch; one that is taken up in the middle keeps the sums it has."""
        self.feed.begin(epoch, step)
        for examples in self._passes:
            if examples is not None:
                examples.begin(epoch)
        if step == 0:
            self.losses.zero_()
            self.correct.zero_()
            if self.reset_momentum:
                self.optimizer.reset()

    def train_scores(self) -> list[Score]:
        """Score the epoch so far, as the steps saw it; waits for the device."""
        steps = max(int(self.feed.counter), 1)
        sums = zip(self.losses.tolist(), self.correct.tolist())
        return [Score(loss / steps, correct / (steps * self.batch)) for loss, correct in sums]

    def settle(self) -> None:
        """Do nothing: one process holds everything."""

    def watch_training_set(self) -> None:
        """Have the training images scored after every epoch, too, as they are, in evaluation mode."""
        self.tests["train_eval"] = self._on_training_set(capture=True)

    def final_train_scores(self) -> list[Score]:
        """Score the training images as they are, in evaluation mode."""
        evaluation = self._on_training_set()
        evaluation.run()
        return evaluation.scores()

    def counted(self) -> dict[str, Any]:
        """Count nothing: no image is missing."""
        return {}

    @torch.no_grad()
    def diverged(self) -> list[bool]:
        """Find which replicas have a loss or a parameter that is not finite; they are frozen from then on."""
        flat = self.optimizer.flat
        if not flat.values.isfinite().all():
            self.alive &= torch.stack([row.isfinite().all(1) for row in flat.rows(flat.values)]).all(0)
        return [not alive for alive in self.alive.tolist()]

    def tensors(self) -> dict[str, Tensor]:
        """Name all tensors that a checkpoint holds; each stacks the replicas along dim 0."""
        state = {f"model.{name}": tensor for name, tensor in self.model.state_dict().items()}
        state |= {f"optimizer.{name}": tensor for name, tensor in self.optimizer.state().items()}
        counts = {"alive": self.alive, "lived": self.lived, "epoch.losses": self.losses, "epoch.correct": self.correct}
        return state | counts

    def trained_coefficients(self) -> list[dict[str, Any]] | None:
        """Describe the trained coefficients per replica, for the record of an epoch; None if they are fixed."""
        return self.model.trained_coefficients()

    def load(self, tensors: Mapping[str, Tensor] | None) -> None:
        """Take up the state of `tensors()`, in place."""
        assert tensors is not None  # the one process writes
        copy_into(self.tensors(), tensors)

    def close(self) -> None:
        self.feed.close()

    def _changing(self) -> Iterable[Tensor]:
        return [*self.tensors().values(), self.feed.counter]


def _rates(specs: Sequence[RunSpec], epoch: int, steps: int) -> Tensor:
    """Compute the learning rates of an epoch: one row per step, one column per replica."""
    positions = range(epoch * steps, (epoch + 1) * steps)
    return torch.tensor([[lr_at(s.recipe, p, steps) for s in specs] for p in positions], dtype=torch.float64)
