"""``lev-plugins prepare``: binarise text files as the triples or pairs that ``--task text_editing`` loads."""

from __future__ import annotations

import argparse
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from fairseq.data import Dictionary

from lev_plugins.cli.preparing import (
    MODEL,
    add_piece_arguments,
    check_pieces,
    folder_in_the_making,
    learn_pieces,
    piece_options,
)
from lev_plugins.cli.reporting import USER_DIR, next_step, table
from lev_plugins.data.drafts import marks, notes
from lev_plugins.errors import require
from lev_plugins.files import require_free
from lev_plugins.ranges import at_least, dictionary_size, flag_name
from lev_plugins.text.binarise import TokenCounts, binarise, learn_dictionary, load_dictionary
from lev_plugins.text.lines import ParallelTexts, read_lines, read_parallel
from lev_plugins.text.tokenise import Tokeniser, add_bpe_arguments, tokenising, write_tokens

UPSAMPLE = 10  # the paper repeats its real triples this often among the synthetic ones
MARKS = {
    "sentencepiece": "sentencepiece",
    "words": "sentencepiece",
    "subword_nmt": "subword_nmt",
    "fastbpe": "subword_nmt",
}  # for --remove-bpe


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("-s", "--source-lang", metavar="SUFFIX", required=True, help="suffix of the sources, as in PREFIX.SUFFIX")
    add("-t", "--target-lang", metavar="SUFFIX", required=True, help="suffix of the targets")
    add("-d", "--draft-lang", metavar="SUFFIX", help="suffix of the drafts (default: no drafts)")
    add(
        "--train-prefix", metavar="PREFIX", type=Path, help="training text; dictionaries and pieces are learned from it"
    )
    for split, meaning in (
        ("extra-train", "more training text, as train1, ...; fairseq-train --upsample-primary repeats the first"),
        ("valid", "validation text; several are called valid, valid1, ..."),
        ("test", "test text; several are called test, test1, ..."),
    ):
        flag = f"--{split}-prefix"
        add(flag, metavar="PREFIX", type=Path, nargs="+", action="extend", default=[], help=meaning)
    add("--dest", metavar="DIR", type=Path, required=True, help="folder to create")
    add("--allow-missing-drafts", action="store_true", help="treat a missing draft file as empty drafts")
    add(
        "--clean-train",
        action="store_true",
        help="training text is only targets, from which fairseq-train --noise-kind makes sources and drafts",
    )
    add_piece_arguments(parser, "all training texts")
    add("--joined-dictionary", action="store_true", help="one dictionary for source and target")
    add(
        "--clean-dictionary",
        action="store_true",
        help="with --joined-dictionary: learn it from the targets alone, so that misspelt words of sources and drafts "
        "are unknown; they keep their spelling, for --spelling",
    )
    for side, name in (("src", "source"), ("tgt", "target")):
        add(f"--{side}dict", metavar="FILE", type=Path, help=f"use this {name} dictionary instead of learning one")
        add(f"--threshold{side}", metavar="N", type=int, default=0, help=f"treat rarer {name} words as unknown")
        add(f"--nwords{side}", metavar="N", type=int, default=-1, help=f"size of the {name} dictionary (-1: no limit)")
    add("--workers", metavar="N", type=int, default=1, help="number of processes")
    add_bpe_arguments(parser)


@dataclass(frozen=True)
class PreparedTexts:
    """What the report needs."""

    parts: list[ParallelTexts]
    source: Dictionary
    target: Dictionary
    bpe: argparse.Namespace | None  # fairseq's flags for the BPE that cut the texts
    counts: dict[tuple[str, str], TokenCounts]  # by part and side
    noted: dict[tuple[str, str], notes.Noted]  # by part and side


