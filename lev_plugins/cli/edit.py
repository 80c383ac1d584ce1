"""``lev-plugins edit MODEL``: edit standard input, one output line per input line."""

import argparse
import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from lev_plugins.cli.flags import number_or_name, requires
from lev_plugins.cli.shown import COLOUR, PLAIN, Style, diff_line
from lev_plugins.cli.streams import add_resume_argument, answer_lines
from lev_plugins.cli.trace import in_colour
from lev_plugins.editor.editor import Editor
from lev_plugins.editor.options import DEVICES, EditOptions
from lev_plugins.text.edited import Edited
from lev_plugins.text.glossary import as_dict
from lev_plugins.text.lines import read_lines
from lev_plugins.text.protected import PROTECTED_KINDS, parse_kinds
from lev_plugins.utils.errors import require
from lev_plugins.utils.model_folder import DIALS, Decoding, model_path
from lev_plugins.utils.ranges import MAX_BATCH, bounded


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("model", metavar="MODEL", type=model_path, help="a model folder, or the name of an installed model")
    add("--drafts", metavar="FILE", type=Path, help="levt: edit these, one for each line, which is then its source")
    form = parser.add_mutually_exclusive_group().add_argument
    form("--json", action="store_true", help="print a JSON object per line, with the edits and their confidence")
    form("--diff", action="store_true", help="print the edits in each line: [-teh-]{+the+}; coloured on a terminal")
    add_resume_argument(add)
    document = "the text that the lines are from: a calibrated editor changes unknown words that recur in it less often"
    add("--document", metavar="FILE", type=Path, help=document)
    add("--whole-lines", action="store_true", help="do not cut lines into sentences")
    add("--batch-lines", metavar="N", type=int, default=64, help="lines that are edited together (default: 64)")
    add("--max-tokens", metavar="N", type=int, default=EditOptions.max_tokens, help="tokens in a batch of the model")
    add_editor_arguments(parser)


def add_editor_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the flags that ``edit``, ``serve`` and ``lsp`` share."""
    add = parser.add_argument
    add("--words", metavar="FILE", type=Path, help="words that no edit may touch, one per line")
    terms = (
        "lines TERM<TAB>TRANSLATION: a draft keeps the translations of its source's terms; a text without one gets them"
    )
    add("--glossary", metavar="FILE", type=Path, help=terms)
    add("--soft-glossary", action="store_true", help="the model may change these translations where it is sure")
    add_decoding_arguments(add)
    add_computation_arguments(add)


def add_computation_arguments(add: Callable[..., object]) -> None:
    add("--device", choices=DEVICES, default="cpu", help="cuda: a GPU, with the package onnxruntime-gpu (default: cpu)")
    gain = "about twice as fast for models 512 wide, hardly for small ones; outputs change a little"
    add("--cpu-int8", action="store_true", help=f"multiply in 8 bits, {gain}")


def add_decoding_arguments(add: Callable[..., object]) -> None:
    """Adds the flags of ``Decoding``, without defaults: a model folder may have its own."""
    least = f"leave out edits less sure than this: 0 to 1, or a dial of the model folder, {' or '.join(DIALS)}"
    add("--min-confidence", metavar="P", type=number_or_name, help=least)
    add("--keep-bias", metavar="B", type=float, help="log-odds by which a change must win (negative: edit more)")
    kinds = (
        f"edit these, too, which are left alone in texts without drafts: some of {','.join(PROTECTED_KINDS)}, or all"
    )
    add("--edit-also", metavar="KIND,...", help=kinds)
    add("--language", metavar="CODE", help="such as de: says where sentences end (default: by the script)")
    add("--beam", metavar="N", type=int, help="text_correction: beam size (default: 5)")
    add("--iter-decode-max-iter", metavar="N", type=int, help="levt: at most N + 1 iterations (default: 10)")
    penalty = "levt: subtracted from the log-probability of inserting nothing (positive: insert more)"
    add("--iter-decode-eos-penalty", metavar="G", type=float, help=penalty)


def decoding_of(args: argparse.Namespace) -> Decoding:
    """Returns the flags of ``add_decoding_arguments``, checked."""
    decoding = Decoding(**{name: getattr(args, name) for name in Decoding.__dataclass_fields__})
    decoding.check()
    parse_kinds(decoding.edit_also or "")
    return decoding


def run(args: argparse.Namespace) -> int:
    bounded("--batch-lines", args.batch_lines, 1, MAX_BATCH)
    require(args.drafts is None or args.drafts.is_file(), f"--drafts: there is no file {args.drafts}")
    settings = {"max_tokens": args.max_tokens, "words": args.words, "document": args.document}
    editor = editor_from_args(args, **settings, split=not args.whole_lines)
    drafts = None if args.drafts is None else list(read_lines(args.drafts, b""))
    to_line, lines = output_format(args), 0  # of standard input

    def answer(number: int, texts: list[str]) -> Iterable[str]:
        nonlocal lines
        lines = number - 1 + len(texts)
        batch = None if drafts is None else drafts[number - 1 : lines]
        has = f"--drafts {args.drafts} has {len(drafts or ()):,} lines"
        require(batch is None or len(batch) == len(texts), f"{has}, but standard input has more")
        return map(to_line, editor.edit(texts, batch, number))

    status = answer_lines(answer, args.batch_lines, args.resume)
    more = f"--drafts {args.drafts} has more lines than standard input, which has {lines:,}"
    require(drafts is None or status != 0 or len(drafts) == lines, more)
    return status


def editor_from_args(args: argparse.Namespace, **settings: Any) -> Editor:
    """Returns the editor that the flags of ``add_editor_arguments`` describe; ``settings`` are more ``EditOptions``."""
    return Editor.load(args.model, replace(editor_options(args), **settings))


def editor_options(args: argparse.Namespace) -> EditOptions:
    """Returns the settings that the flags of ``add_editor_arguments`` name, but for --words."""
    requires(args, "--glossary", args.glossary is not None, soft_glossary=False)
    return EditOptions(
        **vars(decoding_of(args)),
        device=args.device,
        cpu_int8=args.cpu_int8,
        glossary=args.glossary,
        soft_glossary=args.soft_glossary,
    )


def output_format(args: argparse.Namespace) -> Callable[[Edited], str]:
    """Returns the function that turns an edited text into a line of output."""
    if args.json:
        return lambda edited: json.dumps(as_dict(edited), ensure_ascii=False)
    if args.diff:
        style = COLOUR if args.resume is None and in_colour(None) else PLAIN
        return lambda edited: diff_of(edited, style)
    return lambda edited: edited.text


def diff_of(edited: Edited, style: Style) -> str:
    """Returns a text and its edits in one line; a carriage return at the end belongs to the line.

    >>> diff_of(Edited("It  is .\\r", ()), PLAIN)
    'It  is .\\r'
    """
    text = edited.original.removesuffix("\r")
    return diff_line(text, edited.edits, style) + edited.original[len(text) :]
