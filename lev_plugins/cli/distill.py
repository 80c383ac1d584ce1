"""``lev-plugins distill``: replace the targets of a data folder by a teacher's outputs, or write these as text."""

from __future__ import annotations

import argparse
import ast
import json
import multiprocessing
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import torch
from fairseq.data import Dictionary
from fairseq.dataclass.configs import GenerationConfig
from fairseq.utils import split_paths
from tqdm import tqdm

from lev_plugins import checkpoints
from lev_plugins.errors import UserError, explained, require
from lev_plugins.files import all_or_nothing, all_or_nothing_folder, require_free
from lev_plugins.inference.decoder import CheckpointDecoder
from lev_plugins.inference.shards import (
    Account,
    Shard,
    SplitPart,
    Store,
    copy_rest,
    cut_into_shards,
    distilled,
    find_parts,
    fingerprint,
    write_targets,
)
from lev_plugins.json_schema import read_object
from lev_plugins.ranges import at_least, flag_name
from lev_plugins.tasks.pairs import whole_pair
from lev_plugins.text.binarise import load_dictionary
from lev_plugins.text.tokenise import JOINED

SEARCH = ["beam", "lenpen", "unkpen", "max_len_a", "max_len_b", "min_len", "no_repeat_ngram_size"]
RECORD = "distill.json"  # in --dest; beside --text FILE it is FILE.json


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
    for name in SEARCH:
        field = next(field for field in fields(GenerationConfig) if field.name == name)
        flag, meaning = flag_name(name), field.metadata["help"]
        add(flag, metavar="X", type=field.type, default=field.default, help=meaning)
    add("--model-overrides", metavar="DICT", default="{}", help="settings of the teacher to change, as in fairseq")
    add("--max-tokens", metavar="N", type=int, default=4096, help="tokens per batch")
    add("--shard-size", metavar="N", type=int, default=2000, help="sentences that are decoded and saved together")
    add("--processes", metavar="N", type=int, help="decoding processes (default: one per GPU, or one on the CPU)")
    add("--cpu", action="store_true", help="run on the CPU")
    add("--fp16", action="store_true", help="decode in half precision")


@dataclass(frozen=True)
class Job:
    """What a process needs to know."""

    teacher: list[Path]
    overrides: dict[str, Any]
    search: dict[str, Any]
    max_tokens: int
    gpus: int
    fp16: bool
    store: Store
    shards: list[Shard]


def run(args: argparse.Namespace) -> int:
    check_arguments(args)
    teacher = [Path(path) for path in split_paths(args.path)]
    overrides = read_overrides(args.model_overrides)
    source, target = languages(args, teacher[0], overrides)
    overrides |= {"data": str(args.data), "source_lang": source, "target_lang": target}
    dictionary = load_dictionary(args.data / f"dict.{target}.txt")
    parts = find_parts(args.data, args.split, source, target, dictionary)
    settings = settings_of(args, teacher, parts, overrides)
    output = args.dest or args.text
    store = Store(output.with_name(f"{output.name}.shards"))
    if made_before(args, settings):
        shutil.rmtree(store.folder, ignore_errors=True)
        sys.stdout.write(f"{output} is complete: nothing to do\n")
        return 0
    with store.locked():
        keep_to(store, settings)
        shards = cut_into_shards(parts, args.shard_size)
        gpus = 0 if args.cpu else torch.cuda.device_count()
        search = {name: getattr(args, name) for name in SEARCH}
        job = Job(teacher, overrides, search, args.max_tokens, gpus, args.fp16, store, shards)
        decode(job, args.processes or max(1, gpus))
        account = put_together(args, settings, job, parts, dictionary)
        shutil.rmtree(store.folder)
    sys.stdout.write(report(output, account))
    return 0


def check_arguments(args: argparse.Namespace) -> None:
    require(args.data.is_dir(), f"there is no folder {args.data}")
    at_least(args, 1, "beam", "max_tokens", "shard_size", "processes")
    require(args.text is not None or args.post_process is None, "--post-process requires --text")
    require(args.text is None or not args.text.is_dir(), f"--text {args.text} is a folder: name a file")


