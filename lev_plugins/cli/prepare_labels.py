"""``lev-plugins prepare-labels``: binarise TSV or CoNLL-U text for ``--task text_labelling``."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from fairseq.data import Dictionary

from lev_plugins.cli.preparing import (
    add_piece_arguments,
    check_pieces,
    folder_in_the_making,
    learn_pieces,
    piece_options,
)
from lev_plugins.cli.reporting import USER_DIR, next_step, table
from lev_plugins.data.labels.folder import (
    LABELS,
    LONGER,
    WORDS,
    Encoder,
    ExampleCounts,
    Info,
    adopt_files,
    require_template,
    symbols_of_pretrained,
    tokenised_row,
    write_part,
)
from lev_plugins.data.labels.text import (
    CONLLU_COLUMN,
    CONLLU_COLUMNS,
    KINDS,
    LARGEST_STEP,
    LEAST_STEP,
    SEPARATOR,
    Labels,
    Row,
    counted,
    is_conllu,
    is_number,
    read_rows,
    rounded,
    steps_between,
)
from lev_plugins.errors import require
from lev_plugins.files import require_free
from lev_plugins.ranges import at_least, bounded, dictionary_size
from lev_plugins.text.binarise import load_dictionary
from lev_plugins.text.lines import read_lines
from lev_plugins.text.pretrained import positions_of_bert
from lev_plugins.text.tokenise import Tokeniser, add_bpe_arguments

BEST = {"classification": "accuracy", "regression": "spearman", "multilabel": "micro_f1", "tagging": "tag_accuracy"}
LEAST_LONGEST = 2  # tokens: a piece and </s>
LONGEST = 512


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--label-kind", choices=KINDS, required=True, help="kind of labels")
    add("--train", metavar="FILE", type=Path, help="training text; labels, dictionary and pieces are learned from it")
    add("--valid", metavar="FILE", type=Path, help="validation text")
    add(
        "--test",
        metavar="FILE",
        type=Path,
        nargs="+",
        default=[],
        help="test text; several are called test, test1, ...",
    )
    add("--dest", metavar="DIR", type=Path, required=True, help="folder to create")
    add(
        "--text-columns", metavar="N", type=int, default=1, help="number of text columns before the labels; 2 for pairs"
    )
    add("--template", metavar="TEXT", help="join the columns into one text, as in 'mrpc sentence1: {0} sentence2: {1}'")
    add("--labels", metavar="FILE", type=Path, help="all labels, one per line (default: those of --train)")
    add("--numbered-labels", action="store_true", help="labels in the text are line numbers of --labels, from 0")
    add("--label-separator", metavar="C", default=SEPARATOR, help="multilabel: separates the labels of a text")
    add(
        "--round-labels",
        metavar="STEP",
        type=float,
        help="classification: labels are numbers; round each to the nearest multiple of STEP, which is its class",
    )
    add(
        "--conllu-column",
        choices=sorted(CONLLU_COLUMNS),
        default=CONLLU_COLUMN,
        help="*.conllu files: column of the tags",
    )
    add(
        "--longest",
        metavar="N",
        type=int,
        help="maximum tokens of an example, including </s> (default: 512, or what a pre-trained BERT can read)",
    )
    add(
        "--longer",
        choices=LONGER,
        default="refuse",
        help="what to do with longer texts; tagging always splits them",
    )
    add_piece_arguments(parser, "--train")
    add("--srcdict", metavar="FILE", type=Path, help="use this dictionary instead of learning one")
    add("--threshold", metavar="N", type=int, default=0, help="treat rarer pieces as unknown")
    add("--nwords", metavar="N", type=int, default=-1, help="size of the dictionary (-1: no limit)")
    add_bpe_arguments(parser)


@dataclass(frozen=True)
class PreparedLabels:
    """What the report needs."""

    dictionary: Dictionary
    labels: Labels | None
    counts: dict[str, ExampleCounts]


def run(args: argparse.Namespace) -> int:
    check_arguments(args)
    require_free(args.dest, "--dest")
    with folder_in_the_making(args.dest) as (folder, scratch):
        prepared = build(args, folder, scratch)
    sys.stdout.write(report(args, prepared))
    return 0


def check_arguments(args: argparse.Namespace) -> None:
    require(bool(parts_of(args)), "no text is given: add --train, --valid or --test")
    at_least(args, 1, "text_columns")
    at_least(args, LEAST_LONGEST, "longest")
    if args.label_kind == "tagging":
        require(
            args.text_columns == 1, f"--text-columns must be 1 for --label-kind tagging, but is {args.text_columns}"
        )
        require(args.template is None, "--template cannot be used with --label-kind tagging, which labels words")
        require(
            args.longer == "refuse", "--longer cut cannot be used with --label-kind tagging, which splits long texts"
        )
    check_labels(args)
    check_pieces(args, "--train", args.train)
    check_dictionary(args)
    require_template(args.template, args.text_columns, "--template")


def longest_of(args: argparse.Namespace) -> int:
    if args.longest is not None:
        return int(args.longest)
    bert = positions_of_bert(args.pretrained_tokenizer)
    return LONGEST if bert is None else min(LONGEST, bert - 1)  # [CLS] takes one


def check_labels(args: argparse.Namespace) -> None:
    require(
        args.label_kind != "regression" or args.labels is None,
        "--labels cannot be used with --label-kind regression, whose targets are numbers",
    )
    require(
        args.labels is not None or not args.numbered_labels,
        "--numbered-labels requires --labels, the file with their names",
    )
    require(
        args.label_kind == "regression" or args.train is not None or args.labels is not None,
        "there is no --train to learn the labels from: list them with --labels",
    )
    if args.round_labels is not None:
        require(args.label_kind == "classification", "--round-labels requires --label-kind classification")
        require(not args.numbered_labels, "--numbered-labels cannot be used with --round-labels: leave one out")
        bounded("--round-labels", args.round_labels, LEAST_STEP, LARGEST_STEP)
    require(args.label_separator not in ("", "\t"), "--label-separator must not be empty or a TAB")
    require(
        args.label_kind == "multilabel" or args.label_separator == SEPARATOR,
        "--label-separator requires --label-kind multilabel: leave it out",
    )
    require(
        args.conllu_column == CONLLU_COLUMN
        or (args.label_kind == "tagging" and any(is_conllu(path) for path in parts_of(args).values())),
        "--conllu-column requires --label-kind tagging and a text called *.conllu: leave it out",
    )


def check_dictionary(args: argparse.Namespace) -> None:
    pretrained = args.pretrained_tokenizer is not None
    require(
        args.train is not None or args.srcdict is not None or pretrained,
        "there is no --train to learn a dictionary from: give one with --srcdict",
    )
    require(not (pretrained and args.srcdict), "--pretrained-tokenizer comes with a dictionary: leave out --srcdict")
    but = f"{args.srcdict} is given" if args.srcdict else ""
    if pretrained:
        but = f"that of {args.pretrained_tokenizer} is used"
    dictionary_size(args, "threshold", "nwords", but)


def parts_of(args: argparse.Namespace) -> dict[str, Path]:
    parts = {"train": args.train, "valid": args.valid}
    parts |= {f"test{number or ''}": path for number, path in enumerate(args.test)}
    return {name: path for name, path in parts.items() if path is not None}


# ---- the folder --------------------------------------------------------------------------------------------------


def build(args: argparse.Namespace, folder: Path, scratch: Path) -> PreparedLabels:
    """Rows -> pieces, labels and dictionary -> binarised parts."""
    info = Info(
        kind=args.label_kind,
        columns=args.text_columns,
        separator=args.label_separator,
        conllu=args.conllu_column,
        step=args.round_labels,
        template=args.template,
        longest=longest_of(args),
        longer=args.longer,
    )
    paths, rename = parts_of(args), renaming(args)

    def rows(part: str) -> Iterator[Row]:
        return (rename(row) for row in read_rows(paths[part], info.layout))

    if args.learn_sentencepiece:
        learn_pieces(args, [write_texts(rows("train"), info, scratch / "texts")], scratch)
    options = piece_options(args, scratch)
    tokeniser = Tokeniser(options)  # before they are copied: it says what is wrong with its files, by their own names
    if options:
        info = replace(info, **adopt_files(options, folder))
        info.check_files(folder)
    info.check("prepare-labels")
    labels = None if info.kind == "regression" else label_dictionary(args, rows)
    given = symbols_of_pretrained(options) or args.srcdict
    dictionary = load_dictionary(given) if given else learn_words(args, rows("train"), info, tokeniser)
    encoder = Encoder(info, tokeniser, dictionary, labels)
    counts = {}
    for part, path in paths.items():
        examples = (each for row in rows(part) for each in encoder.examples(row.texts, row.labels, row.where))
        counts[part] = write_part(examples, folder / part, dictionary, info.kind)
        require(counts[part].examples > 0, f"{path} is empty")
    replace(info, train_examples=counts["train"].examples if "train" in counts else 0).save(folder)
    dictionary.save(str(folder / WORDS))
    if labels is not None:
        labels.save(folder / LABELS)
    return PreparedLabels(dictionary, labels, counts)


def renaming(args: argparse.Namespace) -> Callable[[Row], Row]:
    """With --numbered-labels, replaces the numbers in a row by names."""
    if not args.numbered_labels:
        return lambda row: row
    names = label_names(args.labels)

    def name(label: str, where: str) -> str:
        require(
            is_number(label) and int(label) < len(names),
            f"{where}: label {label!r} is not a line number of {args.labels}, 0 to {len(names) - 1}",
        )
        return names[int(label)]

    return lambda row: Row(row.where, row.texts, [name(label, row.where) for label in row.labels])


def label_names(path: Path) -> list[str]:
    require(path.is_file(), f"--labels: there is no file {path}")
    names = [line.strip() for line in read_lines(path)]
    twice = repeated(names)
    require(twice is None, f"--labels {path} contains the label {twice!r} twice")
    require(bool(names) and all(names), f"--labels {path} has an empty line")
    return names


def repeated(names: list[str]) -> str | None:
    """The first name that is there more than once.

    >>> repeated(["a", "b", "a"])
    'a'
    """
    return next((name for name, count in Counter(names).items() if count > 1), None)


def label_dictionary(args: argparse.Namespace, rows: Callable[[str], Iterator[Row]]) -> Labels:
    counts: Counter[str] = Counter()
    known = label_names(args.labels) if args.labels else None
    for row in rows("train") if args.train else ():
        counts.update(row.labels)
    if args.round_labels is not None:
        known = number_names(args, known, counts, rows)
    names = known if known is not None else sorted(counts)
    require(len(names) > 0, f"{args.train} has no labels")
    require(
        len(names) > 1 or args.label_kind == "multilabel",
        f"{args.train or args.labels} has only one label, {names[0]!r}: there is nothing to learn",
    )
    return Labels(names, [counts[name] for name in names])


def number_names(
    args: argparse.Namespace, known: list[str] | None, trained: Iterable[str], rows: Callable[[str], Iterator[Row]]
) -> list[str]:
    """--round-labels: those of --labels, or every class from the lowest to the highest of all the texts."""
    if known is not None:
        names = [rounded(name, args.round_labels, f"--labels {args.labels}") for name in known]
        twice = repeated(names)
        require(
            twice is None,
            f"--labels {args.labels}: several labels round to {twice}: list each class once, or take a smaller "
            "--round-labels",
        )
        return names
    others = (label for part in parts_of(args) if part != "train" for row in rows(part) for label in row.labels)
    found = [*trained, *others]
    return steps_between(found, args.round_labels) if found else []


def write_texts(rows: Iterator[Row], info: Info, path: Path) -> Path:
    """The text that pieces are learned from."""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for row in rows:
            columns = [" ".join(row.texts)] if info.kind == "tagging" else row.texts
            file.write("".join(f"{column}\n" for column in columns))
    return path


def learn_words(args: argparse.Namespace, rows: Iterator[Row], info: Info, tokeniser: Tokeniser) -> Dictionary:
    dictionary = Dictionary()
    for row in rows:
        for pieces in tokenised_row(row.texts, info, tokeniser):
            for piece in pieces:
                dictionary.add_symbol(piece)
    dictionary.finalize(threshold=args.threshold, nwords=args.nwords, padding_factor=8)
    return dictionary


# ---- the report -------------------------------------------------------------------------------------


def report(args: argparse.Namespace, prepared: PreparedLabels) -> str:
    rows = [["part", "examples", "tokens", "unknown", "labels", "longest"]]
    remarks = []
    for part, counts in prepared.counts.items():
        share = f"{counts.unknown / counts.tokens:.2%}"
        longest = f"{counts.longest:,} ({counts.longest_where.rpartition(', ')[2]})"
        rows.append([part, f"{counts.examples:,}", f"{counts.tokens:,}", share, f"{counts.labels:,}", longest])
        if counts.cut:
            remarks.append(
                f"{part}: cut off at {longest_of(args):,} tokens (--longer cut): {counted(counts.cut, 'text')}"
            )
        if counts.split:
            rest = counted(counts.split, "example")
            remarks.append(f"{part}: split from texts of more than {longest_of(args):,} tokens: {rest}")
    lines = [f"{args.dest}, in tokens (with one for the end of each text):", *table(rows), *remarks, ""]
    lines += [f"{len(prepared.dictionary):,} pieces" + described(prepared.labels), ""]
    if args.train:
        lines += next_step("Train with", train_command(args))
    return "\n".join(lines)


def described(labels: Labels | None) -> str:
    if labels is None:
        return "; the labels are numbers"
    never = labels.counts.count(0)
    return f", {len(labels):,} labels" + (f", {never:,} of them not in the training text" if never else "")


def train_command(args: argparse.Namespace) -> list[str]:
    """The paper's settings (section 4); those of examples/labelling for a BERT."""
    command = ["fairseq-train", str(args.dest), "--user-dir", USER_DIR, "--task", "text_labelling"]
    command += ["--label-kind", args.label_kind, "--arch", "enct5", "--criterion", "labelling"]
    if positions_of_bert(args.pretrained_tokenizer) is None:
        command += ["--optimizer", "adafactor", "--scale-parameter", "--lr", "0.001", "--batch-size", "128"]
        command += ["--max-update", "100000"]
    else:
        command += ["--optimizer", "scaled_adam", "--backbone-lr-factor", "0.1", "--lr", "0.001", "--clip-norm", "1"]
        command += ["--lr-scheduler", "polynomial_decay", "--warmup-updates", "200", "--total-num-update", "1500"]
        command += ["--batch-size", "32", "--max-update", "1500"]
    command += ["--dropout", "0.1", "--save-dir", "checkpoints"]
    if args.pretrained_tokenizer:
        command += ["--backbone", str(args.pretrained_tokenizer)]
    if not args.valid:
        return [*command, "--disable-validation"]
    return [*command, "--best-checkpoint-metric", BEST[args.label_kind], "--maximize-best-checkpoint-metric"]
