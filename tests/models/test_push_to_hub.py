"""Networks put on the Hugging Face hub, and what happens offline."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from zerosnet.errors import InputError
from zerosnet.models import create_model, from_pretrained, push_to_hub

FACTS = {
    "dataset": "cifar10",
    "metrics": {"test, last epoch": 0.9347},
    "prediction": {
        "accuracy": 93.8,
        "interval": [93.2, 94.3],
        "effective_depth": 22.9,
        "blocks": 27,
        "used_depth": 27,
    },
}


@pytest.fixture
def model():
    return create_model("zerosnet20_opt", seed=0)


@pytest.fixture
def hub(monkeypatch):
    """A hub that notes what it is asked for."""
    asked = []

    def upload_folder(repo_id: str, folder_path: str, allow_patterns: list[str]) -> str:
        asked.append((repo_id, sorted(path.name for path in Path(folder_path).iterdir()), sorted(allow_patterns)))
        return f"hub:{repo_id}"

    def create_repo(name: str, private: bool, exist_ok: bool) -> None:
        asked.append((name, private, exist_ok))

    fake = SimpleNamespace(create_repo=create_repo, upload_folder=upload_folder)
    monkeypatch.setitem(sys.modules, "huggingface_hub", fake)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    return SimpleNamespace(asked=asked, fake=fake)


def test_offline_the_folder_is_written_and_nothing_sent(model, hub, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    folder = tmp_path / "network"
    assert push_to_hub(model, "owner/network", FACTS, folder=folder) == str(folder)
    assert hub.asked == []
    assert from_pretrained(folder).config == model.config


def test_a_folder_is_uploaded_with_weights_config_and_card(model, hub, tmp_path):
    assert push_to_hub(model, "owner/network", FACTS, folder=tmp_path / "a", private=True) == "hub:owner/network"
    files = ["README.md", "config.json", "model.safetensors"]
    assert hub.asked == [("owner/network", True, True), ("owner/network", files, files)]


def test_a_refusal_is_one_line_and_names_the_folder(model, hub, tmp_path):
    def refuse(name: str, **options: object) -> None:
        raise PermissionError("401: no token\nlog in first")

    hub.fake.create_repo = refuse
    with pytest.raises(
        InputError, match=r"owner/network could not be uploaded: 401: no token log in first; it is .*a$"
    ):
        push_to_hub(model, "owner/network", folder=tmp_path / "a")
    assert (tmp_path / "a" / "model.safetensors").exists()


@pytest.mark.parametrize("name", ["network", "a/b/c", "", "/network"])
def test_a_name_without_an_owner_is_refused(model, name):
    with pytest.raises(InputError, match="expected an id on the Hugging Face hub, OWNER/NAME"):
        push_to_hub(model, name)


def test_the_card_has_the_prediction_beside_the_measurement(model, hub, tmp_path):
    push_to_hub(model, "owner/network", FACTS, folder=tmp_path / "a")
    card = (tmp_path / "a" / "README.md").read_text()
    results = card.split("## Results")[1]
    assert results.index("| test, predicted before training | 93.8 % (90 % interval 93.2 to 94.3) |") < results.index(
        "| test, last epoch | 93.47 % |"
    )
    assert "22.9 of 27 blocks; the trained network uses 27." in results


def test_a_card_without_a_law_tells_the_depth_alone(model, hub, tmp_path):
    facts = {**FACTS, "prediction": {"accuracy": None, "interval": None, "effective_depth": 7.9, "blocks": 9}}
    push_to_hub(model, "owner/network", facts, folder=tmp_path / "a")
    card = (tmp_path / "a" / "README.md").read_text()
    assert "predicted before training" not in card and "7.9 of 9 blocks." in card
