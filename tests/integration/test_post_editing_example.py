"""examples/post_editing/run.sh as its README calls it, on a text of a few hundred invented sentences."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

import pytest

from tests.integration.commands import ROOT, Result, readme_command, run, succeed

EXAMPLE = ROOT / "examples" / "post_editing"
WORDS = ["red", "blue", "old", "young", "small", "big", "dog", "cat", "man", "runs", "sleeps", "sits", "eats", "now"]
SMALL = [
    *("--vocab", "60", "--tokens", "400", "--layers", "1", "--width", "16", "--ffn", "32", "--heads", "2"),
    *("--warmup", "4", "--updates", "10", "--finetune-updates", "10", "--valid-every", "5", "--weak-epochs", "1"),
    *("--weak-width", "16", "--beam", "2", "--max-iter", "2", "--gpus", "0", "--threads", "1", "--gammas", "0"),
    *("--keep-biases", "-1,1"),
]
SYSTEMS = ["autoregressive", "scratch", "zero_shot", "finetuned", "translator", "translator_delete"]
SYSTEMS += ["translator_both", "finetuned_delete", "finetuned_both"]


def write_text(folder: Path, *suffixes: str) -> Path:
    draw = random.Random(1)
    folder.mkdir()
    for split, size in (("train", 300), ("valid", 8), ("test16", 6)):
        text = [" ".join(draw.choices(WORDS, k=draw.randint(3, 6))) for _ in range(size)]
        for suffix in suffixes:
            changed = text if suffix == "en" else [line.upper() for line in text]
            (folder / f"{split}.{suffix}").write_text("".join(f"{line}\n" for line in changed), encoding="utf-8")
    return folder


def printed_command(number: int, text: Path, out: Path, *more: str) -> list[str]:
    return [*readme_command("post_editing", number, text=text, out=out), *SMALL, *more]


def test_every_system_is_trained_and_scored(tmp_path: Path) -> None:
    """No drafts are given, so a weak system makes them."""
    out = tmp_path / "run"
    command = printed_command(0, write_text(tmp_path / "text", "en", "de"), out)
    printed = succeed(*command, timeout=600).out
    found = json.loads((out / "report.json").read_text(encoding="utf-8"))
    assert "not yet run" not in (out / "report.md").read_text(encoding="utf-8")
    assert printed.endswith((out / "report.md").read_text(encoding="utf-8"))
    assert {f"test_{name}" for name in SYSTEMS} == {name for name, entry in found["systems"].items() if entry} - {
        "do_nothing"
    }
    assert all("iterations" in found["systems"][f"test_{name}"] for name in SYSTEMS if name != "autoregressive")
    drafts = (out / "drafts" / "test.draft").read_text(encoding="utf-8").splitlines()
    assert len(drafts) == 6 and not any("▁" in line for line in drafts)
    assert found["minutes"].keys() >= {"weak", "autoregressive", "scratch", "translator", "finetuned"}
    assert "finetuned           already done" in succeed(*command, timeout=600).out


@pytest.mark.parametrize("number", [2, 3])
def test_drafts_that_are_there_are_taken(number: int, tmp_path: Path) -> None:
    text = write_text(tmp_path / "text", "src", "pe", "mt")
    for split in ("train", "valid"):
        assert (text / f"{split}.mt").is_file()
    command = printed_command(number, text, tmp_path / "run", "--dry-run")
    printed = succeed(*command).out
    assert "# triples\n" in printed and "# weak" not in printed and " -d mt " in printed and "--halve" not in printed


def test_a_translator_that_is_there_is_taken(tmp_path: Path) -> None:
    command = printed_command(1, write_text(tmp_path / "text", "en", "de"), tmp_path / "run", "--dry-run")
    printed = succeed(*command).out
    assert "# finetuned\n" in printed and "# test_teacher\n" in printed and "# translator\n" not in printed
    assert "--finetune-from-model runs/multi30k/levt/checkpoint_best.pt" in printed
    assert "--sentencepiece-model runs/multi30k/pieces/pieces.en-de.model" in printed


def refused(*command: object) -> Result:
    result = run(*command)
    assert result.code == 2
    return result


def test_a_translation_that_is_not_finished_is_refused(tmp_path: Path) -> None:
    command = printed_command(0, write_text(tmp_path / "text", "en", "de"), tmp_path / "run")
    result = refused(*command, "--translation", tmp_path)
    assert f"--translation {tmp_path}: there is no finished run of examples/translation" in result.err


def test_hter_wants_a_number_for_each_draft(tmp_path: Path) -> None:
    for name, lines in (("mt", "a b\nc\n"), ("pe", "a b\nd\n"), ("hter", "0.0\n")):
        (tmp_path / name).write_text(lines, encoding="utf-8")
    flags = [part for name in ("draft", "post-edit", "hter") for part in (f"--{name}", tmp_path / name[:2])]
    flags[1], flags[3], flags[5] = tmp_path / "mt", tmp_path / "pe", tmp_path / "hter"
    result = run(sys.executable, EXAMPLE / "hter.py", *flags)
    assert result.code != 0 and "hter" in result.err and "Traceback" not in result.err
    (tmp_path / "hter").write_text("0.0\n1.0\n", encoding="utf-8")
    assert "1.0000" in succeed(sys.executable, EXAMPLE / "hter.py", *flags).out
