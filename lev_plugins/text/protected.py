r"""What no corrector should touch: the list of it, and the edits that do.

A corrector learns from sentences. Addresses, numbers, code or emoji are no sentences: whatever it changes there is
wrong, however sure it is. They are found by their looks, before a model sees the text. ``KINDS`` has the patterns of
each kind; a task that needs it edits some of them, too (``--edit-also numbers``). Two more kinds depend on what a model
knows: words with letters that its dictionary lacks (``scripts``), but not slips such as ``øf``, and words with a letter
three times in a row (``stretched``), if they are not in it. A word with digits that the dictionary has is a word like
others.

>>> def shown(text, also=()):
...     known = letters_of(["abcdefghijklmnopqrstuvwxyz"])
...     return [text[a:b] for a, b in protected(text, {"v1"}.__contains__, known, also)]
>>> shown("Mail bob@exmaple.com abuot the 0.5% in `foo bar` 🎉.")
['bob@exmaple.com', '0.5%', '`foo bar`', '🎉']
>>> shown("Run `f x`, g() or std::sort with {'a': 1}")  # code
['`f x`', 'g()', 'std::sort', "{'a': 1}"]
>>> shown(r"# A **big** <b>hat</b> &amp; [cap](a.html) \emph{now} \cite{x}")  # markup
['#', '**', '**', '<b>', '</b>', '&amp;', '[', '](a.html)', '\\emph{', '}', '\\cite{x}']
>>> shown(r"Let $x > y$, so a + b = c and E = mc^2.")  # formulas
['$x > y$', 'a + b = c', 'E = mc^2']
>>> shown("See https://a.org/b?c=d, example.com, 2001:db8::1 or doi:10.1/x.")  # urls
['https://a.org/b?c=d', 'example.com', '2001:db8::1', 'doi:10.1/x']
>>> shown("Ask a.b+c@example.org.")  # addresses
['a.b+c@example.org']
>>> shown(r"In ~/a/b, C:\My Files\x, setup.py and text/html with --fast")  # paths
['~/a/b', 'C:\\My Files\\x', 'setup.py', 'text/html', '--fast']
>>> shown("@bob likes #big_hats on r/hats")  # names
['@bob', '#big_hats', 'r/hats']
>>> shown("On 5 May 2024 at 10:30 a.m. I ran 12 km/h for $1,000.50, or -3 °C (Henry VIII).")  # numbers
['5 May 2024', '10:30 a.m.', '12 km/h', '$1,000.50', '-3 °C', 'VIII']
>>> shown("My v1 and v2.0-rc1, a 3D mp3, UTF-8, snake_case and 1½x")  # digits
['v2.0-rc1', '3D', 'mp3', 'UTF-8', 'snake_case', '1½x']
>>> shown("R&D :-) -> 👍🏽 ©, an invisible \x07, \t no")  # symbols
['&', ':-)', '->', '👍🏽', '©', '\x07']
>>> shown("См. the дом, García, øv"), shown("It's sooo good, oops")  # scripts; stretched
(['См', 'дом', 'García', 'øv'], ['sooo'])
>>> shown("'See (it)': a well-known \u201cthing\u201d, isn\u2019t it?")  # nothing
[]
>>> shown("12 hats & 3 caps", ["numbers", "digits"])
['&']
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import accumulate
from typing import Any

import regex

from lev_plugins.errors import require
from lev_plugins.text.edited import Edit, Edited, Span, parts_of

LETTER, WORD = r"[\p{L}\p{M}]", r"[\p{L}\p{M}\p{N}_]"
DOMAINS = (
    "com|org|net|edu|gov|mil|int|info|io|dev|app|ai|co|tv|biz|example|test|local|eu|uk|de|fr|es|it|nl|ch|at|pl|cz|se|dk|"
    "fi|pt|gr|ua|ru|cn|jp|kr|br|in|au|nz|ca|us"
)
EXTENSIONS = (
    "py|pyx|ipynb|js|ts|jsx|tsx|c|cc|cpp|h|hpp|rs|go|java|rb|php|sh|bat|md|rst|txt|csv|tsv|json|jsonl|xml|ya?ml|toml|ini|"
    "cfg|conf|log|html?|css|pdf|docx?|xlsx?|pptx?|odt|tex|bib|png|jpe?g|gif|svg|webp|mp[34]|wav|avi|zip|tar|gz|exe|dll|so|"
    "sql|db|lock|env"
)
URL = r"[^\s<>\"“”]*[^\s<>\"“”.,;:!?'\u2019)\]}]"  # to its end, without the punctuation of the sentence
PATH = r"[\w.@%+~-]"
MONTHS = (
    "(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?|"
    r"Nov(?:ember)?|Dec(?:ember)?)\.?"
)
DAY, YEAR = r"\d{1,2}(?:st|nd|rd|th)?", r"(?:,? \d{3,4}(?!\d))?"
CURRENCIES = "EUR|USD|GBP|CHF|JPY|CNY|INR|RUB|CAD|AUD|SEK|NOK|DKK|PLN|CZK|BRL"
UNITS = (
    r"%|‰|°[CF]?|[kKMGTP]i?(?:[bB]|bit)(?:/s|ps)?|[kmcµμn]?[mglsLVAWNJ][²³]?|[kMGT]?Hz|km/h|mph|fps|rpm|dpi|p[xt]|kWh|mAh|"
    rf"[ap]\.?m\.?|UTC|GMT|[CEMP][SD]T|CES?T|\p{{Sc}}|{CURRENCIES}|kr|zł|Kč|tons?|mins?|hrs?|secs?|kg|lbs?|oz|ft|yds?|mi"
)
BLANK = "[ \u00a0\u202f]"
DIGITS = (
    rf"(?>\d{{1,3}}(?:{BLANK}\d{{3}})++(?!\d)|"
    rf"\d++(?:(?:[.,:/'\u2019\u00a0\u202f\u2013-]|{BLANK}?[\u00d7x]{BLANK}?)\d++)*+)"
)
SIGNS = r"~^$+<=>|{}_*#@%&/§¶†‡•·"  # that are no punctuation

# What is found first, from the left and from the top, is taken. No pattern may take the square of the length of a text:
# what can be long begins where no such character is before it, takes all of it at once (++) or only so many.
KINDS = {
    "code": [
        r"```.*?(?:```|\Z)|(?<!`)(?P<ticks>`{1,2})(?!`)[^\n]{1,500}?(?<!`)(?P=ticks)(?!`)",
        r"\{(?=[^{}\n]{0,200}[\"'][^{}\n\"']{0,200}[\"']\s?:)(?>[^{}\n]|\{[^{}\n]*+\}){0,500}+\}",  # JSON
        r"(?<![\w.])[\p{L}_][\w.]{0,60}+\(\)|(?<![\w:])\w{1,60}+(?:::\w{1,60}+)+(?:\(\))?",
    ],
    "markup": [
        r"<!--.*?(?:-->|\Z)|</?[A-Za-z][^<>\n]*+>|<![A-Z][^<>\n]*+>|&(?:\#\d{1,9}|\#x[\da-fA-F]{1,9}|\w{1,31});",
        r"\]\([^()\s]*+(?:\([^()\s]*+\)[^()\s]*+)*+(?: \"[^\"\n]{0,200}\")?\)|\]\[[^\[\]\n]{0,100}\]|!\[|\[\[|\]\]",
        r"\[(?=[^\[\]\n]{1,300}\](?:\(|\[))|\[\^\w{1,50}\]|\[/?[a-z]{1,10}(?:=[^\[\]\n]{0,100})?\]",
        r"(?<=^[ \t]{0,3})(?:(?:\#{1,6}|>++|[-*+]|\d{1,9}[.)])(?=\s)|[-*_=]{3,}+[ \t]*+$|\|[^\n]*\|[ \t]*$)",
        r"\*++|(?<!\w)_{1,3}(?=\w)|(?<=\w)_{1,3}(?!\w)|~~",
        r"\\(?:begin|end|cite\w{0,9}|ref|eqref|label|url|input|includegraphics|usepackage|documentclass)\*?"
        r"(?:\[[^\[\]\n]{0,200}\])?\{[^{}\n]{0,200}\}|\\[A-Za-z]++\*?\{?|\\[%&$\#_{}\\]|[{}]",
    ],
    "formulas": [
        r"\$\$.{1,2000}?\$\$|\$(?=[^\s\d$])[^$\n]{0,300}(?<!\s)\$|\\\([^\n]{1,500}?\\\)|\\\[.{1,500}?\\\]",
        r"(?<![\p{L}\p{N}_()\[\]])[\p{L}\p{N}_()\[\]]++(?:\s?(?:[=≤≥≠≈±÷∈→⇒^]|\u00d7(?!\s?\d)|[<>](?![3\p{L}])|[<>=!]=|"
        r"(?<=(?:[\p{N})\]]|(?<!\p{L})\p{L})\s?)[*/+\u2212](?=\s?(?:[\p{N}(]|\p{L}(?!\p{L}))))"
        r"\s?[-+(]*+[\p{L}\p{N}_(\[][\p{L}\p{N}_()\[\]]*+(?:\.[\p{L}\p{N}_()]++)*+)++",
    ],
    "urls": [
        rf"(?<![A-Za-z\d+.-])[A-Za-z][A-Za-z\d+.-]{{0,20}}+://{URL}|(?<!\w)(?:mailto|tel|doi|urn|arXiv):{URL}|(?<!\w)www\.{URL}",
        rf"(?<![\p{{L}}\d.-])(?:[\p{{L}}\d][\p{{L}}\d-]{{0,62}}+\.)+(?:(?:{DOMAINS})(?:[/:?]{URL})?(?![\p{{L}}\d])|\w++/{URL})",
        r"(?<![\w:])(?:[\da-fA-F]{0,4}:){2,7}[\da-fA-F]{0,4}(?![\w:]|[.,]\d)",  # IP
        r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w.]\w)",
    ],
    "addresses": [r"(?<![\w.+%-])[\w.+%-]{1,64}+@[\w-]++(?:\.[\w-]++)*+"],
    "paths": [
        r"(?<!\w)(?:[A-Za-z]:|\\)\\(?:[\w.()~$ -]{1,99}+\\)*+[\w.()~$-]*+",
        rf"(?<![\w.)\]])(?:~|\.{{1,2}})?/(?:{PATH}++/)*+{PATH}*+(?<![.,])",
        rf"(?<![\w.@%+~/-]){PATH}++(?:/{PATH}++){{2,}}+/?",
        r"(?<![\w/])(?:application|audio|font|image|model|multipart|text|video)/[\w.+-]++",
        rf"(?<![\w.+-])(?:[\w+-]++\.)+(?:{EXTENSIONS})(?![\p{{L}}\d])|(?<=\s)--?[A-Za-z][\w-]*+(?:=\S++)?",
    ],
    "names": [rf"(?<!\w)(?:[@\#]|[ru]/)[\p{{L}}\p{{N}}_]{WORD[:-1]}-]*+"],
    "numbers": [
        rf"(?<!{WORD})(?:{DAY} {MONTHS}{YEAR}|{MONTHS} {DAY}{YEAR}|{MONTHS} \d{{4}})(?!{WORD})",
        r"(?<!\w)\+\d[\d ().-]{5,20}\d(?!\w)|\(\d{2,5}\) ?\d{2,5}[ -]\d{3,8}(?!\w)",
        rf"(?<![\p{{L}}\d])(?:(?:{CURRENCIES}){BLANK}?|[A-Z]{{0,2}}\p{{Sc}}{BLANK}?|[\#№§±+~≈<>\u2212-]{BLANK}?|No\.\s?)?+"
        rf"{DIGITS}\p{{No}}*+(?:{BLANK}?(?:{UNITS})(?:/(?:[hslL]|min|kg|m)[²³]?)?(?!{WORD}))*+(?!{WORD})|[\p{{No}}\p{{Nl}}]++(?!{WORD})",
        rf"(?<!{WORD})(?=[IVXLCDM]{{2}})M{{0,3}}(?:CM|CD|D?C{{0,3}})(?:XC|XL|L?X{{0,3}})(?:IX|IV|V?I{{0,3}})(?!{WORD})",
    ],
    "digits": [
        rf"(?<![\p{{L}}\p{{M}}\p{{N}}])(?=(?:{LETTER}++[-.'\u2019/+]?){{0,8}}+(?:_++\p{{L}}|_*+\p{{N}}))(?=[\p{{N}}.,:/'\u2019+-]*+[\p{{L}}\p{{M}}_])"
        rf"[\p{{L}}\p{{N}}]{WORD}*+(?:(?:[-.'\u2019/+]|(?<=\p{{N}})[:,](?=\p{{N}})){WORD}++)*+"
    ],
    "symbols": [
        r"[<>]?[:;=][-'^o]?[()\[\]DPpOo3/\\|*]++(?![\p{L}\p{N}])|\b[8xX][-'^]?[()D]++(?![\p{L}\p{N}])|<3++|\^_*+\^",
        r"[-—=]++>|<[-—=]++|\(\w\)(?=\s|$)|\.{4,}+|[!?]{2,}+|[-=_]{3,}+",
        r"(?:[\p{S}\p{C}\p{Emoji_Presentation}\p{Extended_Pictographic}"
        rf"--[\s\x1c-\x1f`\u00b4{SIGNS}\u200c\u200d]]"
        rf"[\p{{M}}\u200d\ufe0f\U0001f3fb-\U0001f3ff]*+)+|[{SIGNS}]++|\\",
    ],
}
# Where none of them begins is seen at once: at white space, inside a word, at a plain word before another one.
ORDINARY = r"(?!\s|(?<=\p{L})\p{L}|\p{Ll}++ \p{L})"
ALL = (*KINDS, "scripts", "stretched")
STRETCHED = regex.compile(r"(\p{L})\1\1")
WORDS = regex.compile(r"\p{L}[\p{L}\p{M}'\u2019\u200c\u200d]*+")
LETTERS = regex.compile(WORD)
LIKE = str.maketrans("øØıłŁđĐħĦŧŦ", "oOilLdDhHtT")  # letters whose marks cannot be taken off
CLAUSE_ENDS = frozenset(".,;:!?")
COMMON = 0.01  # share of the words of a dictionary that has a script
USUAL = 0.001  # share of the words of a dictionary that has a letter
MANY = 200  # letters of a script without an alphabet
LONGEST = 200  # characters of a word that a user gave
END = None  # in a tree of parts


def kinds_of(names: str) -> frozenset[str]:
    """
    >>> sorted(kinds_of("symbols,numbers")), len(kinds_of("all"))
    (['numbers', 'symbols'], 12)
    """
    kinds = set(filter(None, names.split(",")))
    for kind in kinds:
        require(kind in (*ALL, "all"), f"--edit-also must be all, or some of {','.join(ALL)}, but has {kind!r}")
    return frozenset(ALL if "all" in kinds else kinds)


def protected(
    text: str, knows: Callable[[str], bool], letters: Collection[str] | None, also: Collection[str] = ()
) -> list[Span]:
    """What no edit may touch, in order and apart from each other.

    ``knows``: is this a word of the dictionary? ``letters``: those that it has (``letters_of``), None: all; ``also``:
    kinds to edit.
    """
    spans = list(by_looks(text, knows, tuple(kind for kind in KINDS if kind not in also)))
    foreign = letters is not None and "scripts" not in also and not text.isascii()
    stretched = "stretched" not in also and STRETCHED.search(text)
    for word in WORDS.finditer(text) if foreign or stretched else ():
        strange = foreign and not all(map((letters or ()).__contains__, signs_of(word[0])))
        strange |= bool(stretched and STRETCHED.search(word[0]))
        slip = word[0].islower() and len(word[0]) > 1 and knows(without_marks(word[0]))  # such as øf
        if strange and not slip and not knows(word[0]):
            spans.append(Span(*word.span()))
    return united(spans)


def by_looks(text: str, knows: Callable[[str], bool], kinds: tuple[str, ...]) -> Iterator[Span]:
    for match in pattern(kinds).finditer(text) if kinds else ():
        known = match.lastgroup == "digits" and match[0][0].isalpha() and knows(match[0])
        if match[0] and not known:
            yield Span(*match.span())


@cache
def pattern(kinds: tuple[str, ...]) -> regex.Pattern[str]:
    some = "|".join(f"(?P<{kind}>{'|'.join(KINDS[kind])})" for kind in kinds)
    return regex.compile(f"(?V1){ORDINARY}(?:{some})", regex.M | regex.S)


def united(spans: Iterable[Span]) -> list[Span]:
    """
    >>> united([Span(4, 6), Span(0, 2), Span(1, 3), Span(3, 3)])
    [Span(start=0, end=3), Span(start=4, end=6)]
    """
    joined: list[Span] = []
    for span in sorted(spans):
        if joined and span.start <= joined[-1].end:
            span = Span(joined[-1].start, max(joined.pop().end, span.end))
        joined.append(span)
    return joined


class Letters(frozenset[str]):
    """Small letters, and the scripts of which all letters are known."""

    def __contains__(self, letter: object) -> bool:
        return super().__contains__(letter) or super().__contains__(script_of(str(letter)))


def letters_of(words: Collection[str]) -> Letters:
    """Those that are usual in these words; of a script with as many as Chinese has, all.

    >>> letters = letters_of(["Haus", "über", "дом", "東京", *map(chr, range(0x4e00, 0x4f00))])
    >>> [letter in letters for letter in "hüд語é"]
    [True, True, True, True, False]
    """
    counts = Counter(letter for word in words for letter in set(signs_of(word)))
    scripts: dict[str, list[str]] = {}
    for letter in counts:
        scripts.setdefault(script_of(letter), []).append(letter)
    shares = {script: sum(map(counts.__getitem__, letters)) / len(words) for script, letters in scripts.items()}
    whole = (script for script, letters in scripts.items() if len(letters) >= MANY and shares[script] >= COMMON)
    return Letters([*whole, *(letter for letter, count in counts.items() if count >= USUAL * len(words))])


def without_marks(text: str) -> str:
    """
    >>> without_marks("Crème brûlée, søt")
    'Creme brulee, sot'
    """
    signs = (sign for sign in unicodedata.normalize("NFD", text) if not unicodedata.combining(sign))
    return "".join(signs).translate(LIKE)


def signs_of(word: str) -> Iterator[str]:
    """Its letters, in small, and what combines with them."""
    return (sign for sign in word.lower() if unicodedata.category(sign)[0] in "LM")


@cache
def script_of(letter: str) -> str:
    return unicodedata.name(letter, "UNKNOWN").split()[0].split("-")[0]


# ---- the user's own words --------------------------------------------------------------------------------------------


class OwnWords:
    """Words that the user gave.

    >>> [text[a:b] for text in ["Tehran, teh tehs"] for a, b in OwnWords(["teh", "Tehran,"]).spans(text)]
    ['Tehran,', 'teh']
    """

    def __init__(self, words: Iterable[str]):
        self.next: dict[Any, Any] = {}  # a tree: the parts that may follow a part; END: here ends a word
        for word in words:
            require(
                len(word) <= LONGEST, f"a word must have at most {LONGEST} characters, but {word[:20]!r}... has more"
            )
            for spelling in (word, word[:1].upper() + word[1:]):  # as at the start of a sentence
                node = self.next
                for part in parts_of(spelling.strip()):
                    node = node.setdefault(unicodedata.normalize("NFC", part), {})
                node[END] = {}

    def spans(self, text: str) -> list[Span]:
        """Where they are, as whole words; of those that begin at one place, the longest."""
        if not self.next:
            return []
        parts = parts_of(text)
        places = [0, *accumulate(map(len, parts))]
        # macOS writes letters and their accents apart
        composed = [unicodedata.normalize("NFC", part) for part in parts]
        ends = [self.end(composed, i) for i in range(len(parts))]
        return [Span(places[i], places[end]) for i, end in enumerate(ends) if end > i]

    def end(self, parts: Sequence[str], start: int) -> int:
        """Behind the longest word that begins with the part ``start``; ``start`` if none does."""
        node, found = self.next, start
        for i in range(start, len(parts)):
            if parts[i] not in node:
                break
            node = node[parts[i]]
            if END in node:
                found = i + 1
        return found


# ---- the edits -------------------------------------------------------------------------------------------------------


def untouched(edited: Edited, spans: Iterable[Span] = ()) -> Edited:
    """Without the edits that change anything in what is protected, and in these spans, or that glue something to one.

    >>> edited = Edited("I has teh hat", (Edit(2, 5, "have"), Edit(6, 9, "the"), Edit(9, 9, "s"), Edit(10, 13, "cat")))
    >>> untouched(edited, [Span(6, 9)]).text
    'I have teh cat'
    """
    given = Untouchable([*edited.protected, *spans])
    apart = [edit for edit in edited.edits if not given.touched_by(edit)]
    kept: list[Edit] = []
    while apart:
        count = next((i for i in range(1, len(apart)) if apart[i - 1].end < apart[i].start), len(apart))
        beside, apart = apart[:count], apart[count:]
        whole = Edit(beside[0].start, beside[-1].end, "".join(edit.replacement for edit in beside))
        kept += [] if given.glued_by(edited.original, whole) else beside
    return replace(edited, edits=tuple(kept), protected=tuple(given.spans))


class Untouchable:
    """
    >>> spans = Untouchable([Span(6, 9), Span(0, 2)])
    >>> [spans.touched_by(edit) for edit in (Edit(2, 5, "have"), Edit(5, 7, "s"), Edit(9, 9, " big"))]
    [False, True, False]
    """

    def __init__(self, spans: Iterable[Span]):
        self.spans = united(spans)
        self.starts, self.ends = [span.start for span in self.spans], [span.end for span in self.spans]
        self.borders = frozenset(self.starts), frozenset(self.ends)

    def touched_by(self, edit: Edit | Span) -> bool:
        before = bisect_left(self.starts, edit.end)
        return before > 0 and self.ends[before - 1] > edit.start

    def glued_by(self, text: str, edit: Edit) -> bool:
        """Does a span get another neighbour? A word beside it may change, a sign may go, punctuation may end a clause.

        >>> spans = Untouchable([Span(3, 6)])
        >>> edits = Edit(2, 3, ""), Edit(6, 6, "s"), Edit(6, 6, ","), Edit(7, 10, "hat"), Edit(3, 3, "a ")
        >>> [spans.glued_by("my `x` hta", edit) for edit in edits]
        [True, True, False, False, False]
        """
        if edit.end in self.borders[0]:
            before = text[: edit.start][-1:] + edit.replacement
            if strange(text[: edit.end][-1:], before[-1:]):
                return True
        if edit.start in self.borders[1]:
            old, after = text[edit.start : edit.start + 1], edit.replacement + text[edit.end : edit.end + 2]
            ends = after[:1] in CLAUSE_ENDS and not after[1:2].strip() and not LETTERS.match(old)
            return strange(old, after[:1]) and not ends
        return False


def strange(old: str, new: str) -> bool:
    """May ``new`` not stand beside a protected span instead of ``old``, both one character or the end?

    >>> [strange(*pair) for pair in [("a", "b"), (",", " "), (",", ""), (" ", "a"), ("a", " "), (" ", "-")]]
    [False, False, False, True, True, True]
    """
    if LETTERS.match(old):
        return not LETTERS.match(new)
    return bool(new.strip()) and new != old
