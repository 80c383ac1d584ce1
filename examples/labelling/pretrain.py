"""Pre-train a small T5 1.1 on text of your own, by T5's span corruption.

    python examples/labelling/pretrain.py comments.txt --output runs/small-t5
    lev-plugins import-pretrained runs/small-t5 runs/small-t5-backbone

A line per text. The lines are read as one stream, cut into rows of --length pieces. 15 % of the pieces are hidden, in
spans of three on average: the encoder reads the others, the decoder writes these. The same command continues after a
stop.
"""

import argparse
import itertools
import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from fairseq.optim.adafactor import Adafactor
from sentencepiece import SentencePieceProcessor
from tqdm import tqdm

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.shared import finish, hold_out, read_lines
from lev_plugins.pretrained.library import quietly
from lev_plugins.training import checkpoints
from lev_plugins.training.tokenise import learn_sentencepiece
from lev_plugins.utils.errors import require
from lev_plugins.utils.ranges import at_least

HIDDEN, SPAN = 0.15, 3  # of the pieces; pieces in a span, on average
SENTINELS = 100  # from <extra_id_0> on: what stands for a hidden span
PAD, END, UNKNOWN = 0, 1, 2  # as in T5
STEPS = 100  # updates between two saved states
STATE = "state.pt"


# ---- text -> rows of ids ---------------------------------------------------------------------------------------------
def learn_pieces(texts: list[Path], size: int, folder: Path) -> None:
    """spiece.model, and the settings with which ``transformers`` reads it as T5's tokenizer."""
    ids = {"pad_id": PAD, "eos_id": END, "unk_id": UNKNOWN, "bos_id": -1}
    learn_sentencepiece(texts, folder / "spiece.model", size, "unigram", 0.9995, "--vocab", **ids)
    options = {"tokenizer_class": "T5Tokenizer", "extra_ids": SENTINELS, "unk_token": "<unk>"}
    (folder / "tokenizer_config.json").write_text(json.dumps(options), encoding="utf-8")


