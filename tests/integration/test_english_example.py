"""examples/english as its README calls it, on a text of a thousand sentences and few words."""

import json
import random
import re
from pathlib import Path

from tests.commands import readme_command, succeed

WORDS = ["the", "red", "old", "small", "dog", "cat", "woman", "runs", "sleeps", "sits", "eats", "here", "today"]
WORDS += ["slowly"]
SMALL = ["UPDATES=20", "COPIES=1", "TOKENS=400", "THREADS=1", "PROMISE=200", "SYMSPELL=no"]


def sentences(seed: int, count: int) -> str:
    draw = random.Random(seed)
    return "".join(f"{' '.join(draw.choices(WORDS, k=draw.randint(4, 8)))}.\n" for _ in range(count))


def test_from_text_to_the_table(tmp_path: Path) -> None:
    (tmp_path / "test").mkdir()
    (tmp_path / "list").write_text("".join(f"{word} 9\n" for word in WORDS))
    for name, count in (("text", 1000), ("other", 100), ("test/own.clean", 20)):
        (tmp_path / name).write_text(sentences(count, count))
    clean = (tmp_path / "test" / "own.clean").read_text()
    (tmp_path / "test" / "own.typos").write_text(clean.replace("slowly", "slwoly").replace("woman", "womann"))
    files = {name: tmp_path / name.lower() for name in ("TEXT", "LIST", "OTHER", "TEST", "OUT")}
    command = readme_command("english", 0, **files)
    done = succeed(*command, *SMALL, timeout=600).out
    assert re.findall(r"^(\S+): done in", done, re.M) == ["text", "other", "data", "model", "export"]
    # a row for each speller that is installed, and the editor's
    assert re.search(r"\| broken of 1,000 / repaired \| own \|\n(\|.*\n)+\| editor \| [\d.]+ / \d+ % \|", done)
    config = json.loads((tmp_path / "out" / "editor" / "config.json").read_text())
    assert 0 <= config["decoding"]["min_confidence"] <= 1
    again = succeed("lev-plugins", "edit", tmp_path / "out" / "editor", stdin=clean).out
    assert again == (tmp_path / "out" / "test" / "editor" / "own.clean").read_text()
