"""``bench/outside.py`` runs and says what it promises. Never its speeds."""

import json
from pathlib import Path

import pytest
import torch
from torch.profiler import ProfilerActivity, profile

from bench import outside


def test_both_systems_are_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outside.main(["--quick", "--out", str(tmp_path / "found.json")])
    found = json.loads((tmp_path / "found.json").read_text("utf-8"))["outside"]
    for name in ("fairseq", "ours"):
        each = found[name]
        assert each["outside"] == pytest.approx(each["seconds"] - each["inside"]) and each["inside"] > 0
    assert "| the rest | " in capsys.readouterr().err


def test_every_product_is_inside() -> None:
    x, weight = torch.randn(2, 3, 4), torch.randn(5, 4)
    query = x[:, None]
    with profile(activities=[ProfilerActivity.CPU]) as found, torch.inference_mode():
        torch.nn.functional.linear(x, weight, torch.zeros(5))
        torch.nn.functional.linear(x, weight)
        torch.bmm(x, x.transpose(1, 2)).softmax(-1)
        torch.nn.functional.scaled_dot_product_attention(query, query, query)
    names = {event.key for event in found.key_averages() if event.key in outside.INSIDE}
    assert {"aten::bmm", "aten::_softmax", "aten::_scaled_dot_product_flash_attention_for_cpu"} <= names
    assert {"aten::addmm", "aten::mm"} & names
