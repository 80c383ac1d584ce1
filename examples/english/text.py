"""Training text and a dictionary for an editor, from clean sentences and a list of frequent words.

    python examples/english/text.py FOLDER --text FILE ... [--valid FILE] [--frequencies FILE] [--rare-words]
        [--language-files NAME] [--lexicon FILE]

writes FOLDER/train.clean, FOLDER/valid.clean, FOLDER/unexpected.clean, which is the held-out text with many unexpected
words, FOLDER/calibration.clean, the same where some sentences look like another language, FOLDER/dict.txt, a
dictionary for ``lev-plugins prepare``: the words of the text and of the frequency list, and FOLDER/chat.txt, words of
chat that an editor had better leave alone, one per line.

An editor has to learn that a word which it does not know, or does not expect, need not be wrong. So some words of the
text are replaced by others, on both sides of the pairs: by words of the list, by words of chat, and by made-up words,
names and abbreviations. A made-up word looks like a word because each of its letters is drawn given the two before it.
Some sentences are written as in a chat. The held-out text also has words of kinds that training does not show (unless
with ``--rare-words``): rare words of the list, which the dictionary lacks, and words with foreign letters.

With ``--lexicon``, sentences that have a misspelling of it are left out, and so are the misspellings of the list of
frequent words; words of the lexicon that the dictionary lacks are among the unexpected ones.
"""

import argparse
import random
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from importlib.util import find_spec
from itertools import accumulate
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.denoising import symspell
from examples.shared import write_lines
from lev_plugins.noise.kinds import with_marks
from lev_plugins.noise.languages import ALPHABET, CHAT, language_folder, language_words
from lev_plugins.text.ids import BLANK
from lev_plugins.text.lines import read_lines
from lev_plugins.text.offsets import words_with_places
from lev_plugins.text.text_style import TextStyle

SENTENCE_WORDS = range(3, 41)
HELD_OUT_SENTENCES = 800
VARIANT_FACTOR = 4  # times as frequent must a word be that differs from another in its capitals, or is behind a sign
MIN_COUNT = 2  # in the dictionary, of a word of the list that the text lacks
TRAIN_SHARES = (0.0, 0.02, 0.05, 0.11)  # of the words of a sentence that are replaced; one of these is drawn for each
UNEXPECTED_SHARES = (0.1, 0.2, 0.3)  # in the text that shows how often edits of text of another kind are right
FOREIGN_SHARE = 0.9  # of the words of a sentence that looks like one of another language
FOREIGN_EVERY = 4  # one in so many sentences of calibration.clean looks so
CAPITALISED = 0.5  # share of the made-up words
MADE_UP_LENGTHS = range(2, 13)
ABBREVIATION_LENGTHS = range(2, 5)
INFORMAL = 0.1  # share of the sentences
GREETED = 0.06  # share of the sentences that begin with a word of chat
END = "\n"
WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")


def count_words(lines: Iterable[str]) -> dict[str, int]:
    """
    >>> count_words(["The cat, the Zog"])
    {'the': 2, 'cat': 1, ',': 1, 'zog': 1}
    """
    return dict(Counter(word.lstrip(BLANK).lower() for line in lines for word, _ in words_with_places(line)))


