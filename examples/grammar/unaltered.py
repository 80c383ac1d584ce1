"""How many sentences that need no correction does an editor alter?

    python unaltered.py FOLDER... --texts G.dev S.dev [--min-confidence P] [--commands 'COMMAND'...]

FOLDERs are model folders. Each text is a set like those of CWEB, tokenised: SET.src and the corrections of several
annotators, SET.ref0, SET.ref1, ... The sentences that all of them leave alone are edited as plain text, and what
becomes of them is brought back to tokens (see tokens.py). ``--commands`` has more rows, of commands that correct the
lines that they read, such as 'python examples/english/ispell.py hunspell -d en_US'.
"""

import argparse
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import lev_plugins
from examples.grammar.tokens import back, plain
from examples.shared import finish, read_parallel
from lev_plugins.errors import require

Edit = Callable[[list[str]], list[str]]


def accepted(source: Sequence[str], references: Sequence[Sequence[str]]) -> list[str]:
    """The sentences that no annotator has changed.

    >>> accepted(["a b .", "c d ."], [["a b .", "c d ."], ["a b . ", "c e ."]])
    ['a b .']
    """
    rows = zip(source, *references, strict=True)
    return [row[0] for row in rows if row[0].strip() and len({" ".join(line.split()) for line in row}) == 1]


def share_altered(tokens: Sequence[str], edit: Edit) -> float:
    """
    >>> share_altered(["Is n't it ?", "Yes ."], lambda texts: [text.replace("isn't", "is not") for text in texts])
    0.0
    >>> share_altered(["Is n't it ?", "Yes ."], lambda texts: [text.replace("Isn't", "Is not") for text in texts])
    50.0
    """
    edited = edit(list(map(plain, tokens)))
    altered = [back(line, text) != " ".join(line.split()) for line, text in zip(tokens, edited, strict=True)]
    return 100 * sum(altered) / len(altered)


def editor(folder: Path, min_confidence: float | None) -> Edit:
    loaded = lev_plugins.load(folder, options=lev_plugins.EditOptions(min_confidence=min_confidence))
    return lambda texts: [edited.text for edited in loaded.edit(texts)]


def command(words: str) -> Edit:
    """
    >>> command("tr a-z A-Z")(["yes", "no"])
    ['YES', 'NO']
    """

    def edit(texts: list[str]) -> list[str]:
        lines = "".join(f"{text}\n" for text in texts)
        answer = subprocess.run(words, shell=True, input=lines, stdout=subprocess.PIPE, text=True, encoding="utf-8")
        edited = answer.stdout.split("\n")[:-1]  # not at other signs that end lines, as splitlines would
        failed = f"'{words}' read {len(texts)} lines and wrote {len(edited)}, with exit status {answer.returncode}"
        require(answer.returncode == 0 and len(edited) == len(texts), failed)
        return edited

    return edit


def run(args: argparse.Namespace) -> None:
    sets = {}
    for prefix in args.texts:
        paths = [Path(f"{prefix}.src"), *sorted(prefix.parent.glob(f"{prefix.name}.ref[0-9]"))]
        require(len(paths) > 1, f"there is no file {prefix}.ref0: give the beginning of the names, as in G.dev")
        source, *references = read_parallel(paths)
        sentences = accepted(source, references)
        require(bool(sentences), f"the annotators of {prefix} have changed every sentence")
        sets[f"{prefix.name} ({len(sentences):,})"] = sentences
    systems = {str(folder): editor(folder, args.min_confidence) for folder in args.folders}
    systems |= {words: command(words) for words in args.commands}
    print(f"| altered, % | {' | '.join(sets)} |\n|{'---|' * (len(sets) + 1)}")
    for name, edit in systems.items():
        print(f"| {name} | {' | '.join(f'{share_altered(lines, edit):.1f}' for lines in sets.values())} |", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folders", metavar="FOLDER", nargs="*", type=Path, help="model folder")
    parser.add_argument("--texts", metavar="SET", nargs="+", type=Path, required=True, help="SET.src, SET.ref0, ...")
    parser.add_argument("--min-confidence", metavar="P", type=float, help="of an edit (default: that of the folder)")
    parser.add_argument(
        "--commands", metavar="COMMAND", nargs="+", default=[], help="more rows, of what else reads and writes lines"
    )
    return finish(parser, run)


if __name__ == "__main__":
    sys.exit(main())
