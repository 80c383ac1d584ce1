"""``lev-plugins distill``: replace the targets of a data folder by a teacher's outputs.

A shard is a range of sentences of one part (train, train1, ...). Its outputs are a file beside the result, complete or
absent: a stop only loses the shard in progress.
"""

import argparse
import ast
import json
import shutil
import sys
from collections.abc import Iterator
from dataclasses import fields
from itertools import count
from pathlib import Path
from typing import Any

import torch
from fairseq.data import data_utils
from fairseq.data.indexed_dataset import make_builder
from fairseq.dataclass.configs import GenerationConfig
from fairseq.utils import split_paths
from torch import Tensor
from tqdm import tqdm

from lev_plugins.export.decoder import CheckpointDecoder
from lev_plugins.training import checkpoints
from lev_plugins.training.binarise import load_dictionary
from lev_plugins.training.pairs import whole_pair
from lev_plugins.utils.errors import UserError, require
from lev_plugins.utils.files import all_or_nothing, all_or_nothing_folder, lock, require_free
from lev_plugins.utils.ranges import at_least, flag_name

SEARCH = ["beam", "lenpen", "unkpen", "max_len_a", "max_len_b", "min_len", "no_repeat_ngram_size"]
SHARD_FLAGS = ["split", "shard_size", "fp16", "model_overrides", *SEARCH]  # flags that decide the contents of a shard


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("data", metavar="DATA", type=Path, help="folder of the binarised data")
    add("--path", metavar="FILE", required=True, help="checkpoint of the teacher, or several as an ensemble: A.pt:B.pt")
    add("--dest", metavar="DIR", type=Path, required=True, help="folder to create: DATA with new targets")
    add("--split", default="train", help="split to decode; train includes train1, train2, ... (default: train)")
    add("-s", "--source-lang", metavar="SUFFIX", help="suffix of the sources (default: as in the teacher's training)")
    add("-t", "--target-lang", metavar="SUFFIX", help="suffix of the targets (default: as in the teacher's training)")
    for option in fields(GenerationConfig):
        if option.name in SEARCH:
            meaning = option.metadata["help"]
            add(flag_name(option.name), metavar="X", type=option.type, default=option.default, help=meaning)
    add("--model-overrides", metavar="DICT", default="{}", help="settings of the teacher to change, as in fairseq")
    add("--max-tokens", metavar="N", type=int, default=4096, help="tokens per batch")
    add("--shard-size", metavar="N", type=int, default=2000, help="sentences that are decoded and saved together")
    add("--cpu", action="store_true", help="run on the CPU")
    add("--fp16", action="store_true", help="decode in half precision")


def run(args: argparse.Namespace) -> int:
    at_least(args, 1, "beam", "max_tokens", "shard_size")
    overrides = ast.literal_eval(args.model_overrides)
    require(isinstance(overrides, dict), f"--model-overrides must be a dictionary, but is {args.model_overrides}")
    require_free(args.dest, "--dest")
    source, target = languages(args, overrides)
    overrides |= {"data": str(args.data), "source_lang": source, "target_lang": target}
    parts = find_parts(args.data, args.split, source, target)
    store = args.dest.with_name(f"{args.dest.name}.shards")
    store.mkdir(parents=True, exist_ok=True)
    lock(store, f"another distill is making {args.dest}: wait until it ends, or name another folder")
    settings = {"DATA": str(args.data), "--source-lang": source, "--target-lang": target}
    settings |= {flag_name(name): str(vars(args)[name]) for name in SHARD_FLAGS}
    settings["--path"] = " ".join(f"{path} of {Path(path).stat().st_mtime}" for path in split_paths(args.path))
    require_same_settings(store, settings)
    decode_missing(args, overrides, parts, store)
    dictionary_size = len(load_dictionary(args.data / f"dict.{target}.txt"))
    with all_or_nothing_folder(args.dest) as folder:
        for path in filter(Path.is_file, args.data.iterdir()):
            shutil.copyfile(path, folder / path.name)
        for part, prefix in parts.items():
            original, result = data_utils.load_indexed_dataset(prefix, None), folder / Path(prefix).name
            builder = make_builder(f"{result}.bin", impl="mmap", vocab_size=dictionary_size)
            for row in targets(original, [shard for shard, _ in shards(store, part, args.shard_size, len(original))]):
                builder.add_item(row)
            builder.finalize(f"{result}.idx")
    shutil.rmtree(store)
    sys.stdout.write(f"{args.dest} has the targets of the teacher\n")
    return 0


