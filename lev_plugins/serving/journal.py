"""The journal of ``lev-plugins serve --journal FILE``: sentences, and what people made of them, for ``adapt``."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lev_plugins.text.edited import Edit, apply, require_text
from lev_plugins.text.sentences import sentences
from lev_plugins.utils.errors import UserError

Pair = tuple[str, str]


@dataclass(frozen=True)
class Decision:
    """An edit, and whether a person accepted it; None: nothing was decided."""

    start: int
    end: int
    replacement: str
    accepted: bool | None = None


def decided_pairs(text: str, decisions: Sequence[Decision], language: str | None = None) -> list[Pair]:
    """Returns the sentences whose edits have all been accepted or rejected, before and after that, on a line each.

    ``language``: a code such as "de", which decides where sentences end; None: it is guessed.

    >>> decided_pairs("Teh cat. I go. Teh", [Decision(0, 3, "The", True), Decision(11, 13, "went", False)])
    [('Teh cat.', 'The cat.'), ('I go.', 'I go.')]
    """
    require_text(text)
    apply(text, [Edit(each.start, each.end, each.replacement) for each in decisions])  # refuses those that do not fit
    pairs = []
    for start, end in sentences(text, language):
        here = [each for each in decisions if each.start <= end and each.end >= start]
        inside = all(start <= each.start and each.end <= end for each in here)
        if here and inside and all(each.accepted is not None for each in here):
            edits = [Edit(each.start - start, each.end - start, each.replacement) for each in here if each.accepted]
            noisy, clean = text[start:end], apply(text[start:end], edits)
            pairs.append((" ".join(noisy.split()), " ".join(clean.split())))
    return pairs


def append_pairs(path: Path, pairs: Sequence[Pair]) -> None:
    """Appends lines ``NOISY<TAB>CLEAN`` to a file, which is created readable for its owner alone."""
    try:
        with open(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "wb") as file:
            file.write("".join(f"{noisy}\t{clean}\n" for noisy, clean in pairs).encode())
    except OSError as error:
        raise UserError(f"--journal {path} cannot be written: {error.strerror}") from error
