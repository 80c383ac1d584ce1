"""XLIFF: the text of targets is prose."""

from lev_plugins.text.documents.xml import read_xliff
from tests.unit.text.documents.prose import prose


def test_prose_of_xliff_1() -> None:
    text = (
        '<xliff version="1.2"><file target-language="de"><trans-unit><source>no</source>'
        '<target state="x">Ein <g id="1">Wort</g> &lt; %s <x/><ph id="1">code</ph></target>'
        "<alt-trans><target>no</target></alt-trans></trans-unit>"
        '<trans-unit translate="no"><target>no</target></trans-unit></file></xliff>'
    )
    assert prose(read_xliff, text) == ['Ein|Wort|<&lt;>|<%s>|<<ph id="1">code</ph>>']
    assert [entry.language for entry in read_xliff(text)] == ["de"]


def test_units_of_xliff_inherit_what_their_file_and_group_say() -> None:
    unit = "<trans-unit{}><target>{}</target></trans-unit>"
    translated = unit.format(' translate="yes"', "yes")
    group = f'<group translate="no">{unit.format("", "no")}{translated}</group>'
    text = f'<xliff><file target-language="de">{group}{unit.format("", "yes")}</file><file>{unit.format("", "yes")}'
    assert prose(read_xliff, text) == ["yes", "yes", "yes"]
    assert [entry.language for entry in read_xliff(text)] == ["de", "de", None]


def test_prose_of_xliff_2() -> None:
    text = (
        '<xliff version="2.0" trgLang="fr"><file id="f"><unit id="1"><segment><source>no</source>'
        '<target>Un <pc id="1">mot</pc> {0}</target></segment></unit></file></xliff>'
    )
    assert prose(read_xliff, text) == ["Un|mot|<{0}>"]
    assert [entry.language for entry in read_xliff(text)] == ["fr"]
