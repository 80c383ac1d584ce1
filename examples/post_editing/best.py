"""Print the name, without suffix, of the decoding of the validation set with the highest BLEU.

python best.py OUT/dials_scratch/0,0.out OUT/dials_scratch/1,0.out --reference OUT/drafts/valid.de
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples import logs
from examples.post_editing.report import scores
from examples.shared import finish, read_lines


def best(bleu: dict[str, float]) -> str:
    """The highest; the first if several are equal.

    >>> best({"0,0": 20.1, "1,0": 20.3, "2,0": 20.3})
    '1,0'
    """
    return max(bleu, key=bleu.__getitem__)


def run(args: argparse.Namespace) -> None:
    references = read_lines(args.reference)
    outputs = {log.stem: logs.in_order(logs.hypotheses(logs.read_log(log)), len(references)) for log in args.logs}
    bleu = {name: scores(lines, references)["BLEU"] for name, lines in outputs.items()}
    sys.stderr.write("".join(f"{name}: {value} BLEU\n" for name, value in bleu.items()))
    sys.stdout.write(f"{best(bleu)}\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("logs", nargs="+", type=Path)
    parser.add_argument("--reference", type=Path, required=True, help="the targets")
    return finish(parser, run)


if __name__ == "__main__":
    sys.exit(main())
