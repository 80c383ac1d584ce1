"""``lev-plugins trace``: what is read from a log, which edits are found, and how they are shown."""

import base64
import hashlib
import io
import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from fairseq.data.data_utils import post_process
from hypothesis import given
from hypothesis import strategies as st
from tqdm import tqdm

from lev_plugins.cli.main import main
from lev_plugins.cli.trace import in_colour
from lev_plugins.traces import page, terminal
from lev_plugins.traces.log import Hypothesis, Log, LoggedSentence, parse_line
from lev_plugins.traces.rows import JOININGS, TraceRow, layout, marked
from lev_plugins.traces.script import EditKind, PieceEdit, Script, edits, iterations
from tests.helpers import Refusal, slow_alignment, thorough

ROOT = Path(__file__).parents[3]


def logged(number: int, source: str, reference: str, *hypotheses: tuple[str, ...]) -> str:
    """The lines of a sentence; of each hypothesis its score, its text and its states."""
    lines = [f"S-{number}\t{source}", f"T-{number}\t{reference}"]
    for score, text, *states in hypotheses:
        lines += [
            f"H-{number}\t{score}\t{text}",
            f"D-{number}\t{score}\t{text}",
            f"P-{number}\t{score}" + f" {score}" * len(text.split()),
        ]
        lines += [f"I-{number}\t{(len(states) - 1) // 3 - 1}"]
        lines += [f"E-{number}_{step}\t{state}" for step, state in enumerate(states)]
    return "".join(f"{line}\n" for line in lines)


# an editor on sentence pieces; the README shows its trace
README = """\
S-84\tRetufn true if ohe objetc is a code object.
T-84\tReturn true if the object is a code object.
H-84\t-0.040742482990026474\t▁Return ▁true ▁if ▁the ▁object ▁is ▁a ▁code ▁object .
D-84\t-0.040742482990026474\tReturn true if the object is a code object.
P-84\t-0.1769 0.0000 0.0000 -0.1963 -0.1157 0.0000 0.0000 0.0000 0.0000 0.0000 0.0000
I-84\t0
E-84_0\t▁Retufn ▁true ▁if ▁ohe ▁objetc ▁is ▁a ▁code ▁object .
E-84_1\t▁true ▁if ▁is ▁a ▁code ▁object .
E-84_2\t<plh> ▁true ▁if <plh> <plh> ▁is ▁a ▁code ▁object .
E-84_3\t▁Return ▁true ▁if ▁the ▁object ▁is ▁a ▁code ▁object .
"""
# batch by batch, so in no order: from nothing in two iterations; a draft that is kept; two candidates, one in circles
FROM_NOTHING = ["", "", "<plh> <plh>", "house house", "house", "<plh> house", *["a house"] * 4]
LOG = "2026-01-01 00:00:00 | INFO | fairseq_cli.generate | loading model(s) from levt.pt\n"
LOG += logged(11, "ein Haus", "a house", ("-0.5", "a house", *FROM_NOTHING))
LOG += logged(3, "die Katze", "the cat", ("0.0", "the cat", *["the cat"] * 4))
CIRCLES = ["", "", "<plh> <plh>", "y y", "y", "y", "y y"]
LOG += logged(20, "x", "y", ("-1.0", "y", "", "", "<plh>", "y"), ("-2.0", "y y", *CIRCLES))
LOG += "2026-01-01 00:00:00 | INFO | fairseq_cli.generate | Translated 3 sentences\n"
LOG += "Generate test with beam=5: BLEU4 = 100.00\n"
PIECES = st.lists(st.sampled_from(["a", "b", "c", "<plh>"]), max_size=8)


def read(text: str | bytes, **options: object) -> tuple[list[LoggedSentence], Log]:
    log = Log("the log")
    data = text.encode() if isinstance(text, str) else text
    return list(log.read(io.BytesIO(data), **options)), log  # type: ignore[arg-type]


def plain(sentence: LoggedSentence, spelling: str = "none") -> list[str]:
    return list(terminal.trace_lines(layout(sentence, JOININGS[spelling]), terminal.PLAIN))


