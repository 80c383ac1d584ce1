"""``lev-plugins prepare``: binarise text files as the triples or pairs that ``--task text_editing`` loads."""

import argparse
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from fairseq.data import Dictionary
from fairseq.tasks.translation import TranslationTask

from lev_plugins.cli import preparing
from lev_plugins.cli.flags import requires
from lev_plugins.cli.reporting import table
from lev_plugins.levt import notes
from lev_plugins.scoring import m2
from lev_plugins.text import marks
from lev_plugins.text.lexicon import LEXICON, Lexicon
from lev_plugins.text.lines import ParallelTexts, read_lines, read_parallel, write_lines
from lev_plugins.text.tokenise import Tokeniser, add_bpe_arguments
from lev_plugins.training.binarise import binarise, load_dictionary
from lev_plugins.training.tokenise import MODEL, tokenising, write_tokens
from lev_plugins.utils.errors import require
from lev_plugins.utils.files import all_or_nothing_folder, require_free
from lev_plugins.utils.ranges import at_least, dictionary_size

M2 = ".m2"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("-s", "--source-lang", metavar="SUFFIX", required=True, help="suffix of the sources, as in PREFIX.SUFFIX")
    add("-t", "--target-lang", metavar="SUFFIX", required=True, help="suffix of the targets")
    add("-d", "--draft-lang", metavar="SUFFIX", help="suffix of the drafts (default: no drafts)")
    text = "training text; dictionaries and pieces are learned from it"
    add("--train-prefix", metavar="PREFIX", type=Path, help=text)
    for split, meaning in (
        ("extra-train", "more training text, as train1, ...; fairseq-train --upsample-primary repeats the first"),
        ("valid", "validation text; several are called valid, valid1, ..."),
        ("test", "test text; several are called test, test1, ..."),
    ):
        flag = f"--{split}-prefix"
        add(flag, metavar="PREFIX", type=Path, nargs="+", action="extend", default=[], help=meaning)
    meaning = "more training text: M2 files, whose sentences are sources and drafts, and the corrections "
    meaning += "of the first annotator the targets; a validation or test PREFIX may also be the name of a .m2 file"
    add("--m2", metavar="FILE", type=Path, nargs="+", action="extend", default=[], help=meaning)
    add("--dest", metavar="DIR", type=Path, required=True, help="folder to create")
    add("--allow-missing-drafts", action="store_true", help="treat a missing draft file as empty drafts")
    clean = "training text is only targets, from which fairseq-train --noise-kind makes sources and drafts"
    add("--clean-train", action="store_true", help=clean)
    preparing.add_piece_arguments(parser, "all training texts")
    add("--joined-dictionary", action="store_true", help="one dictionary for source and target")
    clean = "with --joined-dictionary: learn it from the targets alone, so that misspelt words of sources and drafts "
    clean += "are unknown; they keep their spelling, for --spelling"
    add("--clean-dictionary", action="store_true", help=clean)
    for side, name in (("src", "source"), ("tgt", "target")):
        add(f"--{side}dict", metavar="FILE", type=Path, help=f"use this {name} dictionary instead of learning one")
        add(f"--threshold{side}", metavar="N", type=int, default=0, help=f"treat rarer {name} words as unknown")
        add(f"--nwords{side}", metavar="N", type=int, default=-1, help=f"size of the {name} dictionary (-1: no limit)")
    lexicon = "words and misspellings that everybody knows, for --spelling: lines WORD, or MISSPELLING,CORRECTION,..."
    add("--lexicon", metavar="FILE", type=Path, help=lexicon)
    add("--workers", metavar="N", type=int, default=1, help="number of processes")
    add_bpe_arguments(parser)


def run(args: argparse.Namespace) -> int:
    check_arguments(args)
    require_free(args.dest, "--dest")
    with all_or_nothing_folder(args.dest) as folder, TemporaryDirectory(dir=folder) as scratch:
        report = build_texts(args, read_parts(args, Path(scratch)), folder, Path(scratch))
    sys.stdout.write("\n".join(report))
    return 0


def suffixes_of(args: argparse.Namespace) -> list[str]:
    return [side for side in (args.source_lang, args.draft_lang, args.target_lang) if side is not None]


