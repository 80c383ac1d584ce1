"""How much noise each line gets, and where."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from lev_plugins.noise.draws import Draw, binomial, by_weight, level, shuffled, stream
from lev_plugins.noise.kinds import NoiseKind
from lev_plugins.noise.options import NOISE_KINDS, NoiseOptions, check_options, parse_noise_kinds, with_language_files
from lev_plugins.noise.text import Line, WordSpan, is_letter
from lev_plugins.text.edited import Span
from lev_plugins.text.protected import Untouchable, protected_spans


@dataclass(frozen=True)
class Corruption:
    """Adds noise to a text; the docstring of ``noise`` explains the rates.

    The same (seed, epoch, index) gives the same noise in every process and order.

    >>> corrupt = build_corruption(NoiseOptions("keyboard", word_rate=0.5, seed=1))
    >>> [corrupt("the quick  brown fox", index) for index in range(3)]
    ['the q7ick  b4own fox', 'the quick  brown foc', 'the quick  brown gox']
    """

    kinds: Sequence[NoiseKind]
    weights: Sequence[float]  # of the kinds
    options: NoiseOptions
    short_words: Collection[str] = ()  # lower-case words that change in spite of ``min_letters``

    def __call__(self, text: str, index: int, epoch: int = 1) -> str:
        line, options = Line(text), self.options
        draw = stream(options.seed, epoch, index)
        at = level(options.seed, epoch, index, draw)
        scale = 2 * stream(options.seed, epoch, index, " rate")() if options.varied else 1
        numbers = touch_protected(line) if options.prose else range(len(line.starts))
        if options.word_rate is not None:
            if options.min_letters:
                numbers = [number for number in numbers if self._is_long_enough(line, number)]
            self._words(line, numbers, binomial(len(numbers), scale * options.word_rate, at), draw)
            return str(line)
        words = [line.word(number) for number in numbers]
        if options.char_rate is not None:
            characters = sum(word.end - word.start for word in words)
            self._edits(line, words, binomial(characters, scale * options.char_rate, at), draw)
        else:
            for kind in self.kinds:
                assert kind.edit_by_rate is not None, "for other kinds, ``check_options`` requires a rate"
                kind.edit_by_rate(line, words, draw)
        return str(line)

    def _is_long_enough(self, line: Line, number: int) -> bool:
        word = line.word(number)
        letters = [cell for cell in line.cells[word.start : word.end] if is_letter(cell)]
        return len(letters) >= self.options.min_letters or "".join(letters).lower() in self.short_words

    def _words(self, line: Line, possible: Sequence[int], count: int, draw: Draw) -> None:
        """Change ``count`` words, drawn from the ``possible`` ones that can be changed."""
        for number in shuffled(possible, draw):
            if count <= 0:
                return
            log_length = len(line.log)
            changed = self._word(line, line.word(number), draw)
            # where one more should change but two do, accept every second time
            if changed > count and draw() * changed >= count:
                line.undo(log_length)
            count -= changed

    def _word(self, line: Line, word: WordSpan, draw: Draw) -> int:
        """Make at least one slip in a word, more in a long one, and return the number of words changed."""
        count, char_rate, lower_rate = 1, self.options.char_rate, self.options.lower_rate
        if char_rate:
            count = max(1, int(char_rate * (word.end - word.start) + draw()))
        log_length = len(line.log)
        changed = self._edits(line, [word], count, draw)
        if count > 1 and changed and line.as_before(log_length):  # such as a letter deleted and inserted again
            line.undo(log_length)
            changed = self._edits(line, [word], 1, draw)
        if lower_rate and changed and draw() < lower_rate:  # as in ``keyboard``: no draw without a rate
            log_length_of_slips = len(line.log)
            lose_capital(line, word)
            if line.as_before(log_length):  # such as `the`, of which the slip was a capital
                line.undo(log_length_of_slips)
        return changed

    def _edits(self, line: Line, among: Sequence[WordSpan], count: int, draw: Draw) -> int:
        """Make up to ``count`` slips in the words, and return the largest number of words that one slip changed."""
        walks: dict[int, Iterator[int]] = {}
        possible = list(range(len(self.kinds)))
        words = 0
        while count and possible:
            number = possible[0]
            if len(possible) > 1:
                number = next(by_weight(possible, [self.weights[kind] for kind in possible], draw))
            kind = self.kinds[number]
            if number not in walks:
                walks[number] = kind.sites(line, among, draw)
            for at in walks[number]:
                if at not in line.touched and kind.edit(line, at, draw):
                    words = max(words, kind.words)
                    count -= 1
                    break
            else:
                possible.remove(number)
        return words


def build_corruption(options: NoiseOptions) -> Corruption:
    """Check the options and build the noise from them.

    >>> build_corruption(NoiseOptions("delete", word_rate=1.0))("The quick brown fox", index=0)
    'Th qick rown fx'
    """
    weights = parse_noise_kinds(options.kind, options.prefix)
    options = with_language_files(options)
    check_options(options, weights)
    kinds = [NOISE_KINDS[name](options) for name in weights]
    short_words = frozenset(filter(None, options.short_words.lower().split(",")))
    return Corruption(kinds, list(weights.values()), options, short_words)


def lose_capital(line: Line, word: WordSpan) -> None:
    """Write the first letter of a word small, unless the word has only capitals.

    >>> lines = [Line("Once"), Line("(Once)"), Line("UN"), Line("10")]
    >>> [lose_capital(line, line.word(0)) or str(line) for line in lines]
    ['once', '(once)', 'UN', '10']
    """
    cells = line.cells[word.start : word.end]
    at = next((offset for offset, cell in enumerate(cells) if is_letter(cell)), None)
    if at is not None and not "".join(cells).isupper():
        line.put(word.start + at, word.start + at + 1, [cells[at].lower()])


def touch_protected(line: Line) -> list[int]:
    """Mark the words that no corrector may touch as touched, with the white space around them; return the other ones.

    >>> touch_protected(Line("see a.org or `b c` for 5 kg"))
    [0, 2, 5]
    """
    # without a dictionary: no word is one that it knows
    untouchable = Untouchable(protected_spans(line.text, lambda word: False, None))
    offsets = list(accumulate(map(len, line.original), initial=0))  # of each cell in the text
    prose, previous_end = [], 0
    for number, word in enumerate(line.words()):
        if untouchable.touched_by(Span(offsets[word.start], offsets[word.end])):
            line.touched.update(range(previous_end, word.next))
        else:
            prose.append(number)
        previous_end = word.end
    return prose
