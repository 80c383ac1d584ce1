r"""Protected text: what no corrector should change, and the edits that would.

A corrector learns from sentences. Addresses, numbers, code and emoji are not sentences: whatever it changes there is
wrong, however sure it is. Patterns find them before a model reads the text. ``PATTERNS`` has those of each kind, and
``--edit-also numbers`` lets a task edit a kind all the same. Two more kinds depend on the model's dictionary: words
with letters that it lacks (``scripts``), except for typos such as ``øf``, and words that it lacks and that have a
letter three times in a row (``stretched``). A word with digits that the dictionary has is an ordinary word.

>>> def shown(text, also=()):
...     known = letters_of(["abcdefghijklmnopqrstuvwxyz"])
...     return [text[a:b] for a, b in protected_spans(text, {"v1"}.__contains__, known, also)]
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
>>> shown("Its number is 00000000-0000-0000-a000-000000000000.")
['00000000-0000-0000-a000-000000000000']
>>> shown("Ask a.b+c@example.org.")  # addresses
['a.b+c@example.org']
>>> shown(r"In ~/a/b, C:\My Files\x, setup.py and text/html with --fast")  # paths
['~/a/b', 'C:\\My Files\\x', 'setup.py', 'text/html', '--fast']
>>> shown("--fast is the \"--slow\" of ls -l -- a well-known --flag=x y, -Hello a--b")
['--fast', '--slow', '-l', '--flag=x', '-Hello']
>>> shown("@bob likes #big_hats on r/hats")  # names
['@bob', '#big_hats', 'r/hats']
>>> shown("On 5 May 2024 at 10:30 a.m. I ran 12 km/h for $1,000.50, or -3 °C (Henry VIII).")  # numbers
['5 May 2024', '10:30 a.m.', '12 km/h', '$1,000.50', '-3 °C', 'VIII']
>>> shown("My v1 and v2.0-rc1, a 3D mp3, UTF-8, snake_case and 1½x")  # digits
['v2.0-rc1', '3D', 'mp3', 'UTF-8', 'snake_case', '1½x']
>>> shown("R&D :-) -> 👍🏽 ©, an invisible \x07, a t-shirt, \t no")  # symbols
['&', ':-)', '->', '👍🏽', '©', '\x07', 't']
>>> shown("См. the дом, García, øv"), shown("It's sooo good, oops")  # scripts; stretched
(['См', 'дом', 'García', 'øv'], ['sooo'])
>>> shown("'See (it)': a well-known \u201cthing\u201d, isn\u2019t it?")  # nothing
[]
>>> shown("12 hats & 3 caps", ["numbers", "digits"])
['&']
"""

import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import accumulate
from typing import Any

import regex

from lev_plugins.text.edited import Edit, Edited, Span, parts_of, require_text
from lev_plugins.utils.errors import require

LETTER, WORD_CHAR = r"[\p{L}\p{M}]", r"[\p{L}\p{M}\p{N}_]"
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
SPACE = "[ \u00a0\u202f]"
NUMBER = (
    rf"(?>\d{{1,3}}(?:{SPACE}\d{{3}})++(?!\d)|"
    rf"\d++(?:(?:[.,:/'\u2019\u00a0\u202f\u2013-]|{SPACE}?[\u00d7x]{SPACE}?)\d++)*+)"
)
NON_PUNCTUATION = r"~^$+<=>|{}_*#@%&/§¶†‡•·"  # signs that are not punctuation

