"""``lev-plugins prepare-labels``: binarise TSV or CoNLL-U text for ``--task text_labelling``."""

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from fairseq.data import Dictionary

from lev_plugins.cli import preparing
from lev_plugins.cli.flags import requires
from lev_plugins.cli.reporting import table
from lev_plugins.labelling import text
from lev_plugins.labelling.dataset import write_part
from lev_plugins.labelling.examples import ExampleEncoder, tokenised_row
from lev_plugins.labelling.folder import LABELS, LONGER, WORDS, LabellingInfo, adopt_files, require_template
from lev_plugins.text.lines import read_lines
from lev_plugins.text.pretrained import DICTIONARY, longest_text
from lev_plugins.text.tokenise import Tokeniser, add_bpe_arguments
from lev_plugins.training.binarise import load_dictionary
from lev_plugins.utils.errors import require
from lev_plugins.utils.files import all_or_nothing_folder, require_free
from lev_plugins.utils.ranges import at_least, bounded, dictionary_size

MIN_LONGEST = 2  # tokens: a piece and </s>
DEFAULT_LONGEST = 512
Rows = Callable[[str], Iterator[text.Row]]  # reads the rows of a part, again at each call


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--label-kind", choices=text.LABEL_KINDS, required=True, help="kind of labels")
    add("--train", metavar="FILE", type=Path, help="training text; labels, dictionary and pieces are learned from it")
    add("--valid", metavar="FILE", type=Path, help="validation text")
    several = "test text; several are called test, test1, ..."
    add("--test", metavar="FILE", type=Path, nargs="+", default=[], help=several)
    add("--dest", metavar="DIR", type=Path, required=True, help="folder to create")
    number = "number of text columns before the labels; 2 for pairs"
    add("--text-columns", metavar="N", type=int, default=1, help=number)
    add("--template", metavar="TEXT", help="join the columns into one text, as in 'mrpc sentence1: {0} sentence2: {1}'")
    add("--labels", metavar="FILE", type=Path, help="all labels, one per line (default: those of --train)")
    add("--numbered-labels", action="store_true", help="labels in the text are line numbers of --labels, from 0")
    add("--label-separator", metavar="C", default=text.SEPARATOR, help="multilabel: separates the labels of a text")
    step = "classification: labels are numbers; round each to the nearest multiple of STEP, which is its class"
    add("--round-labels", metavar="STEP", type=float, help=step)
    columns = sorted(text.CONLLU_COLUMNS)
    add("--conllu-column", choices=columns, default=text.CONLLU_COLUMN, help="*.conllu files: column of the tags")
    longest = "maximum tokens of an example, including </s> (default: 512, or what a pre-trained BERT can read)"
    add("--longest", metavar="N", type=int, help=longest)
    longer = "what to do with longer texts; tagging always splits them"
    add("--longer", choices=LONGER, default="refuse", help=longer)
    preparing.add_piece_arguments(parser, "--train")
    add("--srcdict", metavar="FILE", type=Path, help="use this dictionary instead of learning one")
    add("--threshold", metavar="N", type=int, default=0, help="treat rarer pieces as unknown")
    add("--nwords", metavar="N", type=int, default=-1, help="size of the dictionary (-1: no limit)")
    add_bpe_arguments(parser)


def run(args: argparse.Namespace) -> int:
    parts = {"train": args.train, "valid": args.valid}
    parts |= {f"test{number or ''}": path for number, path in enumerate(args.test)}
    parts = {name: path for name, path in parts.items() if path is not None}
    check_label_arguments(args, parts)
    require_free(args.dest, "--dest")
    with all_or_nothing_folder(args.dest) as folder, TemporaryDirectory(dir=folder) as scratch:
        report = build_labels(args, parts, folder, Path(scratch))
    sys.stdout.write("\n".join(report))
    return 0