def run(args: argparse.Namespace) -> int:
    check_arguments(args)
    require_free(args.dest, "--dest")
    parts = [read_texts(args, name, files) for name, files in texts_of(args).items()]
    with folder_in_the_making(args.dest) as (folder, scratch):
        prepared = build(args, parts, folder, scratch)
    warn_of_empty_lines(parts, args.draft_lang)
    sys.stdout.write(report(args, prepared))
    return 0


def check_arguments(args: argparse.Namespace) -> None:
    sides = sides_of(args)
    require(
        len(set(sides)) == len(sides),
        f"source, draft and target need different suffixes, but they are {', '.join(sides)}; if the source itself is "
        "to be edited, copy its files to another suffix",
    )
    require(bool(args.train_prefix or args.valid_prefix or args.test_prefix), "no text is given: add --train-prefix")
    require(
        bool(args.train_prefix) or not args.extra_train_prefix,
        "--extra-train-prefix requires --train-prefix, the part that --upsample-primary repeats",
    )
    require(bool(args.draft_lang) or not args.allow_missing_drafts, "--allow-missing-drafts requires --draft-lang")
    require(
        bool(args.train_prefix) or not args.clean_train, "--clean-train is about the training text: add --train-prefix"
    )
    require(
        args.joined_dictionary or not args.clean_dictionary,
        "--clean-dictionary is one of targets for sources as well: add --joined-dictionary",
    )
    at_least(args, 1, "workers")
    check_pieces(args, "--train-prefix", args.train_prefix)
    check_dictionaries(args)


def check_dictionaries(args: argparse.Namespace) -> None:
    joined = args.joined_dictionary
    require(
        not (joined and args.srcdict and args.tgtdict),
        "--joined-dictionary uses one dictionary: give either --srcdict or --tgtdict, not both",
    )
    given = {"src": args.srcdict or (joined and args.tgtdict), "tgt": args.tgtdict or (joined and args.srcdict)}
    for side, file in given.items():
        but = f"{file} is given" if file else ""
        if joined and side == "tgt" and not file:
            but = "with --joined-dictionary, --thresholdsrc and --nwordssrc apply"
        dictionary_size(args, f"threshold{side}", f"nwords{side}", but)
        require(
            bool(file or args.train_prefix),
            f"there is no --train-prefix to learn a dictionary from: give one with --{side}dict",
        )


def pair_of(args: argparse.Namespace, side: str) -> str:
    """The languages in a file's name; drafts and targets form a pair of their own."""
    return f"{args.draft_lang if side == args.draft_lang else args.source_lang}-{args.target_lang}"


def sides_of(args: argparse.Namespace) -> list[str]:
    return [side for side in (args.source_lang, args.draft_lang, args.target_lang) if side is not None]


def texts_of(args: argparse.Namespace) -> dict[str, dict[str, Path]]:
    """The files of each part: --train-prefix a --extra-train-prefix b gives the parts train and train1."""
    train = [args.train_prefix] if args.train_prefix else []
    splits = {"train": train + args.extra_train_prefix, "valid": args.valid_prefix, "test": args.test_prefix}
    return {
        f"{split}{number or ''}": clean_files(prefix, args)
        if args.clean_train and split == "train"
        else files_of(prefix, args)
        for split, prefixes in splits.items()
        for number, prefix in enumerate(prefixes)
    }


def trains(part: str) -> bool:
    return part.startswith("train")


def clean_files(prefix: Path, args: argparse.Namespace) -> dict[str, Path]:
    """The target in place of all sides: each is made from it, again in every epoch."""
    return present(dict.fromkeys(sides_of(args), Path(f"{prefix}.{args.target_lang}")))


def files_of(prefix: Path, args: argparse.Namespace) -> dict[str, Path]:
    files = {side: Path(f"{prefix}.{side}") for side in sides_of(args)}
    if args.draft_lang and not files[args.draft_lang].is_file():
        missing = files.pop(args.draft_lang)
        require(
            args.allow_missing_drafts,
            f"there is no draft file {missing}: it must have one line per source (empty: no draft); with "
            "--allow-missing-drafts, all drafts are empty",
        )
    return present(files)


