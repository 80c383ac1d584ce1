"""``lev-plugins distill``: replace the targets of a data folder by a teacher's outputs, or write these as text.

A shard is a range of sentences of one part (train, train1, ...). Its outputs are a file beside the result, complete or
absent: a stop only loses the shards in progress, and the next start may use another number of processes.
"""

import argparse
import ast
import hashlib
import json
import shutil
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple

import torch
from fairseq.data import Dictionary, data_utils
from fairseq.data.indexed_dataset import make_builder
from fairseq.dataclass.configs import GenerationConfig
from fairseq.utils import split_paths
from torch import Tensor
from torch.multiprocessing.spawn import ProcessExitedException, start_processes
from tqdm import tqdm

from lev_plugins import checkpoints
from lev_plugins.cli.flags import requires
from lev_plugins.data.binarise import load_dictionary
from lev_plugins.data.tokenise import JOINED
from lev_plugins.errors import UserError, explained, require
from lev_plugins.files import all_or_nothing, all_or_nothing_folder, lock
from lev_plugins.inference.decoder import CheckpointDecoder
from lev_plugins.json_schema import read_object
from lev_plugins.model_folder import digest
from lev_plugins.ranges import at_least, flag_name
from lev_plugins.tasks.pairs import whole_pair

SEARCH = ["beam", "lenpen", "unkpen", "max_len_a", "max_len_b", "min_len", "no_repeat_ngram_size"]
RECORD = "distill.json"  # in --dest; beside --text FILE it is FILE.json
START_METHOD = "spawn"  # a forked process cannot use a GPU


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("data", metavar="DATA", type=Path, help="folder of the binarised data")
    add("--path", metavar="FILE", required=True, help="checkpoint of the teacher, or several as an ensemble: A.pt:B.pt")
    result = parser.add_mutually_exclusive_group(required=True)
    result.add_argument("--dest", metavar="DIR", type=Path, help="folder to create: DATA with new targets")
    result.add_argument("--text", metavar="FILE", type=Path, help="file to write: the targets, one per line")
    add("--post-process", choices=JOINED, help="with --text: how to join pieces into words")
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
    add("--processes", metavar="N", type=int, help="decoding processes (default: one per GPU, or one on the CPU)")
    add("--cpu", action="store_true", help="run on the CPU")
    add("--fp16", action="store_true", help="decode in half precision")


class SplitPart(NamedTuple):
    name: str
    target: str  # the binarised targets, without .bin
    lines: int


class Shard(NamedTuple):
    part: str
    start: int
    stop: int

    @property
    def file(self) -> str:
        return f"{self.part}.{self.start}-{self.stop}.json"


@dataclass
class Account:
    lines: int = 0
    kept_reference: dict[str, list[int]] = field(default_factory=dict)  # line numbers by part, from 1
    seconds: float = 0.0  # of decoding, summed over processes


def run(args: argparse.Namespace) -> int:
    require(args.data.is_dir(), f"there is no folder {args.data}")
    at_least(args, 1, "beam", "max_tokens", "shard_size", "processes")
    requires(args, "--text", args.text is not None, post_process=None)
    require(args.text is None or not args.text.is_dir(), f"--text {args.text} is a folder: name a file")
    teacher, overrides = [Path(path) for path in split_paths(args.path)], read_overrides(args.model_overrides)
    source, target = languages(args, teacher[0], overrides)
    overrides |= {"data": str(args.data), "source_lang": source, "target_lang": target}
    dictionary = load_dictionary(args.data / f"dict.{target}.txt")
    parts = find_parts(args.data, args.split, source, target)
    settings = settings_of(args, teacher, parts, overrides)
    output, record = args.dest or args.text, record_of(args)
    store = output.with_name(f"{output.name}.shards")
    same = record.exists() and settings_in(record) == settings
    there = output.exists() and not (output.is_dir() and not any(output.iterdir()))
    require(
        same or not (there or record.exists()),
        f"{output} or {record} exists, but was not made from this data by this teacher with these flags: choose "
        f"another {'--dest' if args.dest else '--text'}",
    )
    if there:
        shutil.rmtree(store, ignore_errors=True)
        sys.stdout.write(f"{output} is complete: nothing to do\n")
        return 0
    store.mkdir(parents=True, exist_ok=True)
    lock(store, f"another distill is making {output}: wait until it ends, or name another place")
    keep_to(store, settings)
    size = args.shard_size
    shards = [Shard(p.name, at, min(at + size, p.lines)) for p in parts for at in range(0, p.lines, size)]
    decode_shards(args, overrides, store, shards)
    account = put_together(args, settings, parts, shards, store, dictionary)
    shutil.rmtree(store)
    kept = sum(map(len, account.kept_reference.values()))
    sys.stdout.write(
        f"{output}: {account.lines:,} targets, {account.lines - kept:,} of them by the teacher in "
        f"{account.seconds / 60:.1f} minutes of decoding (summed over processes)\n"
    )
    for part, lines in account.kept_reference.items():
        shown = ", ".join(f"{line:,}" for line in lines[:10]) + (" ..." if len(lines) > 10 else "")
        sys.stdout.write(f"{len(lines):,} of {part} too long for the teacher keep their reference: line {shown}\n")
    return 0