def check_arguments(args: argparse.Namespace) -> None:
    sides, joined, trains = suffixes_of(args), args.joined_dictionary, bool(args.train_prefix or args.m2)
    require(
        len(set(sides)) == len(sides),
        f"source, draft and target need different suffixes, but they are {', '.join(sides)}; if the source itself is "
        "to be edited, copy its files to another suffix",
    )
    require(trains or bool(args.valid_prefix or args.test_prefix), "no text is given: add --train-prefix or --m2")
    requires(args, "--train-prefix", trains, extra_train_prefix=[], clean_train=False)
    requires(args, "--draft-lang", bool(args.draft_lang), allow_missing_drafts=False)
    requires(args, "--joined-dictionary", joined, clean_dictionary=False)
    at_least(args, 1, "workers")
    preparing.check_pieces(args, "--train-prefix", args.train_prefix or next(iter(args.m2), None))
    require(
        not (joined and args.srcdict and args.tgtdict),
        "--joined-dictionary uses one dictionary: give either --srcdict or --tgtdict, not both",
    )
    for side in ("src", "tgt"):
        file = (args.srcdict or args.tgtdict) if joined else vars(args)[f"{side}dict"]
        dictionary_size(args, f"threshold{side}", f"nwords{side}")
        require(
            bool(file) or trains, f"there is no --train-prefix to learn a dictionary from: give one with --{side}dict"
        )


def read_parts(args: argparse.Namespace, scratch: Path) -> list[ParallelTexts]:
    """Returns the parts of the folder: --train-prefix a --extra-train-prefix b are train and train1.

    The texts of M2 files are written to ``scratch``.
    """
    train = [*([args.train_prefix] if args.train_prefix else []), *args.extra_train_prefix, *args.m2]
    parts = []
    for split, prefixes in (("train", train), ("valid", args.valid_prefix), ("test", args.test_prefix)):
        # with --clean-train, all sides are the target: fairseq-train makes them from it, again in every epoch
        for number, prefix in enumerate(prefixes):
            name, pairs = f"{split}{number or ''}", prefix.suffix == M2 or prefix in args.m2
            clean = args.clean_train and split == "train" and not pairs
            if pairs:
                prefix = write_m2(args, prefix, scratch / name)
            texts = {side: Path(f"{prefix}.{args.target_lang if clean else side}") for side in suffixes_of(args)}
            draft = texts.get(args.draft_lang)
            if draft is not None and not draft.is_file() and not clean:
                require(
                    args.allow_missing_drafts,
                    f"there is no draft file {draft}: it must have one line per source (empty: no draft); with "
                    "--allow-missing-drafts, all drafts are empty",
                )
                del texts[args.draft_lang]
            for path in texts.values():
                require(path.is_file(), f"there is no file {path}: its name is made of prefix and suffix")
            check: Callable[[str], object] = notes.refuse_marks if split == "train" else marks.parse_marks
            parts.append(read_parallel(name, texts, {args.target_lang}, {args.draft_lang: check}))
    return parts


def write_m2(args: argparse.Namespace, file: Path, prefix: Path) -> Path:
    """Writes the texts of an M2 file, and returns their prefix."""
    require(file.is_file(), f"there is no file {file}")
    sentences = [sentence for sentence in m2.read_m2(file) if sentence.source]
    for side in suffixes_of(args):
        lines = [sentence.source for sentence in sentences]
        if side == args.target_lang:
            lines = [m2.corrected(sentence) for sentence in sentences]
        write_lines(Path(f"{prefix}.{side}"), map(" ".join, lines))
    return prefix


# ---- the folder --------------------------------------------------------------------------------------------------


