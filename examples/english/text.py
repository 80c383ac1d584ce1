"""Training text and a dictionary for an English editor, from clean sentences and a list of frequent words.

    python examples/english/text.py FOLDER --text FILE ... [--valid FILE] [--frequencies [FILE]] [--rare-words]

writes FOLDER/train.clean, FOLDER/valid.clean, FOLDER/unexpected.clean, which is the held-out text with many unexpected
words, FOLDER/dict.txt, a dictionary for ``lev-plugins prepare``: the words of the text and of the frequency list, and
FOLDER/chat.txt, words of chat that an editor had better leave alone, one per line.

An editor has to learn that a word which it does not know, or does not expect, is not wrong for that. So some words of
the text are replaced by others, which come back unchanged because they stand in the target: words of the list; words of
chat; and made-up ones, names and abbreviations, which look like words, since each letter is drawn by the two before it.
And some sentences are written as in a chat. The held-out text also has words of a kind that training does not show
(unless with ``--rare-words``): rare words of the list, which the dictionary lacks, and words with foreign letters.
"""

import argparse
import random
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from string import ascii_uppercase

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.denoising import symspell
from examples.shared import write_lines
from lev_plugins.noise.kinds import with_marks
from lev_plugins.text.ids import BLANK
from lev_plugins.text.lines import read_lines
from lev_plugins.text.offsets import words_with_places
from lev_plugins.text.text_style import TextStyle

SENTENCE = range(3, 41)  # words
CHAT = Path(__file__).parent / "chat.txt"  # words that lists made of books lack; the usual ones first
HELD_OUT = 800  # sentences
LEAST_COUNT = 2  # of a word of the list that the text lacks
STRANGE_SHARES = (0.0, 0.0, 0.04, 0.1)  # of the words of a sentence, in training text
MANY_SHARES = (0.1, 0.2, 0.3)  # in text that shows how often edits of text of another kind are right
CAPITALS = 0.5  # share of the made-up words
LENGTHS = range(2, 13)  # of them
ABBREVIATIONS = range(2, 5)
INFORMAL = 0.1  # share of the sentences
GREETED = 0.06  # share of the sentences that begin with a word of chat
TOKEN = re.compile(r"(\W*)([A-Za-z][A-Za-z'-]+)(\W*)")
END = "\n"


def words_of(lines: Iterable[str]) -> dict[str, int]:
    """
    >>> words_of(["The cat, the Zog"])
    {'the': 2, 'cat': 1, ',': 1, 'zog': 1}
    """
    return dict(Counter(word.lstrip(BLANK).lower() for line in lines for word, _ in words_with_places(line)))


