"""``lev-plugins adapt FOLDER NOISY CLEAN OUT``: train the editor of a model folder further on pairs of your own."""

import argparse
import io
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import fields, replace
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zlib import crc32

import torch
from fairseq.dataclass import FairseqDataclass
from tqdm import tqdm

import lev_plugins
from lev_plugins.cli import prepare
from lev_plugins.cli.confusions import learned_table
from lev_plugins.cli.export import PROMISES, parse_promises
from lev_plugins.cli.reporting import table
from lev_plugins.editor.editor import Editor
from lev_plugins.editor.held_out import Tuning, edit_held_out
from lev_plugins.export import load_model
from lev_plugins.export.exporting import Extras, copy_existing, export
from lev_plugins.levt.config import LevTConfig
from lev_plugins.levt.task import TextEditingConfig
from lev_plugins.noise import Corruption, NoiseOptions, build_corruption
from lev_plugins.noise.confusions import confuser
from lev_plugins.text.lexicon import LEXICON
from lev_plugins.text.lines import nonempty_lines, require_parallel, write_lines
from lev_plugins.text.text_style import TextStyle
from lev_plugins.text.tokenise import Tokeniser
from lev_plugins.training import checkpoints
from lev_plugins.utils import model_folder
from lev_plugins.utils.errors import require
from lev_plugins.utils.files import require_free
from lev_plugins.utils.json_schema import from_entries
from lev_plugins.utils.model_folder import GRAPHS, PROMISED, READ, SAMPLE, WEIGHTS, Flag, ModelConfig
from lev_plugins.utils.ranges import at_least, bounded, flag_name

SOURCE, DRAFT, TARGET = "noisy", "draft", "clean"
MIN_PAIRS = 50
HELD_OUT = 5  # one pair in five is held out of training
BALANCED_PAIRS = 2_500  # pairs are repeated to about this number, so that the model's own text does not outweigh them
PAIR_COPIES = 2  # each real pair is trained on twice for each synthetic pair of its correction and one kind of noise
UNCHANGED = 7  # one line in seven gets no noise
KINDS = "insert,delete,substitute,swap,keyboard"  # of noise, for a folder that does not say how its model was trained
NOISE: dict[str, Flag] = {"kind": KINDS, "word_rate": 0.125, "char_rate": 0.16, "varied": True, "min_letters": 3}
WORD_WEIGHTS = ("embedding.tokens.own.weight", "words.scorer.bias")  # have a row for each word
TRAINING_FLAGS = (
    f"--task text_editing -s {SOURCE} -t {TARGET} --draft-lang {DRAFT} --bpe words --arch levt --rollin-alpha 1 "
    "--rollin-beta 1 --criterion dual_policy --label-smoothing 0 --placeholder-label-smoothing 0 "
    "--optimizer fused_adam --adam-betas (0.9,0.98) --clip-norm 1 --max-tokens 2500 --num-workers 1 "
    "--lr-scheduler polynomial_decay --disable-validation --no-epoch-checkpoints --no-save-optimizer-state "
    "--save-interval 100000 --log-format json --log-interval 5"
)
Pair = tuple[str, str]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("folder", metavar="FOLDER", type=model_folder.model_path, help="model folder of a levt with --spelling")
    pairs = "NOISY and CLEAN: text with errors, and its correction line by line; or one file of lines NOISY<TAB>CLEAN"
    add("pairs", metavar="FILE", nargs="+", type=Path, help=pairs)
    add("output", metavar="OUT", type=Path, help="model folder to create")
    add("--updates", metavar="N", type=int, default=300, help="length of the training (default: 300)")
    add("--lr", metavar="X", type=float, default=0.002, help="learning rate (default: 0.002)")
    promise = "right words of 1,000 that OUT may break in held-out text (default: what FOLDER promises)"
    add("--promise-broken", metavar="N", help=f"{promise}; for several dials: {PROMISES}")
    add("--seed", metavar="N", type=int, default=1, help="random seed (default: 1)")


def run(args: argparse.Namespace) -> int:
    at_least(args, 1, "updates")
    bounded("--lr", args.lr, above=0)
    promises = parse_promises(args.promise_broken)
    require_free(args.output, "OUT")
    config = read_config(args.folder)
    config = replace(config, promises={**config.promises, **promises})
    style = from_entries(TextStyle, config.text_style, f"{args.folder / model_folder.CONFIG}: text_style")
    parent = args.output.absolute().parent
    pairs = [(style.read(noisy), style.read(clean)) for noisy, clean in read_pairs(args.pairs)]
    parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=parent, prefix=f".{args.output.name}.") as scratch:
        adapt(args, config, pairs, Path(scratch))
        rows = [["held-out pairs", "words right, %", "right words broken, of 1,000", "errors repaired, %"]]
        for name, folder in (("before", with_graphs(args.folder, Path(scratch) / "before")), ("after", args.output)):
            held_out = Path(scratch) / f"pairs.{SOURCE}", Path(scratch) / f"pairs.{TARGET}"
            text = edit_held_out(Editor.load(folder), [held_out], [])[0]
            score = text.harm(0.0)  # the editor has already left out the edits below its own min_confidence
            values = score.details["% of words right"], score.score, score.details["% of typos repaired"]
            rows.append([name, *(f"{value:.1f}" for value in values)])
    sys.stdout.write("".join(f"{line}\n" for line in table(rows)))
    sys.stdout.write(
        "These pairs are held out of training, but the confidences of OUT, and with a promise its threshold, are "
        "fitted on them, which flatters the row 'after' a little.\n"
    )
    sys.stdout.write(f"{args.output} is complete; try: lev-plugins edit {args.output}\n")
    return 0


