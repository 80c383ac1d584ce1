"""A levt with spelling-aware words, small enough for two cores: the same editor in every example that has one.

The noisy text is the draft as well, so a text has three files: SPLIT.SOURCE, SPLIT.draft and SPLIT.TARGET.
"""

import shutil
from importlib.util import find_spec
from pathlib import Path

from examples.stages import Run, both, falling

PREPARE = "lev-plugins prepare -d draft --bpe words --joined-dictionary"
PACKAGES = "numpy,scipy,sklearn,torch"  # whose docstrings are text of another kind
# The typos of a spelling editor: of letters, since it leaves signs and digits alone, in words of three letters or more.
# A long word may have two, each line has a rate of its own, and some lines have none.
SLIPS = "insert,delete,substitute,swap,keyboard"
LETTERS = Path(__file__).parent / "english" / "letters.txt"  # a keyboard without other keys
TYPOS = {"kind": SLIPS, "layout": str(LETTERS), "word_rate": 0.125, "char_rate": 0.16, "min_letters": 3, "varied": True}
SHARE = 0.85  # of the lines that have any


def typos(run: Run, prefix: str = "--", **more: object) -> str:
    values = TYPOS | {"layout": f"{run.examples}/english/{LETTERS.name}", "varied": ""} | more
    return " ".join(f"{prefix}{name.replace('_', '-')} {value}".strip() for name, value in values.items())


def frequencies(file: str = "") -> str:
    """The flag of english/text.py; by default it reads the list of the package symspellpy."""
    return f"--frequencies {file}" if file else ""


def written(run: Run, text: Path, flags: str, noise: str, seed: int) -> list[str]:
    """Commands: training text with unexpected words, its dictionary, and held-out text, also with mistakes."""
    return [
        f"""python {run.examples}/english/text.py {text} {flags} --copies {run.number("COPIES")}
            {frequencies(run.LIST)}""",
        f"{noise} --seed {seed} <{text}/valid.clean >{text}/valid.noisy",
        f"cp {text}/valid.noisy {text}/valid.draft",
    ]


def prepared(text: Path, data: Path, more: str = "") -> str:
    """Clean training text, whose mistakes are made while training, in the words of the text's dictionary."""
    return f"""{PREPARE} -s noisy -t clean --srcdict {text}/dict.txt --clean-train --train-prefix
        {text}/train --valid-prefix {text}/valid {more} --dest {data}"""


def promise(run: Run, after: str, text: Path, noise: str, seed: int, given: str = "") -> str:
    """Flags of export: confidences also fitted on text of another kind, ``given`` or docstrings, which this writes."""
    other = run.out / "other"
    docstrings = f"python {run.examples}/english/corpus.py {other}/docstrings --packages {PACKAGES}"
    run.stage(
        "other",
        after,
        "" if given else docstrings,
        f"head -n 2000 {given or f'{other}/docstrings/train.txt'} >{other}/clean",
        f"{noise} --seed {seed} <{other}/clean >{other}/noisy",
    )
    return f"""--calibrate {other}/noisy {other}/clean --clean {text}/unexpected.clean
        --promise-broken {run.PROMISE} --words {text}/chat.txt"""


def training(run: Run, updates: int, tokens: str, rate: str, dropout: str) -> str:
    """The command, without its data."""
    fifth, twentieth = (max(1, updates // part) for part in (5, 20))
    return f"""{run.train} --task text_editing --draft-lang draft --rollin-alpha 1 --rollin-beta 1 --bpe words
        --spelling --arch levt_tiny --max-insertions 7 --share-all-embeddings --encoder-layers 2 --decoder-layers 1
        {both("embed-dim", 160)} {both("ffn-embed-dim", 320)} {both("attention-heads", 4)} {both("normalize-before")}
        --criterion dual_policy --label-smoothing 0 --placeholder-label-smoothing 0 --clip-norm 1 --max-tokens {tokens}
        --dropout {dropout} {falling(rate, twentieth, updates)} --validate-interval-updates {fifth}
        --save-interval-updates {fifth} --keep-interval-updates 1 --no-epoch-checkpoints --log-interval 50"""


def folder(run: Run, trained: Path, data: Path, made: Path, noisy: Path, clean: Path, more: str) -> str:
    """Make a model folder; validation text says how often edits are right, and how sure the editor must be of one."""
    return f"""lev-plugins export {trained}/checkpoint_last.pt {made} --overwrite --bpe words --iter-decode-max-iter 0
        --data {data} --language en --calibrate {noisy} {clean} {more}"""


def spellers(run: Run) -> dict[str, str]:
    """The commands of the tools that a user would take instead: those that are installed."""
    commands = {}
    if run.speller:
        symspell = f"python {run.examples}/denoising/symspell.py --list {run.LIST}"
        commands = {"SymSpell": symspell, "careful-SymSpell": f"{symspell} --careful"}
    if find_spec("harper"):
        harper = f"python {run.examples}/english/harper_suggestions.py"
        commands |= {"Harper": harper, "careful-Harper": f"{harper} --careful"}
    ispell = {"hunspell": "-d en_US", "aspell": "-l en"}
    return commands | {
        name: f"python {run.examples}/english/ispell.py {name} {flags}"
        for name, flags in ispell.items()
        if shutil.which(name)
    }