def check_label_arguments(args: argparse.Namespace, parts: dict[str, Path]) -> None:
    require(bool(parts), "no text is given: add --train, --valid or --test")
    at_least(args, 1, "text_columns")
    at_least(args, MIN_LONGEST, "longest")
    kind, learns = args.label_kind, args.train is not None
    # words are tagged, and long texts are divided between them
    texts = "a --label-kind of texts, not of words"
    requires(args, texts, kind != "tagging", text_columns=1, template=None, longer="refuse")
    requires(args, "a --label-kind that has names, not numbers", kind != "regression", labels=None)
    requires(args, "--labels, the file with their names", args.labels is not None, numbered_labels=False)
    requires(args, "--label-kind classification", kind == "classification", round_labels=None)
    requires(args, "--label-kind multilabel", kind == "multilabel", label_separator=text.SEPARATOR)
    conllu = kind == "tagging" and any(map(text.is_conllu, parts.values()))
    requires(args, "--label-kind tagging and a text called *.conllu", conllu, conllu_column=text.CONLLU_COLUMN)
    require(
        kind == "regression" or learns or args.labels is not None,
        "there is no --train to learn the labels from: add --labels",
    )
    if args.round_labels is not None:
        require(not args.numbered_labels, "--numbered-labels cannot be used with --round-labels: leave one out")
        bounded("--round-labels", args.round_labels, text.MIN_STEP, text.MAX_STEP)
    require(args.label_separator not in ("", "\t"), "--label-separator must not be empty or a TAB")
    preparing.check_pieces(args, "--train", args.train)
    pretrained = args.pretrained_tokenizer
    require(learns or bool(args.srcdict or pretrained), "there is no --train to learn a dictionary from: add --srcdict")
    require(not (pretrained and args.srcdict), "--pretrained-tokenizer comes with a dictionary: leave out --srcdict")
    dictionary_size(args, "threshold", "nwords")
    require_template(args.template, args.text_columns, "--template")


# ---- the folder --------------------------------------------------------------------------------------------------


def build_labels(args: argparse.Namespace, parts: dict[str, Path], folder: Path, scratch: Path) -> list[str]:
    """Rows -> pieces, labels and dictionary -> binarised parts; returns the lines of the report."""
    longest = args.longest or min(DEFAULT_LONGEST, longest_text(args.pretrained_tokenizer) or DEFAULT_LONGEST)
    info = LabellingInfo(
        kind=args.label_kind,
        columns=args.text_columns,
        separator=args.label_separator,
        conllu=args.conllu_column,
        step=args.round_labels,
        template=args.template,
        longest=longest,
        longer=args.longer,
    )
    names = label_names(args) if args.labels else None

    def rows(part: str) -> Iterator[text.Row]:
        for row in text.read_rows(parts[part], info):
            yield name_labels(row, names or [], args.labels) if args.numbered_labels else row

    if args.learn_sentencepiece:
        with (scratch / "texts").open("w", encoding="utf-8", newline="\n") as file:
            for row in rows("train"):
                columns = [" ".join(row.texts)] if info.kind == "tagging" else row.texts
                file.writelines(f"{column}\n" for column in columns)
        preparing.learn_pieces(args, [scratch / "texts"], scratch)
    options = preparing.piece_options(args, scratch)
    tokeniser = Tokeniser(options)  # before its files are copied, so that errors name the original files
    if options:
        info = replace(info, **adopt_files(options, folder))
        info.check_files(folder)
    info.check("prepare-labels")
    labels = None if info.kind == "regression" else label_dictionary(args, names, parts, rows)
    dictionary = dictionary_of_pieces(args, rows, info, tokeniser)
    encoder = ExampleEncoder(info, tokeniser, dictionary, labels)
    lines, remarks = [["part", "examples", "tokens", "unknown", "labels", "longest"]], []
    for part, path in parts.items():
        examples = (example for row in rows(part) for example in encoder.examples(row.texts, row.labels, row.where))
        counts = write_part(examples, folder / part, info.kind)
        require(counts.examples > 0, f"{path} is empty")
        if part == "train":
            info = replace(info, train_examples=counts.examples)
        share, where = f"{counts.unknown / counts.tokens:.2%}", counts.longest_where.rpartition(", ")[2]
        numbers = [f"{counts.examples:,}", f"{counts.tokens:,}", share, f"{counts.labels:,}"]
        lines.append([part, *numbers, f"{counts.longest:,} ({where})"])
        if counts.cut:
            remarks.append(f"{part}: cut off at {longest:,} tokens (--longer cut): {text.counted(counts.cut, 'text')}")
        if counts.split:
            examples_more = text.counted(counts.split, "example")
            remarks.append(f"{part}: split from texts of more than {longest:,} tokens: {examples_more}")
    info.save(folder)
    dictionary.save(str(folder / WORDS))
    summary = "; the labels are numbers"
    if labels is not None:
        labels.save(folder / LABELS)
        never = labels.counts.count(0)
        summary = f", {len(labels):,} labels" + (f", {never:,} of them not in the training text" if never else "")
    report = [f"{args.dest}, in tokens (with one for the end of each text):", *table(lines), *remarks, ""]
    return [*report, f"{len(dictionary):,} pieces" + summary, ""]