def traced(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert main(["trace", *map(str, arguments)]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "generate.log"
    path.write_text(LOG, encoding="utf-8")
    return path


# edit scripts


def script_of(text: str) -> Script:
    """``-a`` is deleted, ``+a`` inserted, ``?`` a hole."""
    kinds = {"-": EditKind.DELETED, "+": EditKind.INSERTED, "?": EditKind.PLACEHOLDER}
    return [
        PieceEdit(kinds.get(word[0], EditKind.KEPT), word[1:] if word[0] in kinds else word) for word in text.split()
    ]


def before(script: Script) -> list[str]:
    return [piece for kind, piece in script if kind in (EditKind.KEPT, EditKind.DELETED)]


def after(script: Script) -> list[str]:
    return [piece for kind, piece in script if kind is not EditKind.DELETED]


@thorough
@given(PIECES, PIECES)
def test_a_script_leads_from_one_state_to_the_next(one: list[str], other: list[str]) -> None:
    script = edits(one, other)
    assert (before(script), after(script)) == (one, other)


@thorough
@given(PIECES, st.integers(0, 255), st.booleans())
def test_a_step_of_the_editor_gets_the_script_of_the_expert(longer: list[str], mask: int, insert: bool) -> None:
    """As few edits as possible, and of several such scripts the one that the expert's rule picks."""
    shorter = [piece for i, piece in enumerate(longer) if mask >> i & 1]
    numbers, few = ([ord(piece[0]) for piece in pieces] for pieces in (longer, shorter))
    kept = slow_alignment(few, numbers)[1] if insert else slow_alignment(numbers, few)[0]
    script = edits(shorter, longer) if insert else edits(longer, shorter)
    assert [piece for _, piece in script] == longer
    assert [kind is EditKind.KEPT for kind, _ in script] == kept
    assert {kind for kind, _ in script} <= {EditKind.KEPT, EditKind.INSERTED if insert else EditKind.DELETED}


@st.composite
def histories(draw: st.DrawFn) -> list[list[str]]:
    """A start and what some iterations of random actions make of it."""
    states = [draw(PIECES)]
    for _ in range(draw(st.integers(1, 3))):
        left = [piece for piece in states[-1] if draw(st.booleans())]
        opened = [piece for word in [*left, None] for piece in [*["<plh>"] * draw(st.integers(0, 2)), word] if piece]
        words = [draw(st.sampled_from("abc")) if piece == "<plh>" else piece for piece in opened]
        states += [left, opened, words]
    return states


@thorough
@given(histories())
def test_actions_lead_from_state_to_state(states: list[list[str]]) -> None:
    for i, iteration in enumerate(iterations(states)):
        given, left, opened, filled = states[3 * i : 3 * i + 4]
        for script, one, other in zip(iteration, (given, left, opened), (left, opened, filled), strict=True):
            if script is None:
                assert one == other
            else:
                assert after(script) == other
        assert iteration.deletion is None or before(iteration.deletion) == given
        assert iteration.opening is None or before(iteration.opening) == left
        assert (iteration == (None, None, None)) == (given == left == opened == filled)


def test_what_fills_a_hole_may_be_the_word_that_stands_for_holes() -> None:
    """fairseq's own placeholder is <unk>, and <unk> may fill it."""
    [iteration] = iterations([["a"], ["a"], ["a", "<unk>", "<unk>"], ["a", "b", "<unk>"]])
    assert iteration.filling == script_of("a +b +<unk>")


def test_a_history_that_no_editor_made_is_shown_as_it_is() -> None:
    [iteration] = iterations([["a", "b"], ["c"], ["<plh>", "c"], ["d", "e"]])
    assert iteration.deletion == script_of("-a -b +c")
    assert iteration.filling is not None and after(iteration.filling) == ["d", "e"]
    assert before(iteration.filling) == ["<plh>", "c"]


# reading


def test_sentences_of_a_log() -> None:
    (eleven, three, twenty), log = read(LOG)
    assert (eleven.number, eleven.source, eleven.reference) == (11, "ein Haus", "a house")
    assert len(eleven.hypotheses[0].states) == 10 and eleven.hypotheses[0].states[2] == ["<plh>", "<plh>"]
    assert three.hypotheses == [Hypothesis(0.0, "the cat", [["the", "cat"]] * 4)]
    assert [hypothesis.score for hypothesis in twenty.hypotheses] == [-1.0, -2.0]
    assert (log.sentences, log.incomplete) == (3, [])


def test_a_log_cut_anywhere_loses_its_last_sentence_at_most() -> None:
    whole, data = read(LOG)[0], LOG.encode()
    for end in range(len(data)):
        found, log = read(data[:end])
        assert len(found) + len(log.incomplete) == log.sentences and len(log.incomplete) <= 1
        for one, other in zip(found, whole, strict=False):
            assert one[:3] == other[:3] and one.hypotheses
            assert one.hypotheses == other.hypotheses[: len(one.hypotheses)]  # some candidates may be cut off


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("E-11_4\thouse\n", ""),  # a state is missing
        ("E-11_4", "E-11_5"),
        ("I-11\t2", "I-11\t3"),
        ("D-11\t-0.5\ta house", "D-11\ta house"),
        ("D-11\t-0.5", "D-11\tfive"),
        ("H-11\t-0.5\ta house\n", ""),
    ],
)
def test_a_damaged_sentence_is_left_out(old: str, new: str) -> None:
    assert old in LOG
    found, log = read(LOG.replace(old, new))
    assert [sentence.number for sentence in found] == [3, 20] and log.incomplete == [11]


