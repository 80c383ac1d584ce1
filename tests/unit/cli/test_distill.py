"""``lev-plugins distill``: targets, resumed runs and refused flags."""

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
from tests.helpers import Refusal, file_contents, mentions
from tests.teachers import LEVT, TRANSFORMER, random_triples, write_teacher

LONG = 7  # of the 30 training sentences, the line that is too long for the teacher
SHORT = ["--max-len-b", 8, "--beam", 2]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns binarised data: two training sets with drafts, and a joined dictionary."""
    lines = {"train": 30, "extra-train": 11, "test": 4}
    return random_triples(tmp_path_factory.mktemp("distill"), lines, ("train", LONG - 1))


@pytest.fixture(scope="module")
def teacher(data: Path) -> Path:
    lengths = ["--max-source-positions", 20, "--max-target-positions", 20]
    return write_teacher(data.parent / "teacher.pt", data, *TRANSFORMER, *lengths, "-s", "en", "-t", "de")


def arguments(data: Path, teacher: object, *flags: object, search: list = SHORT) -> list[object]:
    return ["distill", data, "--path", teacher, "--cpu", *search, *flags]


def call(*words: Any, **options: Any) -> int:
    return main([str(word) for word in arguments(*words, **options)])


def rows(folder: Path, part: str, side: str) -> list[list[int]]:
    dataset = data_utils.load_indexed_dataset(f"{folder}/{part}.en-de.{side}", None)
    return [dataset[i].tolist() for i in range(len(dataset))]


def strings(folder: Path, part: str, side: str) -> list[str]:
    dictionary = Dictionary.load(str(folder / "dict.de.txt"))
    return [dictionary.string(torch.tensor(row)) for row in rows(folder, part, side)]


def generated(data: Path, teacher: object, part: str, *flags: object) -> dict[int, str]:
    """Returns the output of fairseq-generate by sentence."""
    words = [data, "--path", teacher, "--gen-subset", part, "--cpu", "--required-batch-size-multiple", 1]
    log = succeed("fairseq-generate", *words, *SHORT, *flags).out
    lines = [line.split("\t") for line in log.splitlines() if line.startswith("H-")]
    return {int(line[0][2:]): line[2] for line in lines}


# ---- what is written -------------------------------------------------------------------------------------------------


def test_distilled_targets_equal_the_output_of_fairseq_generate(
    data: Path, teacher: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setattr("sys.argv", ["fairseq"])  # where fairseq looks for --user-dir
    assert call(data, teacher, "--dest", tmp_path / "new", "--shard-size", 8) == 0
    task = ["--task", "translation", "-s", "en", "-t", "de", "--skip-invalid-size-inputs-valid-test"]
    task += ["--max-source-positions", 20, "--max-target-positions", 20]
    for part, lines in (("train", 30), ("train1", 11)):
        expected = generated(data, teacher, part, *task)
        targets = strings(tmp_path / "new", part, "de")
        assert len(set(expected.values())) > lines / 2  # the teacher has something to say
        references = {LONG - 1: strings(data, part, "de")[LONG - 1]} if part == "train" else {}
        assert dict(enumerate(targets)) == {**expected, **references}
        assert all(row[-1] == 2 for row in rows(tmp_path / "new", part, "de"))
    printed = capsys.readouterr().out
    assert "new has the targets of the teacher\n" in printed
    assert f": line {LONG}\n" in printed
    original, distilled = file_contents(data), file_contents(tmp_path / "new")
    changed = {name for name in original.keys() | distilled.keys() if original.get(name) != distilled.get(name)}
    assert changed == {f"{part}.en-de.de.{end}" for part in ("train", "train1") for end in ("bin", "idx")}
    assert [path.name for path in tmp_path.iterdir()] == ["new"]


def test_a_levt_teacher_edits_the_drafts(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["fairseq"])
    task = ["--task", "text_editing", "-s", "en", "-t", "de", "--draft-lang", "mt"]
    editor = write_teacher(tmp_path / "editor.pt", data, *LEVT, *task, "--share-all-embeddings", seed=3)
    assert call(data, editor, "--dest", tmp_path / "new", "--shard-size", 8, search=[]) == 0
    targets = strings(tmp_path / "new", "train1", "de")
    assert dict(enumerate(targets)) == generated(data, editor, "train1", *task)
    assert call(data, editor, "--dest", tmp_path / "none", "--model-overrides", "{'draft_lang': None}", search=[]) == 0
    assert strings(tmp_path / "none", "train1", "de") != targets


def test_an_ensemble_of_teachers_writes_its_joint_output(
    data: Path, teacher: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["fairseq"])
    second_teacher = write_teacher(tmp_path / "other.pt", data, *TRANSFORMER, "-s", "en", "-t", "de", seed=2)
    both = f"{teacher}:{second_teacher}"
    assert call(data, both, "--dest", tmp_path / "new", "--split", "test") == 0
    targets = strings(tmp_path / "new", "test", "de")
    assert dict(enumerate(targets)) == generated(data, both, "test", "--task", "translation", "-s", "en", "-t", "de")
    assert call(data, teacher, "--dest", tmp_path / "one", "--split", "test") == 0
    assert targets != strings(tmp_path / "one", "test", "de")


def test_languages_other_than_in_the_training_need_flags(
    data: Path, teacher: Path, tmp_path: Path, refusal: Refusal
) -> None:
    renamed = tmp_path / "data"
    renamed.mkdir()
    for path in data.iterdir():
        name = path.name.replace("en-de", "x-y").replace(".en.", ".x.").replace(".de.", ".y.")
        (renamed / name).write_bytes(path.read_bytes())
    message = refusal(*arguments(renamed, teacher, "--dest", tmp_path / "new", "--split", "test"))
    assert mentions(message, "--source-lang --target-lang")
    flags = ["--split", "test", "-s", "x", "-t", "y"]
    assert call(renamed, teacher, "--dest", tmp_path / "new", *flags) == 0
    assert call(data, teacher, "--dest", tmp_path / "old", "--split", "test") == 0
    original_file, renamed_file = tmp_path / "old" / "test.en-de.de.bin", tmp_path / "new" / "test.x-y.y.bin"
    assert original_file.read_bytes() == renamed_file.read_bytes()


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
def test_distill_on_a_gpu_equals_a_cpu(data: Path, teacher: Path, tmp_path: Path) -> None:
    assert call(data, teacher, "--dest", tmp_path / "cpu") == 0
    words = ["distill", data, "--path", teacher, *SHORT, "--dest", tmp_path / "gpu"]
    assert main([str(word) for word in words]) == 0
    assert file_contents(tmp_path / "cpu") == file_contents(tmp_path / "gpu")


# ---- stopping and going on -------------------------------------------------------------------------------------------


def stop_after(monkeypatch: pytest.MonkeyPatch, shards: int) -> list[str]:
    """Interrupts distill after a number of shards; returns the list of the names of the shards it writes."""
    shard_names: list[str] = []
    write = distill.write_json

    def counting(path: Path, content: Any) -> None:
        if isinstance(content, list):
            if len(shard_names) == shards:
                raise KeyboardInterrupt
            shard_names.append(path.name)
        write(path, content)

    monkeypatch.setattr(distill, "write_json", counting)
    return shard_names


def test_a_stopped_run_continues_at_the_open_shard(
    data: Path, teacher: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusal: Refusal
) -> None:
    flags = ["--dest", tmp_path / "new", "--shard-size", 8]
    with monkeypatch.context() as patched:
        stop_after(patched, 2)
        assert call(data, teacher, *flags) == 130
    shards = tmp_path / "new.shards"
    assert sorted(path.name for path in shards.glob("train*")) == ["train.0-8.json", "train.8-16.json"]
    assert not (tmp_path / "new").exists()
    shard_names = stop_after(monkeypatch, 99)
    assert call(data, teacher, *flags) == 0
    assert shard_names == [f"train{shard}.json" for shard in (".16-24", ".24-30", "1.0-8", "1.8-11")]
    assert not shards.exists()
    assert mentions(refusal(*arguments(data, teacher, *flags)), f"--dest {tmp_path / 'new'} empty")
    assert call(data, teacher, "--dest", tmp_path / "whole", "--shard-size", 8) == 0
    assert file_contents(tmp_path / "new") == file_contents(tmp_path / "whole")


def test_shards_of_different_settings_are_refused(
    data: Path, teacher: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusal: Refusal
) -> None:
    flags = ["--dest", tmp_path / "new", "--shard-size", 8]
    stop_after(monkeypatch, 1)
    assert call(data, teacher, *flags) == 130
    monkeypatch.undo()
    second_teacher = write_teacher(tmp_path / "other.pt", data, *TRANSFORMER, "-s", "en", "-t", "de", seed=2)
    linked_data = tmp_path / "same"
    linked_data.symlink_to(data)
    for words, name in (
        ((data, teacher, *flags, "--lenpen", 2), "--lenpen"),
        ((data, teacher, *flags, "--min-len", 2, "--unkpen", 1), "--unkpen and --min-len"),
        ((data, second_teacher, *flags), "--path"),
        ((linked_data, teacher, *flags), "DATA"),
        ((data, teacher, *flags, "-s", "de", "-t", "en"), "--source-lang and --target-lang"),
        ((data, teacher, *flags, "--model-overrides", "{'dropout': 0}"), "--model-overrides"),
    ):
        assert mentions(refusal(*arguments(*words)), f"new.shards different {name}")
    assert call(data, teacher, *flags, "--max-tokens", 50) == 0


# ---- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--beam", 0], "--beam 0"),
        (["--model-overrides", "[1]"], "--model-overrides dictionary [1]"),
        (["--model-overrides", "a b"], "--model-overrides dictionary"),
        (["--split", "valid"], "valid.en-de.de.idx"),
    ],
)
def test_unusable_flags_of_distill_are_refused(
    data: Path, teacher: Path, tmp_path: Path, flags: list, message: str, refusal: Refusal
) -> None:
    assert mentions(refusal(*arguments(data, teacher, "--dest", tmp_path / "new", *flags)), message)
    assert list(tmp_path.iterdir()) == []


def test_a_different_dictionary_is_refused(data: Path, teacher: Path, tmp_path: Path, refusal: Refusal) -> None:
    copy = tmp_path / "data"
    copy.mkdir()
    for path in data.iterdir():
        (copy / path.name).write_bytes(path.read_bytes() + (b"extra 1\n" if path.suffix == ".txt" else b""))
    message = refusal(*arguments(copy, teacher, "--dest", tmp_path / "new"))
    assert mentions(message, f"{teacher} {copy} dictionaries")


def test_a_folder_without_binarised_texts_is_refused(teacher: Path, tmp_path: Path, refusal: Refusal) -> None:
    message = refusal(*arguments(tmp_path, teacher, "--dest", tmp_path / "new"))
    assert message.startswith(f"lev-plugins: error: {tmp_path} ") and "lev-plugins prepare" in message


def test_languages_missing_in_the_checkpoint_come_from_the_data(data: Path, teacher: Path, tmp_path: Path) -> None:
    """fairseq does not store the languages that it reads from the file names; drafts are not a pair of languages."""
    state = checkpoints.load(teacher)
    state["cfg"]["task"].update(source_lang=None, target_lang=None)
    checkpoints.save(state, tmp_path / "mute.pt")
    assert call(data, tmp_path / "mute.pt", "--dest", tmp_path / "new", "--split", "test") == 0
    assert call(data, teacher, "--dest", tmp_path / "same", "--split", "test") == 0
    assert file_contents(tmp_path / "new") == file_contents(tmp_path / "same")