def build_texts(args: argparse.Namespace, parts: list[ParallelTexts], folder: Path, scratch: Path) -> list[str]:
    """Texts -> tokens in ``scratch`` -> dictionaries -> binarised files and notes; returns the lines of the report."""
    train = [part for part in parts if part.name.startswith("train")]
    sides, drafts = suffixes_of(args), args.draft_lang
    bpe = preparing.piece_options(args, folder)
    if args.learn_sentencepiece:
        preparing.learn_pieces(args, [path for part in train for path in part.texts.values()], folder)
    tokens = {(part.name, side): scratch / f"{part.name}.{side}.tokens" for part in parts for side in sides}
    with tokenising(bpe, args.workers) as tokenise:
        for part in parts:
            for side in sides:
                if side in part.texts:
                    reader = notes.read_drafts if side == drafts else read_lines
                    write_tokens(part.texts[side], tokenise, tokens[part.name, side], reader)
                else:
                    tokens[part.name, side].write_text("\n" * part.lines)
    learned_from = {side: [tokens[part.name, side] for part in train] for side in sides}
    source, target = dictionaries(args, learned_from)
    source.save(str(folder / f"dict.{args.source_lang}.txt"))
    target.save(str(folder / f"dict.{args.target_lang}.txt"))
    if args.lexicon:
        Lexicon.of_lines(read_lines(args.lexicon)).write(folder / LEXICON)
    encode = Tokeniser(bpe).encode
    spelling = args.clean_dictionary or args.bpe == "words"  # --spelling learns from misspelt words
    rows, remarks = [["part", "side", "lines", "tokens", "unknown", "empty", "longest"]], []
    for part in parts:
        for side in sides:
            path = tokens[part.name, side]
            pair = f"{drafts if side == drafts else args.source_lang}-{args.target_lang}"
            prefix = folder / f"{part.name}.{pair}.{side}"
            done, sizes = binarise(path, prefix, source if side == args.source_lang else target, args.workers)
            lines = len(sizes)
            require(lines == part.lines, f"fairseq binarised {lines:,} of {part.lines:,} lines of {prefix.name}")
            empty = part.empty.get(side, lines)
            row = [f"{lines:,}", f"{done.num_tok:,}", f"{done.num_replaced / done.num_tok:.2%}", f"{empty:,}"]
            rows.append([part.name, side, *row, f"{sizes.max():,} (line {sizes.argmax() + 1:,})"])
            # with --clean-train, drafts are made of the targets; other drafts are edited as they are
            clean = part in train and len(set(part.texts.values())) == 1
            edited = side == drafts and (part not in train or (spelling and not clean))
            if edited or (clean and side == args.target_lang):
                text = part.texts.get(side) if edited else None
                requests = notes.read_mark_bits(text, encode) if text else {}
                unknown = notes.write_notes(path, requests, target, Path(f"{prefix}{notes.SUFFIX}"))
                if edited and (requests or unknown):
                    counts = f"{len(requests):,} with marks, {unknown:,} with unknown words"
                    command = "fairseq-train" if part in train else "fairseq-generate"
                    remarks.append(f"Drafts of {part.name}: {counts}, for {command}")
    if bpe is not None and bpe.bpe == "sentencepiece" and not args.learn_sentencepiece:
        shutil.copyfile(bpe.sentencepiece_model, folder / MODEL)
    if args.joined_dictionary:
        words = f"Joined dictionary: {len(source):,} words"
    else:
        words = f"Dictionaries: {args.source_lang} {len(source):,} words, {' and '.join(sides[1:])} {len(target):,}"
    report = [f"{args.dest}, in tokens (with one for the end of each line):", *table(rows), "", words, *remarks, ""]
    flags = [str(args.dest), "--source-lang", args.source_lang, "--target-lang", args.target_lang]
    flags += ["--draft-lang", drafts] if drafts else []
    return [*report, f"For fairseq-train: {shlex.join(flags)}", ""]


def dictionaries(args: argparse.Namespace, tokens: dict[str, list[Path]]) -> tuple[Dictionary, Dictionary]:
    """Returns the dictionaries of source and target; drafts share that of the target, which is learned from both."""

    def dictionary(flag: str, file: Path | None, sides: list[str]) -> Dictionary:
        if file:
            return load_dictionary(file)
        if args.clean_dictionary:
            sides = [args.target_lang]
        elif args.clean_train:  # all sides are the same text, which is counted once
            sides = sides[:1]
        paths = [str(path) for side in sides for path in tokens[side]]
        limits = {"threshold": getattr(args, f"threshold{flag}"), "nwords": getattr(args, f"nwords{flag}")}
        return TranslationTask.build_dictionary(paths, args.workers, **limits)

    sides = suffixes_of(args)
    if args.joined_dictionary:
        joined = dictionary("src", args.srcdict or args.tgtdict, sides)
        return joined, joined
    return dictionary("src", args.srcdict, sides[:1]), dictionary("tgt", args.tgtdict, sides[1:])
