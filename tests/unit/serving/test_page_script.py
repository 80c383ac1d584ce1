"""The script of the page, in node: what a person does while the server works."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

import lev_plugins

NODE = shutil.which("node")
SCENES = Path(__file__).parents[2] / "page" / "scenes.js"
PAGE = Path(lev_plugins.__file__).parent / "serving" / "page.html"
CHANGED = "The text has changed: check it again."


@pytest.mark.skipif(NODE is None, reason="there is no node")
@pytest.mark.parametrize(
    ("scene", "text", "said"),
    [
        ("typing_while_it_checks", "teh cat sat", CHANGED),
        ("accepting_while_it_checks_again", "the test", CHANGED),
        ("typing_while_it_inserts", "first and more", CHANGED),
        ("undo_of_a_second_check", "teh cat sat", "Undone"),
        ("undo_of_a_word_before_any_check", "a pasted text", "Undone"),
        ("the_draft_of_a_bracket_behind_a_backslash", "a \\\\\\⟦b\\⟧", CHANGED),
        ("inserting_in_an_empty_first_line", "new\nsecond", "Accepted"),
        ("choosing_another_replacement", "ten cat", "Accepted"),
        ("accepting_what_is_as_sure_as_the_dial", "the cat", "1 edit accepted"),
        ("leaving_a_name_that_the_dial_leaves", "Teh the", "1 edit accepted"),
    ],
)
def test_nothing_that_was_written_is_lost(scene: str, text: str, said: str) -> None:
    command = [str(NODE), SCENES, PAGE, scene]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=60)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"text": text, "said": said, "waiting": 0}
