"""Protected parts of a text stay, even if a model replaces, deletes or joins everything."""

import random
import re
from argparse import Namespace
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lev_plugins.cli.edit import decoding_of
from lev_plugins.editor.editor import Editor
from lev_plugins.editor.options import EditOptions, EditRequest
from lev_plugins.editor.own_words import WordList
from lev_plugins.text.edited import Edit, Edited, Span, apply
from lev_plugins.text.mark_bits import KEEP, SPAN
from lev_plugins.text.protected import PATTERNS, OwnWords, letters_of, protected_spans, without_protected
from lev_plugins.text.segments import Segment
from lev_plugins.text.tokenise import Tokeniser
from lev_plugins.utils.errors import UserError
from lev_plugins.utils.model_folder import Decoding
from tests import teachers
from tests.commands import ROOT
from tests.helpers import growth, thorough
from tests.pages import read
from tests.systems import System

ODD_SENTENCES = ROOT / "tests" / "odd" / "sentences.txt"
LATIN = ["▁the", "hat", "▁v1", "▁5", "abcdefghijklmnopqrstuvwxyz"]
LEVT_DATA = ROOT / "tests" / "golden" / "0.1" / "levt" / "data"


def examples_of_the_page() -> list[str]:
    """Returns the quoted examples of the table of docs/correction.md."""
    table = read("docs/correction.md").split("| kind | examples |\n|---|---|\n")[1].split("\n\n")[0]
    cells = [line.split(" | ", 1)[1].partition("; but not ")[0] for line in table.splitlines()]
    return re.findall(r"[`*]([^`*]+)[`*]", re.sub(r"`` .*? ``|`\*\*`|`\]\(`", "", " ".join(cells)))


@pytest.mark.parametrize("example", examples_of_the_page())
def test_examples_of_the_page_are_protected(example: str) -> None:
    text = f"Here are {example} hats"
    left_alone = protected_spans(text, {"here", "are", "hats"}.__contains__, letters_of(LATIN))
    assert "".join(text[span.start : span.end] for span in left_alone).replace(" ", "") == example.replace(" ", "")


def each_word(text: str, filler: str) -> list[Edit]:
    return [Edit(*word.span(), filler) for word in re.finditer(r"\S+", text)]


def each_blank(text: str, filler: str) -> list[Edit]:
    return [Edit(*blank.span(), filler) for blank in re.finditer(r"\s+", text)]


def each_letter(text: str, filler: str) -> list[Edit]:
    return [Edit(i, i + 1, filler) for i in range(len(text))]


def at_each_letter(text: str, insertion: str) -> list[Edit]:
    return [Edit(i, i, insertion) for i in range(len(text) + 1)]


def everything(text: str, filler: str) -> list[Edit]:
    return [Edit(0, len(text), filler)]


def anything(text: str, filler: str) -> list[Edit]:
    draw = random.Random(text)
    positions = sorted(draw.choices(range(len(text) + 1), k=len(text)))
    return [
        Edit(*pair, draw.choice(["", filler, " ", ",", f" {filler} ", f"{filler}. "]))
        for pair in zip(positions[::2], positions[1::2], strict=False)
    ]


PLANS = [each_word, each_blank, each_letter, at_each_letter, everything, anything]
FILLERS = ["", "x", "-", " ", ",", "5", " x ", "xx x", "\u00e9", "("]


class Greedy:
    """A model that makes all edits of a strategy."""

    task, longest, lexicon = "text_editing", 10_000, None

    def __init__(
        self,
        plan: Callable[[str, str], list[Edit]],
        filler: str,
        drafts: bool = True,
        symbols: Path | None = None,
    ):
        self.plan, self.filler, self.drafts, self.symbols = plan, filler, drafts, LATIN
        self.segments: list[Segment] = []

    def decode(self, segments: list[Segment]) -> list[list[Edit]]:
        self.segments = segments
        return [self.plan(segment.text, self.filler) for segment in segments]


