#!/usr/bin/env python3
"""``python bench/eight_bits.py``: an encoder in 8 bits, by torch and by ONNX Runtime; see README.md."""

import argparse
import copy
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from tqdm import tqdm

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import report
from bench.clock import CLOCKS, Clock, spread
from bench.systems import Size
from lev_plugins.errors import require
from lev_plugins.layers.int8 import in_8_bits
from lev_plugins.layers.transformer import Block, LayerShape

FORMAT = 1  # of the JSON
CPU = torch.device("cpu")
PEERS = ("onnx", "onnxruntime")
BASE = Size(dim=512, ffn_dim=2048, heads=8, layers=6, words=0)
QUICK = Size(dim=256, ffn_dim=256, heads=2, layers=1, words=0)
LENGTHS = (10, 30, 120)  # tokens
OPSET = 17  # of the exported model

Runner = Callable[[np.ndarray], np.ndarray]


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="bench/eight_bits.py", description="Speed of an encoder in 8 bits, by torch and by ONNX Runtime, as JSON"
    )
    made.add_argument("--out", metavar="FILE", type=Path, help="file for the JSON (default: standard output)")
    made.add_argument("--quick", action="store_true", help="a tiny encoder, to check that it runs")
    made.add_argument("--rounds", metavar="N", type=int, default=50, help="measurements of each (default: 50)")
    return made


class Stack(nn.Module):
    """The blocks of our encoder; random weights, since they do not matter to the time."""

    def __init__(self, size: Size):
        super().__init__()
        shape = LayerShape(size.dim, size.ffn_dim, size.heads, pre_norm=True)
        self.layers = nn.ModuleList(Block(shape) for _ in range(size.layers))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x, None)
        return x


class Plain(nn.Module):
    """The same, in operations that ONNX knows."""

    def __init__(self, stack: Stack):
        super().__init__()
        self.stack = stack

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.stack.layers:
            x = x + self.attended(layer.self_attn, self.normed(layer.self_attn_residual.norm, x))
            inner = torch.relu(self.product(layer.ffn.fc1, self.normed(layer.ffn_residual.norm, x)))
            x = x + self.product(layer.ffn.fc2, inner)
        return x

    def attended(self, attention: Any, x: torch.Tensor) -> torch.Tensor:
        parts = self.product(attention.in_proj, x).unflatten(2, (3, attention.heads, -1)).permute(2, 0, 3, 1, 4)
        queries, keys, values = parts.unbind(0)  # (B, H, T, C / H)
        weights = (queries @ keys.transpose(2, 3) * queries.size(3) ** -0.5).softmax(-1)
        return self.product(attention.out_proj, (weights @ values).transpose(1, 2).flatten(2))

    @staticmethod
    def normed(norm: Any, x: torch.Tensor) -> torch.Tensor:
        return F.layer_norm(x, norm.normalized_shape, norm.weight, norm.bias)

    @staticmethod
    def product(linear: Any, x: torch.Tensor) -> torch.Tensor:
        return F.linear(x, linear.weight, linear.bias)


def by_torch(exact: Stack) -> dict[str, Runner]:
    rounded = copy.deepcopy(exact)
    in_8_bits(rounded)

    def run(model: nn.Module, x: np.ndarray) -> np.ndarray:
        with torch.inference_mode():
            return model(torch.from_numpy(x)).numpy()

    return {"torch, fp32": partial(run, exact), "torch, int8": partial(run, rounded)}


def by_onnx(stack: Stack, width: int, folder: Path) -> dict[str, Runner]:
    """Exported, and rounded by ONNX Runtime's dynamic quantisation."""
    import onnxruntime
    from onnxruntime.quantization import QuantType, quantize_dynamic

    exact, rounded = str(folder / "fp32.onnx"), str(folder / "int8.onnx")
    example, axes = torch.randn(1, LENGTHS[0], width), {"x": {1: "tokens"}, "y": {1: "tokens"}}
    names = {"input_names": ["x"], "output_names": ["y"], "dynamic_axes": axes}
    torch.onnx.export(Plain(stack).eval(), (example,), exact, **names, opset_version=OPSET, dynamo=False)
    quantize_dynamic(exact, rounded, weight_type=QuantType.QInt8)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    sessions = {
        f"ONNX Runtime, {name}": onnxruntime.InferenceSession(path, options)
        for name, path in (("fp32", exact), ("int8", rounded))
    }
    return {name: lambda x, session=session: session.run(None, {"x": x})[0] for name, session in sessions.items()}


def measure(systems: dict[str, Runner], width: int, tokens: int, rounds: int) -> list[dict[str, Any]]:
    """The systems take turns; the error is the mean difference from torch in 32 bits, as a share."""
    x = torch.randn(1, tokens, width).numpy()
    outputs = {name: run(x) for name, run in systems.items()}
    clock = Clock(CPU)
    times: dict[str, list[float]] = {name: [] for name in systems}
    for _ in tqdm(range(rounds), desc=f"{tokens} tokens", disable=None):
        for name, run in systems.items():
            times[name].append(clock.time(partial(run, x))[0])
    exact = outputs["torch, fp32"]
    return [
        {
            "tokens": tokens,
            "system": name,
            "seconds": spread(times[name]),
            "error": float(np.abs(outputs[name] - exact).mean() / np.abs(exact).mean()),
        }
        for name in systems
    ]


def table(found: dict[str, Any]) -> str:
    """Markdown."""
    titles = ("tokens", "system", "ms (quartiles)", "error")
    lines = [report.row(*titles), report.row(*["---"] * len(titles))]
    for line in found["eight_bits"]:
        low, middle, high = (1e3 * line["seconds"][name] for name in ("lower_quartile", "median", "upper_quartile"))
        took = f"{middle:.2f} ({low:.2f} to {high:.2f})"
        lines.append(report.row(str(line["tokens"]), line["system"], took, f"{line['error']:.1%}"))
    return "\n".join(lines) + "\n"


def main(arguments: list[str] | None = None) -> None:
    args = parser().parse_args(arguments)
    missing = [name for name in PEERS if find_spec(name) is None]
    require(not missing, f"not installed: {', '.join(missing)}: pip install {' '.join(PEERS)}")
    torch.set_num_threads(1)
    torch.manual_seed(1)
    size = QUICK if args.quick else BASE
    found = report.about(CPU) | {"format": FORMAT, "clock": CLOCKS["cpu"]}
    found["versions"] |= {name: report.installed(name) for name in PEERS}
    with tempfile.TemporaryDirectory() as folder:
        stack = Stack(size).eval()
        systems = by_torch(stack) | by_onnx(stack, size.dim, Path(folder))
        found["eight_bits"] = [line for tokens in LENGTHS for line in measure(systems, size.dim, tokens, args.rounds)]
    report.deliver(found, args.out, table(found))


if __name__ == "__main__":
    report.finish(main, "bench/eight_bits.py")