def dictionary_of_pieces(args: argparse.Namespace, rows: Rows, info: LabellingInfo, tokeniser: Tokeniser) -> Dictionary:
    if args.pretrained_tokenizer or args.srcdict:
        return load_dictionary(args.srcdict or Path(args.pretrained_tokenizer) / DICTIONARY)
    dictionary = Dictionary()
    for row in rows("train"):
        for piece in (piece for pieces in tokenised_row(row.texts, info, tokeniser) for piece in pieces):
            dictionary.add_symbol(piece)
    dictionary.finalize(threshold=args.threshold, nwords=args.nwords, padding_factor=8)
    return dictionary


def label_names(args: argparse.Namespace) -> list[str]:
    """Returns the labels listed in --labels; with --round-labels, each rounded to its class."""
    path: Path = args.labels
    require(path.is_file(), f"--labels: there is no file {path}")
    names = [line.strip() for line in read_lines(path)]
    require(bool(names) and all(names), f"--labels {path} has an empty line")
    if args.round_labels is not None:
        names = [text.round_to_step(name, args.round_labels, f"--labels {path}") for name in names]
    name, count = Counter(names).most_common(1)[0]
    require(count == 1, f"--labels {path} contains the label {name!r} {count} times: list each label, or class, once")
    return names


def name_labels(row: text.Row, names: list[str], path: Path) -> text.Row:
    """Returns the row with names in place of the line numbers of --numbered-labels."""
    for label in row.labels:
        require(
            text.is_number(label) and int(label) < len(names),
            f"{row.where}: label {label!r} is not a line number of {path}, 0 to {len(names) - 1}",
        )
    return replace(row, labels=[names[int(label)] for label in row.labels])


def label_dictionary(
    args: argparse.Namespace, names: list[str] | None, parts: dict[str, Path], rows: Rows
) -> text.Labels:
    """Returns the labels, with their numbers in the training text; ``names`` are those of --labels, if it is used."""
    counts = Counter(label for row in (rows("train") if args.train else ()) for label in row.labels)
    if names is None and args.round_labels is not None:  # every class from the lowest to the highest of all the texts
        labels = {label for part in parts for row in rows(part) for label in row.labels}
        names = text.steps_between(labels, args.round_labels)
    elif names is None:
        names = sorted(counts)
    require(len(names) > 0, f"{args.train} has no labels")
    require(
        len(names) > 1 or args.label_kind == "multilabel",
        f"{args.train or args.labels} has only one label, {names[0]!r}: there is nothing to learn",
    )
    return text.Labels(names, [counts[name] for name in names])
