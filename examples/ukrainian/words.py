"""A frequency list of a language, counted from clean text, and continued with other forms and with a list of words.

    python examples/ukrainian/words.py TEXT ... [--words FILE [--lexicon FILE]] [--language-files uk] >LIST

writes lines ``word count``, the most frequent words first. With ``--words``, a list without counts such as
/usr/share/dict/ukrainian of Debian's package wukrainian, the text's words come first; then those of the list that the
endings of the language make of them ("книгами" of "книга"), with the count of the most frequent form divided by the
number of forms; then all others, with the count 0. Apostrophes are straight. ``--lexicon`` writes the words of the list
alone, for ``lev-plugins prepare --lexicon``.
"""

import argparse
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.denoising.symspell import words_of
from examples.grammar.inflections import forms, read_paradigms
from examples.shared import finish, read_lines, write_lines
from lev_plugins.noise.languages import language_folder
from lev_plugins.text.text_style import TextStyle


def with_forms(counts: Counter[str], words: set[str], paradigms: list[list[str]]) -> Counter[str]:
    """Returns the counts of the forms that the text lacks, of those that are words.

    >>> with_forms(Counter({"use": 6, "map": 3}), {"use", "uses", "used"}, [["", "s", "d"]])
    Counter({'used': 3, 'uses': 3})
    """
    unseen: Counter[str] = Counter()
    for word, count in counts.items():
        possible = forms(word, paradigms) & words
        for form in sorted(possible - counts.keys()):
            unseen[form] = max(unseen[form], count // len(possible))
    return unseen


def run(args: argparse.Namespace) -> None:
    sys.stdout.reconfigure(encoding="utf-8", newline="\n")  # type: ignore[union-attr]
    style = TextStyle(straight_quotes=True)
    counts = words_of(style.read(line) for path in args.text for line in read_lines(path))
    words = {style.read(word).lower() for word in read_lines(args.words)} if args.words else set[str]()
    if args.lexicon:
        write_lines(args.lexicon, sorted(words))
    unseen = with_forms(counts, words, read_paradigms(language_folder(args.language_files)))
    rest = sorted(words - counts.keys() - unseen.keys())
    for word, count in [*counts.most_common(), *unseen.most_common(), *((word, 0) for word in rest)]:
        sys.stdout.write(f"{word} {count}\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("text", type=Path, nargs="+", metavar="TEXT", help="clean text")
    parser.add_argument("--words", type=Path, metavar="FILE", help="words of the language, one per line")
    parser.add_argument("--lexicon", type=Path, metavar="FILE", help="where to write the words of --words")
    parser.add_argument("--language-files", metavar="NAME", default="uk", help="endings of words (default: uk)")
    return finish(parser, run)


if __name__ == "__main__":
    sys.exit(main())
