"""The noise that a user requests."""

from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, Optional

from lev_plugins.noise import kinds
from lev_plugins.noise.confusions import OCR, confuser, read_table
from lev_plugins.noise.kinds import NoiseKind
from lev_plugins.noise.languages import (
    ALPHABET,
    CONFUSIONS,
    KEYBOARD,
    SHORT_WORDS,
    known_languages,
    language_folder,
    language_words,
)
from lev_plugins.noise.layouts import known_layouts, neighbouring_keys, shifts
from lev_plugins.utils.errors import UserError, require
from lev_plugins.utils.ranges import bounded

NOISE_KINDS: dict[str, Callable[["NoiseOptions"], NoiseKind]] = {
    "random": lambda options: NoiseKind(
        partial(kinds.one_of, [NOISE_KINDS[name](options) for name in ("insert", "delete", "substitute")])
    ),
    "insert": lambda options: NoiseKind(partial(kinds.insert, kinds.Alphabets(options.alphabet))),
    "delete": lambda options: NoiseKind(kinds.delete),
    "substitute": lambda options: NoiseKind(partial(kinds.substitute, kinds.Alphabets(options.alphabet))),
    "keyboard": lambda options: NoiseKind(
        partial(kinds.keyboard, neighbouring_keys(*layout_of(options)), shifts(*layout_of(options)), options.shift_rate)
    ),
    "shift": lambda options: NoiseKind(partial(kinds.shift, shifts(*layout_of(options)))),
    "accent": lambda options: NoiseKind(kinds.accent),
    "swap": lambda options: NoiseKind(kinds.swap),
    "swap-words": lambda options: NoiseKind(kinds.swap_words, kinds.untouched_starts, words=2),
    "run-on": lambda options: NoiseKind(kinds.run_on, kinds.ends_before_words),
    "split": lambda options: NoiseKind(kinds.split),
    "ocr": lambda options: confuser(read_table(OCR)),
    "confusions": lambda options: confuser(read_table(Path(options.confusions or ""))),
}
WITH_RATES = ("ocr", "confusions")  # the kinds with their own rates
WITH_ALPHABET = ("random", "insert", "substitute")
LAYOUT = "qwerty"  # if neither a layout nor a language is given


def noise_flag(metavar: str, meaning: str, default: Any = MISSING) -> Any:
    return field(default=default, metadata={"metavar": metavar, "help": meaning})


@dataclass(frozen=True)
class NoiseOptions:
    """Each field with ``help`` is a flag of ``lev-plugins noise`` and, with ``--noise-`` before it, of training tasks.

    This module evaluates its annotations, because fairseq and argparse read the types of the fields.
    """

    kind: str = noise_flag(
        "KIND[:WEIGHT],...", f"one of {', '.join(NOISE_KINDS)}; or several with weights, such as keyboard:2,swap:1"
    )
    word_rate: Optional[float] = noise_flag("P", "share of words to change", None)
    char_rate: Optional[float] = noise_flag(
        "P",
        "with --word-rate: slips per character of a changed word, at least one per word (default: one per word); "
        "alone: slips per character of the text that is not white space",
        None,
    )
    varied: bool = noise_flag("", "each line has a rate of its own, from 0 to twice the given one", False)
    prose: bool = noise_flag(
        "", "leave alone what no corrector should touch, such as addresses, numbers and code", False
    )
    min_letters: int = noise_flag("N", "with --word-rate: words with fewer letters stay as they are", 0)
    short_words: str = noise_flag("WORD,...", "with --min-letters: shorter words to change, too, such as of,to,in", "")
    lower_rate: float = noise_flag(
        "P", "with --word-rate: share of the changed words that begin with a small letter instead of a capital", 0.0
    )
    seed: int = noise_flag("N", "random seed", 1)
    layout: Optional[str] = noise_flag(
        "NAME", f"for `keyboard` and `shift`: {', '.join(known_layouts())} or a layout file (default: {LAYOUT})", None
    )
    shift_rate: float = noise_flag("P", "for `keyboard`: share of the slips that have the wrong shift as well", 0.0)
    alphabet: Optional[str] = noise_flag(
        "LETTERS",
        "for `random`, `insert` and `substitute`: letters to write, or several sets between blanks, of "
        "which a letter stays in its own; any: small letters and capitals of the same script, digits and signs "
        "(default: letters of the same script and case)",
        None,
    )
    confusions: Optional[str] = noise_flag("FILE", "for `confusions`: file made by `lev-plugins confusions`", None)
    language_files: Optional[str] = noise_flag(
        "NAME",
        f"{', '.join(known_languages())} or a folder like theirs: keyboard, letters, short words and confusions of a "
        "language, for those of the flags above that are not given",
        None,
    )
    prefix: str = "--"  # of the flags in error messages