def greedy(plan: Callable[[str, str], list[Edit]], filler: str, bpe: str | None = "words", **options: str) -> Editor:
    return Editor(Greedy(plan, filler), Tokeniser(None if bpe is None else Namespace(bpe=bpe)), EditOptions(**options))


def assert_parts_kept(edited: Edited, parts: list[Span]) -> None:
    """Asserts that the edited text has these parts unchanged, with nothing new joined to them."""
    assert edited.text == apply(edited.original, edited.edits)
    original, result = edited.original, edited.text
    for start, end in parts:
        assert not any(edit.start < end and start < edit.end for edit in edited.edits)
        moved = start + sum(len(e.replacement) - e.end + e.start for e in edited.edits if e.end <= start)
        # what is inserted where a part begins stands before it
        assert result[moved : moved + end - start] == original[start:end], edited
        if not original[start - 1 : start].strip():
            assert not result[moved - 1 : moved].strip() or moved == 0, edited
        if not original[end : end + 1].strip():
            behind = result[moved + end - start :][:2]
            assert not behind[:1].strip() or (behind[0] in ".,;:!?" and not behind[1:].strip()), edited


def parse_marked_line(line: str) -> tuple[str, list[Span]]:
    """Returns the text and the parts between ⟪ and ⟫ in it."""
    pieces = re.split("[⟪⟫]", line)
    places = [len("".join(pieces[:i])) for i in range(len(pieces) + 1)]
    return "".join(pieces), [Span(places[i], places[i + 1]) for i in range(1, len(pieces), 2)]


SENTENCES = [parse_marked_line(line) for line in ODD_SENTENCES.read_text("utf-8").splitlines()]


@pytest.mark.parametrize("plan", PLANS)
def test_odd_sentences_keep_their_protected_parts(plan: Callable[[str, str], list[Edit]]) -> None:
    texts = [text for text, _ in SENTENCES]
    changed = 0
    for filler in FILLERS:
        for bpe in ("words", None):
            results = greedy(plan, filler, bpe).edit(texts)
            for (text, parts), edited in zip(SENTENCES, results, strict=True):
                words = [
                    Span(word.start() + start, word.end() + start)
                    for start, end in parts
                    for word in re.finditer(r"\S+", text[start:end])
                ]
                assert_parts_kept(edited, words)
            changed += sum(len(edited.edits) for edited in results)
    assert len(texts) == 50 and (changed > 5_000 or plan == everything)


def test_line_ends_and_byte_order_marks_do_not_change_protection() -> None:
    def protected(text: str) -> str:
        spans = protected_spans(text, lambda word: False, letters_of(LATIN))
        return "".join(text[span.start : span.end] for span in spans).strip("\ufeff\r")

    for text in [*(text for text, _ in SENTENCES), "| teh | cat |", " *** ", "- teh cat", "> teh cat"]:
        alone = protected(text)
        assert protected(f"\ufeff{text}\r") == alone and protected(f"{text}\r\n{text}") == alone * 2, text


def test_ordinary_text_is_not_protected() -> None:
    """A model may change words, punctuation, quotes, apostrophes, brackets and hyphens."""
    for text in [
        "J. R. O'Neil's (well-known) \"hat\": is it; no, 'tis!",
        "Th-that \u2013 \u201cyes\u201d \u2026 it\u2019s \u00abno\u00bb?",
    ]:
        assert protected_spans(text, lambda word: False, letters_of(LATIN)) == []
        assert greedy(each_letter, "").edit([text])[0].text == ""


# ---- generated sentences ---------------------------------------------------------------------------------------------