def rows_of(stream: list[int], length: int) -> np.ndarray:
    """(N, length); pieces at the end that fill no row are left out.

    >>> rows_of([1, 2, 3, 4, 5], 2)
    array([[1, 2],
           [3, 4]])
    """
    return np.array(stream[: len(stream) // length * length]).reshape(-1, length)


def lengths(total: int, parts: int, draws: np.random.Generator) -> np.ndarray:
    """``total`` as a sum of ``parts`` numbers above 0, drawn evenly from all such sums.

    >>> lengths(5, 2, np.random.default_rng(1))
    array([2, 3])
    """
    cuts = np.sort(draws.choice(total - 1, parts - 1, replace=False)) + 1
    return np.diff(np.concatenate([[0], cuts, [total]]))


def hidden_in(length: int) -> tuple[int, int]:
    """How many pieces of a row are hidden, and in how many spans.

    >>> hidden_in(128)
    (19, 6)
    """
    hidden = max(1, round(length * HIDDEN))
    return hidden, max(1, round(hidden / SPAN))


def corrupt(row: np.ndarray, sentinels: list[int], draws: np.random.Generator) -> tuple[list[int], list[int]]:
    """What the encoder reads and the decoder writes: spans are kept and hidden in turns, a sentinel stands for a span.

    >>> corrupt(np.array([10, 11, 12, 13, 14, 15, 16, 17]), [90, 91], np.random.default_rng(1))
    ([10, 11, 12, 13, 14, 15, 16, 90, 1], [90, 17, 1])
    """
    hidden, spans = hidden_in(len(row))
    source, target, begin = [], [], 0
    pairs = zip(lengths(len(row) - hidden, spans, draws), lengths(hidden, spans, draws), sentinels[:spans], strict=True)
    for kept, gone, sentinel in pairs:
        middle, end = begin + kept, begin + kept + gone
        source += [*row[begin:middle].tolist(), sentinel]
        target += [sentinel, *row[middle:end].tolist()]
        begin = end
    return [*source, END], [*target, END]


def batch_of(rows: np.ndarray, sentinels: list[int], draws: np.random.Generator) -> dict[str, torch.Tensor]:
    """Rows of one length have as many spans each: nothing is padded."""
    pairs = [corrupt(row, sentinels, draws) for row in rows]
    return {
        "input_ids": torch.tensor([source for source, _ in pairs]),
        "labels": torch.tensor([target for _, target in pairs]),
    }


# ---- training --------------------------------------------------------------------------------------------------------
def new_model(args: argparse.Namespace, words: int) -> Any:
    from transformers import T5Config, T5ForConditionalGeneration

    torch.manual_seed(args.seed)
    sizes = {"num_layers": args.layers, "num_decoder_layers": args.decoder_layers, "num_heads": args.heads}
    widths = {"d_model": args.width, "d_ff": args.ffn, "d_kv": args.width // args.heads}
    kind = {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False, "dropout_rate": 0.0}
    model = T5ForConditionalGeneration(
        T5Config(vocab_size=words, decoder_start_token_id=PAD, **sizes, **widths, **kind)
    )
    model.lm_head.weight.data *= args.width**-0.5  # otherwise the first loss is several times the right one
    return model


def loss_of(model: Any, rows: np.ndarray, sentinels: list[int], seed: list[int]) -> torch.Tensor:
    return model(**batch_of(rows, sentinels, np.random.default_rng(seed))).loss


def train(model: Any, rows: np.ndarray, sentinels: list[int], args: argparse.Namespace) -> None:
    """Adafactor with T5's rate: the inverse square root of the update, 0.01 until update 10,000.

    Unlike T5's, gradients are clipped at a norm of 1, and over the last fifth of the updates the rate falls to zero.
    """
    optimizer = Adafactor(model.parameters(), lr=0.01, relative_step=False, scale_parameter=True)
    path, begun = args.output / STATE, 0
    if path.exists():
        state = checkpoints.load(path)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        begun = state["update"]
    for update in tqdm(range(begun, args.updates), initial=begun, total=args.updates, unit=" updates", disable=None):
        for group in optimizer.param_groups:
            group["lr"] = 1 / math.sqrt(max(update, 10_000)) * min(1, (args.updates - update) / (0.2 * args.updates))
        chosen = np.random.default_rng([args.seed, update]).choice(len(rows), min(args.rows, len(rows)), replace=False)
        loss = loss_of(model, rows[chosen], sentinels, [args.seed, update, 1])
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if (update + 1) % STEPS == 0:
            tqdm.write(f"update {update + 1:,}: loss {loss.item():.3f}")
            state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "update": update + 1}
            checkpoints.save(state, path)


def held_out_loss(model: Any, rows: np.ndarray, sentinels: list[int], args: argparse.Namespace) -> float:
    with torch.inference_mode():
        parts = {i: rows[i : i + args.rows] for i in range(0, len(rows), args.rows)}
        losses = [loss_of(model.eval(), part, sentinels, [args.seed, i]).item() for i, part in parts.items()]
    return float(np.average(losses, weights=[len(part) for part in parts.values()]))


def remember(args: argparse.Namespace, begun: bool) -> None:
    """What a training was begun with must be the same when it continues."""
    path = args.output / "settings.json"
    settings = {name: value for name, value in vars(args).items() if isinstance(value, int)}
    settings["text"] = [[str(text), text.stat().st_size] for text in args.text]
    if not begun:
        path.write_text(json.dumps(settings), encoding="utf-8")
    same = json.loads(path.read_text(encoding="utf-8")) == settings
    require(same, f"{args.output} was begun with other settings or text: name another --output")


def run(args: argparse.Namespace) -> None:
    import transformers  # noqa: F401  if it is missing, that is said before anything is learned

    lines = [line for path in args.text for line in read_lines(path)]
    most = next(length for length in itertools.count(2) if hidden_in(length + 1)[1] > SENTINELS)
    require(2 <= args.length <= most, f"--length must be between 2 and {most}, but is {args.length}")
    for name in ("width", "ffn", "heads", "layers", "decoder_layers", "rows", "updates"):
        at_least(args, 1, name)
    at_least(args, 0, "seed")
    args.output.mkdir(parents=True, exist_ok=True)
    begun = (args.output / STATE).exists()
    remember(args, begun)
    if not begun:
        learn_pieces(args.text, args.vocab, args.output)
    pieces = SentencePieceProcessor(model_file=str(args.output / "spiece.model"))
    rows, held_out = hold_out(rows_of([i for ids in pieces.encode(lines) for i in ids], args.length), 50, 200)
    require(len(rows) > 0, f"the text has fewer than {2 * args.length} pieces: give more, or a smaller --length")
    words = len(pieces) + SENTINELS  # the sentinels come last, and <extra_id_0> is the last of them
    sentinels = list(reversed(range(len(pieces), words)))
    model = new_model(args, words)
    train(model.train(), np.array(rows), sentinels, args)
    loss = held_out_loss(model, np.array(held_out), sentinels, args)
    with quietly(args.output):
        model.save_pretrained(args.output)
    sys.stdout.write(f"{args.output}: {args.updates:,} updates; loss on held-out rows: {loss:.3f}\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("text", type=Path, nargs="+", help="text, a line each")
    parser.add_argument("--output", type=Path, required=True, help="folder for the model, as on huggingface.co")
    parser.add_argument("--vocab", type=int, default=8000, help="sentencepiece: number of pieces")
    parser.add_argument("--width", type=int, default=128, help="model width")
    parser.add_argument("--ffn", type=int, default=256, help="feed-forward width")
    parser.add_argument("--heads", type=int, default=4, help="attention heads")
    parser.add_argument("--layers", type=int, default=2, help="blocks of the encoder")
    parser.add_argument("--decoder-layers", type=int, default=4, help="blocks of the decoder")
    parser.add_argument("--length", type=int, default=128, help="pieces in a row, before some are hidden")
    parser.add_argument("--rows", type=int, default=32, help="rows in a batch")
    parser.add_argument("--updates", type=int, default=4000, help="updates of the training")
    parser.add_argument("--seed", type=int, default=1, help="random seed")
    return finish(parser, run)


if __name__ == "__main__":
    sys.exit(main())