def test_without_print_step_the_history_alone_counts() -> None:
    short = re.sub(r"^I-.*\n", "", LOG, flags=re.MULTILINE)
    assert read(short)[0] == read(LOG)[0]


def test_a_source_begins_a_sentence_even_if_its_number_was_there() -> None:
    """Two logs one after the other."""
    found, _ = read(README + README)
    assert [len(sentence.hypotheses) for sentence in found] == [1, 1]


def test_white_space_other_than_a_space_is_part_of_a_piece() -> None:
    odd = LOG.replace("house house", "house\u00a0\u3000\u2028 house\x0b\x1c\x85")
    assert read(odd)[0][0].hypotheses[0].states[3] == ["house\u00a0\u3000\u2028", "house\x0b\x1c\x85"]


def test_a_progress_bar_in_the_log_is_no_part_of_it() -> None:
    """What tqdm draws as fairseq has it draw, between lines and in the middle of one."""
    screen = io.StringIO()
    with tqdm(total=3, file=screen, leave=False, mininterval=0, ascii=False) as bar:
        bar.update()
        bar.set_postfix({"wps": "120"})
    drawn = screen.getvalue().encode()
    assert drawn.count(b"\r") > 2 and b"wps=120]" in drawn
    data = LOG.encode()
    for at in (data.index(b"S-11"), data.index(b"E-11_4"), data.index(b"E-11_6") + 9, data.index(b"S-3") + 6):
        assert read(data[:at] + drawn + data[at:])[0] == read(LOG)[0]


@pytest.mark.parametrize(
    "line", [b"A-1\t0-0", b"S-\t", b"S-1 w1", b" S-1\tw1", b"XS-1\tw1", b"\r" * 5000, b"\r" + b"1" * 100_000]
)
def test_lines_that_belong_to_nobody(line: bytes) -> None:
    assert parse_line(line + b"\n") is None


# the rows


def test_from_nothing_in_two_iterations() -> None:
    assert plain(read(LOG)[0][0]) == [
        "sentence 11",
        "   source  ein Haus",
        "reference  a house",
        "    start  (nothing)",
        "   open 1  { } { }",
        "   fill 1  {+house house+}",
        " delete 2  house [-house-]",
        "   open 2  { } house",
        "   fill 2  {+a+} house",
        "   keep 3  (nothing to delete, nothing to insert)",
        "   result  a house",
        "    score  -0.5000",
    ]


def test_candidates_have_a_history_each_and_one_source() -> None:
    shown = plain(read(LOG)[0][2])
    titles = [f"sentence 20, candidate {number} of 2" for number in (1, 2)]
    assert [line for line in shown if line.startswith("sentence")] == titles
    assert [line.split()[0] for line in shown if line].count("source") == 1
    assert shown[-4:-2] == [" delete 2  y [-y-]", "   undo 2  y {+y+}"]