NAME, NUMBER, DECIMAL = "[abcxyz]{1,6}", "[1-9][0-9]{0,5}", r"[1-9]?[0-9]{1,2}\.[0-9]{1,2}"
TIME = r"[0-2][0-9]:[0-5][0-9]:[0-5][0-9](\.[0-9]{6})?"
PROTECTED_PATTERNS = [
    rf"https://{NAME}\.(org|xyz)/{NAME}\?{NAME}={NUMBER}|www\.{NAME}\.com",
    rf"{NAME}\.{NAME}\+{NUMBER}@{NAME}\.org",
    rf"/{NAME}/{NAME}\.{NUMBER}/{NAME}|{NAME}\.py|C:\\{NAME}\\{NAME}\.txt",
    rf"@{NAME}_{NUMBER}|#{NAME}",
    rf"{NUMBER}|{DECIMAL}(%| kg|km/h| °C| GB|ms| EUR|€)?|[$€£¥₹]{DECIMAL}|[1-9][0-9]{{0,2}}(,[0-9]{{3}}){{1,2}}",
    rf"[12][0-9]{{3}}-(0[1-9]|1[0-2])-[0-2][0-9](T{TIME})?|{TIME}|[1-9]/[1-9]/[12][0-9]{{3}}|[1-9] May [12][0-9]{{3}}",
    rf"v{NUMBER}\.{NUMBER}\.{NUMBER}-rc{NUMBER}|[0-9a-f]{{7}}[0-9](-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}}",
    rf"`{NAME} = {NAME}\({NUMBER}\)`|{NAME}_{NAME}|{NAME}\(\)",
    rf"<{NAME}>|\\{NAME}|\*\*|&nbsp;|~~",
    rf"\${NAME}_{NAME} \+ {NUMBER}\$|{NAME} = {NUMBER}",
    r"👍🏽|👨‍👩‍👧‍👦|❤️|🎉|🇩🇪|:-\)|→|©|&|\^_\^|§|±|<3|\?\?\?",
    "привет|東京|שלום|ελλάδα|สวัสดี",
]
ORDINARY_TEXT = """The hat teh is, was well-known (very) red; isn't it: O'Neil said 'no' and "yes" a I."""
ORDINARY_WORDS = st.sampled_from(ORDINARY_TEXT.split())


@thorough
@given(
    st.lists(
        ORDINARY_WORDS.map(lambda word: (word, False))
        | st.sampled_from(PROTECTED_PATTERNS)
        .flatmap(partial(st.from_regex, fullmatch=True))
        .map(lambda thing: (thing, True)),
        max_size=12,
    ),
    st.sampled_from(PLANS),
    st.sampled_from(FILLERS),
)
def test_generated_protected_parts_never_change(
    row: list[tuple[str, bool]], plan: Callable[[str, str], list[Edit]], filler: str
) -> None:
    text, parts = "", []
    for piece, is_protected in row:
        parts += [Span(len(text), len(text) + len(piece))] if is_protected else []
        text += f"{piece} "
    assert_parts_kept(greedy(plan, filler).edit([text])[0], parts)


# ---- what the editor does with it ------------------------------------------------------------------------------------


def test_protected_pieces_are_marked_for_the_model() -> None:
    editor = greedy(each_word, "x")
    assert editor.edit(["the v1 has 5% of http://a.org. Ok v2."])[0].text == "x x x 5% x http://a.org. x v2."
    (opening, closing) = editor.model.segments
    bits = [requests and [request % SPAN for request in requests] for requests in (opening.requests, closing.requests)]
    assert opening.pieces == [
        "▁the",
        "▁v1",
        "▁has",
        "▁5",
        "%",
        "▁of",
        "▁http",
        ":",
        "/",
        "/",
        "a",
        ".",
        "org",
        ".",
    ]
    assert bits == [[0, 0, 0, 0, KEEP, KEEP, 0, *[KEEP] * 7, 0], [0, 0, KEEP, 0]]
    assert len({request for request in opening.requests if request}) == 2  # two spans
    assert greedy(each_word, "x").edit(["a b"]) and greedy(each_word, "x").edit(["a"])[0].protected == ()


def test_models_without_drafts_get_no_mark_bits() -> None:
    model = Greedy(each_word, "x", drafts=False)
    editor = Editor(model, Tokeniser(None))
    assert editor.edit(["the 5% hat"])[0].text == "x 5% x" and model.segments[0].requests is None