def decode_missing(args: argparse.Namespace, overrides: dict[str, Any], parts: dict[str, str], store: Path) -> None:
    """Decodes the shards that ``store`` lacks, each into a file: ids, or null for a sentence that is too long."""
    device = "cpu" if args.cpu or not torch.cuda.is_available() else "cuda"
    search = {name: vars(args)[name] for name in SEARCH}
    teacher = CheckpointDecoder(list(map(Path, split_paths(args.path))), overrides, search, device, args.fp16)
    for part in parts:
        dataset = teacher.dataset(part)
        # disable=None: shown on a terminal only
        for shard, indices in tqdm(shards(store, part, args.shard_size, len(dataset)), desc=part, disable=None):
            if not shard.exists():
                write_json(shard, teacher.write(dataset, indices, args.max_tokens))


def targets(original: Any, shard_files: list[Path]) -> Iterator[Tensor]:
    """Yields the teacher's output of each sentence, or the original target where it was too long for the teacher."""
    rows = [row for shard in shard_files for row in json.loads(shard.read_text("utf-8"))]
    too_long = [number for number, row in enumerate(rows, 1) if row is None]
    if too_long:
        shown = ", ".join(map(str, too_long[:10])) + (" ..." if len(too_long) > 10 else "")
        sys.stdout.write(f"{len(too_long)} too long for the teacher keep their reference: line {shown}\n")
    return (original[index] if row is None else torch.tensor(row) for index, row in enumerate(rows))


def shards(store: Path, part: str, size: int, lines: int) -> list[tuple[Path, range]]:
    """Returns the file of each shard of a part, and the sentences that it is for.

    >>> [(path.name, indices) for path, indices in shards(Path("store"), "train", 2, 3)]
    [('train.0-2.json', range(0, 2)), ('train.2-3.json', range(2, 3))]
    """
    all_indices = (range(start, min(start + size, lines)) for start in range(0, lines, size))
    return [(store / f"{part}.{indices.start}-{indices.stop}.json", indices) for indices in all_indices]


def languages(args: argparse.Namespace, overrides: dict[str, Any]) -> tuple[str, str]:
    """Returns the suffixes of source and target: of the flags, of the teacher's training, or of the folder.

    A checkpoint records the suffixes that were flags of its training, not those that fairseq derived from the folder.
    """
    state = checkpoints.load(split_paths(args.path)[0], mmap=True)  # its weights are not read here
    pair = whole_pair(str(args.data))
    if pair is None:
        raise UserError(f"{args.data} has no pair of binarised texts: create such a folder with lev-plugins prepare")
    names = "source_lang", "target_lang"
    recorded = [overrides.get(name) or checkpoints.config_of(state, "task", name) for name in names]
    return args.source_lang or recorded[0] or pair[0], args.target_lang or recorded[1] or pair[1]


def find_parts(data: Path, split: str, source: str, target: str) -> dict[str, str]:
    """Returns the binarised targets of the parts that fairseq-train joins, without .idx.

    The names of the files have the languages in either order.
    """
    pairs = (f"{source}-{target}", f"{target}-{source}")
    parts: dict[str, str] = {}
    for name in (f"{split}{number or ''}" for number in count()):
        prefixes = [str(data / f"{name}.{pair}.{target}") for pair in pairs]
        prefix = next((prefix for prefix in prefixes if Path(f"{prefix}.idx").is_file()), None)
        if prefix is None:
            break
        parts[name] = prefix
    require(
        bool(parts),
        f"there is no {data / f'{split}.{pairs[0]}.{target}.idx'}: if the suffixes in that folder differ from those of "
        "the teacher's training, give --source-lang and --target-lang",
    )
    return parts


def require_same_settings(store: Path, settings: dict[str, str]) -> None:
    path = store / "settings.json"
    if not path.exists():
        write_json(path, settings)
    recorded = json.loads(path.read_text("utf-8"))
    changes = [name for name, value in settings.items() if recorded.get(name) != value]
    require(not changes, f"{store} was started with different {' and '.join(changes)}: remove it to start again")


def write_json(path: Path, content: object) -> None:
    with all_or_nothing(path) as file:
        file.write(json.dumps(content).encode())