def dictionary(lines: Iterable[str], listed: dict[str, int], chat: Iterable[str], occurrences: int) -> Counter[str]:
    """Words of the text that recur or are listed, and listed words, with the count that a text of this size would have.

    >>> counts = dictionary(["The cat, the Zog"], {"the": 90, "cat": 10, "mat": 20}, ["lol"], 2)
    >>> sorted(counts.items())
    [(',', 1), ('▁Lol', 2), ('▁The', 1), ('▁cat', 2), ('▁lol', 2), ('▁mat', 2), ('▁the', 3)]
    """
    of_text = Counter(word for line in lines for word, _ in words_with_places(line))
    size, total = of_text.total(), sum(listed.values())
    counts = Counter(
        {
            word: count
            for word, count in of_text.items()
            if count >= occurrences or word.lstrip(BLANK).lower() in listed or not any(map(str.isalpha, word))
        }
    )
    for word, count in [*listed.items(), *((word, 0) for one in chat for word in (one, one.capitalize()))]:
        counts[BLANK + word] = max(counts[BLANK + word], LEAST_COUNT, size * count // total)
    return counts


class Strange:
    """Puts unexpected words into sentences."""

    def __init__(self, listed: Iterable[str], chat: Sequence[str], rare: Sequence[str], draw: random.Random):
        """``rare``: words that the dictionary lacks, if such words and words with marks are to come as well."""
        self.kinds = self.more_kinds if rare else self.usual_kinds
        self.listed, self.chat, self.rare = [word for word in listed if word.isalpha()], chat, rare
        self.draw = draw
        self.known = set(self.listed)
        self.usual = [1 / (10 + place) for place in range(len(chat))]
        self.following: dict[str, list[str]] = defaultdict(list)
        for word in self.listed:
            letters = f"  {word}{END}"
            for place in range(len(word) + 1):
                self.following[letters[place : place + 2]].append(letters[place + 2])

    def among(self, line: str, shares: Sequence[float]) -> str:
        """The line with some of its words replaced, and now and then in small letters, without apostrophes."""
        share = self.draw.choice(shares)
        text = " ".join(self.instead_of(word) if self.draw.random() < share else word for word in line.split())
        if self.draw.random() < GREETED:
            text = f"{self.cased(self.of_a_chat(), 0.8)}{self.draw.choice([',', '', '!'])} {text}"
        if self.draw.random() < INFORMAL:
            text = text.lower().rstrip(".")
            text = text.replace("'", "") if self.draw.random() < 0.5 else text
        return text

    def instead_of(self, word: str) -> str:
        parts = TOKEN.fullmatch(word)
        return word if parts is None else parts[1] + self.draw.choice(self.kinds)(self) + parts[3]

    def made_up(self) -> str:
        while True:
            word = "  "
            while not word.endswith(END):
                word += self.draw.choice(self.following[word[-2:]])
            word = word.strip()
            if len(word) in LENGTHS and word not in self.known:
                return self.cased(word, CAPITALS)

    def of_the_list(self) -> str:
        return self.cased(self.draw.choice(self.listed), 0.2)

    def rare_word(self) -> str:
        return self.cased(self.draw.choice(self.rare), CAPITALS)

    def of_a_chat(self) -> str:
        return self.cased(self.draw.choices(self.chat, self.usual)[0], 0.2)

    def abbreviation(self) -> str:
        return "".join(self.draw.choices(ascii_uppercase, k=self.draw.choice(ABBREVIATIONS)))

    def marked(self) -> str:
        word = self.of_the_list()
        at = self.draw.randrange(len(word))
        return word[:at] + self.draw.choice(with_marks().get(word[at], [word[at]])) + word[at + 1 :]

    def cased(self, word: str, capitals: float) -> str:
        return word.capitalize() if self.draw.random() < capitals else word

    # as often as they stand here
    usual_kinds = (*[made_up] * 4, *[of_the_list] * 4, *[of_a_chat] * 4, abbreviation)
    more_kinds = (*usual_kinds, *[rare_word] * 3, marked)


def sentences(paths: Iterable[Path]) -> Iterator[str]:
    """Of a fitting length, each once, with straight apostrophes and quotes."""
    form, seen = TextStyle(straight=True), set()
    for path in paths:
        for line in read_lines(path):
            text = " ".join(form.read(line).split())
            if len(text.split()) in SENTENCE and text not in seen:
                seen.add(text)
                yield text


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--text", type=Path, nargs="+", required=True, help="clean text, a sentence a line")
    parser.add_argument(
        "--frequencies", metavar="FILE", nargs="?", const="", help="lines `word count`, by default those of symspellpy"
    )
    parser.add_argument("--listed", metavar="N", type=int, default=65_000, help="most frequent words of that list")
    parser.add_argument("--valid", type=Path, help=f"held-out text (default: {HELD_OUT} sentences of the text)")
    parser.add_argument(
        "--rare-words", action="store_true", help="rare words and foreign letters in training text, too"
    )
    parser.add_argument(
        "--occurrences", metavar="N", type=int, default=3, help="of a word of the text that is not in the list"
    )
    parser.add_argument("--copies", type=int, default=1, help="of the text, each with other made-up words")
    args = parser.parse_args()
    draw = random.Random(1)
    lines = list(sentences(args.text))
    draw.shuffle(lines)
    held = min(HELD_OUT, max(1, len(lines) // 5))
    train, held_out = (lines, [*read_lines(args.valid)]) if args.valid else (lines[held:], lines[:held])
    listed, rest = words_of(train), list[str]()
    if args.frequencies is not None:
        list_of = Path(args.frequencies or symspell.own_list())
        words_listed = symspell.listed(read_lines(list_of)).most_common()
        listed, rest = dict(words_listed[: args.listed]), [word for word, _ in words_listed[args.listed :]]
    chat = CHAT.read_text(encoding="utf-8").split()
    words = dictionary(train, listed, chat, args.occurrences)
    rare = [word for word in rest if word.isalpha() and BLANK + word not in words]
    shown = list[str]()
    if args.rare_words:
        draw.shuffle(rare)
        shown, rare = rare[::2], rare[1::2]
    strange, others = (Strange(listed, chat, some, draw) for some in (shown, rare))
    copies = (line for _ in range(args.copies) for line in train)
    write_lines(args.folder / "train.clean", (strange.among(line, STRANGE_SHARES) for line in copies))
    write_lines(args.folder / "valid.clean", held_out)
    write_lines(args.folder / "unexpected.clean", (others.among(line, MANY_SHARES) for line in held_out))
    write_lines(args.folder / "chat.txt", chat)
    write_lines(args.folder / "dict.txt", (f"{word} {count}" for word, count in words.most_common()))
    print(f"{len(lines):,} sentences, {len(words):,} words in the dictionary")


if __name__ == "__main__":
    main()
