"""Files that are made to break a reader: all are read or refused, in a time that is linear in their size."""

import json
from random import Random

import pytest

from lev_plugins.checking.prose import Prose
from lev_plugins.text.documents.formats import FORMATS, Format
from lev_plugins.text.documents.ignore import ignored_spans
from lev_plugins.utils.errors import UserError
from tests.helpers import growth
from tests.unit.text.documents.test_formats import SIGNS

FILES = 300  # of all formats together
LENGTH = 1_500  # characters of a file
FIELDS = {  # of formats that have prose in few places
    "notebook": lambda text: json.dumps({"cells": [{"cell_type": "markdown", "source": text}]}),
    "po": lambda text: f'msgid "a"\nmsgstr {json.dumps(text)}',
    "subtitles": "00:01 --> 00:02\n{}".format,
    "xliff": "<target>{}</target>".format,
}


def hostile(random: Random) -> str:
    """Returns a text that is nested deep, broken, never closed, of random characters, or one long line."""
    signs = random.sample(SIGNS, 6)
    opening, closing = "".join(signs[:2]), "".join(signs[2:4])
    broken = "".join(random.choices([*signs, "teh ", "\n"], k=LENGTH))
    characters = (random.choice([random.randrange(0x80), random.randrange(0xD800)]) for _ in range(LENGTH))
    unclosed = opening + "teh words, and a line.\n" * LENGTH
    line = broken.replace("\n", "").replace("\r", "") + "teh " * LENGTH
    nested = opening * (LENGTH // 8) + "teh " + closing * LENGTH
    return random.choice([nested, broken, unclosed, "".join(map(chr, characters)), line])[:LENGTH]


def check(entry: Format, text: str) -> None:
    """Does what ``lev-plugins check`` does with a file before an editor gets it."""
    text = FIELDS.get(entry.name, str)(text)
    try:
        paragraphs = [*entry.reader(text)]
    except UserError:  # too many errors
        return
    Prose(text, paragraphs, str.islower, ignored_spans(text)).request(())


@pytest.mark.parametrize("number", range(len(FORMATS)), ids=[entry.name for entry in FORMATS])
def test_hostile_files(number: int) -> None:
    texts = [hostile(Random(seed)) for seed in range(number, FILES, len(FORMATS))]
    for _ in range(2):  # again, as other work on the machine disturbs short times
        texts = [
            text for text in texts if growth(lambda times, text=text: check(FORMATS[number], text * times), 1) > 10
        ]
    assert not texts
