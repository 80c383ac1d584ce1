"""Train a sentencepiece model, and encode text with it.

    python examples/demo/pieces.py train MODEL VOCABULARY TEXT...
    python examples/demo/pieces.py encode MODEL < TEXT > PIECES

Both sides of the data share one MODEL. VOCABULARY is its number of pieces.
"""

from __future__ import annotations

import sys
from pathlib import Path

import sentencepiece


def train(model: str, size: str, *texts: str) -> None:
    """A unigram model: every letter of the texts is a piece, so any misspelling can be written."""
    sentencepiece.SentencePieceTrainer.Train(
        input=list(texts),
        model_prefix=str(Path(model).with_suffix("")),
        model_type="unigram",
        vocab_size=int(size),
        character_coverage=1.0,
        num_threads=1,  # the same model every time
        minloglevel=1,
    )


def encode(model: str) -> None:
    pieces = sentencepiece.SentencePieceProcessor(model_file=model)
    for line in sys.stdin:
        sys.stdout.write(" ".join(pieces.encode(line.rstrip("\n"), out_type=str)) + "\n")


if __name__ == "__main__":
    if sys.argv[1] == "train":
        train(*sys.argv[2:])
    else:
        encode(*sys.argv[2:])
