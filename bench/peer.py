"""CTranslate2's Transformer, the peer of ``editing.py`` and ``translation.py``, which alone need it installed."""

from argparse import Namespace
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from torch import Tensor

from bench import systems
from bench.systems import Weights
from lev_plugins import checkpoints
from lev_plugins.errors import require

__all__ = ["PEER", "Decoder", "Sample", "converted", "require_installed", "saved_transformer", "translator"]

PEER = "ctranslate2"

Sample = dict[str, Any]
Decoder = Callable[[Sample], list[list[str]]]  # the tokens of each sentence


def require_installed() -> None:
    require(find_spec(PEER) is not None, f"the package {PEER} is not installed: pip install {PEER}")


def saved_transformer(given: Weights, folder: Path) -> Path:
    """fairseq's Transformer of the same size, with random weights, and beside it its dictionaries."""
    for side in ("source", "target"):
        given.target.save(str(folder / f"dict.{side}.txt"))
    options = {**given.options, "arch": "transformer", "task": "translation"}
    options |= {"source_lang": "source", "target_lang": "target", "left_pad_source": True, "left_pad_target": False}
    state = {"args": Namespace(**options), "model": systems.autoregressive(given).state_dict()}
    checkpoints.save(state, folder / "checkpoint.pt")
    return folder / "checkpoint.pt"


def converted(checkpoint: Path, data: Path, folder: Path, precisions: Iterable[str]) -> None:
    """One model in ``folder`` for each precision; ``data`` has the dictionaries."""
    import ctranslate2

    for precision in precisions:
        converter = ctranslate2.converters.FairseqConverter(str(checkpoint), str(data))
        with checkpoints.only_plain_classes():
            converter.convert(str(folder / precision), quantization=None if precision == "float32" else precision)


def translator(folder: Path, dictionary: Any, precision: str, beam: int = 1, forced: bool = True) -> Decoder:
    """If ``forced``, each output has as many tokens as the longest source, since the weights are random."""
    import ctranslate2

    model = ctranslate2.Translator(str(folder / precision), intra_threads=1, inter_threads=1, compute_type=precision)

    def decode(sample: Sample) -> list[list[str]]:
        lines = [words_of(row, dictionary) for row in sample["net_input"]["src_tokens"]]
        longest = max(map(len, lines))
        limits = {"min_decoding_length": longest} if forced else {}
        limits["max_decoding_length"] = longest if forced else int(1.2 * longest + 10)
        found = model.translate_batch(lines, beam_size=beam, max_batch_size=len(lines), **limits)
        return [each.hypotheses[0] for each in found]

    return decode


def words_of(row: Tensor, dictionary: Any) -> list[str]:
    """Without padding, <s> and </s>."""
    return [dictionary.symbols[i] for i in row[row.ne(dictionary.pad())][1:-1].tolist()]
