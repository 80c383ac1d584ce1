"""``--cpu-int8``: close to what 32 bits give, in every system and command, and never in training."""

import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from fairseq.modules import MultiheadAttention
from torch import nn

import lev_plugins
from lev_plugins.cli.main import main
from lev_plugins.errors import UserError
from lev_plugins.inference.labeller import Labeller
from lev_plugins.layers import int8
from lev_plugins.layers.int8 import Int8Linear, in_8_bits
from lev_plugins.layers.linear import Linear
from tests.commands import succeed
from tests.helpers import toy_config, toy_model, toy_task
from tests.systems import CORRECTION, SYSTEMS, flags_of


@pytest.fixture
def all_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(int8, "SMALLEST", 0)


def far(found: torch.Tensor, expected: torch.Tensor) -> float:
    return float((found - expected).abs().mean() / expected.abs().mean())


@pytest.mark.parametrize("bias", [True, False])
def test_a_product_is_close_to_that_in_32_bits(bias: bool) -> None:
    torch.manual_seed(1)
    exact = nn.Linear(256, 64, bias=bias)
    rounded = Int8Linear(exact.weight, exact.bias)
    x = torch.randn(3, 256, 5).transpose(1, 2)
    with torch.no_grad():
        assert 0 < far(rounded(x), exact(x)) < 0.02
        assert torch.equal(rounded(x), rounded(x.contiguous()))
        assert rounded(x[:0]).shape == (0, 5, 64)
        exact.weight[3] = 0
        assert Int8Linear(exact.weight)(x)[..., 3].abs().max() == 0


OVERFLOW = """
import torch
from lev_plugins.layers import int8
from lev_plugins.layers.int8 import Int8Linear
print(int8.overflows(), float(Int8Linear(torch.ones(8, 512))(torch.ones(1, 512)).sub(512).abs().max()))
"""


@pytest.mark.parametrize("limits", [{}, {"FBGEMM_ENABLE_INSTRUCTIONS": "AVX2"}])
def test_no_product_overflows(limits: dict[str, str]) -> None:
    """All weights and inputs are the largest there are: in 16 bits their sum would not fit."""
    printed = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", OVERFLOW], capture_output=True, text=True, env={**os.environ, **limits}
    )
    overflows, wrong = printed.stdout.split()
    assert float(wrong) < 0.01, printed.stderr
    if platform.machine() == "x86_64" and Path("/proc/cpuinfo").is_file():
        limited = bool(limits) or "FBGEMM_ENABLE_INSTRUCTIONS" in os.environ
        assert overflows == str(limited or "avx512_vnni" not in Path("/proc/cpuinfo").read_text("utf-8"))


def test_small_matrices_stay_in_32_bits() -> None:
    model = nn.Sequential(Linear(200, 249), Linear(250, 200))
    in_8_bits(model)
    assert [type(part) for part in model] == [Linear, Int8Linear]


def test_what_is_shared_is_rounded_once(all_sizes: None) -> None:
    model = nn.ModuleList([nn.Sequential(linear := nn.Linear(8, 8)), nn.Sequential(linear)])
    in_8_bits(model)
    assert model[0][0] is model[1][0]  # type: ignore[index]


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_system_answers_with_it(name: str, tmp_path: Path, all_sizes: None) -> None:
    system = SYSTEMS[name](tmp_path)
    model = system.load(cpu_int8=True)
    parts = parts_of(model)
    attention = tuple(name for name, part in parts.items() if isinstance(part, MultiheadAttention))
    left = [name for name, part in parts.items() if isinstance(part, nn.Linear)]
    assert any(isinstance(part, Int8Linear) for part in parts.values())
    assert all(name.startswith(attention) for name in left)
    assert len(system.answers(model)) == len(system.texts)
    folder = tmp_path / "exported"
    assert main(["export", str(system.checkpoint), str(folder), *system.flags]) == 0
    exported = parts_of(lev_plugins.load(folder, cpu_int8=True))
    in_both = [sum(isinstance(part, Int8Linear) for part in each.values()) for each in (parts, exported)]
    assert in_both[0] == in_both[1]


def parts_of(model: Any) -> dict[str, nn.Module]:
    return dict((model.scorer.model if isinstance(model, Labeller) else model.model.decoder.models[0]).named_modules())


def test_training_refuses_it() -> None:
    with pytest.raises(UserError, match="--cpu-int8 is for decoding"):
        toy_task(cpu_int8=True).build_model(toy_config())


def test_a_generator_that_is_built_before_the_weights_are_read_rounds_none(all_sizes: None) -> None:
    task, model = toy_task(cpu_int8=True), toy_model().eval()
    task.building = True
    task.prepare_for_decoding([model])
    assert not [part for part in model.modules() if isinstance(part, Int8Linear)]
    task.building = False
    task.prepare_for_decoding([model])
    assert [part for part in model.modules() if isinstance(part, Int8Linear)]


def test_fairseq_generate_takes_it(tmp_path: Path, all_sizes: None, monkeypatch: pytest.MonkeyPatch) -> None:
    system = SYSTEMS["pbd"](tmp_path)
    said = "the model has 8 bits now"
    monkeypatch.setattr("lev_plugins.tasks.precision.in_8_bits", lambda model: (print(said), in_8_bits(model)))
    flags = [*CORRECTION, *flags_of(system.bpe), *flags_of(system.decoding), "--gen-subset", "test"]
    log = succeed("fairseq-generate", system.data, *flags, "--path", system.checkpoint, "--cpu", "--cpu-int8").out
    assert log.count(said) == 1 and "H-0\t" in log