def present(files: dict[str, Path]) -> dict[str, Path]:
    for path in files.values():
        require(path.is_file(), f"there is no file {path}: its name is made of prefix and suffix")
    return files


def read_texts(args: argparse.Namespace, name: str, files: dict[str, Path]) -> ParallelTexts:
    check_draft = notes.refuse_marks if trains(name) else marks.parse_marks
    return read_parallel(name, files, tabs={args.target_lang}, checks={args.draft_lang: check_draft})


# ---- the folder --------------------------------------------------------------------------------------------------


def build(args: argparse.Namespace, parts: list[ParallelTexts], folder: Path, scratch: Path) -> PreparedTexts:
    """Texts -> tokens in ``scratch`` -> dictionaries -> binarised files and notes."""
    train = [part for part in parts if trains(part.name)]
    bpe = piece_options(args, folder)
    if args.learn_sentencepiece:
        learn_pieces(args, [path for part in train for path in part.texts.values()], folder)
    tokenise_texts(args, parts, bpe, scratch)
    source, target = dictionaries(args, train, scratch)
    source.save(str(folder / f"dict.{args.source_lang}.txt"))
    target.save(str(folder / f"dict.{args.target_lang}.txt"))
    noted = write_notes(args, parts, Tokeniser(bpe), target, folder, scratch)
    counts = {}
    for part in parts:
        for side in sides_of(args):
            prefix = prefix_of(args, folder, part, side)
            dictionary = source if side == args.source_lang else target
            written = binarise(tokens_of(scratch, part, side), prefix, dictionary, args.workers)
            require(
                written.lines == part.lines,
                f"fairseq binarised {written.lines:,} of {part.lines:,} lines of {prefix.name}",
            )
            counts[part.name, side] = written
    return PreparedTexts(parts, source, target, with_model_in(args.dest, bpe, folder), counts, noted)


def tokens_of(scratch: Path, part: ParallelTexts, side: str) -> Path:
    return scratch / f"{part.name}.{side}"


def prefix_of(args: argparse.Namespace, folder: Path, part: ParallelTexts, side: str) -> Path:
    return folder / f"{part.name}.{pair_of(args, side)}.{side}"


def tokenise_texts(
    args: argparse.Namespace, parts: list[ParallelTexts], bpe: argparse.Namespace | None, scratch: Path
) -> None:
    with tokenising(bpe, args.workers) as tokenise:
        for part in parts:
            for side, text in part.texts.items():
                read = notes.read_drafts if side == args.draft_lang else read_lines
                write_tokens(text, tokenise, tokens_of(scratch, part, side), read)
            if args.draft_lang and args.draft_lang not in part.texts:
                tokens_of(scratch, part, args.draft_lang).write_text("\n" * part.lines)


def write_notes(
    args: argparse.Namespace,
    parts: list[ParallelTexts],
    tokeniser: Tokeniser,
    target: Dictionary,
    folder: Path,
    scratch: Path,
) -> dict[tuple[str, str], notes.Noted]:
    """Of drafts, and of sources for --spelling, which has one dictionary."""
    spelled = args.joined_dictionary and (args.clean_dictionary or args.bpe == "words")
    noted = {}
    for part in parts:
        sides = [args.source_lang] if spelled else []
        if args.draft_lang and (args.clean_dictionary or not trains(part.name)):
            sides.append(args.draft_lang)
        for side in sides:
            text, prefix = part.texts.get(side), prefix_of(args, folder, part, side)
            requests = notes.read_requests(text, tokeniser.encode) if text and side == args.draft_lang else {}
            tokens, path = tokens_of(scratch, part, side), prefix.with_name(prefix.name + notes.SUFFIX)
            noted[part.name, side] = notes.write_notes(tokens, requests, target, path)
    return noted