def layout_of(options: NoiseOptions) -> tuple[str, str]:
    """Returns the layout of the keyboard, and the flag that names it."""
    return options.layout or LAYOUT, f"{options.prefix}layout"


NOISE_FLAGS = [option for option in fields(NoiseOptions) if "help" in option.metadata]


def with_language_files(options: NoiseOptions) -> NoiseOptions:
    """Return the options without ``language_files``, whose contents fill in the flags that are not given.

    >>> options = with_language_files(NoiseOptions("random", word_rate=0.1, min_letters=3, language_files="en"))
    >>> options.alphabet, options.short_words
    ('abcdefghijklmnopqrstuvwxyz 0123456789', 'of,in,it,is,he,to')
    """
    if options.language_files is None:
        return options
    folder = language_folder(options.language_files, f"{options.prefix}language-files")
    weights = parse_noise_kinds(options.kind, options.prefix)
    keyboard, table = (folder / name if (folder / name).is_file() else None for name in (KEYBOARD, CONFUSIONS))
    alphabet = "" if weights.keys().isdisjoint(WITH_ALPHABET) else " ".join(language_words(folder, ALPHABET))
    short_words = ",".join(language_words(folder, SHORT_WORDS)) if options.min_letters else ""
    return replace(
        options,
        layout=options.layout or (str(keyboard) if keyboard else None),
        alphabet=options.alphabet or alphabet or None,
        short_words=options.short_words or short_words,
        confusions=options.confusions or (str(table) if table and "confusions" in weights else None),
        language_files=None,
    )


def check_options(options: NoiseOptions, weights: dict[str, float]) -> None:
    """Refuse values out of range, and flags that need another flag or kind of noise."""
    prefix, has_word_rate = options.prefix, options.word_rate is not None
    for name in ("word_rate", "char_rate", "shift_rate", "lower_rate"):
        if (rate := getattr(options, name)) is not None:
            bounded(f"{prefix}{name.replace('_', '-')}", rate, 0, 1)
    bounded(f"{prefix}min-letters", options.min_letters, 0)
    has_rate = has_word_rate or options.char_rate is not None
    rates = f"{prefix}word-rate, {prefix}char-rate or both"
    require(
        has_rate or weights.keys() <= set(WITH_RATES),
        f"{prefix}kind {options.kind} needs {rates}: only {' or '.join(WITH_RATES)} has rates of its own",
    )
    require(has_rate or not options.varied, f"{prefix}varied needs {rates}")
    require(has_word_rate or not options.min_letters, f"{prefix}min-letters needs {prefix}word-rate")
    require(has_word_rate or not options.lower_rate, f"{prefix}lower-rate needs {prefix}word-rate")
    require(options.min_letters > 0 or not options.short_words, f"{prefix}short-words needs {prefix}min-letters")
    require(
        ("confusions" in weights) == (options.confusions is not None),
        f"{prefix}confusions FILE and the kind confusions go together: give both or neither",
    )
    require(not options.shift_rate or "keyboard" in weights, f"{prefix}shift-rate needs {prefix}kind keyboard")
    writes = options.alphabet is None or not weights.keys().isdisjoint(WITH_ALPHABET)
    require(writes, f"{prefix}alphabet needs {prefix}kind {' or '.join(WITH_ALPHABET)}")
    require(options.alphabet != "", f"{prefix}alphabet must have letters, but is empty")


def parse_noise_kinds(text: str, prefix: str = "--") -> dict[str, float]:
    """Return the kinds of noise with their weights.

    >>> parse_noise_kinds("keyboard"), parse_noise_kinds("keyboard:2,swap:0.5")
    ({'keyboard': 1.0}, {'keyboard': 2.0, 'swap': 0.5})
    """
    weights: dict[str, float] = {}
    for part in text.split(","):
        name, _, weight = part.strip().partition(":")
        require(name in NOISE_KINDS, f"{prefix}kind {name!r} is unknown: choose from {', '.join(NOISE_KINDS)}")
        require(name not in weights, f"{prefix}kind names {name} twice: give it one weight, as in {name}:2")
        try:
            weights[name] = float(weight or "1")
        except ValueError as error:
            raise UserError(
                f"{prefix}kind: a weight must be a number, as in keyboard:2, but {part!r} has {weight!r}"
            ) from error
        bounded(f"{prefix}kind: the weight in {part!r}", weights[name], above=0)
    return weights
