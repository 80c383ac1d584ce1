"""The prose of gettext's messages."""

import pytest

from lev_plugins.text.documents.po import read_sources, read_translations
from tests.helpers import growth
from tests.unit.text.documents.prose import prose_of

HEADER = 'msgid ""\nmsgstr ""\n"Language: pt_BR\\n"\n"Plural-Forms: no\\n"\n\n'


@pytest.mark.parametrize(
    "entry, prose",
    [
        ('# no\n#: no.c:1\nmsgctxt "no"\nmsgid "no"\nmsgstr "Sim."', ["Sim."]),
        ('msgid "no"\nmsgid_plural "no"\nmsgstr[0] "Um"\nmsgstr[1] ""\n"Mais "\n"um"', ["Um", "Mais ", "um"]),
        ('#~ msgid "no"\n#~ msgstr "no"', []),
        ('msgid "a"\nmsgstr "%s de %(a)s {b} ${c} %1$d %-5.2f %.*s % 3d 5% zu"', [" de ", *[" "] * 7, " zu"]),
        ('msgid "a"\nmsgstr "_Abrir o &Salvar Abr_ir"', [" o ", " "]),
        ('msgid "a"\nmsgstr "Um\\nDois \\"a\\" C:\\\\dir\\tb"', ["Um", "Dois ", "a", " ", "b"]),
        ('msgid "a"\nmsgstr "<b>Um</b> B<a> &amp; `b` http://a.b."', ["Um", " ", " ", " ", " ", "."]),
        ('msgid "a"\r\nmsgstr "Água 🎉"\r\n', ["Água 🎉"]),
    ],
)
def test_translations(entry: str, prose: list[str]) -> None:
    assert prose_of("a.po", HEADER + entry) == prose
    assert {found.language for found in read_translations(HEADER + entry) if found.parts} <= {"pt_BR"}


def test_sources() -> None:
    text = HEADER + 'msgid "One"\nmsgid_plural ""\n"Two"\nmsgstr[0] "no"\n'
    found = [(found.language, text[part.start : part.end]) for found in read_sources(text) for part in found.parts]
    assert found == [(None, "One"), (None, "Two")]


@pytest.mark.parametrize("unit", ["a b ", "\\\\", "a", "a&", "%(", "%1", "%-+#0", "<", "\\n", "Language: ", 'x"\n"'])
def test_time_of_long_messages_is_linear(unit: str) -> None:
    for end in ("", '"'):
        assert growth(lambda size, end=end: prose_of("a.po", 'msgid "a"\nmsgstr "' + unit * size + end), 2_000) < 10