# The first match from the left counts, and of patterns that match there, the topmost. No pattern may take time that is
# quadratic in the length of a text: a repetition without a limit is possessive (++), and begins where none precedes it.
PATTERNS = {
    "code": [
        r"```.*?(?:```|\Z)|(?<!`)(?P<ticks>`{1,2})(?!`)[^\n]{1,500}?(?<!`)(?P=ticks)(?!`)",
        r"\{(?=[^{}\n]{0,200}[\"'][^{}\n\"']{0,200}[\"']\s?:)(?>[^{}\n]|\{[^{}\n]*+\}){0,500}+\}",  # JSON
        r"(?<![\w.])[\p{L}_][\w.]{0,60}+\(\)|(?<![\w:])\w{1,60}+(?:::\w{1,60}+)+(?:\(\))?",
    ],
    "markup": [
        r"<!--.*?(?:-->|\Z)|</?[A-Za-z][^<>\n]*+>|<![A-Z][^<>\n]*+>|&(?:\#\d{1,9}|\#x[\da-fA-F]{1,9}|\w{1,31});",
        r"\]\([^()\s]*+(?:\([^()\s]*+\)[^()\s]*+)*+(?: \"[^\"\n]{0,200}\")?\)|\]\[[^\[\]\n]{0,100}\]|!\[|\[\[|\]\]",
        r"\[(?=[^\[\]\n]{1,300}\](?:\(|\[))|\[\^\w{1,50}\]|\[/?[a-z]{1,10}(?:=[^\[\]\n]{0,100})?\]",
        r"(?<=^\ufeff?[ \t]{0,3})(?:(?:\#{1,6}|>++|[-*+]|\d{1,9}[.)])(?=\s)|(?:[-*_=]{3,}+|\|[^\n]*\|)[ \t]*(?=\r?$))",
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
        r"(?<![\w-])[\da-fA-F]{8}-(?:[\da-fA-F]{4}-){3}[\da-fA-F]{12}(?![\w-])",  # UUID
    ],
    "addresses": [r"(?<![\w.+%-])[\w.+%-]{1,64}+@[\w-]++(?:\.[\w-]++)*+"],
    "paths": [
        r"(?<!\w)(?:[A-Za-z]:|\\)\\(?:[\w.()~$ -]{1,99}+\\)*+[\w.()~$-]*+",
        rf"(?<![\w.)\]])(?:~|\.{{1,2}})?/(?:{PATH}++/)*+{PATH}*+(?<![.,])",
        rf"(?<![\w.@%+~/-]){PATH}++(?:/{PATH}++){{2,}}+/?",
        r"(?<![\w/])(?:application|audio|font|image|model|multipart|text|video)/[\w.+-]++",
        rf"(?<![\w.+-])(?:[\w+-]++\.)+(?:{EXTENSIONS})(?![\p{{L}}\d])|(?<=\s)-[A-Za-z][\w-]*+(?:=\S++)?",
        r"(?<![^\s\"'(\[\u2018\u201c])--[A-Za-z][\w-]*+(?:=\S++)?",
    ],
    "names": [rf"(?<!\w)(?:[@\#]|[ru]/)[\p{{L}}\p{{N}}_]{WORD_CHAR[:-1]}-]*+"],
    "numbers": [
        rf"(?<!{WORD_CHAR})(?:{DAY} {MONTHS}{YEAR}|{MONTHS} {DAY}{YEAR}|{MONTHS} \d{{4}})(?!{WORD_CHAR})",
        r"(?<!\w)\+\d[\d ().-]{5,20}\d(?!\w)|\(\d{2,5}\) ?\d{2,5}[ -]\d{3,8}(?!\w)",
        rf"(?<![\p{{L}}\d])(?:(?:{CURRENCIES}){SPACE}?|[A-Z]{{0,2}}\p{{Sc}}{SPACE}?|[\#№§±+~≈<>\u2212-]{SPACE}?|No\.\s?)?+"
        rf"{NUMBER}\p{{No}}*+(?:{SPACE}?(?:{UNITS})(?:/(?:[hslL]|min|kg|m)[²³]?)?(?!{WORD_CHAR}))*+(?!{WORD_CHAR})|[\p{{No}}\p{{Nl}}]++(?!{WORD_CHAR})",
        rf"(?<!{WORD_CHAR})(?=[IVXLCDM]{{2}})M{{0,3}}(?:CM|CD|D?C{{0,3}})(?:XC|XL|L?X{{0,3}})(?:IX|IV|V?I{{0,3}})(?!{WORD_CHAR})",
    ],
    "digits": [
        rf"(?<![\p{{L}}\p{{M}}\p{{N}}])(?=(?:{LETTER}++[-.'\u2019/+]?){{0,8}}+(?:_++\p{{L}}|_*+\p{{N}}))(?=[\p{{N}}.,:/'\u2019+-]*+[\p{{L}}\p{{M}}_])"
        rf"[\p{{L}}\p{{N}}]{WORD_CHAR}*+(?:(?:[-.'\u2019/+]|(?<=\p{{N}})[:,](?=\p{{N}})){WORD_CHAR}++)*+"
    ],
    "symbols": [
        r"[<>]?[:;=][-'^o]?[()\[\]DPpOo3/\\|*]++(?![\p{L}\p{N}])|\b[8xX][-'^]?[()D]++(?![\p{L}\p{N}])|<3++|\^_*+\^",
        r"\p{L}(?=-\p{L}{2})",  # of a t-shirt
        r"[-—=]++>|<[-—=]++|\(\w\)(?=\s|$)|\.{4,}+|[!?]{2,}+|[-=_]{3,}+",
        r"(?:[\p{S}\p{C}\p{Emoji_Presentation}\p{Extended_Pictographic}"
        rf"--[\s\x1c-\x1f`\u00b4{NON_PUNCTUATION}\u200c\u200d]]"
        rf"[\p{{M}}\u200d\ufe0f\U0001f3fb-\U0001f3ff]*+)+|[{NON_PUNCTUATION}]++|\\",
    ],
}
# where no pattern begins: at white space, inside a word, at a lower-case word before another word
ORDINARY = r"(?!\s|(?<=\p{L})\p{L}|\p{Ll}++ \p{L})"
PROTECTED_KINDS = (*PATTERNS, "scripts", "stretched")
STRETCHED = regex.compile(r"(\p{L})\1\1")
WORDS = regex.compile(r"\p{L}[\p{L}\p{M}'\u2019\u200c\u200d]*+")
IN_WORD = regex.compile(WORD_CHAR)
PLAIN_LETTERS = str.maketrans("øØıłŁđĐħĦŧŦ", "oOilLdDhHtT")  # letters whose marks cannot be taken off
CLAUSE_ENDS = frozenset(".,;:!?")
MIN_SCRIPT_SHARE = 0.01  # of the words of a dictionary, for a script to belong to it
MIN_LETTER_SHARE = 0.001  # of the words of a dictionary, for a letter to belong to it
MIN_LOGOGRAMS = 200  # letters in a dictionary from which a script counts as one without an alphabet
MAX_WORD_CHARS = 200  # characters of a user's own word
END = None  # the key in the tree of parts whose value is the word that ends there


