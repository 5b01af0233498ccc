"""The rows of the paper's Tables 2 and 3 as named configurations, with the printed numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

NAMED_ROWS: dict[str, dict[str, dict[str, Any]]] = {
    # Table 2, second block. Its "No Comparative Module" is the (i1,i2)+sub row of Table 3.
    "full": {"model": {"joint": ["mul"], "encoder_layers": 6, "decoder_layers": 6}},
    "simple-joint-encoding": {"model": {"joint": ["i1", "i2"]}},
    "no-comparative-module": {"model": {"joint": ["i1", "i2", "sub"], "encoder_layers": 0}},
    "small-decoder": {"model": {"joint": ["mul"], "decoder_layers": 1}},
    "greedy": {"decode": {"method": "greedy"}},
    "multinomial": {"decode": {"method": "multinomial"}},
    "beam": {"decode": {"method": "beam"}},
}


@dataclass(frozen=True)
class PaperRow:
    """One printed row of Table 3 (dev split): a configuration and its BLEU-4, ROUGE-L, CIDEr-D."""

    block: str
    joint: str
    encoder_layers: int
    decoder_layers: int
    decoding: str
    bleu_4: float
    rouge_l: float
    cider_d: float

    @property
    def model(self) -> str:
        """The name for `collect train --model`; rows with equal names share one trained model."""
        return (
            f"neural-naturalist/joint={self.joint}/encoder_layers={self.encoder_layers}"
            f"/decoder_layers={self.decoder_layers}"
        )


def _rows() -> list[PaperRow]:
    both = "i1,i2"
    sixes = {
        both: (0.23, 0.44, 0.23),
        "sub": (0.23, 0.45, 0.27),
        "add": (0.24, 0.43, 0.28),
        "max": (0.23, 0.43, 0.24),
        "mul": (0.24, 0.46, 0.28),
        f"{both},sub": (0.22, 0.44, 0.22),
        f"{both},add": (0.22, 0.42, 0.25),
        f"{both},max": (0.21, 0.42, 0.22),
        f"{both},mul": (0.22, 0.43, 0.23),
        f"{both},sub,add,max,mul": (0.21, 0.43, 0.20),
    }
    rows = [PaperRow("joint", joint, 6, 6, "beam", *scores) for joint, scores in sixes.items()]
    comparative = {
        "mul": [(0.00, 0.02, 0.00), (0.24, 0.44, 0.27), (0.24, 0.44, 0.27)],
        "sub": [(0.22, 0.40, 0.22), (0.21, 0.41, 0.26), (0.22, 0.41, 0.22)],
        f"{both},sub": [(0.09, 0.27, 0.09), (0.24, 0.43, 0.24), (0.22, 0.42, 0.26)],
    }
    for joint, scores in comparative.items():
        for layers, printed in zip((0, 1, 3, 6), [*scores, sixes[joint]], strict=True):
            rows.append(PaperRow("comparative", joint, layers, 6, "beam", *printed))
    decoder = [(0.22, 0.42, 0.25), (0.23, 0.42, 0.25), sixes["mul"]]
    for layers, printed in zip((1, 3, 6), decoder, strict=True):
        rows.append(PaperRow("decoder", "mul", 6, layers, "beam", *printed))
    decodings = {"greedy": (0.21, 0.44, 0.18), "multinomial": (0.20, 0.42, 0.16)}
    for decoding, printed in (decodings | {"beam": sixes["mul"]}).items():
        rows.append(PaperRow("decoding", "mul", 6, 6, decoding, *printed))
    return rows


TABLE_3 = _rows()
"""The 28 printed rows: 23 distinct results from 21 trained models."""

TABLE_2: dict[str, tuple[tuple[float, float, float] | None, tuple[float, float, float] | None]] = {
    # model: (dev, test) of BLEU-4, ROUGE-L, CIDEr-D
    "most-frequent": ((0.20, 0.31, 0.42), (0.20, 0.30, 0.43)),
    "text-only": ((0.14, 0.36, 0.05), (0.14, 0.36, 0.07)),
    "nearest-neighbour": ((0.18, 0.40, 0.15), (0.14, 0.36, 0.06)),
    "cnn-lstm": ((0.22, 0.40, 0.13), (0.20, 0.37, 0.07)),
    "cnn-attention-lstm": ((0.21, 0.40, 0.14), (0.19, 0.38, 0.11)),
    "neural-naturalist/simple-joint-encoding": ((0.23, 0.44, 0.23), None),
    "neural-naturalist/no-comparative-module": ((0.09, 0.27, 0.09), None),
    "neural-naturalist/small-decoder": ((0.22, 0.42, 0.25), None),
    "neural-naturalist/full": ((0.24, 0.46, 0.28), (0.22, 0.43, 0.25)),
    "human": ((0.26, 0.47, 0.39), (0.27, 0.47, 0.42)),
}
"""The paper's Table 2, for printing beside our own numbers; never an output."""
