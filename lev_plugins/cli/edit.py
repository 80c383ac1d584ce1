"""``lev-plugins edit CHECKPOINT``: edits standard input, one output line per input line."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import torch
from tqdm import tqdm

from lev_plugins.cli.streams import batches, write
from lev_plugins.errors import UserError, require
from lev_plugins.inference.editor import MAX_TOKENS, Editor
from lev_plugins.ranges import at_least, bounded, finite
from lev_plugins.text.cutting import add_bpe_arguments, bpe_options
from lev_plugins.text.edited import Edited
from lev_plugins.text.lines import read_lines

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("checkpoint", metavar="CHECKPOINT", help="a levt, or any model of --task text_correction")
    add("--data", metavar="DIR", help="folder with its dictionaries, if they are no longer where it was trained")
    add("--drafts", metavar="FILE", type=Path, help="levt: edit these, one for each line, which is then its source")
    add("--json", action="store_true", help="print a JSON object per line, with the edits and their confidence")
    add("--min-confidence", metavar="P", type=float, default=0.0, help="leave out edits less sure than this (0 to 1)")
    add("--keep-bias", metavar="B", type=float, help="log-odds by which a change must win (negative: edit more)")
    add("--language", metavar="CODE", help="such as de: says where sentences end (default: by the script)")
    add("--whole-lines", action="store_true", help="do not cut lines into sentences")
    add("--beam", metavar="N", type=int, default=5, help="text_correction: beam size (default: 5)")
    add("--batch-lines", metavar="N", type=int, default=64, help="lines that are edited together (default: 64)")
    add("--max-tokens", metavar="N", type=int, default=MAX_TOKENS, help="tokens in a batch of the model")
    add("--cpu", action="store_true", help="use no GPU")
    add_bpe_arguments(parser)


def run(args: argparse.Namespace) -> int:
    at_least(args, 1, "beam", "batch_lines", "max_tokens")
    bounded("--min-confidence", args.min_confidence, 0, 1)
    finite(args, "keep_bias")
    require(args.drafts is None or args.drafts.is_file(), f"--drafts: there is no file {args.drafts}")
    return write(edited_lines(load(args), args))


def load(args: argparse.Namespace) -> Editor:
    return Editor.load(
        args.checkpoint,
        args.data,
        bpe_options(args),
        device="cuda" if torch.cuda.is_available() and not args.cpu else "cpu",
        search={"beam": args.beam},
        overrides={} if args.keep_bias is None else {"keep_bias": args.keep_bias},
        max_tokens=args.max_tokens,
        split=not args.whole_lines,
        language=args.language,
    )


def edited_lines(editor: Editor, args: argparse.Namespace) -> Iterator[bytes]:
    drafts = None if args.drafts is None else read_lines(args.drafts)
    hidden = sys.stdout.isatty() or None  # None: shown on a terminal only, and not among the lines
    number = 0
    with tqdm(unit=" lines", disable=hidden) as bar:
        for first, given in batches(args.batch_lines):
            texts = [line.removesuffix("\n") for line in given]
            some = None if drafts is None else list(next_drafts(drafts, len(texts), first, args.drafts))
            for line, text, edited in zip(given, texts, editor.edit(texts, some), strict=True):
                yield (printed(edited.sure(args.min_confidence), args.json) + line[len(text) :]).encode("utf-8")
            number = first + len(texts) - 1
            bar.update(len(texts))
    require(
        drafts is None or next(drafts, None) is None,
        f"--drafts {args.drafts} has more lines than standard input, which has {number:,}",
    )


def next_drafts(drafts: Iterator[str], count: int, first: int, path: Path) -> Iterator[str]:
    for number in range(first, first + count):
        draft = next(drafts, None)
        if draft is None:
            raise UserError(f"--drafts {path} has {number - 1:,} lines, but standard input has more")
        yield draft


def printed(edited: Edited, as_json: bool) -> str:
    return json.dumps(edited.as_dict(), ensure_ascii=False) if as_json else edited.text
