"""Teacher-forced scores of a trained system, as the code that belongs to the gated-Trans paper computes them.

    python forced.py CHECKPOINT DATA --references test.tgt --output forced.json --bpe sentencepiece \\
        --sentencepiece-model FILE

The model reads the reference, not its own output, and says the likeliest piece in each place. This text is scored by
WRR, by the overlap of word sets, which that code calls WRR, and by the mean of nltk's unsmoothed sentence BLEUs. Such
scores need a reference; they may be higher or lower than those of free-running decoding.
"""

import argparse
import json
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.denoising.released_scores import mean_sentence_bleu, word_set_overlap
from examples.shared import finish, read_lines
from lev_plugins.export.decoder import CheckpointDecoder
from lev_plugins.scoring import wrr
from lev_plugins.text.tokenise import Tokeniser, add_bpe_arguments, bpe_options
from lev_plugins.utils.errors import require


@torch.no_grad()
def forced_tokens(decoder: CheckpointDecoder, split: str, max_tokens: int = 4000) -> list[list[int] | None]:
    """Returns the likeliest token in each place of each reference, without </s>; None if it is too long for the model.

    Each token is predicted after the right ones, so the output is as long as the reference.
    """
    dataset, (model,) = decoder.dataset(split), decoder.models
    pad, eos = decoder.task.target_dictionary.pad(), decoder.task.target_dictionary.eos()
    predictions: list[list[int] | None] = [None] * len(dataset)
    for sample in decoder.samples(dataset, range(len(dataset)), max_tokens):
        output = model(**sample["net_input"])
        likeliest = model.get_normalized_probs(output, log_probs=True, sample=sample).argmax(-1)  # (B, T)
        words = sample["target"].ne(pad) & sample["target"].ne(eos)
        for index, row, inside in zip(sample["id"].tolist(), likeliest, words, strict=True):
            predictions[index] = row[inside].tolist()
    return predictions


def run(args: argparse.Namespace) -> None:
    references = read_lines(args.references)
    device = "cuda" if torch.cuda.is_available() and not args.cpu else "cpu"
    decoder = CheckpointDecoder([args.checkpoint], {"data": str(args.data)}, {}, device)
    rows = forced_tokens(decoder, "test")
    require(
        len(rows) == len(references),
        f"{args.references} has {len(references):,} lines, but the test of {args.data} has {len(rows):,} sentences",
    )
    if None in rows:
        sys.stderr.write(f"{rows.count(None):,} of {len(rows):,} sentences are too long: they count as empty\n")
    words, bpe = decoder.task.target_dictionary, Tokeniser(bpe_options(args)).bpe
    pieces = [words.string(row or [], extra_symbols_to_ignore={words.bos(), words.pad()}) for row in rows]
    texts = [bpe.decode(line) if bpe else line for line in pieces]
    scores = {
        "wrr": wrr.evaluate(references, texts).score,
        "wrr_set": word_set_overlap(references, texts).score,
        "sentence_bleu": mean_sentence_bleu(references, texts).score,
    }
    args.output.write_text(json.dumps(scores, indent=1) + "\n", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("data", type=Path, help="folder of its data")
    parser.add_argument("--references", type=Path, required=True, help="the targets of the test, as text")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--cpu", action="store_true", help="use no GPU")
    add_bpe_arguments(parser)
    return finish(parser, run)


if __name__ == "__main__":
    sys.exit(main())