def test_edit_also_permits_kinds() -> None:
    text = "the 5% at a@b.org :-)"
    assert greedy(each_word, "x", edit_also="numbers,symbols").edit([text])[0].text == "x x x a@b.org x"
    assert greedy(each_word, "x", edit_also="all").edit([text])[0].text == "x x x x x"
    assert EditOptions().over(Decoding(edit_also="numbers")).edit_also == "numbers"  # of the model folder
    for refuses in (
        lambda: greedy(each_word, "x", edit_also="words"),
        lambda: decoding_of(Namespace(**vars(Decoding(edit_also="words")))),
    ):
        with pytest.raises(UserError, match=r"--edit-also must be all, .* 'words'"):
            refuses()


def test_own_words_are_protected_in_drafts(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_text("teh\nNew York\n", "utf-8")
    editor = greedy(each_word, "x", None, words=path)
    assert editor.edit(["Teh hat in New York"])[0].text == "Teh x x New York"
    requests = [EditRequest("a", "teh 5 hats", words=[OwnWords(["hats"])]), EditRequest("a", "a")]
    assert editor.edit(requests)[0].text == "teh x hats"
    with pytest.raises(UserError, match="--words: there is no file"):
        greedy(each_word, "x", words=tmp_path / "none")


def test_words_with_foreign_letters_are_protected_unless_a_plain_word_is_known() -> None:
    words, letters = {"of", "their", "Garcia", "a"}, letters_of(["abcdefghijklmnopqrstuvwxyz"])
    text = "øf thểir García à vår"
    assert [text[a:b] for a, b in protected_spans(text, words.__contains__, letters)] == ["García", "à", "vår"]


def test_models_of_bytes_protect_no_script() -> None:
    text = "дом 東京"
    assert greedy(each_word, "x").edit([text])[0].text == text
    editor = greedy(each_word, "x", None)
    editor.model.symbols = [*LATIN, "\ua9a0"]
    assert editor.edit([text])[0].text == "x x"


def test_a_levt_keeps_protected_parts(tmp_path: Path) -> None:
    """The weights are random, so that it edits much."""
    flags = ["-s", "src", "-t", "tgt", "--draft-lang", "mt", "--max-insertions", 4]
    teachers.write_teacher(tmp_path / "checkpoint.pt", LEVT_DATA, *teachers.LEVT, *flags, seed=3)
    search = {"iter_decode_max_iter": 0, "iter_decode_eos_penalty": -1.5}
    system = System(tmp_path / "checkpoint.pt", LEVT_DATA, [], decoding=search)
    folder = system.export(tmp_path / "out")
    editor, unprotected_editor = (Editor.load(folder, EditOptions(edit_also=kinds)) for kinds in ("", "all"))
    things = ["https://a.org/b", "12.5%", "🎉", "a@b.org", "snake_case", "`x`"]
    draw = random.Random(1)
    texts = [" ".join(draw.choices([*things, *sorted(editor.model.symbols)[:8]], k=8)) for _ in range(40)]
    edits = lost = 0
    for text, edited, free in zip(texts, editor.edit(texts), unprotected_editor.edit(texts), strict=True):
        parts = [Span(*place.span()) for place in re.finditer(r"\S+", text) if place[0] in things]
        assert_parts_kept(edited, parts)
        edits += len(edited.edits)
        lost += any(edit.start < end and start < edit.end for edit in free.edits for start, end in parts)
        segments = [segment for _, segment in editor.segments(EditRequest(text))[1]]
        for edits_of_segment in editor.model.decode(segments):  # by the model itself, before any edit is left out
            assert not any(edit.start < end and start < edit.end for edit in edits_of_segment for start, end in parts)
    assert edits > 40 and lost > 10


# ---- time ------------------------------------------------------------------------------------------------------------


REPEATED = ["a", "a.", "a/", "a@", "`a", "[", "](", "$a", "1,", "a=", ":a", "{", "\\(", "{'a", "*a", "-", "_a", "IV"]
REPEATED += ["1x", "U$", "|", "&a", "#", "~/", "a:", "12", '{"a":', "a+", "👍", "\\a{", "[a]", "<a", "a-", "%@", "a'"]
REPEATED += ["é", "語", "a_", "::", "ab:", ".a", "=)", "a(", "http://"]
REPEATED += ["<!-- ", "+1 ", "`` a", "123 ", "C:\\a ", "$$ ", "May 1", "(1) ", "x "]


@pytest.mark.parametrize("end", ["", "!", " "])
def test_protected_spans_take_linear_time(end: str) -> None:
    """Repeated text makes some patterns quadratic, which would be 16 here."""
    letters = letters_of(LATIN)

    def protect(size: int) -> None:
        for part in REPEATED:
            protected_spans((part * size)[:size] + end, lambda word: False, letters)

    assert growth(protect, 400) < 8


def test_every_kind_is_documented() -> None:
    import lev_plugins.text.protected as module

    assert all(f"# {kind}" in (module.__doc__ or "") for kind in PATTERNS)


# ---- words of the user, in a request and in a file -------------------------------------------------------------------


def test_the_longest_own_word_is_protected() -> None:
    protected = OwnWords(["New York", "New", "York City Hall"])
    text = "New York City, new"
    assert [text[a:b] for a, b in protected.spans(text)] == ["New York"]


def test_own_words_take_linear_time() -> None:
    protected = OwnWords([" ".join("a" * n) for n in range(1, 101)])
    assert len(protected.spans("a " * 500)) == 500
    assert growth(lambda size: protected.spans("a " * size), 500) < 8


def test_own_words_match_decomposed_accents() -> None:
    """macOS writes accents as separate characters; positions are those of the text."""
    for word in ("café", "cafe\u0301"):
        assert OwnWords([word]).spans("a cafe\u0301, café") == [(2, 7), (9, 13)]


def test_without_protected_drops_edits_in_linear_time() -> None:
    """Spans may overlap, in any order."""
    draw = random.Random(1)
    spans = [Span(start, start + draw.randint(1, 9)) for start in draw.choices(range(300), k=60)]
    edits = [Edit(start, start + draw.randint(0, 3), "x") for start in range(0, 300, 4)]
    remaining = without_protected(Edited("a" * 310, tuple(edits)), spans).edits
    assert list(remaining) == [
        edit for edit in edits if not any(edit.start < span.end and span.start < edit.end for span in spans)
    ]
    assert 0 < len(remaining) < len(edits)

    def drop_protected(size: int) -> None:
        text = "teh a " * size
        edited_text = Edited(text, tuple(Edit(place, place + 3, "the") for place in range(0, len(text), 6)))
        assert len(without_protected(edited_text, OwnWords(["a"]).spans(text)).edits) == size

    assert growth(drop_protected, 2_000) < 8


def test_word_lists_strip_byte_order_marks(tmp_path: Path) -> None:
    """A word list that begins with one could not be read."""
    file = tmp_path / "words.txt"
    words = WordList(file)
    assert words.add("\ufeffteh") and words.add("tset") and not words.add("teh")
    assert list(WordList(file).words) == ["teh", "tset"]
    assert words.delete("\ufeffteh")


def test_word_lists_with_too_long_words_are_not_changed(tmp_path: Path) -> None:
    """Every change is refused, not only the first."""
    file = tmp_path / "words.txt"
    words = WordList(file)
    long = f"{'a' * 201}\n"
    file.write_text(long, encoding="utf-8")
    for _ in range(2):
        with pytest.raises(UserError, match="at most 200 characters"):
            words.add("beta")
    assert file.read_text(encoding="utf-8") == long


def test_word_lists_keep_lines_of_other_programs(tmp_path: Path) -> None:
    file = tmp_path / "words.txt"
    file.write_text("alpha\n", encoding="utf-8")
    words = WordList(file)
    with file.open("a", encoding="utf-8") as more:
        more.write("beta\n")
    assert words.add("gamma") and not words.add("beta") and words.delete("alpha")
    assert file.read_text(encoding="utf-8") == "beta\ngamma\n"
    assert words.protected.spans("beta")


def test_an_unwritable_word_list_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("lev_plugins.editor.own_words.all_or_nothing", fail)
    words = WordList(tmp_path / "words.txt")
    with pytest.raises(UserError, match=r"words\.txt cannot be written"):
        words.add("alpha")
    assert not words.words