def dictionary(lines: Iterable[str], listed: dict[str, int], chat: Iterable[str], occurrences: int) -> Counter[str]:
    """Returns the words of the text that recur, the listed words and the words of chat, with counts.

    A word with a capital, or behind a sign, must recur more often if the word without them is in the text or listed:
    the editor reads it as that one.

    A listed word has at least the count that a text of this size would have.

    >>> counts = dictionary(["The cat, the Zog"], {"the": 90, "cat": 10, "mat": 20}, ["lol"], 2)
    >>> sorted(counts.items())
    [(',', 1), ('▁Lol', 2), ('▁cat', 2), ('▁lol', 2), ('▁mat', 2), ('▁the', 3)]
    """
    text_counts = Counter(word for line in lines for word, _ in words_with_places(line))
    size, total = text_counts.total(), sum(listed.values())

    def minimum(word: str) -> int:
        if not any(map(str.isalnum, word)):
            return 1
        lower = BLANK + word.lstrip(BLANK).lower()
        is_variant = word != lower and (lower in text_counts or lower.lstrip(BLANK) in listed)
        return occurrences * VARIANT_FACTOR if is_variant else occurrences

    counts = Counter({word: count for word, count in text_counts.items() if count >= minimum(word)})
    chat_counts = [(form, 0) for word in chat for form in (word, word.capitalize())]
    for word, count in [*listed.items(), *chat_counts]:
        counts[BLANK + word] = max(counts[BLANK + word], MIN_COUNT, size * count // total)
    return counts


def lacking(listed: Mapping[str, int], text_counts: Mapping[str, int]) -> dict[str, float]:
    """Returns how likely each listed word is drawn: the more often a text of this size would have it, but for the text.

    So an editor learns that *hat* is a word although its training text hardly has it. The root spreads the draws.

    >>> lacking({"the": 90, "hat": 10}, {"the": 99, "hat": 1})
    {'the': 1.0, 'hat': 3.0}
    """
    size, total = sum(text_counts.values()), sum(listed.values())
    return {word: max(1.0, size * count / total - text_counts.get(word, 0)) ** 0.5 for word, count in listed.items()}


class UnexpectedWords:
    """Replaces words of sentences by unexpected ones."""

    def __init__(
        self,
        letters: str,
        listed: Mapping[str, float],
        chat: Sequence[str],
        rare: Sequence[str],
        lexical: Sequence[str],
        draw: random.Random,
    ) -> None:
        """
        Args:
            letters: the small letters of the language
            listed: words of the list, and how likely each is drawn
            chat: words of chat, the usual ones first
            rare: words that the dictionary lacks, if such words and words with marks are to come as well
            lexical: words of the lexicon that the dictionary lacks
            draw: the source of random numbers
        """
        self.token = re.compile(rf"(\W*)([{letters}][{letters}'-]+)(\W*)", re.IGNORECASE)
        self.capitals = letters.upper()
        self.listed, self.chat, self.rare = [word for word in listed if word.isalpha()], chat, rare
        self.lexical = lexical
        self.listed_up_to = list(accumulate(listed[word] for word in self.listed))
        self.draw = draw
        self.known = set(self.listed)
        self.chat_weights = [1 / (10 + rank) for rank in range(len(chat))]
        self.following: dict[str, list[str]] = defaultdict(list)  # letters that follow two letters
        for word in self.listed:
            letters = f"  {word}{END}"
            for place in range(len(word) + 1):
                self.following[letters[place : place + 2]].append(letters[place + 2])
        self.kinds = [self.made_up] * 5 + [self.listed_word] * 12 + [self.abbreviation]
        if chat:
            self.kinds[-1:] = [self.chat_word] * 4 + [self.abbreviation]
        if lexical:
            self.kinds += [self.lexical_word] * 4
        if rare:
            self.kinds += [self.rare_word] * 3 + [self.marked]

    def put_into(self, line: str, shares: Sequence[float]) -> str:
        """Replaces some words of the line, and now and then writes it in small letters, without apostrophes."""
        share = self.draw.choice(shares)
        text = " ".join(self.replace(word) if self.draw.random() < share else word for word in line.split())
        if self.draw.random() < GREETED and self.chat:
            text = f"{self.cased(self.chat_word(), 0.8)}{self.draw.choice([',', '', '!'])} {text}"
        if self.draw.random() < INFORMAL:
            text = text.lower().rstrip(".")
            text = text.replace("'", "") if self.draw.random() < 0.5 else text
        return text

    def foreign(self, line: str) -> str:
        """Replaces nearly all words of the line by made-up ones."""
        words = line.split()
        return " ".join(
            self.replace(word, [self.made_up]) if self.draw.random() < FOREIGN_SHARE else word for word in words
        )

    def for_calibration(self, lines: Sequence[str]) -> Iterator[str]:
        for number, line in enumerate(lines):
            yield self.put_into(line, UNEXPECTED_SHARES) if number % FOREIGN_EVERY else self.foreign(line)

    def replace(self, word: str, kinds: Sequence[Callable[[], str]] = ()) -> str:
        match = self.token.fullmatch(word)
        return word if match is None else match[1] + self.draw.choice(kinds or self.kinds)() + match[3]

    def made_up(self) -> str:
        while True:
            word = "  "
            while not word.endswith(END):
                word += self.draw.choice(self.following[word[-2:]])
            word = word.strip()
            if len(word) in MADE_UP_LENGTHS and word not in self.known:
                return self.cased(word, CAPITALISED)

    def listed_word(self) -> str:
        return self.cased(self.draw.choices(self.listed, cum_weights=self.listed_up_to)[0], 0.2)

    def rare_word(self) -> str:
        return self.cased(self.draw.choice(self.rare), CAPITALISED)

    def lexical_word(self) -> str:
        return self.cased(self.draw.choice(self.lexical), 0.2)

    def chat_word(self) -> str:
        return self.cased(self.draw.choices(self.chat, self.chat_weights)[0], 0.2)

    def abbreviation(self) -> str:
        return "".join(self.draw.choices(self.capitals, k=self.draw.choice(ABBREVIATION_LENGTHS)))

    def marked(self) -> str:
        word = self.listed_word()
        place = self.draw.randrange(len(word))
        return word[:place] + self.draw.choice(with_marks().get(word[place], [word[place]])) + word[place + 1 :]

    def cased(self, word: str, capitals: float) -> str:
        return word.capitalize() if self.draw.random() < capitals else word


def sentences(files: Iterable[tuple[Path, int]], misspellings: Set[str]) -> Iterator[tuple[str, int]]:
    """Yields the sentences of a fitting length, each once, with straight apostrophes and quotes, and its file's number.

    Sentences with one of the ``misspellings`` are left out.
    """
    style, seen = TextStyle(straight_quotes=True), set[str]()
    for path, number in files:
        for line in read_lines(path):
            text = " ".join(style.read(line).split())
            if len(text.split()) in SENTENCE_WORDS and text not in seen:
                seen.add(text)
                if misspellings.isdisjoint(WORD.findall(text.lower())):
                    yield text, number


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add = parser.add_argument
    add("folder", type=Path)
    add("--text", type=Path, nargs="+", required=True, help="clean text, one sentence per line")
    add("--valid", type=Path, help=f"held-out text (default: {HELD_OUT_SENTENCES} sentences of the text)")
    add("--frequencies", metavar="FILE", help="lines `word count` (default: those of symspellpy, if it is installed)")
    add("--listed", metavar="N", type=int, default=55_000, help="use the N most frequent words of that list")
    add("--rare-words", action="store_true", help="put rare words and foreign letters into the training text as well")
    add("--occurrences", metavar="N", type=int, default=3, help="least count of a word that is not in the list")
    add("--copies", metavar="N", type=int, nargs="+", default=[1], help="copies, of each file or of all alike")
    add("--language-files", metavar="NAME", default="en", help="letters and words of chat (default: en)")
    add("--lexicon", type=Path, help="lines WORD, or MISSPELLING,CORRECTION,... (default: none)")
    args = parser.parse_args()
    draw = random.Random(1)
    language = language_folder(args.language_files)
    copies = args.copies * len(args.text) if len(args.copies) == 1 else args.copies
    entries = [line.split(",") for line in read_lines(args.lexicon)] if args.lexicon else []
    misspellings = {word for word, *corrections in entries if corrections}
    lines = [*sentences(zip(args.text, copies, strict=True), misspellings)]
    draw.shuffle(lines)
    size = 0 if args.valid else min(HELD_OUT_SENTENCES, max(1, len(lines) // 5))
    train = [line for line, _ in lines[size:]]
    valid = list(read_lines(args.valid)) if args.valid else [line for line, _ in lines[:size]]
    text_counts = count_words(train)
    listed, unlisted = text_counts, list[str]()
    if args.frequencies or find_spec("symspellpy"):
        counts = symspell.listed(read_lines(Path(args.frequencies or symspell.own_list()))).most_common()
        counts = [(word, count) for word, count in counts if word not in misspellings]
        listed, unlisted = dict(counts[: args.listed]), [word for word, _ in counts[args.listed :]]
    alphabet, chat = language_words(language, ALPHABET), language_words(language, CHAT)
    letters = (
        alphabet[0] if alphabet else "".join(sorted({sign for word in text_counts for sign in word if sign.islower()}))
    )
    words = dictionary(train, listed, chat, args.occurrences)
    rare = [word for word in unlisted if word.isalpha() and BLANK + word not in words]
    train_rare = list[str]()
    if args.rare_words:
        draw.shuffle(rare)
        train_rare, rare = rare[::2], rare[1::2]
    weights = lacking(listed, text_counts)
    lexical = [word for word, *_ in entries if word not in misspellings and BLANK + word not in words]
    for_train, for_valid = (UnexpectedWords(letters, weights, chat, some, lexical, draw) for some in (train_rare, rare))
    copied = (line for copy in range(max(copies)) for line, number in lines[size:] if copy < number)
    write_lines(args.folder / "train.clean", (for_train.put_into(line, TRAIN_SHARES) for line in copied))
    write_lines(args.folder / "valid.clean", valid)
    write_lines(args.folder / "unexpected.clean", (for_valid.put_into(line, UNEXPECTED_SHARES) for line in valid))
    write_lines(args.folder / "calibration.clean", for_valid.for_calibration(valid))
    write_lines(args.folder / "chat.txt", chat)
    write_lines(args.folder / "dict.txt", (f"{word} {count}" for word, count in words.most_common()))
    print(f"{len(lines):,} sentences, {len(words):,} words in the dictionary")


if __name__ == "__main__":
    main()
