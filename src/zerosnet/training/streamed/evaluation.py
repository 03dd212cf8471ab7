"""Top-1 and top-5 of a network on the centre crops of a folder of images, shared out among processes."""

import sys
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from zerosnet.data import (
    Decoder,
    FileSet,
    FolderData,
    Stream,
    evaluation_items,
    open_folder,
    pixel_statistics,
    to_numbers,
)
from zerosnet.errors import InputError
from zerosnet.models import Network
from zerosnet.training.finished.networks import check_fits, numbers_of
from zerosnet.training.fused.passes import sample_losses
from zerosnet.training.machine import World, find_device, torch_settings
from zerosnet.training.options import Options
from zerosnet.training.runs.store import RunRecord
from zerosnet.training.streamed.processes import decoding_workers
from zerosnet.training.trainer import Score

EVALUATION_BATCH = {"cuda": 256, "cpu": 32}  # images of 224 x 224 that fill a device in one forward pass
Prepare = Callable[[Tensor, Tensor], Tensor]
"""A function of images (B, H, W, C) in bytes and of marks to mirror them, which returns a network's input."""


class StreamedEvaluation:
    """Loss, top-1 and top-5 of a network on centre crops; every image counts once, whatever the number of processes.

    Args:
        model: The network, on the device.
        prepare: Makes numbers of its images.
        files: The images.
        side: The size of the crops.
        device: Where to compute.
        world: The processes that share the images.
        workers: Processes that decode; 0 decodes in this one.
        report: Is told about every broken file, once.
        persistent: Keep the workers for the next pass.
        settle: Called before a pass, to bring together what processes hold apart.
    """

    def __init__(
        self,
        model: nn.Module,
        prepare: Prepare,
        files: FileSet,
        side: int,
        *,
        device: torch.device,
        world: World,
        workers: int,
        report: Callable[[str], None],
        persistent: bool = True,
        settle: Callable[[], None] = lambda: None,
    ) -> None:
        self.model, self.prepare, self.world, self.settle = model, prepare, world, settle
        batch = min(EVALUATION_BATCH[device.type], -(-len(files) // world.size))
        self.batches = Stream(
            Decoder(files, side),
            partial(evaluation_items, len(files), batch=batch, part=world.part),
            batch=batch,
            device=device,
            workers=workers,
            report=report,
            persistent=persistent,
        )
        self.sums = torch.zeros(4, dtype=torch.float64, device=device)  # loss, top-1, top-5, images
        self.images = 0  # that the last scores counted, over all processes

    def run(self) -> None:
        """Pass over the images once."""
        self.settle()
        self.sums.zero_()
        if self.model.training:
            self.model.eval()
        with torch.no_grad():
            for batch in self.batches:
                logits = self.model(self.prepare(batch.images, batch.flips))
                counts, labels = batch.labels >= 0, batch.labels.clamp(min=0)
                losses = torch.where(counts, sample_losses(logits[None], labels[None])[0].double(), 0)
                best = logits.topk(min(5, logits.shape[1]), dim=1).indices == labels[:, None]
                hits = (best[:, 0] & counts, best.any(1) & counts, counts)
                self.sums += torch.stack([losses.sum(), *(hit.sum().double() for hit in hits)])

    def scores(self) -> list[Score]:
        """Return the score of the last pass, over all processes."""
        loss, first, fifth, images = self.world.add_up(self.sums.clone()).tolist()
        if not images:
            raise InputError("not one image of the test set can be decoded")
        self.images = int(images)
        return [Score(loss / images, first / images, fifth / images)]


def normalisation(data: FolderData, scaling: str, device: torch.device, dtype: torch.dtype) -> Prepare:
    """Make the function that turns bytes into the numbers a network is shown."""
    mean, std = (torch.tensor(values, device=device) for values in pixel_statistics(data, scaling))
    return partial(to_numbers, mean=mean, std=std, dtype=dtype)


def evaluate_streamed(record: RunRecord, network: Network, options: Options) -> tuple[Score, int]:
    """Score a finished run's network on the test set of its folder; also return on how many images."""
    device, world = find_device(options.device), World()
    data = open_folder(record.spec.dataset, options.data)
    check_fits(network, data, record.id)
    numbers = numbers_of(record, device)
    model = network.to(device, numbers.dtype).to(memory_format=torch.channels_last)
    model.conv_dtype, model.state_dtype = numbers.conv_dtype, numbers.state_dtype
    evaluation = StreamedEvaluation(
        model,
        normalisation(data, record.spec.recipe.scaling, device, numbers.dtype),
        data.test,
        data.side,
        device=device,
        world=world,
        workers=decoding_workers(options.stream.workers, world),
        report=lambda line: print(f"skipped: {line}", file=sys.stderr),
        persistent=False,
    )
    with torch_settings(device, deterministic=False):
        evaluation.run()
    (score,) = evaluation.scores()
    return score, evaluation.images