def read_overrides(text: str) -> dict[str, Any]:
    try:
        return dict(ast.literal_eval(text))
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError) as error:
        raise UserError(
            f"--model-overrides must be a dictionary, such as {{'max_source_positions': 2000}}, but is {text}"
        ) from error


def languages(args: argparse.Namespace, teacher: Path, overrides: dict[str, Any]) -> tuple[str, str]:
    """Suffixes of source and target: as given, or else as in the teacher's training, or else as in the folder.

    A checkpoint records the suffixes that were given in training, not those that fairseq derived from the folder.
    """
    state = checkpoints.load(teacher)
    task = state["cfg"]["task"] if state.get("cfg") else vars(state["args"])
    in_folder = whole_pair(str(args.data))
    if in_folder is None:
        raise UserError(f"{args.data} has no pair of binarised texts: create such a folder with lev-plugins prepare")
    chosen = [getattr(args, name) or overrides.get(name) or task.get(name) for name in ("source_lang", "target_lang")]
    return chosen[0] or in_folder[0], chosen[1] or in_folder[1]


def find_parts(data: Path, split: str, source: str, target: str) -> list[SplitPart]:
    """The parts that fairseq-train joins; each file name has its languages in either order."""
    parts: list[SplitPart] = []
    pairs = (f"{source}-{target}", f"{target}-{source}")
    while True:
        name = f"{split}{len(parts) or ''}"
        prefixes = [str(data / f"{name}.{pair}.{target}") for pair in pairs]
        prefix = next((prefix for prefix in prefixes if Path(f"{prefix}.idx").is_file()), None)
        if prefix is None:
            break
        parts.append(SplitPart(name, prefix, len(data_utils.load_indexed_dataset(prefix, None))))
    require(
        bool(parts),
        f"there is no {data / f'{split}.{source}-{target}.{target}.idx'}: if the suffixes in that folder differ "
        "from those of the teacher's training, give --source-lang and --target-lang",
    )
    return parts


# ---- what the result depends on ----------------------------------------------------------------------------------


def settings_of(
    args: argparse.Namespace, teacher: list[Path], parts: list[SplitPart], overrides: dict[str, Any]
) -> dict[str, Any]:
    """Everything that decides the result; a shard decoded with other settings is never used.

    Batch size, processes and hardware are left out: they only affect the rounding of scores and where an endless
    output is cut off (fairseq's --max-len-a depends on the longest source of a batch).
    """
    data = [path for part in parts for path in sorted(args.data.glob(f"{part.name}.*"))]
    own = {name: value for name, value in overrides.items() if name != "data"}
    return {
        "DATA": hash_of_files([*data, *sorted(args.data.glob("dict.*.txt"))]),
        "teacher": hash_of_files(teacher),
        "--split": args.split,
        "--shard-size": args.shard_size,
        "--model-overrides": repr(own),
        "--fp16": args.fp16,
        "--post-process": args.post_process,
        **{flag_name(name): getattr(args, name) for name in SEARCH},
    }


def hash_of_files(paths: list[Path]) -> str:
    """A hash of names and contents: copies of the files have the same."""
    return hashlib.sha256("".join(f"{path.name}\n{digest(path)}\n" for path in paths).encode()).hexdigest()


def record_of(args: argparse.Namespace) -> Path:
    return args.dest / RECORD if args.dest else args.text.with_name(f"{args.text.name}.json")


def settings_in(record: Path) -> Any:
    """None if the file is not a record of ``distill``."""
    try:
        return read_object(record).get("settings")
    except UserError:
        return None


def keep_to(store: Path, settings: dict[str, Any]) -> None:
    path = store / "settings.json"
    if not path.exists():
        write_json(path, settings)
    before = json.loads(path.read_text("utf-8"))
    changed = [name for name, value in settings.items() if before.get(name) != value]
    require(not changed, f"{store} was started with different {' and '.join(changed)}: remove it to start again")