def with_graphs(folder: Path, out: Path) -> Path:
    """Returns the folder if it has graphs; otherwise ``out``, to which it is exported with them."""
    if not (folder / GRAPHS).is_dir():
        export(folder, out, {}, Extras())
        return out
    return folder


def read_config(folder: Path) -> ModelConfig:
    """Returns the configuration of a folder whose model can be trained further."""
    trainable = folder.with_name(f"{folder.name}-trainable")  # as models/en has one beside it
    advice = f"take {trainable}" if trainable.is_dir() else "export its checkpoint again with --trainable"
    require(
        (folder / WEIGHTS).exists() or not folder.is_dir(),
        f"{folder} has no {WEIGHTS}, the weights to train further: {advice}",
    )
    config = model_folder.read(folder)
    flags = config.model_flags
    require(
        bool(flags.get("spelling")) and flags.get("backbone") is None and config.tokeniser == "words",
        f"{folder} is not a levt with --spelling and --bpe words, and without --backbone, which alone can be adapted: "
        "train its checkpoint further with fairseq-train --finetune-from-model",
    )
    return config


def read_pairs(paths: Sequence[Path]) -> list[Pair]:
    """Returns the pairs of two parallel files, or of one with TABs, without repetitions and empty lines."""
    require(len(paths) <= 2, f"there are {len(paths)} files of pairs: give NOISY CLEAN, or one file NOISY<TAB>CLEAN")
    texts = [nonempty_lines(path) for path in paths]
    if len(texts) == 2:
        require_parallel(paths[0], len(texts[0]), paths[1], len(texts[1]))
        rows = [*zip(*texts, strict=True)]
    else:
        rows = [tuple(line.split("\t")) for line in texts[0]]
        wrong = next((number for number, row in enumerate(rows, 1) if len(row) != 2), 0)
        require(not wrong, f"{paths[0]}, line {wrong} must be NOISY<TAB>CLEAN: give such a file, or NOISY and CLEAN")
    pairs = [*dict.fromkeys((noisy, clean) for noisy, clean in rows if noisy.split() and clean.split())]
    train = sum(not is_held_out(pair) for pair in pairs)
    require(
        len(pairs) >= MIN_PAIRS and 0 < train < len(pairs),
        f"{paths[0]} has {len(pairs)} different pairs, which are too few: give at least {MIN_PAIRS}",
    )
    return pairs


def is_held_out(pair: Pair) -> bool:
    """Returns whether a pair is never trained on; that does not change when others are added."""
    return crc32(pair[1].encode()) % HELD_OUT == 0


