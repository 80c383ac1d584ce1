"""Convert raw parallel text to sentencepiece pieces.

    python pieces.py --text DIR --source en --target de --vocab 6000 --output OUT

learns a model from DIR/train.* (joint, or one per side with --separate) and writes OUT/{train,valid,test}.{en,de} in
pieces, and OUT/test.reference, the unchanged target side of the test.
"""

import argparse
import shutil
import sys
from pathlib import Path

import sentencepiece

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.shared import finish, read_parallel
from lev_plugins.data.tokenise import learn_sentencepiece
from lev_plugins.errors import require


def read_pair(prefix: Path, source: str, target: str) -> dict[str, list[str]]:
    """Both sides of one split; they must have the same number of lines."""
    hint = "--text, --source, --target and --test form its name"
    texts = read_parallel([Path(f"{prefix}.{side}") for side in (source, target)], hint)
    return dict(zip((source, target), texts, strict=True))


def write_pieces(model: Path, lines: list[str], path: Path) -> list[int]:
    """Returns the number of tokens of each line, including the end of the sentence."""
    processor = sentencepiece.SentencePieceProcessor(model_file=str(model))
    lengths = []
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for line in lines:
            pieces = processor.encode(line, out_type=str)
            file.write(" ".join(pieces) + "\n")
            lengths.append(len(pieces) + 1)
    return lengths


def check_fits(path: Path, lengths: list[int], longest: int) -> None:
    """Training skips longer sentences; a test must be complete."""
    for number, length in enumerate(lengths, 1):
        require(
            length <= longest,
            f"--longest is {longest}, but line {number} of {path} has {length} tokens: raise --longest or cut the line",
        )


def run(args: argparse.Namespace) -> None:
    sides = [args.source, args.target]
    names = {"train": "train", "valid": "valid", "test": args.test}
    text = {split: read_pair(args.text / name, *sides) for split, name in names.items()}
    args.output.mkdir(parents=True, exist_ok=True)
    groups = [[side] for side in sides] if args.separate else [sides]
    for group in groups:
        model = args.output / f"pieces.{'-'.join(group)}.model"
        files = [args.text / f"train.{side}" for side in group]
        learn_sentencepiece(files, model, args.vocab, args.kind, args.coverage, "--vocab")
        for side in group:
            for split in names:
                lengths = write_pieces(model, text[split][side], args.output / f"{split}.{side}")
                if split != "train":
                    check_fits(args.output / f"{split}.{side}", lengths, args.longest)
    shutil.copyfile(args.text / f"{args.test}.{args.target}", args.output / "test.reference")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--text", type=Path, required=True, help="folder of the text")
    parser.add_argument("--test", default="test", help="name of the test files")
    parser.add_argument("--source", required=True, help="suffix of the source files")
    parser.add_argument("--target", required=True, help="suffix of the target files")
    parser.add_argument("--vocab", type=int, default=6000, help="number of pieces")
    parser.add_argument("--kind", choices=["unigram", "bpe"], default="unigram")
    parser.add_argument("--coverage", type=float, default=1.0, help="share of the characters that are pieces")
    parser.add_argument("--separate", action="store_true", help="one model per side")
    parser.add_argument("--longest", type=int, default=1024, help="maximum tokens in a sentence")
    parser.add_argument("--output", type=Path, required=True, help="folder to write to")
    return finish(parser, run)


if __name__ == "__main__":
    sys.exit(main())