def write_json(path: Path, content: Any) -> None:
    with all_or_nothing(path) as file:
        file.write(json.dumps(content).encode())


# ---- decoding ----------------------------------------------------------------------------------------------------


def decode_shards(args: argparse.Namespace, overrides: dict[str, Any], store: Path, shards: list[Shard]) -> None:
    def missing() -> list[Shard]:
        return [shard for shard in shards if not (store / shard.file).exists()]

    todo = missing()
    if len(todo) < len(shards):
        sys.stdout.write(f"{len(shards) - len(todo):,} of {len(shards):,} shards were decoded before\n")
    number = min(args.processes or max(1, gpus_of(args)), len(todo))
    # disable=None: shown on a terminal only
    with tqdm(total=len(shards), initial=len(shards) - len(todo), unit="shard", disable=None) as progress:
        if number <= 1:
            for _ in decode_share(0, args, overrides, store, [todo]):
                progress.update()
            return
        job = (args, overrides, store, [todo[rank::number] for rank in range(number)])
        running = start_processes(worker, job, number, join=False, daemon=True, start_method=START_METHOD)
        try:
            while not running.join(timeout=0.2):
                progress.update(len(shards) - len(missing()) - progress.n)
        except ProcessExitedException as error:
            raise UserError(
                "a decoding process failed (see above); finished shards are kept: run the same command again"
            ) from error


def worker(rank: int, *job: Any) -> None:
    try:
        for _ in decode_share(rank, *job):
            pass
    except Exception as error:
        _, hint = explained(error)
        if hint is None:
            raise
        sys.exit(f"lev-plugins: error: {hint}")


def decode_share(
    rank: int, args: argparse.Namespace, overrides: dict[str, Any], store: Path, shares: list[list[Shard]]
) -> Iterator[Shard]:
    """Decodes the shards of this process one by one, on its GPU."""
    shards, gpus = shares[rank], gpus_of(args)
    if not shards:
        return
    device = f"cuda:{rank % gpus}" if gpus else "cpu"
    search = {name: getattr(args, name) for name in SEARCH}
    teacher = CheckpointDecoder([Path(path) for path in split_paths(args.path)], overrides, search, device, args.fp16)
    datasets = {part: teacher.dataset(part) for part in dict.fromkeys(shard.part for shard in shards)}
    for shard in shards:
        started = time.perf_counter()
        rows = teacher.write(datasets[shard.part], range(shard.start, shard.stop), args.max_tokens)
        write_json(store / shard.file, {"rows": rows, "seconds": time.perf_counter() - started})
        yield shard


def gpus_of(args: argparse.Namespace) -> int:
    return 0 if args.cpu else torch.cuda.device_count()


# ---- the result --------------------------------------------------------------------------------------------------


def put_together(
    args: argparse.Namespace,
    settings: dict[str, Any],
    parts: list[SplitPart],
    shards: list[Shard],
    store: Path,
    dictionary: Dictionary,
) -> Account:
    account = Account()

    def targets(part: SplitPart) -> Iterator[Tensor]:
        """In order; where the teacher could not read the source, the reference."""
        original = data_utils.load_indexed_dataset(part.target, None)
        for shard in (shard for shard in shards if shard.part == part.name):
            decoded = json.loads((store / shard.file).read_text("utf-8"))
            account.seconds += decoded["seconds"]
            for index, row in enumerate(decoded["rows"], shard.start):
                if row is None:
                    account.kept_reference.setdefault(part.name, []).append(index + 1)
                account.lines += 1
                yield original[index] if row is None else torch.tensor(row)

    if args.text:
        with all_or_nothing(args.text) as file:
            for part in parts:
                file.writelines(f"{dictionary.string(row, args.post_process)}\n".encode() for row in targets(part))
            write_json(record_of(args), {**asdict(account), "settings": settings})
        return account
    with all_or_nothing_folder(args.dest) as folder:
        replaced = {f"{Path(part.target).name}{end}" for part in parts for end in ("", ".bin", ".idx")}
        for path in args.data.iterdir():
            if path.is_file() and path.name not in replaced:
                shutil.copyfile(path, folder / path.name)
        for part in parts:
            prefix = folder / Path(part.target).name
            builder = make_builder(f"{prefix}.bin", impl="mmap", vocab_size=len(dictionary))
            for row in targets(part):
                builder.add_item(row)
            builder.finalize(f"{prefix}.idx")
        write_json(folder / RECORD, {**asdict(account), "settings": settings})
    return account
