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
from dataclasses import dataclass, fields
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
from lev_plugins.data.tokenise import POST_PROCESSES
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
    add("--post-process", choices=POST_PROCESSES, help="with --text: how to join pieces into words")
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


class Shard(NamedTuple):
    part: str
    start: int
    stop: int

    @property
    def file(self) -> str:
        return f"{self.part}.{self.start}-{self.stop}.json"


@dataclass
class Distillation:
    """What the command does, read from its flags and its data folder."""

    args: argparse.Namespace
    overrides: dict[str, Any]  # settings of the teacher's task
    parts: dict[str, str]  # name of a part: its binarised targets, without .bin
    shards: list[Shard]
    store: Path  # the folder of the shards' outputs

    @property
    def gpus(self) -> int:
        return 0 if self.args.cpu else torch.cuda.device_count()

    def missing(self) -> list[Shard]:
        return [shard for shard in self.shards if not (self.store / shard.file).exists()]


def run(args: argparse.Namespace) -> int:
    at_least(args, 1, "beam", "max_tokens", "shard_size", "processes")
    requires(args, "--text", args.text is not None, post_process=None)
    overrides = ast.literal_eval(args.model_overrides)
    require(isinstance(overrides, dict), f"--model-overrides must be a dictionary, but is {args.model_overrides}")
    source, target = languages(args, overrides)
    overrides |= {"data": str(args.data), "source_lang": source, "target_lang": target}
    dictionary = load_dictionary(args.data / f"dict.{target}.txt")
    parts = find_parts(args.data, args.split, source, target)
    settings = settings_of(args, parts, overrides)
    output = args.dest or args.text
    store = output.with_name(f"{output.name}.shards")
    if is_complete(args, settings):
        shutil.rmtree(store, ignore_errors=True)
        sys.stdout.write(f"{output} is complete: nothing to do\n")
        return 0
    store.mkdir(parents=True, exist_ok=True)
    lock(store, f"another distill is making {output}: wait until it ends, or name another place")
    require_same_settings(store, settings)
    shards = []
    for name, prefix in parts.items():
        lines, size = len(data_utils.load_indexed_dataset(prefix, None)), args.shard_size
        shards += [Shard(name, start, min(start + size, lines)) for start in range(0, lines, size)]
    job = Distillation(args, overrides, parts, shards, store)
    decode_missing(job)
    write_result(job, settings, dictionary)
    shutil.rmtree(store)
    return 0


def languages(args: argparse.Namespace, overrides: dict[str, Any]) -> tuple[str, str]:
    """Returns the suffixes of source and target: of the flags, of the teacher's training, or of the folder.

    A checkpoint records the suffixes that were flags of its training, not those that fairseq derived from the folder.
    """
    state = checkpoints.load(split_paths(args.path)[0])
    task = state["cfg"]["task"] if state.get("cfg") else vars(state["args"])
    pair = whole_pair(str(args.data))
    if pair is None:
        raise UserError(f"{args.data} has no pair of binarised texts: create such a folder with lev-plugins prepare")
    source = args.source_lang or overrides.get("source_lang") or task.get("source_lang") or pair[0]
    target = args.target_lang or overrides.get("target_lang") or task.get("target_lang") or pair[1]
    return source, target


def find_parts(data: Path, split: str, source: str, target: str) -> dict[str, str]:
    """Returns the binarised targets of the parts that fairseq-train joins, without .bin.

    The names of the files have the languages in either order.
    """
    parts: dict[str, str] = {}
    while True:
        name = f"{split}{len(parts) or ''}"
        prefixes = [str(data / f"{name}.{pair}.{target}") for pair in (f"{source}-{target}", f"{target}-{source}")]
        prefix = next((prefix for prefix in prefixes if Path(f"{prefix}.idx").is_file()), None)
        if prefix is None:
            break
        parts[name] = prefix
    require(
        bool(parts),
        f"there is no {data / f'{split}.{source}-{target}.{target}.idx'}: if the suffixes in that folder differ "
        "from those of the teacher's training, give --source-lang and --target-lang",
    )
    return parts


# ---- what the result depends on ----------------------------------------------------------------------------------


def settings_of(args: argparse.Namespace, parts: dict[str, str], overrides: dict[str, object]) -> dict[str, object]:
    """Returns everything that decides the result; a shard decoded with other settings is never used.

    Batch size, processes and hardware are left out: they only affect the rounding of scores and where an endless
    output is cut off (fairseq's --max-len-a depends on the longest source of a batch).
    """

    def hash_of(paths: list[Path]) -> str:
        """A hash of names and contents: copies of the files have the same."""
        return hashlib.sha256("".join(f"{path.name}\n{digest(path)}\n" for path in paths).encode()).hexdigest()

    data = [path for part in parts for path in sorted(args.data.glob(f"{part}.*"))]
    return {
        "DATA": hash_of([*data, *sorted(args.data.glob("dict.*.txt"))]),
        "teacher": hash_of([Path(path) for path in split_paths(args.path)]),
        "--model-overrides": repr({name: value for name, value in overrides.items() if name != "data"}),
        **{flag_name(name): vars(args)[name] for name in ("split", "shard_size", "fp16", "post_process", *SEARCH)},
    }


def record_of(args: argparse.Namespace) -> Path:
    return args.dest / RECORD if args.dest else args.text.with_name(f"{args.text.name}.json")