@pytest.mark.parametrize("symbol", [symbol for symbol in JOININGS if symbol != "@@"])
def test_pieces_are_joined_as_fairseq_does(symbol: str) -> None:
    @thorough
    @given(st.lists(st.text(st.sampled_from("ab@_|▁EOW"), min_size=1), min_size=1))
    def same(pieces: list[str]) -> None:
        assert JOININGS[symbol].join(pieces) == post_process(" ".join(pieces), symbol).strip(" ")

    same()


@pytest.mark.parametrize(
    ("script", "spelling", "shown"),
    [
        ("▁so -rt -▁it", "sentencepiece", "so[-rt it-]"),
        ("+▁so +rt ▁it", "sentencepiece", "{+sort+} it"),
        ("▁an ? y ? ? ▁how", "sentencepiece", "an { } y { } { } how"),
        ("▁a -▁ b", "sentencepiece", "a[-␣-]b"),
        ("▁a -▁ -▁b c", "sentencepiece", "a [-b-]c"),
        ("ex@@ -tra@@ +tri@@ l@@ ife", "subword_nmt", "ex[-tra-]{+tri+}life"),
        ("ex@@ ? life -ex@@", "subword_nmt", "ex { } life [-ex-]"),
        ("+ex@@ -tra", "none", "{+ex@@+} [-tra-]"),
        ("_a -_b", "wordpiece", "a [-b-]"),
        ("a| -b| c", "letter", "a [-b-] c"),
        ("a_EOW -b_EOW", "_EOW", "a [-b-]"),
        ("? -a", "none", "{ } [-a-]"),
    ],
)
def test_marks_stay_on_the_pieces_and_spaces_out_of_them(script: str, spelling: str, shown: str) -> None:
    row = TraceRow("fill 1", marked(script_of(script), JOININGS[spelling]))
    assert terminal.content(row, terminal.PLAIN) == shown


def test_texts_that_fairseq_has_joined_are_left_alone() -> None:
    [joined], _ = read(README.replace("Retufn true", "Retufn▁ true", 1))
    assert plain(joined, "sentencepiece")[1] == "   source  Retufn▁ true if ohe objetc is a code object."


def test_texts_in_pieces_are_joined_as_well() -> None:
    raw = logged(1, "▁ein ▁Ha us", "▁a ▁home", ("0", "▁a ▁hou se", "", "", "<plh> <plh> <plh>", "▁a ▁hou se"))
    shown = plain(read(raw)[0][0], "sentencepiece")
    assert shown[1:3] + shown[-2:-1] == ["   source  ein Haus", "reference  a home", "   result  a house"]
    words = plain(read(raw.replace("▁ein ▁Ha us", "ein Haus"))[0][0], "sentencepiece")
    assert words[1] == "   source  ein Haus"  # the source may have no pieces


HOSTILE = "\u202e\u2066<script>alert(1)</script>&quot;'\"\x1b]0;title\x07\x1b[2J\x00\u2028\x9b2J"


HOSTILE_LOG = re.sub("ein|house|cat", lambda match: match[0] + HOSTILE, LOG)


def test_no_text_reaches_beyond_its_row() -> None:
    found, _ = read(HOSTILE_LOG)
    lines = [line for sentence in found for line in plain(sentence)]
    assert len(lines) == sum(len(plain(sentence)) for sentence in read(LOG)[0])
    assert not re.search("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]", "".join(lines))
    assert lines[1].startswith("   source  ein\\u202e\\u2066<script>")


def test_colours_have_the_same_texts_as_marks() -> None:
    for sentence in read(LOG)[0]:
        blocks = layout(sentence, JOININGS["none"])
        bare = [re.sub("\x1b\\[[0-9;]*m", "", line) for line in terminal.trace_lines(blocks, terminal.COLOUR)]
        marks = [re.sub(r"\[-|-\]|\{\+|\+\}", "", line) for line in terminal.trace_lines(blocks, terminal.PLAIN)]
        assert bare == marks
    shown = "\n".join(terminal.trace_lines(layout(read(LOG)[0][0], JOININGS["none"]), terminal.COLOUR))
    assert "house \x1b[9;31mhouse\x1b[0m" in shown and "\x1b[1;4;32ma\x1b[0m house" in shown


# the page


