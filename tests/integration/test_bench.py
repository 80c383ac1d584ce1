"""``bench/gpu.sh`` at tiny sizes, on a CPU and on a simulated GPU, so that on a real one nothing small can fail."""

import json
from pathlib import Path

import pytest

from bench import decode
from tests.commands import ROOT, Result, succeed
from tests.simulated_gpu import a_gpu

BENCH_SYSTEMS = ["enct5", "fairseq-levt", "fairseq-transformer", "gated-t5", "levt", "levt-spelling", "pbd"]
QUICK = {"QUICK": "yes", "UPDATES": "6", "WORDS": "12", "JOBS": "0", "TOKENS": "400", "PACKAGES": "", "VOCAB": "300"}

pytestmark = pytest.mark.slow


def gpu_script(out: Path, **settings: str) -> Result:
    return succeed("bash", ROOT / "bench" / "gpu.sh", out, **QUICK, SENTENCES="300", LIMIT="800", **settings)


def trainings(out: Path) -> list[str]:
    rows = json.loads((out / "train.json").read_text("utf-8"))["training"]
    assert all(float(row["words/s"].replace(",", "")) > 0 for row in rows)
    return sorted(row["system"] for row in rows)


def test_all_steps_run_on_a_cpu(tmp_path: Path) -> None:
    printed = gpu_script(tmp_path, DEVICE="cpu", STEPS="decode,text,train,edit,profile,bfloat16,float16").out
    assert "has failed" not in printed and "left out" not in printed, printed
    assert trainings(tmp_path) == BENCH_SYSTEMS
    lines = json.loads((tmp_path / "decode.json").read_text("utf-8"))["decoding"]
    assert [line["batch"] for line in lines if line["peer"] == "LevT"] == [1, 100]
    assert all(line["equal_outputs"] == 1 for line in lines if line["peer"] == "LevT")
    assert "graphs" in json.loads((tmp_path / "edit.json").read_text("utf-8"))["editing"]


def test_a_failing_step_does_not_stop_the_others(tmp_path: Path) -> None:
    printed = gpu_script(tmp_path, DEVICE="cpu", STEPS="edit,profile").out
    assert "edit has failed" in printed and (tmp_path / "profile.json").is_file() and "profile has" not in printed


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_decoding_runs_on_a_simulated_gpu(dtype: str, tmp_path: Path) -> None:
    with a_gpu():
        decode.main(["--quick", "--device", "cuda", "--dtype", dtype, "--out", str(tmp_path / "out.json")])
    assert json.loads((tmp_path / "out.json").read_text("utf-8"))["dtype"] == dtype


def test_trainings_run_on_a_simulated_gpu(tmp_path: Path) -> None:
    with a_gpu():
        printed = gpu_script(tmp_path, DEVICE="cuda", STEPS="text,train").out
    assert "has failed" not in printed and trainings(tmp_path) == BENCH_SYSTEMS, printed
    assert "CUDA enviroments for all 1 workers" in (tmp_path / "train.levt.log").read_text("utf-8")
