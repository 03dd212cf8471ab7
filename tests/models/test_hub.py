"""Networks in the hub's layout: written, described, and read back from a folder, or from a hub."""

import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import torch

from zerosnet.environment import environment
from zerosnet.errors import InputError
from zerosnet.models import Network, create_model, from_pretrained, model_card, model_facts, save_pretrained

NETWORKS = {
    "preresnet": ("preresnet20", {}),
    "lmresnet": ("lmresnet20", {}),
    "fixed": ("zerosnet20", {"scheme": "1/3,5/9,1/9;16/9", "in_chans": 1}),
    "optimal": ("zerosnet20_opt", {"num_classes": 100}),
    "trained": ("zerosnet20_tra", {}),
    "stable": ("zerosnet20_stable", {"order": 2, "shared": True}),
    "replicas": ("zerosnet20", {"scheme": ["zerosnet(-9/5)", "zerosnet(10)"], "replicas": 2}),
    "imagenet": ("zerosnet18_opt", {"num_classes": 3}),
}
FACTS = {
    "run": "zerosnet20_opt-cifar10-paper-s1-a59376fa",
    "dataset": "cifar10",
    "seed": 1,
    "metrics": {"test": 0.9158, "train": 0.9976},
    "recipe": {"name": "paper", "epochs": 160, "schedule": {"kind": "step", "at": [0.5, 0.75]}, "beta2": None},
    "command": "zerosnet train zerosnet20_opt --dataset cifar10 --seed 1",
    "environment": environment(),
    "input": {"input_size": [3, 32, 32], "mean": [0.5, 0.5, 0.5], "std": [0.25, 0.25, 0.25]},
}


def network(case: str) -> Network:
    name, options = NETWORKS[case]
    model = create_model(name, seed=list(range(options.get("replicas", 1))), **options)
    with torch.no_grad():
        model(images(model))
    return model.eval()


def images(model: Network) -> torch.Tensor:
    shape = (2, model.replicas * model.in_chans, 32, 32)
    return torch.randn(shape, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("case", NETWORKS)
def test_a_folder_gives_the_network_back(case: str, tmp_path: Path) -> None:
    model = network(case)
    folder = save_pretrained(model, tmp_path / "deep" / "net", FACTS)
    assert sorted(path.name for path in folder.iterdir()) == ["README.md", "config.json", "model.safetensors"]
    assert json.loads((folder / "config.json").read_text())["architecture"] == model.config.name
    other = from_pretrained(folder).eval()
    assert other.config == model.config
    assert torch.equal(other(images(model)), model(images(model)))
    assert model_facts(folder / "model.safetensors")["run"] == FACTS["run"]


def test_networks_have_save_and_from_pretrained_as_methods(tmp_path: Path) -> None:
    model = network("optimal")
    other = Network.from_pretrained(str(model.save_pretrained(tmp_path / "net"))).eval()
    assert torch.equal(other(images(model)), model(images(model)))


def test_the_hub_understands_the_card(tmp_path: Path) -> None:
    hub = pytest.importorskip("huggingface_hub")
    folder = save_pretrained(network("optimal"), tmp_path, FACTS)
    card = hub.ModelCard.load(folder / "README.md")
    assert card.data.library_name == "zerosnet"
    assert card.data.datasets == ["cifar10"]
    (test, train) = card.data.eval_results
    assert (test.metric_value, test.dataset_name, train.metric_name) == (0.9158, "cifar10", "train")


def test_the_card_has_scheme_metrics_recipe_command_and_hardware() -> None:
    text = model_card(network("optimal"), FACTS)
    for part in (
        r"\frac{16}{9} h f(y_{n})",
        "| `1/3,5/9,1/9;16/9` | 7 | 2 | strongly stable |",
        "| test | 91.58 % |",
        "| schedule | kind step, at 0.5, 0.75 |",
        FACTS["command"],
        environment()["cpu"]["model"],
        "mean (0.5, 0.5, 0.5), deviation (0.25, 0.25, 0.25)",
    ):
        assert part in text
    assert "None" not in text


@pytest.mark.parametrize("case", NETWORKS)
def test_a_card_without_facts_claims_nothing(case: str) -> None:
    text = model_card(network(case))
    assert "## Scheme" in text
    assert "## Results" not in text and "## Training" not in text and "trained on" not in text


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda folder: (folder / "config.json").unlink(), "config.json is missing"),
        (lambda folder: (folder / "model.safetensors").unlink(), "model.safetensors is missing"),
        (lambda folder: (folder / "config.json").write_text("{}"), "is no description"),
        (lambda folder: (folder / "config.json").write_text("nonsense"), "is no description"),
        (lambda folder: (folder / "config.json").write_text('{"config": {}}'), "describes another network"),
        (lambda folder: (folder / "config.json").write_text("[" * 100_000), "config.json is no description"),
        (lambda folder: (folder / "config.json").write_bytes(b"\xff\xfe"), "config.json is no description"),
        (lambda folder: (folder / "config.json").write_text("[1]"), "config.json is no description"),
        (lambda folder: (folder / "model.safetensors").write_bytes(b"x" * 99), "no safetensors file, or damaged"),
    ],
)
def test_damaged_folders_are_refused_in_one_line(damage, message: str, tmp_path: Path) -> None:
    folder = save_pretrained(create_model("zerosnet20_opt"), tmp_path)
    damage(folder)
    with pytest.raises(InputError, match=message) as error:
        from_pretrained(folder)
    assert "\n" not in str(error.value)


