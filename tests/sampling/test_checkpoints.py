"""An encoder's weights come from a user's file: safely, completely, and for the right model."""

from __future__ import annotations

import io
import os
import pickle
from pathlib import Path

import numpy as np
import pytest
import timm
import torch
from pairs_to_words.project.errors import CouldNotError, UserError
from pairs_to_words.sampling import embed
from PIL import Image
from safetensors.torch import save_file
from timm.data.config import resolve_model_data_config


def with_scale(name: str) -> torch.nn.Module:
    """Make a model whose untrained features are of ordinary size; timm's initial ones are tiny."""
    torch.manual_seed(0)
    model = timm.create_model(name, pretrained=False)
    for module in model.modules():
        if isinstance(module, torch.nn.Conv2d):
            torch.nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
        if isinstance(module, torch.nn.BatchNorm2d):
            module.running_mean.normal_(0, 0.1)
            module.running_var.uniform_(0.5, 1.5)
    return model.eval()


@pytest.fixture
def photos(tmp_path: Path) -> list[Path]:
    files = []
    for seed in range(2):
        pixels = np.random.default_rng(seed).integers(0, 255, (7, 9, 3), dtype=np.uint8)
        buffer = io.BytesIO()
        Image.fromarray(pixels).resize((400, 320)).save(buffer, "JPEG", quality=95)
        files.append(tmp_path / f"{seed}.jpg")
        files[-1].write_bytes(buffer.getvalue())
    return files


def test_inception_v4_from_a_local_checkpoint_gives_its_1536_features(
    photos: list[Path], tmp_path: Path
) -> None:
    """The paper's encoder end to end, with its own preprocessing, pooled before the classifier."""
    model = with_scale("inception_v4")
    checkpoint = tmp_path / "inception_v4.safetensors"
    save_file(model.state_dict(), checkpoint)
    encoder = embed.load_encoder("inception_v4", checkpoint=checkpoint, precision="float32")
    assert encoder.dimensions == 1536
    assert encoder.preprocessing["size"] == 299
    got = embed.pooled_features(encoder, photos).astype(np.float64)
    transform = timm.data.create_transform(**resolve_model_data_config(model))
    batch = torch.stack([transform(Image.open(file)) for file in photos])
    with torch.inference_mode():
        expected = model.forward_head(model.forward_features(batch), pre_logits=True).double()
    assert got.shape == (2, 1536)
    assert np.abs(got).max() > 0.01
    cosine = torch.nn.functional.cosine_similarity(torch.from_numpy(got), expected)
    assert cosine.min() > 0.999


@pytest.mark.parametrize("wrapped", ["plain", "state_dict", "model", "module."])
def test_torch_checkpoints_in_the_usual_wrappings(tmp_path: Path, wrapped: str) -> None:
    weights = with_scale("resnet18").state_dict()
    if wrapped in ("state_dict", "model"):
        weights = {wrapped: weights, "epoch": 3}  # type: ignore[dict-item]
    elif wrapped == "module.":
        weights = {"module." + name: value for name, value in weights.items()}
    torch.save(weights, tmp_path / "weights.pth")
    encoder = embed.load_encoder("resnet18", checkpoint=tmp_path / "weights.pth")
    assert encoder.dimensions == 512


def test_the_same_name_with_other_weights_is_another_encoder(tmp_path: Path) -> None:
    model = with_scale("resnet18")
    identities = []
    for number in range(2):
        with torch.no_grad():
            model.get_parameter("conv1.weight").add_(number)
        save_file(model.state_dict(), tmp_path / f"{number}.safetensors")
        encoder = embed.load_encoder("resnet18", checkpoint=tmp_path / f"{number}.safetensors")
        identities.append(encoder.identity)
    assert identities[0] != identities[1]


def test_a_checkpoint_of_another_model_is_refused_in_one_line(tmp_path: Path) -> None:
    save_file(with_scale("resnet18").state_dict(), tmp_path / "r18.safetensors")
    with pytest.raises(UserError, match="does not hold the weights of resnet34") as caught:
        embed.load_encoder("resnet34", checkpoint=tmp_path / "r18.safetensors")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


class Attack:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, ("touch pwned",)


def test_a_pickle_that_would_run_code_is_refused_and_does_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    torch.save({"weight": Attack()}, "attack.pth")
    (tmp_path / "plain.pth").write_bytes(pickle.dumps(Attack()))
    for name in ("attack.pth", "plain.pth"):
        with pytest.raises(UserError, match="no checkpoint that can be read safely"):
            embed.load_encoder("resnet18", checkpoint=tmp_path / name)
    assert not (tmp_path / "pwned").exists()


def test_a_missing_checkpoint_and_missing_weights_say_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UserError, match=r"gone\.pth is not there"):
        embed.load_encoder("resnet18", checkpoint=tmp_path / "gone.pth")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(CouldNotError, match=r"resnet18 could not be fetched.*--checkpoint"):
        embed.load_encoder("resnet18")