def parse_kinds(names: str) -> frozenset[str]:
    """Parses the value of --edit-also.

    >>> sorted(parse_kinds("symbols,numbers")), len(parse_kinds("all"))
    (['numbers', 'symbols'], 12)
    """
    kinds, choices = set(filter(None, names.split(","))), ",".join(PROTECTED_KINDS)
    for kind in kinds:
        is_choice = kind == "all" or kind in PROTECTED_KINDS
        require(is_choice, f"--edit-also must be all, or some of {choices}, but has {kind!r}")
    return frozenset(PROTECTED_KINDS if "all" in kinds else kinds)


def protected_spans(
    text: str, knows: Callable[[str], bool], letters: Collection[str] | None, also: Collection[str] = ()
) -> list[Span]:
    """Returns what no edit may touch, in order and without overlaps.

    knows: whether a word, or a misspelling of one, is known
    letters: those of the dictionary (``letters_of``); None: all
    also: kinds that are edited all the same
    """
    spans, kinds = list[Span](), tuple(kind for kind in PATTERNS if kind not in also)
    for match in pattern(kinds).finditer(text) if kinds else ():
        is_word = match.lastgroup == "digits" and match[0][0].isalpha() and knows(match[0])
        if match[0] and not is_word:
            spans.append(Span(*match.span()))
    foreign = letters is not None and "scripts" not in also and not text.isascii()
    stretched = "stretched" not in also and STRETCHED.search(text)
    for word in WORDS.finditer(text) if foreign or stretched else ():
        is_foreign = foreign and not all(map((letters or ()).__contains__, letters_in(word[0])))
        is_stretched = stretched and STRETCHED.search(word[0])
        is_typo = word[0].islower() and len(word[0]) > 1 and knows(without_diacritics(word[0]))  # such as øf
        if (is_foreign or is_stretched) and not is_typo and not knows(word[0]):
            spans.append(Span(*word.span()))
    return merge_spans(spans)


