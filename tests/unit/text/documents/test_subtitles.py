"""The texts of subtitles."""

import pytest

from tests.unit.text.documents.prose import prose_of


@pytest.mark.parametrize(
    "name, text, prose",
    [
        ("a.srt", "1\n00:00:01,000 --> 00:00:02,000\n{\\an8}<i>One</i>\ntwo &amp; 3\n\n2\n", ["One", "two ", " 3"]),
        ("a.srt", "\ufeff1\r\n00:01 --> 00:02\r\nÄ 🎉\r\n2\r\n00:02 --> 00:03\r\nB", ["Ä 🎉", "B"]),
        ("a.vtt", "WEBVTT no\n\nNOTE no\nno\n\nSTYLE\nno\n\nno id\n00:01.0 --> 00:02.0 align:no\n<v no>Yes", ["Yes"]),
    ],
)
def test_prose_of_cues(name: str, text: str, prose: list[str]) -> None:
    assert prose_of(name, text) == prose
