"""Top-1 and top-5 of a network on the centre crops of a folder of images, shared out among processes."""

from functools import partial
from typing import TYPE_CHECKING

import torch

from zerosnet.data import Decoder, FileSet, evaluation_items
from zerosnet.errors import InputError
from zerosnet.training.fused.evaluation import Score
from zerosnet.training.fused.step import sample_losses

if TYPE_CHECKING:
    from zerosnet.training.streamed.trainer import LargeTraining

EVALUATION_BATCH = {"cuda": 256, "cpu": 32}


class FolderEvaluation:
    """Loss, top-1 and top-5 of a network on centre crops; every image counts once, whatever the number of processes."""

    def __init__(self, training: "LargeTraining", files: FileSet, *, persistent: bool = True) -> None:
        self.training = training
        batch = min(EVALUATION_BATCH[training.device.type], -(-len(files) // training.world.size))
        items = partial(evaluation_items, len(files), batch=batch, part=training.world.part)
        self.batches = training.stream(Decoder(files, training.data.side), items, batch=batch, persistent=persistent)
        self.sums = torch.zeros(4, dtype=torch.float64, device=training.device)  # loss, top-1, top-5, images
        self.images = 0  # that counted in the last scores, over all processes

    def run(self) -> None:
        training = self.training
        training.settle()
        self.sums.zero_()
        if training.model.training:
            training.model.eval()
        with torch.no_grad():
            for batch in self.batches:
                logits = training.model(training.prepare(batch.images, batch.flips))
                counts, labels = batch.labels >= 0, batch.labels.clamp(min=0)
                losses = torch.where(counts, sample_losses(logits[None], labels[None])[0].double(), 0)
                best = logits.topk(min(5, logits.shape[1]), dim=1).indices == labels[:, None]
                hits = (best[:, 0] & counts, best.any(1) & counts, counts)
                self.sums += torch.stack([losses.sum(), *(hit.sum().double() for hit in hits)])

    def scores(self) -> list[Score]:
        loss, first, fifth, images = self.training.world.add_up(self.sums.clone()).tolist()
        if not images:
            raise InputError("not one image of the test set can be decoded")
        self.images = int(images)
        return [Score(loss / images, first / images, fifth / images)]