def adapt(args: argparse.Namespace, config: ModelConfig, pairs: list[Pair], scratch: Path) -> None:
    """Writes the new folder; ``scratch`` then has the held-out pairs."""
    extras = Extras().over(args.folder, config)
    noise, texts = extras.noise or NOISE, extras.own_text
    corrupt = build_corruption(from_entries(NoiseOptions, noise, f"{args.folder / model_folder.CONFIG}: noise"))
    sample, promised = ([*chain(*map(nonempty_lines, texts.get(name, [])))] for name in (SAMPLE, PROMISED))
    train = [pair for pair in pairs if not is_held_out(pair)]
    held_out = [pair for pair in pairs if is_held_out(pair)]
    copies = max(1, BALANCED_PAIRS // len(train))
    corrected = [clean for _, clean in train]
    mixed = train * copies * PAIR_COPIES
    for kind in filter(None, (corrupt, learned_noise(train))):
        mixed += [pair for epoch in range(copies) for pair in with_noise(corrected, kind, epoch + 1)]
        mixed += with_noise(sample, kind, 1)
    write_pairs(scratch / "train", mixed)
    write_pairs(scratch / "pairs", held_out)
    write_pairs(scratch / "noise", with_noise([*promised, *(clean for _, clean in held_out)], corrupt, 1))
    new_words = grow(args.folder, config, corrected, scratch)
    sys.stderr.write(
        f"lev-plugins: training on {len(train):,} pairs, on noise in their corrections and in {len(sample):,} lines of "
        f"the model's own text, with new words: {new_words:,}; {len(held_out):,} pairs are held out\n"
    )
    train_further(args, config, scratch)
    calibrate = [(scratch / f"{name}.{SOURCE}", scratch / f"{name}.{TARGET}") for name in ("pairs", "noise")]
    extras = replace(
        extras,
        # without a promise, min_confidence stays: confidences are probabilities before and after the calibration
        decoding=replace(config.decoding, min_confidence=None) if READ in config.promises else config.decoding,
        # also in the folder's text alone, which many pairs would outweigh
        tuning=Tuning(calibrate, [scratch / f"noise.{TARGET}", *texts.get(PROMISED, [])], config.promises),
        noise=noise,
        scores={},
    )
    folders = {"data": str(scratch / "data")}
    export(scratch / "model/checkpoint_last.pt", args.output, folders, extras, trainable=True, half=True)


def learned_noise(pairs: Sequence[Pair]) -> Corruption | None:
    """Returns noise with the confusions of letters that recur in the pairs, at their rates; None: there are none."""
    table = learned_table(pairs, "character", longest=3, min_count=2)
    return Corruption([confuser(table)], [1.0], NoiseOptions("confusions")) if table.confusions else None


def with_noise(lines: Sequence[str], corrupt: Corruption, epoch: int) -> list[Pair]:
    return [(line if (i + epoch) % UNCHANGED == 0 else corrupt(line, i, epoch), line) for i, line in enumerate(lines)]


def write_pairs(prefix: Path, pairs: Sequence[Pair]) -> None:
    for suffix, side in ((SOURCE, 0), (DRAFT, 0), (TARGET, 1)):
        write_lines(Path(f"{prefix}.{suffix}"), (pair[side] for pair in pairs))


# ---- the training ----------------------------------------------------------------------------------------------------


def grow(folder: Path, config: ModelConfig, lines: Sequence[str], scratch: Path) -> int:
    """Writes dictionary and checkpoint with the words of the lines added, and returns how many are new.

    The vector of a word comes from its letters, so a new one begins with a row of zeros: as a word of no history.
    """
    loaded = load_model.read_model(folder, {})
    dictionary, encode = loaded.task.target_dictionary, Tokeniser(config.bpe(folder)).encode
    symbols = dictionary.size
    for word, count in Counter(word for line in lines for word in encode(line).split()).items():
        dictionary.add_symbol(word, count)
    added = len(dictionary) - symbols
    weights = loaded.models[0].state_dict()
    for name, weight in weights.items():
        if name.endswith(WORD_WEIGHTS):  # of V words, and perhaps of the placeholder behind them
            rows = weight.new_zeros(added, *weight.shape[1:])
            weights[name] = torch.cat([weight[:symbols], rows, weight[symbols:]])
    dictionary.save(str(scratch / "dict.txt"))
    cfg = {"model": {"_name": "levt"}, "task": {"_name": "text_editing"}}  # fairseq-train goes by its own flags
    history = [{"optimizer_name": "", "lr_scheduler_state": {}, "num_updates": 0}]
    extra = {"train_iterator": {"epoch": 1, "iterations_in_epoch": 0}}
    state = {"model": weights, "cfg": cfg, "args": None, "optimizer_history": history, "extra_state": extra}
    checkpoints.save(state, scratch / "start.pt")
    return added


def train_further(args: argparse.Namespace, config: ModelConfig, scratch: Path) -> None:
    """Runs fairseq-train on the texts, from the checkpoint that ``grow`` wrote."""
    parser = argparse.ArgumentParser()
    prepare.add_arguments(parser)
    words = ["-s", SOURCE, "-d", DRAFT, "-t", TARGET, "--bpe", "words", "--joined-dictionary"]
    files = ["--srcdict", scratch / "dict.txt", "--train-prefix", scratch / "train", "--dest", scratch / "data"]
    with redirect_stdout(io.StringIO()):  # which would be about files that are removed
        prepare.run(parser.parse_args([*words, *map(str, files)]))
    copy_existing(args.folder, scratch / "data", [LEXICON])
    command = [sys.executable, "-m", "fairseq_cli.train", str(scratch / "data"), "--save-dir", str(scratch / "model")]
    command += ["--user-dir", lev_plugins.__path__[0], "--finetune-from-model", str(scratch / "start.pt")]
    command += TRAINING_FLAGS.split()
    command += [*command_flags(LevTConfig, config.model_flags)]
    command += [*command_flags(TextEditingConfig, config.task_flags)]
    updates, warmup = str(args.updates), str(args.updates // 10)
    command += ["--max-update", updates, "--total-num-update", updates, "--warmup-updates", warmup]
    command += ["--lr", str(args.lr), "--seed", str(args.seed), *([] if torch.cuda.is_available() else ["--cpu"])]
    line = ""
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(command, **pipes) as process, tqdm(total=args.updates, unit=" updates", disable=None) as bar:
        try:
            for line in process.stdout or ():
                if '"num_updates": "' in line:
                    bar.update(int(json.loads(line[line.index("{") :])["num_updates"]) - bar.n)
        except BaseException:
            process.kill()
            raise
    require(process.returncode == 0, f"fairseq-train has failed: {line.strip()}")


def command_flags(kind: type[FairseqDataclass], values: dict[str, Flag]) -> Iterator[str]:
    """Yields the flags of fairseq-train for those values that are not the defaults; a switch turns its default over."""
    for field in fields(kind):
        value = values.get(field.name)
        if value is not None and value != field.default and field.name not in ("source_lang", "target_lang"):
            yield flag_name(field.name) if isinstance(value, bool) else f"{flag_name(field.name)}={value}"