@cache
def pattern(kinds: tuple[str, ...]) -> regex.Pattern[str]:
    groups = "|".join(f"(?P<{kind}>{'|'.join(PATTERNS[kind])})" for kind in kinds)
    return regex.compile(f"(?V1){ORDINARY}(?:{groups})", regex.M | regex.S)


def merge_spans(spans: Iterable[Span]) -> list[Span]:
    """Sorts spans and joins those that overlap or touch.

    >>> merge_spans([Span(4, 6), Span(0, 2), Span(1, 3), Span(3, 3)])
    [Span(start=0, end=3), Span(start=4, end=6)]
    """
    joined: list[Span] = []
    for span in sorted(spans):
        if joined and span.start <= joined[-1].end:
            span = Span(joined[-1].start, max(joined.pop().end, span.end))
        joined.append(span)
    return joined


class Letters(frozenset[str]):
    """The lower-case letters of a dictionary, and the scripts whose letters all count as known."""

    def __contains__(self, letter: object) -> bool:
        return super().__contains__(letter) or super().__contains__(script_of(str(letter)))


def letters_of(words: Collection[str]) -> Letters:
    """Returns the usual letters of these words; of a script with as many as Chinese, all.

    >>> letters = letters_of(["Haus", "über", "дом", "東京", *map(chr, range(0x4e00, 0x4f00))])
    >>> [letter in letters for letter in "hüд語é"]
    [True, True, True, True, False]
    """
    counts = Counter(letter for word in words for letter in set(letters_in(word)))
    scripts: dict[str, list[str]] = {}
    for letter in counts:
        scripts.setdefault(script_of(letter), []).append(letter)
    whole = [
        script
        for script, letters in scripts.items()
        if len(letters) >= MIN_LOGOGRAMS and sum(counts[letter] for letter in letters) >= MIN_SCRIPT_SHARE * len(words)
    ]
    return Letters([*whole, *(letter for letter, count in counts.items() if count >= MIN_LETTER_SHARE * len(words))])


def without_diacritics(text: str) -> str:
    """Returns a text in plain letters.

    >>> without_diacritics("Crème brûlée, søt")
    'Creme brulee, sot'
    """
    signs = (sign for sign in unicodedata.normalize("NFD", text) if not unicodedata.combining(sign))
    return "".join(signs).translate(PLAIN_LETTERS)


def letters_in(word: str) -> Iterator[str]:
    """Yields the letters of a word in lower case, and their combining marks."""
    return (sign for sign in word.lower() if unicodedata.category(sign)[0] in "LM")


@cache
def script_of(letter: str) -> str:
    return unicodedata.name(letter, "UNKNOWN").split()[0].split("-")[0]


# ---- the user's own words --------------------------------------------------------------------------------------------


class OwnWords:
    """The user's own words.

    >>> [text[a:b] for text in ["Tehran, teh tehs"] for a, b in OwnWords(["teh", "Tehran,"]).spans(text)]
    ['Tehran,', 'teh']
    """

    def __init__(self, words: Iterable[str]) -> None:
        self.tree: dict[str | None, Any] = {}  # for each part, a tree of the parts that may follow it
        for word in words:
            require_text(word, "word")
            require(
                len(word) <= MAX_WORD_CHARS,
                f"a word must have at most {MAX_WORD_CHARS} characters, but {word[:20]!r}... has more",
            )
            for spelling in (word, capitalised(word)):  # as at the start of a sentence
                node = self.tree
                for part in parts_of(spelling.strip()):
                    node = node.setdefault(unicodedata.normalize("NFC", part), {})
                if spelling == word or END not in node:
                    node[END] = word

    def spans(self, text: str) -> list[Span]:
        """Returns where these words are in a text."""
        return [span for span, _ in self.matches(text)]

    def matches(self, text: str) -> Iterator[tuple[Span, str]]:
        """Yields whole words of a text that are these words, and the words; of those at one place, the longest."""
        parts = parts_of(text) if self.tree else []
        places = [0, *accumulate(map(len, parts))]
        # macOS writes letters and their accents apart
        composed = [unicodedata.normalize("NFC", part) for part in parts]
        for i in range(len(parts)):
            end, word = self.longest(composed, i)
            if end > i:
                yield Span(places[i], places[end]), word

    def longest(self, parts: Sequence[str], start: int) -> tuple[int, str]:
        """Returns the end of the longest word that begins with the part ``start``, and the word; ``start`` if none."""
        node, end, word = self.tree, start, ""
        for i in range(start, len(parts)):
            if parts[i] not in node:
                break
            node = node[parts[i]]
            if END in node:
                end, word = i + 1, node[END]
        return end, word


