"""The edit scripts between the states of a log."""

from hypothesis import given
from hypothesis import strategies as st

from lev_plugins.traces.script import EditKind, PieceEdit, Script, edits, iterations
from tests.helpers import slow_alignment, thorough

PIECES = st.lists(st.sampled_from(["a", "b", "c", "<plh>"]), max_size=8)


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