def is_complete(args: argparse.Namespace, settings: dict[str, object]) -> bool:
    """Returns whether the result exists; raises an error if it was made with other settings, or by somebody else."""
    output, record = args.dest or args.text, record_of(args)
    exists = any(output.iterdir()) if output.is_dir() else output.exists()
    try:
        is_this_result = record.exists() and read_object(record).get("settings") == settings
    except UserError:  # a file of another command
        is_this_result = False
    require(
        is_this_result or not (exists or record.exists()),
        f"{output} or {record} exists, but was not made from this data by this teacher with these flags: choose "
        f"another {'--dest' if args.dest else '--text'}",
    )
    return exists


def require_same_settings(store: Path, settings: dict[str, object]) -> None:
    path = store / "settings.json"
    if not path.exists():
        write_json(path, settings)
    recorded = json.loads(path.read_text("utf-8"))
    changes = [name for name, value in settings.items() if recorded.get(name) != value]
    require(not changes, f"{store} was started with different {' and '.join(changes)}: remove it to start again")


def write_json(path: Path, content: dict[str, object]) -> None:
    with all_or_nothing(path) as file:
        file.write(json.dumps(content).encode())


# ---- decoding ----------------------------------------------------------------------------------------------------


def decode_missing(job: Distillation) -> None:
    total, missing = len(job.shards), job.missing()
    if len(missing) < total:
        sys.stdout.write(f"{total - len(missing):,} of {total:,} shards were decoded before\n")
    number = min(job.args.processes or max(1, job.gpus), len(missing))
    # disable=None: shown on a terminal only
    with tqdm(total=total, initial=total - len(missing), unit="shard", disable=None) as progress:
        if number <= 1:
            for _ in decode_shards(0, job, missing):
                progress.update()
            return
        shares = [missing[rank::number] for rank in range(number)]
        running = start_processes(worker, (job, shares), number, join=False, daemon=True, start_method=START_METHOD)
        try:
            while not running.join(timeout=0.2):
                progress.update(total - len(job.missing()) - progress.n)
        except ProcessExitedException as error:
            raise UserError(
                "a decoding process failed (see above); finished shards are kept: run the same command again"
            ) from error


def worker(rank: int, job: Distillation, shares: list[list[Shard]]) -> None:
    """A process that decodes its share of the shards."""
    try:
        for _ in decode_shards(rank, job, shares[rank]):
            pass
    except Exception as error:
        _, hint = explained(error)
        if hint is None:
            raise
        sys.exit(f"lev-plugins: error: {hint}")


def decode_shards(rank: int, job: Distillation, shards: list[Shard]) -> Iterator[Shard]:
    """Decodes the shards one by one, on the GPU with this number if there are any."""
    if not shards:
        return
    args = job.args
    device = f"cuda:{rank % job.gpus}" if job.gpus else "cpu"
    search = {name: vars(args)[name] for name in SEARCH}
    models = [Path(path) for path in split_paths(args.path)]
    teacher = CheckpointDecoder(models, job.overrides, search, device, args.fp16)
    datasets = {part: teacher.dataset(part) for part in dict.fromkeys(shard.part for shard in shards)}
    for shard in shards:
        start = time.perf_counter()
        rows = teacher.write(datasets[shard.part], range(shard.start, shard.stop), args.max_tokens)
        write_json(job.store / shard.file, {"rows": rows, "seconds": time.perf_counter() - start})
        yield shard


# ---- the result --------------------------------------------------------------------------------------------------


def write_result(job: Distillation, settings: dict[str, object], dictionary: Dictionary) -> None:
    """Writes --text, or --dest, and prints what became of the sentences."""
    args, seconds, lines = job.args, 0.0, 0  # of decoding, summed over processes
    references: dict[str, list[int]] = {}  # sentences that the teacher could not read, by part, from 1

    def targets(part: str) -> Iterator[Tensor]:
        """The teacher's output of each sentence, or else the reference."""
        nonlocal seconds, lines
        original = data_utils.load_indexed_dataset(job.parts[part], None)
        for shard in job.shards:
            if shard.part == part:
                output = json.loads((job.store / shard.file).read_text("utf-8"))
                seconds += output["seconds"]
                for index, row in enumerate(output["rows"], shard.start):
                    if row is None:
                        references.setdefault(part, []).append(index + 1)
                    lines += 1
                    yield original[index] if row is None else torch.tensor(row)

    def record() -> dict[str, object]:
        return {"lines": lines, "kept_reference": references, "seconds": seconds, "settings": settings}

    if args.text:
        with all_or_nothing(args.text) as file:
            for part in job.parts:
                file.writelines(f"{dictionary.string(row, args.post_process)}\n".encode() for row in targets(part))
            write_json(record_of(args), record())
    else:
        with all_or_nothing_folder(args.dest) as folder:
            replaced = {f"{Path(prefix).name}{end}" for prefix in job.parts.values() for end in ("", ".bin", ".idx")}
            for path in args.data.iterdir():
                if path.is_file() and path.name not in replaced:
                    shutil.copyfile(path, folder / path.name)
            for part, prefix in job.parts.items():
                result = folder / Path(prefix).name
                builder = make_builder(f"{result}.bin", impl="mmap", vocab_size=len(dictionary))
                for row in targets(part):
                    builder.add_item(row)
                builder.finalize(f"{result}.idx")
            write_json(folder / RECORD, record())
    sys.stdout.write(
        f"{args.dest or args.text}: {lines:,} targets, {lines - sum(map(len, references.values())):,} of them by the "
        f"teacher in {seconds / 60:.1f} minutes of decoding (summed over processes)\n"
    )
    for part, numbers in references.items():
        shown = ", ".join(f"{number:,}" for number in numbers[:10]) + (" ..." if len(numbers) > 10 else "")
        sys.stdout.write(f"{len(numbers):,} of {part} too long for the teacher keep their reference: line {shown}\n")
