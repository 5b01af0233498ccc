"""Embedding photos on a CPU: this package beside torch eager with timm's own transform.

    python benchmarks/embedding.py FOLDER_OF_PHOTOS --photos 256

The peer is what the timm documentation shows: Pillow, `create_transform`, batches of 64, all
processors inside the kernels. Prints photos per second, the ratio, and the least cosine between
the two results. The runs alternate, so that other load on the machine meets both.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import timm
import torch
from pairs_to_words.sampling import embed
from PIL import Image
from timm.data.config import resolve_model_data_config


def eager(files: list[Path], model: torch.nn.Module) -> np.ndarray:
    transform = timm.data.create_transform(**resolve_model_data_config(model))
    parts = []
    with torch.inference_mode():
        for start in range(0, len(files), 64):
            images = [Image.open(file).convert("RGB") for file in files[start : start + 64]]
            batch = torch.stack([transform(image) for image in images])
            features = model.forward_head(model.forward_features(batch), pre_logits=True)
            parts.append(features.numpy())
    return np.concatenate(parts)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--photos", type=int, default=256)
    parser.add_argument("--repeats", type=int, default=2)
    arguments = parser.parse_args()
    files = sorted(p for p in arguments.folder.rglob("*") if p.is_file() and p.suffix != ".parquet")
    files = files[: arguments.photos]
    model, _hash = embed._with_weights(embed.PACKAGED_ENCODER, None)
    model.eval()
    encoder = embed.load_encoder()
    best = {"eager": 0.0, "ours": 0.0}
    results = {}
    for _ in range(arguments.repeats):
        for name, run in [
            ("eager", lambda: eager(files, model)),
            ("ours", lambda: embed.pooled_features(encoder, files)),
        ]:
            started = time.perf_counter()
            results[name] = run().astype(np.float64)
            best[name] = max(best[name], len(files) / (time.perf_counter() - started))
    a, b = results["eager"], results["ours"]
    cosine = (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
    print(f"eager {best['eager']:.1f} photos/s, ours {best['ours']:.1f} photos/s")
    print(f"ratio {best['ours'] / best['eager']:.2f}, least cosine {cosine.min():.5f}")
    print(f"precision {encoder.precision}, device {encoder.device}")


if __name__ == "__main__":
    main()