def read_overrides(text: str) -> dict[str, Any]:
    try:
        overrides = ast.literal_eval(text)
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        overrides = None
    require(
        isinstance(overrides, dict),
        f"--model-overrides must be a dictionary, such as {{'max_source_positions': 2000}}, but is {text}",
    )
    return dict(overrides)


def languages(args: argparse.Namespace, teacher: Path, overrides: dict[str, Any]) -> tuple[str, str]:
    """Suffixes of source and target: as given, or else as in the teacher's training, or else as in the folder.

    A checkpoint records the suffixes that were given in training, not those that fairseq derived from the folder.
    """
    state = checkpoints.load(teacher)
    task = state["cfg"]["task"] if state.get("cfg") else vars(state["args"])
    in_folder = whole_pair(str(args.data))
    if in_folder is None:
        raise UserError(f"{args.data} has no pair of binarised texts: create such a folder with lev-plugins prepare")
    given = [getattr(args, name) or overrides.get(name) or task.get(name) for name in ("source_lang", "target_lang")]
    return given[0] or in_folder[0], given[1] or in_folder[1]


# ---- what the result depends on ----------------------------------------------------------------------------------


def settings_of(
    args: argparse.Namespace, teacher: list[Path], parts: list[SplitPart], overrides: dict[str, Any]
) -> dict[str, Any]:
    """Everything that decides the result; a shard decoded with other settings is never used.

    Batch size, processes and hardware are left out: they only affect the rounding of scores and where an endless
    output is cut off (fairseq's --max-len-a depends on the longest source of a batch).
    """
    files = [path for part in parts for path in sorted(args.data.glob(f"{part.name}.*"))]
    own = {name: value for name, value in overrides.items() if name != "data"}
    return {
        "DATA": fingerprint([*files, *sorted(args.data.glob("dict.*.txt"))]),
        "teacher": fingerprint(teacher),
        "--split": args.split,
        "--shard-size": args.shard_size,
        "--model-overrides": repr(own),
        "--fp16": args.fp16,
        "--post-process": args.post_process,
        **{flag_name(name): getattr(args, name) for name in SEARCH},
    }


def record_of(args: argparse.Namespace) -> Path:
    return args.dest / RECORD if args.dest else args.text.with_name(f"{args.text.name}.json")


def settings_in(record: Path) -> Any:
    """None if the file is not a record of ``distill``."""
    try:
        return read_object(record).get("settings")
    except (OSError, UserError):
        return None


def made_before(args: argparse.Namespace, settings: dict[str, Any]) -> bool:
    output, record = args.dest or args.text, record_of(args)
    there = settings_in(record)
    if not output.exists() or (output.is_dir() and not any(output.iterdir())):
        require(
            there is not None or not record.exists(),
            f"{record} exists and was not written by distill, which would replace it: choose another --text",
        )
        return False
    require(
        there == settings,
        f"{output} exists, but was not made from this data by this teacher with these flags: choose another "
        f"{'--dest' if args.dest else '--text'}",
    )
    return True


def keep_to(store: Store, settings: dict[str, Any]) -> None:
    path = store.folder / "settings.json"
    if path.exists():
        before = json.loads(path.read_text("utf-8"))
        changed = [name for name, value in settings.items() if before.get(name) != value]
        require(
            not changed,
            f"{store.folder} was started with different {' and '.join(changed)}: remove it to start again",
        )
        return
    with all_or_nothing(path) as file:
        file.write(json.dumps(settings, indent=1).encode())


# ---- decoding ----------------------------------------------------------------------------------------------------


