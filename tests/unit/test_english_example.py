"""The Python helpers of examples/english."""

import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import ROOT
from tests.examples import load_script

text = load_script("english/text")
LISTED = {"the": 90, "then": 40, "there": 30, "cat": 10, "carton": 5, "mat": 4, "matter": 3, "catering": 2}
LINE = "The cat's on the mat, at 9 a.m. in Paris."


def strange(seed: int = 1) -> object:
    return text.Strange(LISTED, ["lol", "omg"], ["matted"], random.Random(seed))


def test_unexpected_words_leave_everything_else_in_place() -> None:
    words = strange()
    lines = [words.among(LINE, text.STRANGE_SHARES) for _ in range(300)]  # type: ignore[attr-defined]
    assert 30 < lines.count(LINE) < 270
    for line in lines:
        rest = line.split()[-len(LINE.split()) :]  # there may be a word of chat in front
        assert len(line.split()) - len(rest) <= 1 and rest[6] == "9"
    new = {word for line in lines for word in line.split()} - set(LINE.split())
    assert any(word.strip(",.").lower() in ("lol", "omg") for word in new)
    assert {"matted", "Matted"} & {word.strip(",.") for word in new}
    assert any(word.isupper() and len(word) > 1 for word in new) and any(word.islower() for word in new)


def test_training_text_has_no_rare_words_and_no_foreign_letters() -> None:
    words = text.Strange(LISTED, ["lol", "omg"], [], random.Random(1))
    lines = [words.among(LINE, text.MANY_SHARES) for _ in range(300)]
    assert all(line.isascii() and "matted" not in line.lower().split() for line in lines)
    assert any(not words.among(LINE, (1.0,)).isascii() for words in map(strange, range(20)))  # type: ignore[attr-defined]


def test_made_up_words_are_no_words_and_the_same_every_time() -> None:
    first, second = ([words.made_up() for _ in range(50)] for words in (strange(2), strange(2)))  # type: ignore[attr-defined]
    assert first == second and not {word.lower() for word in first} & LISTED.keys()
    assert len(set(first)) > 20


@pytest.mark.parametrize("frequencies", [True, False])
def test_files_are_written(tmp_path: Path, frequencies: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    sentences = [f"The {a} is by the {b}, isn\u2019t it?" for a in LISTED for b in LISTED if a != b]
    (tmp_path / "text").write_text("".join(f"{line}\n" for line in [*sentences, *sentences, "too short"]))
    (tmp_path / "list").write_text("".join(f"{word} {count}\n" for word, count in LISTED.items()))
    flags = ["--frequencies", str(tmp_path / "list")] if frequencies else []
    out, files = tmp_path / "out", ["--text", str(tmp_path / "text")]
    monkeypatch.setattr("sys.argv", ["text.py", str(out), *files, *flags, "--copies", "3"])
    monkeypatch.setattr(text, "HELD_OUT", 6)
    text.main()
    train, valid, unexpected = (
        (out / f"{split}.clean").read_text("utf-8").splitlines() for split in ("train", "valid", "unexpected")
    )
    assert len(valid) == len(unexpected) == 6 and valid != unexpected and len(train) == 3 * (len(sentences) - 6)
    assert set(valid) <= {line.replace("\u2019", "'") for line in sentences}
    words = dict(line.split() for line in (out / "dict.txt").read_text("utf-8").splitlines())
    assert int(words["▁the"]) > int(words["▁matter"]) >= 2
    assert {"▁Lol", "▁lol", "?", "▁isn't"} <= words.keys() and "▁isn\u2019t" not in words


FAKE = """
import sys
print("@(#) a speller", flush=True)
for line in sys.stdin:
    for place, word in ((line.find(word), word) for word in line.strip("^\\n").split()):
        print(f"& {word} 2 {place}: the, ten" if word == "teh" else "*")
    print(flush=True)
"""


def test_spellers_that_speak_the_protocol_of_ispell(tmp_path: Path) -> None:
    (tmp_path / "speller").write_text(f"#!{sys.executable}\n{FAKE}")
    (tmp_path / "speller").chmod(0o755)
    command = [sys.executable, ROOT / "examples" / "english" / "ispell.py", tmp_path / "speller"]
    done = subprocess.run(command, input="See teh cat\n\né teh\n", capture_output=True, text=True, encoding="utf-8")
    assert done.stdout == "See the cat\n\né the\n", done.stderr


@pytest.mark.parametrize(("flags", "name"), [([], "Wait"), (["--careful"], "Wiat")])
def test_harper_gives_the_first_suggestions(flags: list[str], name: str) -> None:
    pytest.importorskip("harper")
    command = [sys.executable, ROOT / "examples" / "english" / "harper_suggestions.py", *flags]
    looking = "I am looking forward to join them."  # Harper prints a line of its own about this one
    text = f"I has a apple in Wiat \u2013 wiht you you.\n\n{looking}\nNothing.\n"
    done = subprocess.run(command, input=text, capture_output=True, text=True, encoding="utf-8")
    lines = [f"I have an apple in {name} \u2013 with you.", "", looking.replace("join", "joining"), "Nothing."]
    assert done.stdout.splitlines() == lines, done.stderr
