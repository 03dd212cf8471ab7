"""The recipes `pgd-madry` and `pgd-paper` in the engine, on the embedded digits."""

import json
from dataclasses import replace

import pytest
import torch

from zerosnet.data import load
from zerosnet.errors import InputError
from zerosnet.robustness import Normalised, pgd, subject, under_attack
from zerosnet.training import Recipe, RunSpec, Store, recipe
from zerosnet.training.engine import plan_runs, train
from zerosnet.training.finished.networks import as_classifier, load_network, surrogate_of
from zerosnet.training.fused.examples import AdversarialExamples
from zerosnet.training.fused.trainer import FusedTrainer
from zerosnet.training.machine import torch_settings
from zerosnet.training.options import Options
from zerosnet.training.recipes.adversarial import Adversarial

CPU = torch.device("cpu")
OPTIONS = Options("cpu")


def short(name: str, **changes) -> Recipe:
    """A recipe cut down to three batches, with attacks of two steps."""
    whole = recipe(name, "digits", epochs=1, batch=480, **changes)
    return replace(whole, adversarial=whole.adversarial and replace(whole.adversarial, steps=2))


def spec(name: str, seed: int = 1, model: str = "zerosnet20_opt", **changes) -> RunSpec:
    return RunSpec(model, "digits", short(name, **changes), seed)


def weights(store: Store, run: RunSpec) -> dict[str, torch.Tensor]:
    return load_network(store.find(run.id)).state_dict()


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """With a surrogate in it, and one network of each recipe."""
    store = Store(tmp_path_factory.mktemp("store"))
    train([spec("quick", model="preresnet20")], store, OPTIONS)
    train([spec("pgd-madry"), spec("pgd-madry", 2), spec("pgd-paper")], store, OPTIONS)
    return store


def test_both_recipes_train_to_the_end(store):
    statuses = {record.spec.recipe.name: record.status for record in store.records()}
    assert statuses == {"quick": "finished", "pgd-madry": "finished", "pgd-paper": "finished"}


def test_fused_adversarial_training_is_that_of_each_alone(store, tmp_path):
    alone = Store(tmp_path)
    train([spec("pgd-madry", 2)], alone, OPTIONS)
    fused, single = weights(store, spec("pgd-madry", 2)), weights(alone, spec("pgd-madry", 2))
    assert all(torch.equal(fused[name], single[name]) for name in single)


def test_a_surrogate_sees_the_images_of_each_seed_once():
    """Replicas of one seed have the same images; the examples are those of every replica apart."""
    seen = []

    class Surrogate(torch.nn.Module):
        def forward(self, images):
            seen.append(len(images))
            return images.mean((2, 3))[:, :2] * torch.tensor([1.0, -1.0])

    seeds, counter = [3, 1, 3, 3], torch.zeros(1, dtype=torch.int64)
    statistics = (torch.zeros(3), torch.ones(3))
    settings = Adversarial("surrogate", 0.1, 0.05, 2, surrogate="preresnet20", surrogate_seed=1)
    source = Normalised(Surrogate(), (0.0,) * 3, (1.0,) * 3)

    def made(seeds, images, labels):
        return AdversarialExamples(settings, source, seeds=seeds, statistics=statistics, counter=counter)(
            images, labels
        )

    by_seed = {seed: torch.rand(5, 3, 4, 4) for seed in seeds}
    truth = {seed: torch.randint(2, (5,)) for seed in seeds}
    images = torch.cat([by_seed[seed] for seed in seeds], 1)
    together = made(seeds, images, torch.stack([truth[seed] for seed in seeds]))
    assert set(seen) == {10}
    for k, seed in enumerate(seeds):
        alone = made([seed], by_seed[seed], truth[seed][None])
        assert torch.equal(together[:, 3 * k : 3 * k + 3], alone)


def test_the_examples_matter(store, tmp_path):
    without = replace(spec("pgd-madry"), recipe=replace(short("pgd-madry"), adversarial=None))
    plain = Store(tmp_path)
    train([without], plain, OPTIONS)
    trained, usual = weights(store, spec("pgd-madry")), weights(plain, without)
    assert not torch.equal(trained["fc.weight"], usual["fc.weight"])


def test_a_run_remembers_its_surrogate(store):
    record = store.find(spec("pgd-paper").id)
    environment = json.loads((record.folder / "environment.json").read_text())
    assert environment["surrogate"] == spec("quick", model="preresnet20").id


def test_a_training_without_its_surrogate_is_refused_before_any_work(tmp_path):
    with pytest.raises(InputError, match="there is no surrogate"):
        train([spec("pgd-paper")], Store(tmp_path), OPTIONS)
    assert not list(tmp_path.iterdir())


def test_a_surrogate_among_the_runs_is_trained_first(tmp_path):
    store, source = Store(tmp_path), spec("quick", model="preresnet20")
    plan = plan_runs([spec("pgd-paper"), spec("quick", 2), source], store, OPTIONS)
    assert plan.groups[: plan.first] == [[source]] and len(plan.stages()) == 2
    train([spec("pgd-paper"), source], store, OPTIONS)
    assert surrogate_of(spec("pgd-paper"), store).id == source.id and len(store.records()) == 2
    assert plan_runs([spec("pgd-paper"), source], store, OPTIONS).groups == []


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("name", ["pgd-madry", "pgd-paper"])
def test_recorded_steps_on_examples_follow_the_plain_ones_on_the_cpu(store, name):
    data, specs = load("digits"), [replace(spec(name, seed), precision="fp32") for seed in (1, 2)]
    surrogate, losses = surrogate_of(specs[0], store), []
    for device in (CPU, torch.device("cuda", 0)):
        with torch_settings(device, deterministic=False):
            training = FusedTrainer(specs, data, device, surrogate=surrogate)
            training.begin_epoch(0, 0)
            for _ in range(training.steps):
                training.step()
            losses.append([score.loss for score in training.train_scores()])
            training.close()
    assert losses[1] == pytest.approx(losses[0], rel=0.02)


@pytest.mark.slow
def test_adversarial_training_makes_robust(tmp_path):
    """Against PGD the network that was trained on examples keeps more than the one that was not."""
    store = Store(tmp_path)
    usual = recipe("quick", "digits", epochs=6)
    hard = replace(usual, adversarial=replace(short("pgd-madry").adversarial, eps=0.15, step=0.05, steps=4))
    runs = [RunSpec("preresnet20", "digits", r, 1) for r in (usual, hard)]
    train(runs, store, OPTIONS)
    data, kept = load("digits"), []
    for run in runs:
        record = store.find(run.id)
        model = as_classifier([record], [load_network(record)], data, CPU)
        target = subject(model, data.test.images[:128], data.test.labels[:128])
        kept.append(under_attack(target, pgd(0.15, 10)).float().mean().item())
    assert kept[1] > kept[0] + 0.1