def decode(job: Job, processes: int) -> None:
    missing = job.store.missing(job.shards)
    if len(missing) < len(job.shards):
        sys.stdout.write(f"{len(job.shards) - len(missing):,} of {len(job.shards):,} shards were decoded before\n")
    total = sum(shard.stop - shard.start for shard in job.shards)
    # disable=None: shown on a terminal only
    with tqdm(total=total, unit="sentence", disable=None) as progress:
        progress.update(total - sum(shard.stop - shard.start for shard in missing))
        if processes == 1 or len(missing) <= 1:
            for shard in decode_share(job, missing, 0):
                progress.update(shard.stop - shard.start)
        else:
            decode_together(job, missing, min(processes, len(missing)), progress)


def decode_share(job: Job, shards: list[Shard], rank: int) -> Iterator[Shard]:
    """Decodes the shards one by one, on the GPU of this process."""
    if not shards:
        return
    device = f"cuda:{rank % job.gpus}" if job.gpus else "cpu"
    teacher = CheckpointDecoder(job.teacher, job.overrides, job.search, device, job.fp16)
    datasets = {part: teacher.dataset(part) for part in dict.fromkeys(shard.part for shard in shards)}
    for shard in shards:
        started = time.perf_counter()
        rows = teacher.write(datasets[shard.part], range(shard.start, shard.stop), job.max_tokens)
        job.store.write(shard, rows, time.perf_counter() - started)
        yield shard


def decode_together(job: Job, shards: list[Shard], processes: int, progress: tqdm) -> None:
    context = multiprocessing.get_context("spawn")  # a forked process cannot use a GPU
    workers = [
        context.Process(target=worker, args=(job, shards[rank::processes], rank), daemon=True)
        for rank in range(processes)
    ]
    for process in workers:
        process.start()
    open_shards = set(shards)
    while open_shards and any(process.is_alive() for process in workers):
        time.sleep(0.2)
        for shard in open_shards - set(job.store.missing(shards)):
            open_shards.remove(shard)
            progress.update(shard.stop - shard.start)
    for process in workers:
        process.join()
    require(
        all(process.exitcode == 0 for process in workers),
        "a decoding process failed (see above); finished shards are kept: run the same command again",
    )


def worker(job: Job, shards: list[Shard], rank: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent gets it too
    threading.Thread(target=die_with_parent, daemon=True).start()
    try:
        for _ in decode_share(job, shards, rank):
            pass
    except Exception as error:
        _, hint = explained(error)
        if hint is None:
            raise
        sys.stderr.write(f"lev-plugins: error: {hint}\n")
        sys.exit(2)


def die_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


# ---- the result --------------------------------------------------------------------------------------------------


def put_together(
    args: argparse.Namespace,
    settings: dict[str, Any],
    job: Job,
    parts: list[SplitPart],
    dictionary: Dictionary,
) -> Account:
    account = Account(0, {}, 0.0)
    targets = distilled(job.store, parts, job.shards, dictionary, account)
    if args.dest:
        require_free(args.dest, "--dest")
        with all_or_nothing_folder(args.dest) as folder:
            copy_rest(args.data, folder, parts)
            for part, rows in targets:
                write_targets(rows, folder / Path(part.target).name, len(dictionary))
            write_record(folder / RECORD, settings, account)
    else:
        with all_or_nothing(args.text) as file:
            for _, rows in targets:
                for row in rows:
                    file.write(f"{dictionary.string(row, args.post_process)}\n".encode())
            write_record(record_of(args), settings, account)
    return account


def write_record(path: Path, settings: dict[str, Any], account: Account) -> None:
    with all_or_nothing(path) as file:
        file.write(json.dumps({**asdict(account), "settings": settings}, indent=1).encode() + b"\n")


def report(output: Path, account: Account) -> str:
    said = f"{output}: {account.lines:,} targets, {account.lines - account.kept:,} of them by the teacher in "
    said += f"{account.seconds / 60:.1f} minutes of decoding (summed over processes)\n"
    for part, lines in account.kept_reference.items():
        shown = ", ".join(f"{line:,}" for line in lines[:10]) + (" ..." if len(lines) > 10 else "")
        said += f"{len(lines):,} of {part} too long for the teacher keep their reference: line {shown}\n"
    return said