def with_model_in(dest: Path, bpe: argparse.Namespace | None, folder: Path) -> argparse.Namespace | None:
    """The flags for when ``folder`` has become ``dest``; copies the sentencepiece model into it."""
    if bpe is None or bpe.bpe != "sentencepiece":
        return bpe
    if Path(bpe.sentencepiece_model) != folder / MODEL:
        shutil.copyfile(bpe.sentencepiece_model, folder / MODEL)
    return argparse.Namespace(**{**vars(bpe), "sentencepiece_model": str(dest / MODEL)})


def dictionaries(args: argparse.Namespace, train: list[ParallelTexts], scratch: Path) -> tuple[Dictionary, Dictionary]:
    """For source and target; drafts share the dictionary of the target, so it is learned from both."""

    def dictionary(flag: str, file: Path | None, sides: list[str]) -> Dictionary:
        if file:
            return load_dictionary(file)
        if args.clean_dictionary:
            sides = [args.target_lang]
        elif args.clean_train:  # all sides are the same text, which counts once
            sides = sides[:1]
        tokens = [tokens_of(scratch, part, side) for part in train for side in sides]
        return learn_dictionary(tokens, getattr(args, f"threshold{flag}"), getattr(args, f"nwords{flag}"), args.workers)

    source, *others = sides_of(args)
    if args.joined_dictionary:
        joined = dictionary("src", args.srcdict or args.tgtdict, [source, *others])
        return joined, joined
    return dictionary("src", args.srcdict, [source]), dictionary("tgt", args.tgtdict, others)


# ---- the report -------------------------------------------------------------------------------------


def warn_of_empty_lines(parts: list[ParallelTexts], draft: str | None) -> None:
    """fairseq also trains on empty sources and targets; an empty draft is normal, it means to start from nothing."""
    for part in parts:
        surveys = {part.texts[side]: survey for side, survey in part.surveys.items() if side != draft}
        for path, survey in surveys.items():
            if survey.empty:
                sys.stderr.write(
                    f"lev-plugins: warning: {path} has {survey.empty:,} empty of {survey.lines:,} lines, "
                    f"the first is line {survey.first_empty}: they are kept, and trained on or decoded like others\n"
                )


def report(args: argparse.Namespace, prepared: PreparedTexts) -> str:
    rows = [["part", "side", "lines", "tokens", "unknown", "empty", "longest"]]
    for part in prepared.parts:
        for side in sides_of(args):
            counts = prepared.counts[part.name, side]
            empty = part.surveys[side].empty if side in part.surveys else part.lines
            row = [f"{part.lines:,}", f"{counts.tokens:,}", f"{counts.unknown / counts.tokens:.2%}", f"{empty:,}"]
            rows.append([part.name, side, *row, f"{counts.longest:,} (line {counts.longest_line:,})"])
    lines = [f"{args.dest}, in tokens (with one for the end of each line):", *table(rows), "", words(args, prepared)]
    lines += [*notes_on(args, prepared), ""]
    if args.draft_lang or args.clean_train:
        lines += next_steps("Train with", args, prepared, "text_editing")
    else:
        lines += next_steps("To write targets from nothing, train with", args, prepared, "text_editing")
        lines += next_steps(
            "To correct noisy sources from left to right, train with", args, prepared, "text_correction"
        )
    return "\n".join(lines)


def next_steps(title: str, args: argparse.Namespace, prepared: PreparedTexts, task: str) -> list[str]:
    train = next_step(title, train_command(args, prepared, task)) if args.train_prefix else []
    return train + (next_step("Decode with", generate_command(args, prepared, task)) if args.test_prefix else [])


def words(args: argparse.Namespace, prepared: PreparedTexts) -> str:
    if args.joined_dictionary:
        return f"Joined dictionary: {len(prepared.source):,} words"
    others = " and ".join(sides_of(args)[1:])
    return f"Dictionaries: {args.source_lang} {len(prepared.source):,} words, {others} {len(prepared.target):,}"