def test_bad_arguments_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    model = create_model("zerosnet20_opt")
    with pytest.raises(InputError, match="which is a file"):
        save_pretrained(model, tmp_path / "file")
    with pytest.raises(InputError, match="model is Linear"):
        save_pretrained(torch.nn.Linear(1, 1), tmp_path / "net")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no id on the Hugging Face hub"):
        from_pretrained(tmp_path / "nowhere")
    with pytest.raises(InputError, match="revision is 'v1'"):
        from_pretrained(save_pretrained(model, tmp_path / "net"), revision="v1")


# -- a hub of our own ------------------------------------------------------------------------------------------------

COMMIT = "c" * 40


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[str]:
    """A server that answers as the hub does for one repository, zoo/net."""
    folder = save_pretrained(network("optimal"), tmp_path / "served")
    names = sorted(path.name for path in folder.iterdir())

    class Answer(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def do_HEAD(self) -> None:
            self.answer(body=False)

        def do_GET(self) -> None:
            self.answer(body=True)

        def answer(self, body: bool) -> None:
            path = self.path.partition("?")[0]
            name = path.rpartition("/")[2]
            if path.startswith("/api/models/zoo/net"):
                info = {"_id": "1", "id": "zoo/net", "modelId": "zoo/net", "sha": COMMIT, "private": False}
                content = json.dumps(info | {"siblings": [{"rfilename": name} for name in names]}).encode()
                if "/tree/" in path:
                    content = json.dumps(
                        [{"type": "file", "path": n, "size": (folder / n).stat().st_size, "oid": "0"} for n in names]
                    ).encode()
            elif path.startswith("/zoo/net/resolve/") and name in names:
                content = (folder / name).read_bytes()
            else:
                self.send_response(404)
                self.send_header("X-Error-Code", "RepoNotFound")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            self.send_response(200)
            self.send_header("ETag", f'"{hashlib.sha1(content).hexdigest()}"')
            self.send_header("X-Repo-Commit", COMMIT)
            self.send_header("Content-Type", "application/json" if "/api/" in path else "application/octet-stream")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if body:
                self.wfile.write(content)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def fetch(endpoint: str, cache: Path, *names: str) -> list[str]:
    """What a process of its own gets for hub ids: the client reads its settings once, when it is imported."""
    code = (
        "import sys\nfrom zerosnet.errors import InputError\nfrom zerosnet.models import from_pretrained\n"
        "for name in sys.argv[1:]:\n"
        "    try: print(from_pretrained(name).config.name)\n"
        "    except InputError as error: print(error)"
    )
    quiet = {"HF_HOME": str(cache), "HF_HUB_DISABLE_PROGRESS_BARS": "1", "HF_HUB_DISABLE_XET": "1"}
    patient = {"HF_HUB_ETAG_TIMEOUT": "120", "HF_HUB_DOWNLOAD_TIMEOUT": "120"}
    scene = {**os.environ, **quiet, **patient, "HF_ENDPOINT": endpoint}
    done = subprocess.run(
        [sys.executable, "-c", code, *names], capture_output=True, text=True, env=scene, timeout=600, check=True
    )
    return done.stdout.splitlines()


def test_a_hub_id_is_fetched_once_and_errors_are_one_clear_line(hub: str, tmp_path: Path) -> None:
    pytest.importorskip("huggingface_hub")
    refusal = "{} is no folder here, nor could it be had from the hub: {}"
    found = fetch(hub, tmp_path / "cache", "zoo/net", "zoo/none")
    assert found == ["zerosnet20_opt", refusal.format("zoo/none", "there is no such model there, or it is not public")]
    found = fetch("http://127.0.0.1:9", tmp_path / "cache", "zoo/net", "zoo/other")
    unreachable = "the hub cannot be reached, and the model is not in the cache"
    assert found == ["zerosnet20_opt", refusal.format("zoo/other", unreachable)]
