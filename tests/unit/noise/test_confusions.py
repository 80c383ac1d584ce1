"""Tables of confusions, of characters and of words."""

from pathlib import Path

import pytest

from lev_plugins.noise import NoiseOptions, build_corruption
from lev_plugins.utils.errors import UserError
from tests.helpers import noise


def test_word_tables_confuse_whole_words(tmp_path: Path) -> None:
    table = tmp_path / "confusions.tsv"
    rows = ["words\tbecome\trate", "the\t\t0.5", "their\tthere\t0.5", "a lot\talot\t0.5", "is\tis been\t0.5"]
    table.write_text("".join(f"{row}\n" for row in rows), "utf-8")

    def results(line: str) -> set[str]:
        corrupt = noise("confusions", confusions=str(table))
        return {corrupt(line, index) for index in range(200)}

    assert results("Their theirs  a lot") == {
        f"The{end} theirs  {lot}" for end in ("ir", "re") for lot in ("a lot", "alot")
    }
    assert results("The  cat") == {"The  cat", "cat"}
    assert results("see the") == {"see the", "see"}
    assert results("the") == {"the"}
    assert results("the the") == {"the the", "the"}
    assert results("it is") == {"it is", "it is been"}
    together = build_corruption(NoiseOptions("ocr,confusions", confusions=str(table)))  # both at their own rates
    assert {"see", "see the"} <= {together("see the", index) for index in range(200)}
    changed = [noise("confusions", 0.25, confusions=str(table))("it was their house", index) for index in range(2000)]
    assert 1 - changed.count("it was their house") / 2000 == pytest.approx(1 - 0.75**4, rel=0.02)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("\xff", "t.tsv is not UTF-8 text"),
        ("rn\tm\t0.1\n", r"t.tsv:1: the first line must be 'characters\\tbecome\\trate' or 'words"),
        ("characters\tbecome\trate\n", "t.tsv has no confusions"),
        ("characters\tbecome\trate\nrn\tm\n", "t.tsv:2: a confusion must have 3 columns, but .* has 2"),
        ("characters\tbecome\trate\n\trn\t0.1\n", "t.tsv:2: the first column must not be empty"),
        ("characters\tbecome\trate\nrn\tm\t1.5\n", "t.tsv:2: the rate must be above 0 and at most 1, but is 1.5"),
        ("characters\tbecome\trate\nrn\tm\tmuch\n", "t.tsv:2: the rate must be a number, but is 'much'"),
        ("characters\tbecome\trate\nr n\tm\t0.1\n", "white space may only be the last character of the first column"),
    ],
)
def test_a_malformed_table_is_refused(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "t.tsv"
    path.write_text(content, "latin-1")
    with pytest.raises(UserError, match=message):
        noise("confusions", confusions=str(path))