class Page(HTMLParser):
    """Tags with their attributes, text, and whether every tag is closed."""

    def __init__(self, text: str):
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def page_of(text: str, title: str = "generate.log") -> str:
    blocks = [block for sentence in read(text)[0] for block in layout(sentence, JOININGS["none"])]
    return "".join(page.page(title, "3 of 3 sentences", blocks))


def test_the_page_has_every_text_of_the_terminal() -> None:
    lines = "\n\n".join("\n".join(plain(sentence)) for sentence in read(LOG)[0])
    assert re.sub(r"\[-|-\]|\{\+|\+\}", "", lines) in Page(page_of(LOG)).text.replace("□", "{ }")
    assert '<bdi dir="auto" lang="">house <del>house</del></bdi>' in page_of(LOG)
    assert '<bdi dir="auto" lang=""><ins>a</ins> house</bdi>' in page_of(LOG)
    assert "<i> delete 2</i>  " in page_of(LOG) and "<span>□</span> house" in page_of(LOG)


def test_the_page_needs_nothing_else_and_runs_nothing() -> None:
    found = Page(page_of(LOG))
    assert {tag for tag, _ in found.tags} == {
        *("html", "head", "meta", "title", "style", "body", "h1", "p", "pre", "b", "bdi", "del", "ins", "span", "i")
    }
    assert {name for _, attributes in found.tags for name in attributes} == {
        *("lang", "charset", "http-equiv", "content", "name", "dir")
    }
    assert not re.search(r"url\(|@import|//", page_of(LOG))
    [policy] = [attributes["content"] for _, attributes in found.tags if "http-equiv" in attributes]
    [style] = re.findall("<style>(.*?)</style>", page_of(LOG), re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy is not None and policy.startswith(f"default-src 'none'; style-src 'sha256-{digest}';")


def test_hostile_text_is_text() -> None:
    spoilt = Page(page_of(HOSTILE_LOG, 'x<script>"&\u202e\x1b'))
    assert spoilt.tags == Page(page_of(LOG)).tags  # not one tag or attribute came from the log
    assert "  ein\\u202e\\u2066<script>alert(1)</script>&quot;'\"\\u001b]0;title" in spoilt.text
    assert 'Edits in x<script>"&\\u202e\\u001b\n' in spoilt.text
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]", spoilt.text)


# the command


def test_the_readme_shows_what_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "decode.log").write_text(README, encoding="utf-8")
    printed = traced(capsys, tmp_path / "decode.log", "--select", 84, "--remove-bpe", "sentencepiece")
    blocks = re.findall(r"^```\n(.*?)^```", (ROOT / "README.md").read_text(encoding="utf-8"), re.M | re.S)
    [shown] = [block for block in blocks if block.startswith("   source")]
    assert shown.splitlines() == [
        line for line in printed.splitlines() if re.match(r" *(source|delete|open|fill) ", line)
    ]


def numbers(printed: str) -> list[int]:
    return [int(number) for number in re.findall(r"^sentence (\d+)(?:$|, candidate 1)", printed, re.MULTILINE)]


@pytest.mark.parametrize(
    ("flags", "shown"),
    [
        ([], [3, 11, 20]),  # in the order of the input
        (["--first", 2], [3, 11]),
        (["--first", 9], [3, 11, 20]),
        (["--select", "20,3"], [3, 20]),
        (["--select", "20", "--select", " 11"], [11, 20]),
        (["--select", "20,11", "--first", 1], [11]),
        (["--changed"], [11]),
        (["--changed", "--select", "11,3"], [11]),
    ],
)
def test_what_is_shown(log: Path, capsys: pytest.CaptureFixture[str], flags: list[object], shown: list[int]) -> None:
    assert numbers(traced(capsys, log, *flags)) == shown


