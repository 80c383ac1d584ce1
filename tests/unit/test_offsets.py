"""Pieces and their places: all of the text is in one unit or in none, and the pieces are those that a model reads."""

import unicodedata
from argparse import Namespace
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lev_plugins.errors import UserError
from lev_plugins.text.offsets import Offsets, offsets_of
from lev_plugins.text.tokenise import Tokeniser
from tests.helpers import thorough

pytest.importorskip("transformers")
from tests import pretrained

ODD = " \t\u00a0\u3000\u2028abeht.,é\u0301\u200d\u200b\ufeff\x01😀👩ßﬁ½ﷺ\uff21▁日กา"
texts = st.text(st.sampled_from(ODD) | st.characters(exclude_categories=["Cs"]), max_size=25).map(str.strip)
DROPPED = ["Cc", "Cf", "Zs", "Zl", "Zp"]  # categories of what a tokeniser may leave out
DROPPED_BY_BERT = [*DROPPED, "Mn", "Co", "Cn"]


@pytest.fixture(scope="module")
def tokenisers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Tokeniser]:
    root = tmp_path_factory.mktemp("tokenisers")
    found = {"white space": Tokeniser(None), **{name: Tokeniser(Namespace(bpe=name)) for name in ("chars", "words")}}
    for rule in ("nmt_nfkc", "identity"):
        pretrained.sentencepieces(root / rule, pretrained.LINES * 20, 50, normalization_rule_name=rule)
        found[rule] = Tokeniser(Namespace(bpe="sentencepiece", sentencepiece_model=f"{root / rule}.model"))
    codes = root / "codes"
    codes.write_text("#version: 0.2\nt h\nth e</w>\no w</w>\ns h\n")
    found["subword_nmt"] = Tokeniser(Namespace(bpe="subword_nmt", bpe_codes=str(codes), bpe_separator="@@"))
    for name in ("t5", "byt5", "bart", "bert"):
        pretrained.MAKERS[name](root / name)
        folder = pretrained.imported(root / name, root / f"{name}.out")
        found[name] = Tokeniser(Namespace(bpe="pretrained", pretrained_tokenizer=str(folder)))
    return found


def placed(tokeniser: Tokeniser) -> Offsets:
    return offsets_of(tokeniser.name, tokeniser.bpe)


REVERSIBLE = ["white space", "chars", "words", "nmt_nfkc", "identity", "subword_nmt", "t5", "byt5", "bart"]
TOKENISERS = [*REVERSIBLE, "bert"]


@pytest.mark.parametrize("name", TOKENISERS)
@given(texts)
@example("ﬁ ½ \uff21\uff22\u3000ﷺ")
@example("▁a ▁ b")
@example("e\u0301 👩\u200d👩 \x01 z")
@example("x\u200by\u00a0\tz")
@thorough
def test_units_cover_the_text_in_order(tokenisers: dict[str, Tokeniser], name: str, text: str) -> None:
    units = placed(tokenisers[name]).units(text)
    assert [piece for unit in units for piece in unit.pieces] == tokenisers[name].pieces(text)
    ends = [(0, 0), *((unit.start, unit.end) for unit in units), (len(text), len(text))]
    for (_, left), (right, _) in pairwise(ends):
        assert left <= right
        assert dropped(text[left:right], DROPPED_BY_BERT if name == "bert" else DROPPED), (text, units)
    assert all(unit.start < unit.end and unit.pieces for unit in units)


def dropped(gap: str, categories: list[str]) -> bool:
    return all(sign.isspace() or sign == "▁" or unicodedata.category(sign) in categories for sign in gap)


@pytest.mark.parametrize("name", REVERSIBLE)
@pytest.mark.parametrize("line", pretrained.LINES)
def test_all_units_spelt_are_the_text(tokenisers: dict[str, Tokeniser], name: str, line: str) -> None:
    offsets = placed(tokenisers[name])
    pieces = [piece for unit in offsets.units(line) for piece in unit.pieces]
    assert offsets.spell(offsets.named(pieces)).strip() == line.strip()


@pytest.mark.parametrize("name", TOKENISERS)
def test_a_unit_says_whether_a_blank_is_before_it(tokenisers: dict[str, Tokeniser], name: str) -> None:
    text = "the cat"
    units = placed(tokenisers[name]).units(text)
    before = [unit for unit in units if unit.start == 4]
    assert [unit.blank for unit in before] == [name not in ("chars", "byt5")]
    assert [text[unit.start - 1] for unit in before] == [" "]


def test_pieces_of_wordpiece_are_spelt_as_the_tokenizer_prints_them_and_blanks_are_those_of_the_text(
    tokenisers: dict[str, Tokeniser],
) -> None:
    offsets = placed(tokenisers["bert"])
    assert offsets.spell(["fox"]) == " fox" and offsets.spell(["fox", "."]) == " fox." and offsets.spell([]) == ""
    text = "The  (quick) Fox."
    units = offsets.units(text)
    whole = {text[unit.start : unit.end]: unit.blank for unit in units}
    assert whole["The"] and whole["("] and not whole[")"] and whole["Fox"] and not whole["."]


def test_tokenisers_that_cannot_say_are_refused() -> None:
    with pytest.raises(UserError, match="--bpe bytes does not say where in the text"):
        offsets_of("bytes")
