"""The script of the page in node: user actions while the server works."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import lev_plugins

NODE = shutil.which("node")
SCENES = Path(__file__).parents[2] / "page" / "scenes.js"
PAGE = Path(lev_plugins.__file__).parent / "serving" / "page.html"
pytestmark = pytest.mark.skipif(NODE is None, reason="there is no node")
CHANGED = "The text has changed: check it again."


@pytest.mark.parametrize(
    ("scene", "text", "status"),
    [
        ("typing_while_it_checks", "teh cat sat", CHANGED),
        ("accepting_while_it_checks_again", "the test", CHANGED),
        ("typing_while_it_inserts", "first and more", CHANGED),
        ("undo_of_a_second_check", "teh cat sat", "Undone"),
        ("undo_of_a_word_before_any_check", "a pasted text", "Undone"),
        ("the_draft_of_a_bracket_behind_a_backslash", "a \\\\\\⟦b\\⟧", CHANGED),
        ("inserting_in_an_empty_first_line", "new\nsecond", "Accepted"),
        ("choosing_another_replacement", "ten cat", "Accepted"),
        ("accepting_what_reaches_the_minimum", "the cat", "1 edit accepted"),
        ("leaving_what_is_below_the_minimum", "Teh the", "1 edit accepted"),
    ],
)
def test_no_user_input_is_lost(scene: str, text: str, status: str) -> None:
    assert play_scene(scene) == {"text": text, "said": status, "waiting": 0, "journal": []}


def play_scene(*scene: str) -> Any:
    """Runs a scene in node and returns its outcome."""
    command = [str(NODE), SCENES, PAGE, *scene]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_terms_follow_the_current_text() -> None:
    outcome = play_scene("terms_are_used_when_their_edits_are_accepted")
    assert outcome["sent"] == "hat\tHut\nred hat\troter Hut\n"
    hat_terms = [["hat → Hut", "used"], ["hat → Hut: missing", "missing"]]
    assert outcome["before"] == [["red hat → roter Hut: missing", "missing"], *hat_terms]
    assert outcome["after"] == [["red hat → roter Hut", "used"], *hat_terms]
    assert outcome["sources"] == "a red hat\na hat" and outcome["text"] == "ein roter Hut\nein Hut"


def test_decisions_are_sent_only_to_a_server_with_a_journal() -> None:
    scene = "the_journal_is_told_what_was_decided"
    assert play_scene(scene)["journal"] == []
    the, test, cat = ([2, 5, "the", True], [6, 10, "test", False], [11, 14, "cat", None])
    edits = [dict(zip(("start", "end", "replacement", "accepted"), row, strict=True)) for row in (the, test, cat)]
    assert play_scene(scene, "journal")["journal"] == [{"text": "😀 teh tset hat", "edits": edits}]
