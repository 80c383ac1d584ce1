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
from tests.helpers import Refusal, file_contents
from tests.teachers import LEVT, TRANSFORMER, random_triples, write_teacher

LONG_LINE = 7  # of the 30 training sentences, the line that is too long for the teacher
SHORT_SEARCH = ["--max-len-b", 8, "--beam", 2]


@pytest.fixture(scope="module")
def teacher_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns binarised data: two training sets with drafts, and a joined dictionary."""
    lines = {"train": 30, "extra-train": 11, "test": 4}
    return random_triples(tmp_path_factory.mktemp("distill"), lines, ("train", LONG_LINE - 1))


@pytest.fixture(scope="module")
def teacher(teacher_data: Path) -> Path:
    lengths = ["--max-source-positions", 20, "--max-target-positions", 20]
    return write_teacher(
        teacher_data.parent / "teacher.pt", teacher_data, *TRANSFORMER, *lengths, "-s", "en", "-t", "de"
    )


def distill_command(teacher_data: Path, teacher: object, *flags: object, search: list = SHORT_SEARCH) -> list[object]:
    return ["distill", teacher_data, "--path", teacher, "--cpu", *search, *flags]


def run_distill(*arguments: Any, **options: Any) -> int:
    return main([str(word) for word in distill_command(*arguments, **options)])


def target_ids(folder: Path, part: str, side: str) -> list[list[int]]:
    dataset = data_utils.load_indexed_dataset(f"{folder}/{part}.en-de.{side}", None)
    return [dataset[i].tolist() for i in range(len(dataset))]


def strings(folder: Path, part: str, side: str) -> list[str]:
    dictionary = Dictionary.load(str(folder / "dict.de.txt"))
    return [dictionary.string(torch.tensor(row)) for row in target_ids(folder, part, side)]


def generate_output(teacher_data: Path, teacher: object, part: str, *flags: object) -> dict[int, str]:
    """Returns the output of fairseq-generate by sentence."""
    words = [teacher_data, "--path", teacher, "--gen-subset", part, "--cpu", "--required-batch-size-multiple", 1]
    log = succeed("fairseq-generate", *words, *SHORT_SEARCH, *flags).out
    lines = [line.split("\t") for line in log.splitlines() if line.startswith("H-")]
    return {int(line[0][2:]): line[2] for line in lines}


# ---- what is written -------------------------------------------------------------------------------------------------


def test_distilled_targets_equal_the_output_of_fairseq_generate(
    teacher_data: Path, teacher: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setattr("sys.argv", ["fairseq"])  # where fairseq looks for --user-dir
    assert run_distill(teacher_data, teacher, "--dest", tmp_path / "new", "--shard-size", 8) == 0
    task = ["--task", "translation", "-s", "en", "-t", "de", "--skip-invalid-size-inputs-valid-test"]
    task += ["--max-source-positions", 20, "--max-target-positions", 20]
    for part, lines in (("train", 30), ("train1", 11)):
        expected = generate_output(teacher_data, teacher, part, *task)
        targets = strings(tmp_path / "new", part, "de")
        assert len(set(expected.values())) > lines / 2  # the teacher has something to say
        references = {LONG_LINE - 1: strings(teacher_data, part, "de")[LONG_LINE - 1]} if part == "train" else {}
        assert dict(enumerate(targets)) == {**expected, **references}
        assert all(row[-1] == 2 for row in target_ids(tmp_path / "new", part, "de"))
    printed = capsys.readouterr().out
    assert "new has the targets of the teacher\n" in printed
    assert f"1 too long for the teacher keep their reference: line {LONG_LINE}\n" in printed
    original, distilled = file_contents(teacher_data), file_contents(tmp_path / "new")
    changed = {name for name in original.keys() | distilled.keys() if original.get(name) != distilled.get(name)}
    assert changed == {f"{part}.en-de.de.{end}" for part in ("train", "train1") for end in ("bin", "idx")}
    assert [path.name for path in tmp_path.iterdir()] == ["new"]


def test_a_levt_teacher_edits_the_drafts(teacher_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["fairseq"])
    task = ["--task", "text_editing", "-s", "en", "-t", "de", "--draft-lang", "mt"]
    editor = write_teacher(tmp_path / "editor.pt", teacher_data, *LEVT, *task, "--share-all-embeddings", seed=3)
    assert run_distill(teacher_data, editor, "--dest", tmp_path / "new", "--shard-size", 8, search=[]) == 0
    targets = strings(tmp_path / "new", "train1", "de")
    assert dict(enumerate(targets)) == generate_output(teacher_data, editor, "train1", *task)
    assert (
        run_distill(
            teacher_data, editor, "--dest", tmp_path / "none", "--model-overrides", "{'draft_lang': None}", search=[]
        )
        == 0
    )
    assert strings(tmp_path / "none", "train1", "de") != targets


def test_an_ensemble_of_teachers_writes_its_joint_output(
    teacher_data: Path, teacher: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["fairseq"])
    second_teacher = write_teacher(tmp_path / "other.pt", teacher_data, *TRANSFORMER, "-s", "en", "-t", "de", seed=2)
    both = f"{teacher}:{second_teacher}"
    assert run_distill(teacher_data, both, "--dest", tmp_path / "new", "--split", "test") == 0
    targets = strings(tmp_path / "new", "test", "de")
    assert dict(enumerate(targets)) == generate_output(
        teacher_data, both, "test", "--task", "translation", "-s", "en", "-t", "de"
    )
    assert run_distill(teacher_data, teacher, "--dest", tmp_path / "one", "--split", "test") == 0
    assert targets != strings(tmp_path / "one", "test", "de")


def test_languages_other_than_in_the_training_need_flags(
    teacher_data: Path, teacher: Path, tmp_path: Path, refusal: Refusal
) -> None:
    renamed = tmp_path / "data"
    renamed.mkdir()
    for path in teacher_data.iterdir():
        name = path.name.replace("en-de", "x-y").replace(".en.", ".x.").replace(".de.", ".y.")
        (renamed / name).write_bytes(path.read_bytes())
    message = refusal(*distill_command(renamed, teacher, "--dest", tmp_path / "new", "--split", "test"))
    assert "give --source-lang and --target-lang" in message
    flags = ["--split", "test", "-s", "x", "-t", "y"]
    assert run_distill(renamed, teacher, "--dest", tmp_path / "new", *flags) == 0
    assert run_distill(teacher_data, teacher, "--dest", tmp_path / "old", "--split", "test") == 0
    original_file, renamed_file = tmp_path / "old" / "test.en-de.de.bin", tmp_path / "new" / "test.x-y.y.bin"
    assert original_file.read_bytes() == renamed_file.read_bytes()


def test_every_search_flag_reaches_the_search(teacher_data: Path, teacher: Path) -> None:
    values = {"beam": 3, "lenpen": 0.5, "unkpen": 2.0, "max_len_a": 1.5, "max_len_b": 9, "min_len": 2}
    values["no_repeat_ngram_size"] = 4
    assert values.keys() == set(distill.SEARCH)
    generator = CheckpointDecoder([teacher], {"data": str(teacher_data)}, values, "cpu").generator
    assert generator.repeat_ngram_blocker.no_repeat_ngram_size == 4
    renamed = {"beam": "beam_size", "lenpen": "len_penalty", "unkpen": "unk_penalty"}
    for name in values.keys() - {"no_repeat_ngram_size"}:
        assert getattr(generator, renamed.get(name, name)) == values[name], name


@pytest.mark.gpu
def test_distill_on_a_gpu_equals_a_cpu(teacher_data: Path, teacher: Path, tmp_path: Path) -> None:
    assert run_distill(teacher_data, teacher, "--dest", tmp_path / "cpu") == 0
    words = ["distill", teacher_data, "--path", teacher, *SHORT_SEARCH, "--dest", tmp_path / "gpu"]
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
    teacher_data: Path, teacher: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusal: Refusal
) -> None:
    flags = ["--dest", tmp_path / "new", "--shard-size", 8]
    with monkeypatch.context() as patched:
        stop_after(patched, 2)
        assert run_distill(teacher_data, teacher, *flags) == 130
    shards = tmp_path / "new.shards"
    assert sorted(path.name for path in shards.glob("train*")) == ["train.0-8.json", "train.8-16.json"]
    assert not (tmp_path / "new").exists()
    shard_names = stop_after(monkeypatch, 99)
    assert run_distill(teacher_data, teacher, *flags) == 0
    assert shard_names == [f"train{shard}.json" for shard in (".16-24", ".24-30", "1.0-8", "1.8-11")]
    assert not shards.exists()
    assert f"--dest {tmp_path / 'new'} is not empty" in refusal(*distill_command(teacher_data, teacher, *flags))
    assert run_distill(teacher_data, teacher, "--dest", tmp_path / "whole", "--shard-size", 8) == 0
    assert file_contents(tmp_path / "new") == file_contents(tmp_path / "whole")


def test_shards_of_different_settings_are_refused(
    teacher_data: Path, teacher: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusal: Refusal
) -> None:
    flags = ["--dest", tmp_path / "new", "--shard-size", 8]
    stop_after(monkeypatch, 1)
    assert run_distill(teacher_data, teacher, *flags) == 130
    monkeypatch.undo()
    second_teacher = write_teacher(tmp_path / "other.pt", teacher_data, *TRANSFORMER, "-s", "en", "-t", "de", seed=2)
    linked_data = tmp_path / "same"
    linked_data.symlink_to(teacher_data)
    for arguments, name in (
        ((teacher_data, teacher, *flags, "--lenpen", 2), "--lenpen"),
        ((teacher_data, teacher, *flags, "--min-len", 2, "--unkpen", 1), "--unkpen and --min-len"),
        ((teacher_data, second_teacher, *flags), "--path"),
        ((linked_data, teacher, *flags), "DATA"),
        ((teacher_data, teacher, *flags, "-s", "de", "-t", "en"), "--source-lang and --target-lang"),
        ((teacher_data, teacher, *flags, "--model-overrides", "{'dropout': 0}"), "--model-overrides"),
    ):
        assert f"new.shards was started with different {name}: remove it to start again" in refusal(
            *distill_command(*arguments)
        )
    assert run_distill(teacher_data, teacher, *flags, "--max-tokens", 50) == 0


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
def test_unusable_flags_of_distill_are_refused(
    teacher_data: Path, teacher: Path, tmp_path: Path, flags: list, message: str, refusal: Refusal
) -> None:
    assert message in refusal(*distill_command(teacher_data, teacher, "--dest", tmp_path / "new", *flags))
    assert list(tmp_path.iterdir()) == []


def test_a_different_dictionary_is_refused(teacher_data: Path, teacher: Path, tmp_path: Path, refusal: Refusal) -> None:
    copy = tmp_path / "data"
    copy.mkdir()
    for path in teacher_data.iterdir():
        (copy / path.name).write_bytes(path.read_bytes() + (b"extra 1\n" if path.suffix == ".txt" else b""))
    message = refusal(*distill_command(copy, teacher, "--dest", tmp_path / "new"))
    assert f"{teacher} does not fit the dictionaries in {copy}: use a data folder with" in message


def test_a_folder_without_binarised_texts_is_refused(teacher: Path, tmp_path: Path, refusal: Refusal) -> None:
    message = refusal(*distill_command(tmp_path, teacher, "--dest", tmp_path / "new"))
    assert f"{tmp_path} has no pair of binarised texts: create such a folder with lev-plugins prepare" in message


def test_languages_missing_in_the_checkpoint_come_from_the_data(
    teacher_data: Path, teacher: Path, tmp_path: Path
) -> None:
    """fairseq does not store the languages that it reads from the file names; drafts are not a pair of languages."""
    state = checkpoints.load(teacher)
    state["cfg"]["task"].update(source_lang=None, target_lang=None)
    checkpoints.save(state, tmp_path / "mute.pt")
    assert run_distill(teacher_data, tmp_path / "mute.pt", "--dest", tmp_path / "new", "--split", "test") == 0
    assert run_distill(teacher_data, teacher, "--dest", tmp_path / "same", "--split", "test") == 0
    assert file_contents(tmp_path / "new") == file_contents(tmp_path / "same")