def notes_on(args: argparse.Namespace, prepared: PreparedTexts) -> list[str]:
    drafts, sources = (
        {part: noted for (part, side), noted in prepared.noted.items() if side == wanted}
        for wanted in (args.draft_lang, args.source_lang)
    )
    lines = [
        f"Drafts of {part}: {noted.marked:,} with marks, {noted.unknown:,} with unknown words, for fairseq-generate"
        for part, noted in drafts.items()
        if noted.marked or noted.unknown
    ]
    lines += [
        f"Sources of {part}: {noted.unknown:,} with unknown words, which keep their spelling"
        for part, noted in sources.items()
        if noted.unknown
    ]
    return lines


def common_flags(args: argparse.Namespace, task: str) -> list[str]:
    flags = [str(args.dest), "--user-dir", USER_DIR, "--task", task]
    flags += ["--source-lang", args.source_lang, "--target-lang", args.target_lang]
    return flags + (["--draft-lang", args.draft_lang] if args.draft_lang else [])


def train_command(args: argparse.Namespace, prepared: PreparedTexts, task: str) -> list[str]:
    """The LevT paper's settings; with extra text, the first part is repeated as often as the paper's real triples."""
    valid = [part.name for part in prepared.parts if part.name.startswith("valid")]
    command = ["fairseq-train", *common_flags(args, task), *model_flags(prepared, task)]
    if args.clean_train:
        command += ["--noise-kind", "insert,delete,substitute,swap,keyboard", "--noise-word-rate", "0.2"]
        command += ["--rollin-alpha", "1", "--rollin-beta", "1", *bpe_flags(prepared.bpe)]
    if args.extra_train_prefix:
        command += ["--upsample-primary", str(UPSAMPLE)]
    command += ["--dropout", "0.3", "--optimizer", "adam", "--adam-betas", "(0.9, 0.98)", "--lr", "0.0005"]
    command += ["--lr-scheduler", "inverse_sqrt", "--warmup-updates", "10000", "--max-update", "300000"]
    command += ["--max-tokens", "8192", "--save-dir", "checkpoints"]
    if not valid:
        return [*command, "--disable-validation"]
    if len(valid) > 1:
        command += ["--valid-subset", ",".join(valid)]
    command += ["--eval-bleu", "--best-checkpoint-metric", "bleu", "--maximize-best-checkpoint-metric"]
    mark = MARKS.get(prepared.bpe.bpe) if prepared.bpe else None
    return command + (["--eval-bleu-remove-bpe", mark] if mark else [])


def model_flags(prepared: PreparedTexts, task: str) -> list[str]:
    joined = prepared.source == prepared.target
    sharing = "--share-all-embeddings" if joined else "--share-decoder-input-output-embed"
    if task == "text_correction":
        flags = ["--arch", "pbd", sharing, *([] if joined else ["--no-sharing"])]
        return [*flags, "--criterion", "label_smoothed_cross_entropy", "--label-smoothing", "0.1"]
    flags = ["--arch", "levt", sharing, "--criterion", "dual_policy"]
    whole_words = prepared.bpe and prepared.bpe.bpe == "words"
    return [*flags, "--spelling"] if joined and whole_words else flags


def generate_command(args: argparse.Namespace, prepared: PreparedTexts, task: str) -> list[str]:
    checkpoint = "checkpoint_best.pt" if args.valid_prefix else "checkpoint_last.pt"
    command = ["fairseq-generate", *common_flags(args, task), "--path", f"checkpoints/{checkpoint}"]
    return command + bpe_flags(prepared.bpe)


def bpe_flags(bpe: argparse.Namespace | None) -> list[str]:
    flags = []
    for name, value in sorted(vars(bpe).items()) if bpe else ():
        flags += [flag_name(name)] if value is True else [flag_name(name), str(value)]
    return flags
