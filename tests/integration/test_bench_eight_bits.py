"""``bench/eight_bits.py`` runs and says what it promises, without its peer. Never its speeds."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from bench import eight_bits
from bench.eight_bits import QUICK, Plain, Runner, Stack
from lev_plugins.errors import UserError


def test_what_is_exported_is_our_encoder() -> None:
    torch.manual_seed(1)
    stack = Stack(QUICK).eval()
    x = torch.randn(2, 7, QUICK.dim)
    with torch.no_grad():
        assert torch.allclose(stack(x), Plain(stack)(x), atol=1e-5)


def test_every_length_and_system_is_measured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def peer(stack: Stack, *_: Any) -> dict[str, Runner]:
        return {
            f"ONNX Runtime, {name}": lambda x: stack(torch.from_numpy(x)).detach().numpy() for name in ("fp32", "int8")
        }

    monkeypatch.setattr(eight_bits, "find_spec", lambda _: object())
    monkeypatch.setattr(eight_bits, "by_onnx", peer)
    eight_bits.main(["--quick", "--rounds", "2", "--out", str(tmp_path / "found.json")])
    lines = json.loads((tmp_path / "found.json").read_text("utf-8"))["eight_bits"]
    names = [f"{library}, {precision}" for library in ("torch", "ONNX Runtime") for precision in ("fp32", "int8")]
    assert [(line["tokens"], line["system"]) for line in lines] == [(n, name) for n in (10, 30, 120) for name in names]
    for line in lines:
        assert line["seconds"]["median"] > 0 and (0 < line["error"] < 0.05) == (line["system"] == "torch, int8")
    assert len([line for line in capsys.readouterr().err.splitlines() if line.startswith("|")]) == 2 + len(lines)


def test_without_its_peer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(eight_bits, "find_spec", lambda name: None if name == "onnx" else object())
    with pytest.raises(UserError, match="not installed: onnx: pip install onnx onnxruntime"):
        eight_bits.main(["--quick"])