def capitalised(word: str) -> str:
    return word[:1].upper() + word[1:]


# ---- the edits -------------------------------------------------------------------------------------------------------


def without_protected(edited: Edited, spans: Iterable[Span] = ()) -> Edited:
    """Leaves out the edits that change protected text or these spans, or glue something to them.

    >>> edited = Edited("I has teh hat", (Edit(2, 5, "have"), Edit(6, 9, "the"), Edit(9, 9, "s"), Edit(10, 13, "cat")))
    >>> without_protected(edited, [Span(6, 9)]).text
    'I have teh cat'
    """
    untouchable = Untouchable([*edited.protected, *spans])
    groups: list[list[Edit]] = []  # each of edits that touch each other
    for edit in edited.edits:
        if untouchable.touched_by(edit):
            continue
        if groups and groups[-1][-1].end == edit.start:
            groups[-1].append(edit)
        else:
            groups.append([edit])
    edits: list[Edit] = []
    for group in groups:
        whole = Edit(group[0].start, group[-1].end, "".join(edit.replacement for edit in group))
        if not untouchable.glued_by(edited.original, whole):
            edits += group
    return replace(edited, edits=tuple(edits), protected=tuple(untouchable.spans))


class Untouchable:
    """Spans that no edit may touch, and the edits that do.

    >>> spans = Untouchable([Span(6, 9), Span(0, 2)])
    >>> [spans.touched_by(edit) for edit in (Edit(2, 5, "have"), Edit(5, 7, "s"), Edit(9, 9, " big"))]
    [False, True, False]
    """

    def __init__(self, spans: Iterable[Span]) -> None:
        self.spans = merge_spans(spans)
        self.starts, self.ends = [span.start for span in self.spans], [span.end for span in self.spans]
        self.borders = frozenset(self.starts), frozenset(self.ends)

    def touched_by(self, edit: Edit | Span) -> bool:
        number = bisect_left(self.starts, edit.end)  # of spans that begin before the end of the edit
        return number > 0 and self.ends[number - 1] > edit.start

    def glued_by(self, text: str, edit: Edit) -> bool:
        """Returns whether a span gets a new neighbour.

        A word next to it may change, a sign may go, and punctuation may end a clause.

        >>> spans = Untouchable([Span(3, 6)])
        >>> edits = Edit(2, 3, ""), Edit(6, 6, "s"), Edit(6, 6, ","), Edit(7, 10, "hat"), Edit(3, 3, "a ")
        >>> [spans.glued_by("my `x` hta", edit) for edit in edits]
        [True, True, False, False, False]
        """
        if edit.end in self.borders[0]:
            ahead = text[: edit.start][-1:] + edit.replacement
            if is_new_neighbour(text[: edit.end][-1:], ahead[-1:]):
                return True
        if edit.start in self.borders[1]:
            neighbour, behind = text[edit.start : edit.start + 1], edit.replacement + text[edit.end : edit.end + 2]
            ends_clause = behind[:1] in CLAUSE_ENDS and not behind[1:2].strip() and not IN_WORD.match(neighbour)
            return is_new_neighbour(neighbour, behind[:1]) and not ends_clause
        return False


def is_new_neighbour(original: str, replacement: str) -> bool:
    """Returns whether a character or "" must not take the place of the original one next to a protected span.

    >>> [is_new_neighbour(*pair) for pair in [("a", "b"), (",", " "), (",", ""), (" ", "a"), ("a", " "), (" ", "-")]]
    [False, False, False, True, True, True]
    """
    if IN_WORD.match(original):
        return not IN_WORD.match(replacement)
    return bool(replacement.strip()) and replacement != original
