"""`zerosnet evaluate`: the accuracy of a finished run, recomputed from its weights."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from zerosnet.cli.main import app
from zerosnet.cli.named_network import find_run
from zerosnet.cli.options import AsJson, StoreFolder, announce, note_unused, with_fields
from zerosnet.errors import InputError
from zerosnet.training import DataOptions

if TYPE_CHECKING:
    from zerosnet.data import DataSet
    from zerosnet.models import Network
    from zerosnet.training import Score


@app.command(short_help="Recompute a finished run's accuracy on the test set.")
@with_fields
def evaluate(
    run: Annotated[
        str, typer.Argument(help="A run's id, a part of it that only one run has, its folder, or a trained network.")
    ],
    store: StoreFolder = "runs",
    json: AsJson = False,
    *,
    options: DataOptions,
) -> None:
    """Recompute a run's accuracy on the test set from its weights, or a trained network's that comes with zerosnet."""
    announce(f"evaluating {run} ...")
    from zerosnet.models import list_pretrained

    found = _trained(run, options) if run in list_pretrained() else _run(run, store, options)
    if json:
        import json as encoder

        print(encoder.dumps(found, indent=2))
    else:
        before = found["recorded_test_accuracy"]
        print(f"{found['id']}: test {found['test_accuracy']:.2%} on {found['images']} images (recorded: {before:.2%})")


def _run(run: str, store: str, options: DataOptions) -> dict[str, Any]:
    from zerosnet.data import load, pixel_statistics, source
    from zerosnet.training import Options, check_fits, evaluate_streamed, find_device, load_network, precision

    place = find_device(options.device)
    record = find_run(run, store)
    model = load_network(record)
    _check_weights(model, record.id)
    assert record.result is not None  # it has finished
    note_unused(options, [record.spec.dataset])
    if source(record.spec.dataset).streamed:
        found, count = evaluate_streamed(record, model, Options(options.device, options.data))
    else:
        images, model = load(record.spec.dataset, options.data, download=options.download), model.to(place)
        check_fits(model, images, record.id)
        if place.type == "cuda":
            model.conv_dtype = precision(record.spec.precision, place).conv_dtype
        found, count = _score(model, images, pixel_statistics(images, record.spec.recipe.scaling)), len(images.test)
    return _outcome(record.id, record.spec.dataset, count, found, record.result.test_accuracy)


def _trained(name: str, options: DataOptions) -> dict[str, Any]:
    """Score a trained network in plain float32 on any device, as its recorded accuracy was measured."""
    from zerosnet.data import load
    from zerosnet.models import load_model, model_facts
    from zerosnet.training import find_device

    facts = model_facts(name)
    images = load(facts["dataset"], options.data, download=options.download)
    found = _score(
        load_model(name).to(find_device(options.device)), images, (facts["input"]["mean"], facts["input"]["std"])
    )
    return _outcome(name, facts["dataset"], len(images.test), found, facts["test_accuracy"])


def _check_weights(model: "Network", name: str) -> None:
    """Raise an error for weights that are not finite: whatever accuracy they have means nothing."""
    for key, tensor in model.state_dict().items():
        if tensor.is_floating_point() and not tensor.isfinite().all():
            raise InputError(f"the weights of {name} are not finite (NaN or infinity in {key}); they have no accuracy")


def _score(model: "Network", images: "DataSet", statistics: "tuple[Sequence[float], Sequence[float]]") -> "Score":
    from zerosnet.training import evaluate as score
    from zerosnet.training import torch_settings

    mean, std = statistics
    with torch_settings(next(model.parameters()).device, deterministic=False):
        (found,) = score(model, images.test, (tuple(mean), tuple(std)))
    return found


def _outcome(name: str, dataset: str, count: int, found: "Score", recorded: float | None) -> dict[str, Any]:
    return {
        "id": name,
        "dataset": dataset,
        "images": count,
        "test_accuracy": found.accuracy,
        **({} if found.top5_accuracy is None else {"test_top5_accuracy": found.top5_accuracy}),
        "test_loss": found.loss if found.loss - found.loss == 0 else None,
        "recorded_test_accuracy": recorded,
    }
