"""The prose of commit messages."""

import pytest

from tests.unit.text.documents.prose import prose_of


@pytest.mark.parametrize(
    "text, prose",
    [
        ("Fix the bug\nIt was\nlong.\n\n- One\n- Two\n", ["Fix the bug", "It was", "long.", "One", "Two"]),
        ("fixup! feat(io)!: Add it\n\nSigned-off-by: A <a@b.c>\nCo-authored-by: B <b@b.c>\n", ["Add it"]),
        ("\n# no\nAdd it\n# no\n\nBody\n# ------ >8 ------\nno\ndiff --git a b\n", ["Add it", "Body"]),
        ("Add\n\n    no at all\n\n> no\n\nAs `a b` says\n\n```\nno\n```\n", ["Add", "As ", " says"]),
        ("Merge branch 'no'\n\n# Conflicts:\n#\tno\n", []),
        ("Squashed commit of the following:\n\ncommit 123\nAuthor: no\nDate: no\n\n    no\n", []),
        ("", []),
    ],
)
def test_prose_of_messages(text: str, prose: list[str]) -> None:
    for name in ("COMMIT_EDITMSG", ".git/MERGE_MSG"):
        assert prose_of(name, text) == prose