def test_nothing_was_changed(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for flags in ([], ["--html", str(tmp_path / "out.html")]):
        assert main(["trace", str(log), "--select", "3", "--changed", *flags]) == 0
        assert capsys.readouterr().err == (
            "lev-plugins: nothing to show: no iteration changed existing words (--changed)\n"
        )
    assert "0 of 3 sentences" in (tmp_path / "out.html").read_text(encoding="utf-8")


def test_an_incomplete_sentence_is_named(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log.write_text(LOG.replace("E-11_4\thouse\n", ""), encoding="utf-8")
    assert main(["trace", str(log)]) == 0
    out, err = capsys.readouterr()
    assert numbers(out) == [3, 20]
    assert err == f"lev-plugins: {log}: 1 of 3 sentences left out, because their history is incomplete (11)\n"
    assert main(["trace", str(log), "--select", "11"]) == 0
    assert capsys.readouterr() == ("", err)


def test_bytes_that_are_not_utf8_are_shown_by_number(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log.write_bytes(LOG.encode().replace(b"house", b"h\xf6use"))
    assert "h\\xf6use" in traced(capsys, log) and numbers(traced(capsys, log)) == [3, 11, 20]


def test_standard_input(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], refusal: Refusal) -> None:
    for arguments in ([], ["-"]):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(LOG.encode())))
        assert numbers(traced(capsys, *arguments)) == [3, 11, 20]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    assert "standard input has no E- lines" in refusal("trace")


def test_a_page_is_complete_or_not_there(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], refusal: Refusal, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "new" / "trace.html"
    assert traced(capsys, log, "--html", out, "--first", 2) == f"{out} shows 2 of 3 sentences of {log}\n"
    before = out.read_bytes()
    assert before.endswith(b"</html>\n") and [path.name for path in out.parent.iterdir()] == ["trace.html"]
    full = OSError(28, "No space left on device")
    monkeypatch.setattr(page, "trace_lines", lambda *_: (_ for _ in ()).throw(full))
    assert "the disk, or your share of it, is full" in refusal("trace", log, "--html", out)
    assert out.read_bytes() == before and [path.name for path in out.parent.iterdir()] == ["trace.html"]


@pytest.mark.parametrize(
    ("content", "flags", "message"),
    [
        (b"", [], "{log} has no E- lines with the history of the iterations: give the output of fairseq-generate"),
        (b"\x80\x00\xff\n\n" * 9, [], "{log} has no E- lines"),
        (b"S-0\tw1\nW-0\t0.1\tseconds\n", [], "(fairseq-interactive prints no history)"),
        (b"S-0\tw1\nH-0\t-0.1\tv1\nE-0_0\t\n", [], "{log} has no sentence with a complete history"),
        (LOG.encode(), ["--select", "3,4"], "--select 4: {log} has no such sentence"),
        (LOG.encode(), ["--select", "3,S-4"], "--select must be sentence numbers, such as 3,17, but 'S-4' is not a"),
        (LOG.encode(), ["--select", ""], "such as 3,17, but '' is not a number"),
        (LOG.encode(), ["--first", 0], "--first must be at least 1, but is 0"),
        (LOG.encode(), ["--html", "x.html", "--color", "never"], "--color applies to text: leave it out with --html"),
        (LOG.encode(), ["--html", "{log}"], "--html {log} is the log itself"),
        (LOG.encode(), ["--html", "{log.parent}"], "{log.parent} exists but is not a regular file"),
    ],
)
def test_refusals(log: Path, refusal: Refusal, content: bytes, flags: list[object], message: str) -> None:
    log.write_bytes(content)
    assert message.format(log=log) in refusal("trace", log, *(str(flag).format(log=log) for flag in flags))
    assert log.read_bytes() == content


@pytest.mark.parametrize(
    ("when", "terminal", "environment", "coloured"),
    [
        (None, True, {}, True),
        ("auto", True, {}, True),
        (None, False, {}, False),
        (None, True, {"NO_COLOR": "1"}, False),
        (None, True, {"NO_COLOR": ""}, True),
        (None, True, {"TERM": "dumb"}, False),
        ("always", False, {"NO_COLOR": "1"}, True),
        ("never", True, {}, False),
    ],
)
def test_colour(
    when: str | None, terminal: bool, environment: dict[str, str], coloured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert in_colour(when) == coloured


def test_a_terminal_that_lacks_a_letter(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log.write_text(LOG.replace("Haus", "家"), encoding="utf-8")
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii"))
    assert main(["trace", str(log), "--select", "11"]) == 0
    assert b"   source  ein \\u5bb6\n" in written.getvalue()
