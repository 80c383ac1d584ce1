"""``lev-plugins distill`` in this process: what it writes, what it keeps, what it refuses."""

from pathlib import Path
from typing import Any

import pytest
import torch
from fairseq.data import Dictionary, data_utils

from lev_plugins.cli import distill
from lev_plugins.cli.main import main
from lev_plugins.export.decoder import CheckpointDecoder
from lev_plugins.training import checkpoints
from tests.commands import succeed
from tests.helpers import Refusal
from tests.teachers import LEVT, TRANSFORMER, random_triples, write_teacher

LONG = 7  # of the 30 training sentences, the line that is too long for the teacher
SHORT = ["--max-len-b", 8, "--beam", 2]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two parts for training, with drafts; a dictionary for all."""
    lines = {"train": 30, "extra-train": 11, "test": 4}
    return random_triples(tmp_path_factory.mktemp("distill"), lines, ("train", LONG - 1))


@pytest.fixture(scope="module")
def teacher(data: Path) -> Path:
    lengths = ["--max-source-positions", 20, "--max-target-positions", 20]
    return write_teacher(data.parent / "teacher.pt", data, *TRANSFORMER, *lengths, "-s", "en", "-t", "de")


def command(data: Path, teacher: object, *flags: object, search: list = SHORT) -> list[object]:
    return ["distill", data, "--path", teacher, "--cpu", *search, *flags]


def run(*given: Any, **options: Any) -> int:
    return main([str(word) for word in command(*given, **options)])


def rows(folder: Path, part: str, side: str) -> list[list[int]]:
    found = data_utils.load_indexed_dataset(f"{folder}/{part}.en-de.{side}", None)
    return [found[i].tolist() for i in range(len(found))]


def strings(folder: Path, part: str, side: str) -> list[str]:
    dictionary = Dictionary.load(str(folder / "dict.de.txt"))
    return [dictionary.string(torch.tensor(row)) for row in rows(folder, part, side)]


def generated(data: Path, teacher: object, part: str, *flags: object) -> dict[int, str]:
    """What fairseq-generate says of each sentence."""
    words = [data, "--path", teacher, "--gen-subset", part, "--cpu", "--required-batch-size-multiple", 1]
    log = succeed("fairseq-generate", *words, *SHORT, *flags).out
    lines = [line.split("\t") for line in log.splitlines() if line.startswith("H-")]
    return {int(line[0][2:]): line[2] for line in lines}


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


# ---- what is written -------------------------------------------------------------------------------------------------


def test_targets_are_what_fairseq_generate_says(
    data: Path, teacher: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setattr("sys.argv", ["fairseq"])  # where fairseq looks for --user-dir
    assert run(data, teacher, "--dest", tmp_path / "new", "--shard-size", 8) == 0
    task = ["--task", "translation", "-s", "en", "-t", "de", "--skip-invalid-size-inputs-valid-test"]
    task += ["--max-source-positions", 20, "--max-target-positions", 20]
    for part, lines in (("train", 30), ("train1", 11)):
        expected = generated(data, teacher, part, *task)
        found = strings(tmp_path / "new", part, "de")
        assert len(set(expected.values())) > lines / 2  # the teacher has something to say
        kept = {LONG - 1: strings(data, part, "de")[LONG - 1]} if part == "train" else {}
        assert dict(enumerate(found)) == {**expected, **kept}
        assert all(row[-1] == 2 for row in rows(tmp_path / "new", part, "de"))
    said = capsys.readouterr().out
    assert "new has the targets of the teacher\n" in said
    assert f"1 too long for the teacher keep their reference: line {LONG}\n" in said
    before, after = contents(data), contents(tmp_path / "new")
    changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    assert changed == {f"{part}.en-de.de.{end}" for part in ("train", "train1") for end in ("bin", "idx")}
    assert [path.name for path in tmp_path.iterdir()] == ["new"]


def test_a_teacher_that_edits_drafts_reads_them(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["fairseq"])
    task = ["--task", "text_editing", "-s", "en", "-t", "de", "--draft-lang", "mt"]
    editor = write_teacher(tmp_path / "editor.pt", data, *LEVT, *task, "--share-all-embeddings", seed=3)
    assert run(data, editor, "--dest", tmp_path / "new", "--shard-size", 8, search=[]) == 0
    found = strings(tmp_path / "new", "train1", "de")
    assert dict(enumerate(found)) == generated(data, editor, "train1", *task)
    assert run(data, editor, "--dest", tmp_path / "none", "--model-overrides", "{'draft_lang': None}", search=[]) == 0
    assert strings(tmp_path / "none", "train1", "de") != found


def test_an_ensemble(data: Path, teacher: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["fairseq"])
    other = write_teacher(tmp_path / "other.pt", data, *TRANSFORMER, "-s", "en", "-t", "de", seed=2)
    both = f"{teacher}:{other}"
    assert run(data, both, "--dest", tmp_path / "new", "--split", "test") == 0
    found = strings(tmp_path / "new", "test", "de")
    assert dict(enumerate(found)) == generated(data, both, "test", "--task", "translation", "-s", "en", "-t", "de")
    assert run(data, teacher, "--dest", tmp_path / "one", "--split", "test") == 0
    assert found != strings(tmp_path / "one", "test", "de")


def test_other_suffixes_than_in_the_training(data: Path, teacher: Path, tmp_path: Path, refusal: Refusal) -> None:
    renamed = tmp_path / "data"
    renamed.mkdir()
    for path in data.iterdir():
        name = path.name.replace("en-de", "x-y").replace(".en.", ".x.").replace(".de.", ".y.")
        (renamed / name).write_bytes(path.read_bytes())
    said = refusal(*command(renamed, teacher, "--dest", tmp_path / "new", "--split", "test"))
    assert "give --source-lang and --target-lang" in said
    flags = ["--split", "test", "-s", "x", "-t", "y"]
    assert run(renamed, teacher, "--dest", tmp_path / "new", *flags) == 0
    assert run(data, teacher, "--dest", tmp_path / "old", "--split", "test") == 0
    old, new = tmp_path / "old" / "test.en-de.de.bin", tmp_path / "new" / "test.x-y.y.bin"
    assert old.read_bytes() == new.read_bytes()


def test_every_search_flag_reaches_the_search(data: Path, teacher: Path) -> None:
    values = {"beam": 3, "lenpen": 0.5, "unkpen": 2.0, "max_len_a": 1.5, "max_len_b": 9, "min_len": 2}
    values["no_repeat_ngram_size"] = 4
    assert values.keys() == set(distill.SEARCH)
    generator = CheckpointDecoder([teacher], {"data": str(data)}, values, "cpu").generator
    assert generator.repeat_ngram_blocker.no_repeat_ngram_size == 4
    renamed = {"beam": "beam_size", "lenpen": "len_penalty", "unkpen": "unk_penalty"}
    for name in values.keys() - {"no_repeat_ngram_size"}:
        assert getattr(generator, renamed.get(name, name)) == values[name], name


@pytest.mark.gpu
def test_a_gpu_writes_what_a_cpu_writes(data: Path, teacher: Path, tmp_path: Path) -> None:
    assert run(data, teacher, "--dest", tmp_path / "cpu") == 0
    words = ["distill", data, "--path", teacher, *SHORT, "--dest", tmp_path / "gpu"]
    assert main([str(word) for word in words]) == 0
    assert contents(tmp_path / "cpu") == contents(tmp_path / "gpu")


# ---- stopping and going on -------------------------------------------------------------------------------------------


def stop_after(monkeypatch: pytest.MonkeyPatch, shards: int) -> list[str]:
    """The names of the shards that are written from here on; after so many it is as if somebody had pressed Ctrl-C."""
    written: list[str] = []
    write = distill.write_json

    def counting(path: Path, content: Any) -> None:
        if isinstance(content, list):
            if len(written) == shards:
                raise KeyboardInterrupt
            written.append(path.name)
        write(path, content)

    monkeypatch.setattr(distill, "write_json", counting)
    return written


def test_a_stop_costs_the_open_shard(
    data: Path, teacher: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusal: Refusal
) -> None:
    flags = ["--dest", tmp_path / "new", "--shard-size", 8]
    with monkeypatch.context() as patched:
        stop_after(patched, 2)
        assert run(data, teacher, *flags) == 130
    shards = tmp_path / "new.shards"
    assert sorted(path.name for path in shards.glob("train*")) == ["train.0-8.json", "train.8-16.json"]
    assert not (tmp_path / "new").exists()
    written = stop_after(monkeypatch, 99)
    assert run(data, teacher, *flags) == 0
    assert written == [f"train{shard}.json" for shard in (".16-24", ".24-30", "1.0-8", "1.8-11")]
    assert not shards.exists()
    assert f"--dest {tmp_path / 'new'} is not empty" in refusal(*command(data, teacher, *flags))
    assert run(data, teacher, "--dest", tmp_path / "whole", "--shard-size", 8) == 0
    assert contents(tmp_path / "new") == contents(tmp_path / "whole")


def test_shards_of_other_settings_are_not_used(
    data: Path, teacher: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusal: Refusal
) -> None:
    flags = ["--dest", tmp_path / "new", "--shard-size", 8]
    stop_after(monkeypatch, 1)
    assert run(data, teacher, *flags) == 130
    monkeypatch.undo()
    other = write_teacher(tmp_path / "other.pt", data, *TRANSFORMER, "-s", "en", "-t", "de", seed=2)
    same = tmp_path / "same"
    same.symlink_to(data)
    for changed, name in (
        ((data, teacher, *flags, "--lenpen", 2), "--lenpen"),
        ((data, teacher, *flags, "--min-len", 2, "--unkpen", 1), "--unkpen and --min-len"),
        ((data, other, *flags), "--path"),
        ((same, teacher, *flags), "DATA"),
        ((data, teacher, *flags, "-s", "de", "-t", "en"), "--source-lang and --target-lang"),
        ((data, teacher, *flags, "--model-overrides", "{'dropout': 0}"), "--model-overrides"),
    ):
        assert f"new.shards was started with different {name}: remove it to start again" in refusal(*command(*changed))
    assert run(data, teacher, *flags, "--max-tokens", 50) == 0


# ---- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--beam", 0], "--beam must be at least 1, but is 0"),
        (["--model-overrides", "[1]"], "--model-overrides must be a dictionary, but is [1]"),
        (["--model-overrides", "a b"], "--model-overrides must be a dictionary in Python's notation"),
        (["--split", "valid"], "valid.en-de.de.idx: if the suffixes in that folder differ from those of the"),
    ],
)
def test_flags_that_cannot_work(
    data: Path, teacher: Path, tmp_path: Path, flags: list, message: str, refusal: Refusal
) -> None:
    assert message in refusal(*command(data, teacher, "--dest", tmp_path / "new", *flags))
    assert list(tmp_path.iterdir()) == []


def test_another_dictionary(data: Path, teacher: Path, tmp_path: Path, refusal: Refusal) -> None:
    copy = tmp_path / "data"
    copy.mkdir()
    for path in data.iterdir():
        (copy / path.name).write_bytes(path.read_bytes() + (b"extra 1\n" if path.suffix == ".txt" else b""))
    said = refusal(*command(copy, teacher, "--dest", tmp_path / "new"))
    assert f"{teacher} does not fit the dictionaries in {copy}: use a data folder with" in said


def test_a_folder_without_data(teacher: Path, tmp_path: Path, refusal: Refusal) -> None:
    said = refusal(*command(tmp_path, teacher, "--dest", tmp_path / "new"))
    assert f"{tmp_path} has no pair of binarised texts: create such a folder with lev-plugins prepare" in said


def test_a_teacher_that_does_not_say_what_it_translates(data: Path, teacher: Path, tmp_path: Path) -> None:
    """fairseq does not keep the languages that it found in the folder; drafts there are no pair of their own."""
    state = checkpoints.load(teacher)
    state["cfg"]["task"].update(source_lang=None, target_lang=None)
    checkpoints.save(state, tmp_path / "mute.pt")
    assert run(data, tmp_path / "mute.pt", "--dest", tmp_path / "new", "--split", "test") == 0
    assert run(data, teacher, "--dest", tmp_path / "same", "--split", "test") == 0
    assert contents(tmp_path / "new") == contents(tmp_path / "same")
