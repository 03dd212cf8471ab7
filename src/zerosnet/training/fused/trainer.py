"""K networks in training as one: all that a step reads or writes, and the step itself."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from zerosnet.data import DataSet, pixel_statistics
from zerosnet.models import Network
from zerosnet.numerics import Scheme
from zerosnet.robustness import Normalised
from zerosnet.training.arithmetic import precision
from zerosnet.training.fused.adversarial_examples import make_examples
from zerosnet.training.fused.backend import choose_backend
from zerosnet.training.fused.cuda_graph import captured, graph_pool
from zerosnet.training.fused.evaluation import Evaluation, Score, batch_size
from zerosnet.training.fused.feed import Feed
from zerosnet.training.fused.optimizer import Adam, Optimizer, Rule, Sgd
from zerosnet.training.recipes.recipe import Recipe, lr_at
from zerosnet.training.runs.checkpoint import copy_into
from zerosnet.training.runs.spec import RunSpec

RULES: dict[str, Callable[[Recipe], Rule]] = {
    "sgd": lambda recipe: Sgd(recipe.momentum, recipe.nesterov),
    "adam": lambda recipe: Adam(recipe.momentum, 0.999 if recipe.beta2 is None else recipe.beta2),
}


class FusedTraining:
    """The replicas of a group of runs that share a step (`grouping.can_share`), on a device.

    All tensors in `tensors()` stack the replicas along dim 0; together with a position they are the whole state, since
    everything random is a function of seed and epoch. The data set is on the device already.
    """

    def __init__(
        self,
        specs: Sequence[RunSpec],
        model: Network,
        data: DataSet,
        device: torch.device,
        *,
        surrogate: Normalised | None = None,
        kernels: str | None = None,
        compiled: bool | None = None,
    ) -> None:
        recipe, self.replicas = specs[0].recipe, len(specs)
        self.specs, self.device, self.data = list(specs), device, data
        self.facts: dict[str, Any] = {}  # what the runs' records of their environment should say besides
        numbers, on_gpu = precision(specs[0].precision, device), device.type == "cuda"
        compiled = on_gpu if compiled is None else compiled
        layout = torch.channels_last if on_gpu else torch.contiguous_format
        self.model = model.to(device, numbers.dtype).to(memory_format=layout)
        self.model.conv_dtype = numbers.conv_dtype
        self.optimizer = make_optimizer(self.model, [spec.recipe for spec in specs])
        self.reset_momentum = recipe.reset_momentum
        mean, std = pixel_statistics(data, recipe.scaling)
        statistics = (torch.tensor(mean, device=device), torch.tensor(std, device=device))
        options: dict[str, Any] = {"channels_last": on_gpu, "dtype": numbers.dtype, "compiled": compiled}
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
        self.examples = make_examples(
            recipe.adversarial,
            self.model,
            surrogate,
            seeds=[spec.seed for spec in specs],
            statistics=statistics,
            counter=self.feed.counter,
            compiled=compiled,
            native=kernels != "torch",
        )
        self.clean_step = recipe.adversarial is not None and recipe.adversarial.clean_step
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
        self.gradients = self.backend.step
        self.facts |= {"kernels": self.backend.kernels, "arithmetic": self.backend.arithmetic}
        pool = graph_pool(device)
        self.step = captured(self._step, self._changing(), device, pool)
        # one size for all sets: the network is compiled once
        batch = batch_size(data.test, self.replicas, device, self.backend.least_batch)
        predict = self.backend.predictor(batch)

        options |= {"statistics": statistics, "pool": pool, "batch": batch}
        self.tests = {"test": Evaluation(predict, data.test, **options)}
        if data.validation is not None:
            self.tests["validation"] = Evaluation(predict, data.validation, **options)
        self._on_training_set = partial(Evaluation, predict, data.train, capture=False, **options)

    def _step(self) -> None:
        """Augment, forward, backward, update, count: all on the device, nothing waits for the host."""
        images, labels, lr = self.feed.batch()
        if self.clean_step:
            self._learn(images, labels, lr)
        losses, correct = self._learn(self.examples(images, labels), labels, lr)
        self.lived += self.alive
        self.losses += losses
        self.correct += correct
        self.feed.counter += 1

    def _learn(self, images: Tensor, labels: Tensor, lr: Tensor) -> tuple[Tensor, Tensor]:
        losses, correct, gradients = self.gradients(images, labels)
        self.alive &= torch.isfinite(losses)
        self.optimizer.update(gradients, lr, self.alive)
        return losses, correct

    def begin_epoch(self, epoch: int, step: int) -> None:
        """Lay out an epoch; one that is taken up in the middle keeps the sums it has."""
        self.feed.begin(epoch, step)
        self.examples.begin(epoch)
        if step == 0:
            self.losses.zero_()
            self.correct.zero_()
            if self.reset_momentum:
                self.optimizer.reset()

    def train_scores(self) -> list[Score]:
        """Loss and accuracy over the epoch so far, as the steps saw them; waits for the device."""
        steps = max(int(self.feed.counter), 1)
        sums = zip(self.losses.tolist(), self.correct.tolist())
        return [Score(loss / steps, correct / (steps * self.batch)) for loss, correct in sums]

    def watch_training_set(self) -> None:
        """Have the training images scored after every epoch too, as they are, in evaluation mode."""
        self.tests["train_eval"] = self._on_training_set(capture=True)

    def final_train_scores(self) -> list[Score]:
        """Loss and accuracy on the training set as it is, in evaluation mode."""
        evaluation = self._on_training_set()
        evaluation.run()
        return evaluation.scores()

    def counted(self) -> dict[str, int]:
        """What a result says besides: nothing, all images are there."""
        return {}

    @torch.no_grad()
    def diverged(self) -> list[bool]:
        """Which replicas have met a loss or have a parameter that is not finite; they are frozen from then on."""
        flat = self.optimizer.flat
        if not flat.values.isfinite().all():
            self.alive &= torch.stack([row.isfinite().all(1) for row in flat.rows(flat.values)]).all(0)
        return [not alive for alive in self.alive.tolist()]

    def tensors(self) -> dict[str, Tensor]:
        """All that a checkpoint holds, by name; each stacks the replicas along dim 0."""
        state = {f"model.{name}": tensor for name, tensor in self.model.state_dict().items()}
        state |= {f"optimizer.{name}": tensor for name, tensor in self.optimizer.state().items()}
        counts = {"alive": self.alive, "lived": self.lived, "epoch.losses": self.losses, "epoch.correct": self.correct}
        return state | counts

    def weights(self) -> dict[str, Tensor]:
        """The fused network's parameters and running statistics."""
        return self.model.state_dict()

    def trained_schemes(self) -> list[list[Scheme]] | None:
        """Where coefficients are trained: the scheme of every block as it is now, for each replica."""
        if not any(True for _ in self.model.coefficient_parameters()):
            return None
        schemes = self.model.schemes()
        return schemes if self.replicas > 1 else [schemes]

    def load(self, tensors: Mapping[str, Tensor]) -> None:
        """Take up the state of `tensors()`, in place."""
        copy_into(self.tensors(), tensors)

    def close(self) -> None:
        self.feed.close()

    def _changing(self) -> Iterable[Tensor]:
        return [*self.tensors().values(), self.feed.counter]


def make_optimizer(model: Network, recipes: Sequence[Recipe]) -> Optimizer:
    """Three groups of parameters: all others, the coefficients of trainable schemes, and norms with biases."""
    coefficients = {id(p) for p in model.coefficient_parameters()}
    parameters = dict(model.named_parameters())
    return Optimizer(
        parameters,
        RULES[recipes[0].optimiser](recipes[0]),
        replicas=len(recipes),
        decays=[
            [r.weight_decay for r in recipes],
            [r.coefficient_decay for r in recipes],
            [r.weight_decay if r.decay_norms else 0.0 for r in recipes],
        ],
        groups={name: 1 if id(p) in coefficients else 2 if p.dim() < 2 else 0 for name, p in parameters.items()},
    )


def _rates(specs: Sequence[RunSpec], epoch: int, steps: int) -> Tensor:
    """Learning rates of an epoch, a row a step, a column a replica."""
    positions = range(epoch * steps, (epoch + 1) * steps)
    return torch.tensor([[lr_at(s.recipe, p, steps) for s in specs] for p in positions], dtype=torch.float64)
