"""Segments through a levt without torch and fairseq, by the graphs of a model folder."""

from argparse import Namespace
from pathlib import Path
from typing import Any

from lev_plugins import model_folder
from lev_plugins.edits.options import RefinementOptions
from lev_plugins.errors import UserError
from lev_plugins.inference.segments import RefinedSegments
from lev_plugins.model_folder import ModelConfig
from lev_plugins.ranges import check as check_ranges
from lev_plugins.runtime.folder import BOS, EOS, UNK, Index, StoredIndex, Vocabulary
from lev_plugins.runtime.refinement import Refiner, Symbols
from lev_plugins.runtime.words import SpeltWords
from lev_plugins.text.edited import Segment, WordEdits

# fairseq's and the task's flags that decoding by graphs has, under their names here
FLAGS = {
    "iter_decode_max_iter": "max_iter",
    "iter_decode_eos_penalty": "gamma",
    "max_ratio": "max_ratio",
    "max_ratio_floor": "max_ratio_floor",
    "min_words": "min_length",
    "soft_protection": "soft_protection",
    "keep_bias": "keep_bias",
}


def light(folder: Path, config: ModelConfig, *how: Any) -> "LightRefinement":
    """As the class, for a folder that may come from a stranger."""
    try:
        return LightRefinement(folder, config, *how)
    except (KeyError, TypeError) as error:
        reason = f"{type(error).__name__}: {error}"[:200]
        raise UserError(f"{folder} cannot be loaded ({reason}): {model_folder.AGAIN}") from error


class LightRefinement(RefinedSegments):
    def __init__(self, folder: Path, config: ModelConfig, flags: dict[str, Any], bits: int, max_tokens: int):
        """``flags``: some of ``FLAGS``."""
        check_ranges(Namespace(**flags))
        names = [f"dict.{config.task_flags[side]}.txt" for side in ("source_lang", "target_lang")]
        for name in names:
            model_folder.require_listed(config, folder, name)
        words = Vocabulary(folder / names[1])
        source = words if config.files[names[0]] == config.files[names[1]] else Vocabulary(folder / names[0])
        model: dict[str, Any] = config.model_flags
        task: dict[str, Any] = config.task_flags
        limits = [min(model[side], task[side]) for side in ("max_source_positions", "max_target_positions")]
        spells = bool(model["spelling"])
        super().__init__((source, words), limits, max_tokens, any_words=spells)
        size = len(words.symbols)
        symbols = Symbols(size, model["max_target_positions"], size if model["placeholder"] == "plh" else UNK)
        given = {FLAGS[name]: value for name, value in {**task, **flags}.items() if name in FLAGS}
        self.refiner = Refiner(folder, bits, symbols, RefinementOptions(**given))
        self.source, self.spelt = source, None
        if spells:
            stored = Index.load(folder, size, model["spelling_buckets"])
            self.spelt = SpeltWords(StoredIndex(words, stored), stored)

    def refined(self, sources: list[list[str]], segments: list[Segment]) -> list[tuple[list[int], WordEdits]]:
        unknown: dict[str, int] = {}
        first = len(self.words.symbols) + 1

        def row(pieces: list[str], words: Vocabulary, numbered: bool = True) -> list[int]:
            found = (words.indices.get(piece, UNK) for piece in pieces)
            rows = [
                i if i > UNK else first + unknown.setdefault(piece, len(unknown)) if numbered else UNK
                for i, piece in zip(found, pieces, strict=True)
            ]
            return [BOS, *rows, EOS]

        read = [row(source, self.source, self.spelt is not None) for source in sources]
        drafts = [row(segment.pieces, self.words) for segment in segments]
        asked = [[*(one.requests or [0] * (len(one.pieces) + 1)), 0] for one in segments]
        batch = None if self.spelt is None else self.spelt.batch(list(unknown))
        return self.refiner.refine(read, drafts, asked, batch)
