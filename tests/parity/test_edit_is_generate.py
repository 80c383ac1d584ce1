"""``lev-plugins edit`` against ``fairseq-generate``: the same text for each of 200 lines, for each kind of model.

White space is not compared: ``edit`` keeps that of its input. Nor are case and accents, where the model has none.
"""

import io
import random
import sys
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from lev_plugins.cli.main import main
from lev_plugins.training import checkpoints
from tests import pretrained
from tests.commands import outputs, succeed
from tests.systems import CORRECTION_FLAGS, SYSTEMS, System, flags_of

LINE_COUNT = 200
MAX_WORDS = 5
MAX_POSITIONS = 14  # of correctors, since the default limit of fairseq depends on the batch
UNKNOWN_WORD = "Zürich"
DRAFT_EDITING = ["--task", "text_editing", "--draft-lang", "mt"]


@dataclass(frozen=True)
class Trial:
    """A kind of model, the words of its toy language, and flags that only fairseq-generate needs."""

    kind: str
    words: list[str]
    flags: list[object]
    sides: tuple[str, str] = ("noisy", "clean")
    draft: Callable[[random.Random, str], str] | None = (
        None  # None: edit gets no draft, and fairseq-generate the source as draft
    )
    model: dict[str, Any] = field(default_factory=dict)  # settings to change in the checkpoint
    uncased: bool = False
    changed: float = 0.5  # at least this share of the lines


def noisy_draft(draw: random.Random, source: str) -> str:
    """Returns the source with words removed, protected, marked for deletion, or replaced by unknown ones."""
    forms = ["{}", "{}", "", f"{{}} {UNKNOWN_WORD}", "⟦!{}⟧", "⟦-{}⟧", "x{}"]
    words = (draw.choice(forms).format(word) for word in source.replace("w", "v").split())
    return " ".join(filter(None, words))


SHORT_TEXTS = {"max_source_positions": MAX_POSITIONS, "max_target_positions": MAX_POSITIONS}
TOY_WORDS = [word for line in pretrained.TOKENIZER_LINES for word in line.split() if word.isalpha()]
TRIALS = [
    Trial(
        "levt", [f"w{i}" for i in range(4, 29)], [*DRAFT_EDITING, "-s", "src", "-t", "tgt"], ("src", "tgt"), noisy_draft
    ),
    Trial("levt that spells", ["the", "value", "of", "function"], [*DRAFT_EDITING, "-s", "noisy", "-t", "clean"]),
    Trial(
        "levt with a bert",
        ["the", "quick", "fox", "jumps"],
        [*DRAFT_EDITING, "-s", "noisy", "-t", "clean"],
        draft=noisy_draft,
    ),
    Trial("levt on subwords", ["the", "value", "of", "function"], [*DRAFT_EDITING, "-s", "noisy", "-t", "clean"]),
    *(
        Trial(kind, list("abcdefABCDEF"), CORRECTION_FLAGS, model=SHORT_TEXTS)
        for kind in ("pbd", "gated_trans", "transformer")
    ),
    Trial("gated_bart", TOY_WORDS, [*CORRECTION_FLAGS, "--keep-bias", 0.5]),
    Trial("gated_bert", TOY_WORDS, [*CORRECTION_FLAGS, "--keep-bias", 0.5], uncased=True, changed=0.3),
]


@pytest.mark.parametrize("trial", TRIALS, ids=lambda trial: trial.kind)
def test_edit_matches_fairseq_generate(trial: Trial, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if trial.kind not in SYSTEMS:
        pytest.importorskip("transformers")
    system, draw = write_system(trial, tmp_path), random.Random(1)
    sources = distinct_sentences(trial.words, draw)
    drafts = [trial.draft(draw, source) if trial.draft else source for source in sources]
    expected = generate_lines(trial, system, prepare_data(trial, system, sources, drafts))
    folder = system.export(tmp_path / "folder", "--trainable")  # graphs in 32 bits: others round
    lines = edit_lines(folder, sources, tmp_path / "test.mt" if trial.draft else None, monkeypatch)
    compared = {i: line for i, line in enumerate(expected) if "<unk>" not in line}  # edit keeps the text there
    texts = [without_case_and_accents(lines[i]) if trial.uncased else lines[i] for i in compared]
    # an untrained BERT may begin with the rest of a word, which its tokenizer then prints with its mark
    expected = [line.removeprefix("##") for line in compared.values()]
    assert [text.split() for text in texts] == [line.split() for line in expected]
    assert len(compared) > 0.9 * LINE_COUNT
    assert sum(draft != line for draft, line in zip(drafts, lines, strict=True)) > trial.changed * LINE_COUNT
    assert trial.draft is None or sum(UNKNOWN_WORD in line for line in lines) > LINE_COUNT / 10


def without_case_and_accents(text: str) -> str:
    return "".join(sign for sign in unicodedata.normalize("NFD", text.lower()) if unicodedata.category(sign) != "Mn")


def write_system(trial: Trial, folder: Path) -> System:
    system = SYSTEMS[trial.kind](folder)
    state = checkpoints.load(system.checkpoint)
    settings = state["cfg"]["model"]
    (settings if isinstance(settings, dict) else vars(settings)).update(trial.model)
    checkpoints.save(state, system.checkpoint)
    return system


def distinct_sentences(words: list[str], draw: random.Random) -> list[str]:
    texts: dict[str, None] = {}
    while len(texts) < LINE_COUNT:
        texts[" ".join(draw.choices(words, k=draw.randint(1, MAX_WORDS)))] = None
    return list(texts)


def prepare_data(trial: Trial, system: System, sources: list[str], drafts: list[str]) -> Path:
    (source, target), folder = trial.sides, system.checkpoint.parent
    for side, lines in ((source, sources), ("mt", drafts), (target, sources)):
        (folder / f"test.{side}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    words: list[object] = ["prepare", "-s", source, "-d", "mt", "-t", target, "--test-prefix", folder / "test"]
    words += ["--srcdict", system.data / f"dict.{source}.txt", "--tgtdict", system.data / f"dict.{target}.txt"]
    assert main([str(word) for word in [*words, "--dest", folder / "prepared", *flags_of(system.bpe)]]) == 0
    return folder / "prepared"


def generate_lines(trial: Trial, system: System, data: Path) -> list[str]:
    flags = [*trial.flags, *flags_of(system.bpe), *flags_of(system.decoding)]
    log = succeed("fairseq-generate", data, *flags, "--path", system.checkpoint, "--gen-subset", "test", "--cpu").out
    return list(outputs(log).values())


def edit_lines(folder: Path, lines: list[str], drafts: Path | None, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("".join(f"{line}\n" for line in lines).encode())))
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(out := io.BytesIO(), write_through=True))
    flags = ["--drafts", drafts] if drafts else []
    assert main([str(word) for word in ["edit", folder, *flags]]) == 0
    return out.getvalue().decode().splitlines()
