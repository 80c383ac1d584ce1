"""Distilling a training set in shards that are decoded one by one and then joined.

A shard is a range of sentences of one part (train, train1, ...). Its outputs are in a file of their own, which is
complete or absent: a stop only loses the shards in progress, and the next start may use another number of processes.
"""

from __future__ import annotations

import fcntl
import hashlib
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch
from fairseq.data import Dictionary, FairseqDataset, data_utils
from fairseq.data.indexed_dataset import make_builder
from torch import Tensor

from lev_plugins import checkpoints
from lev_plugins.errors import UserError, require

Rows = list[list[int] | None]  # the teacher's output for each sentence; None: it was too long


@dataclass(frozen=True)
class SplitPart:
    name: str
    target: str  # the binarised targets, without .bin
    lines: int


@dataclass(frozen=True)
class Shard:
    part: str
    start: int
    stop: int

    @property
    def file(self) -> str:
        return f"{self.part}.{self.start}-{self.stop}.pt"


def find_parts(data: Path, split: str, source: str, target: str, dictionary: Dictionary) -> list[SplitPart]:
    """The parts that fairseq-train joins; each file name has its languages in either order."""
    parts: list[SplitPart] = []
    while True:
        name = f"{split}{len(parts) or ''}"
        prefixes = [
            str(data / f"{name}.{languages}.{target}") for languages in (f"{source}-{target}", f"{target}-{source}")
        ]
        prefix = next((prefix for prefix in prefixes if Path(f"{prefix}.idx").is_file()), None)
        if prefix is None:
            break
        parts.append(SplitPart(name, prefix, len(references(prefix, dictionary))))
    require(
        bool(parts),
        f"there is no {data / f'{split}.{source}-{target}.{target}.idx'}: if the suffixes in that folder differ "
        "from those of the teacher's training, give --source-lang and --target-lang",
    )
    return parts


def references(prefix: str, dictionary: Dictionary) -> FairseqDataset:
    return data_utils.load_indexed_dataset(prefix, dictionary)


def cut_into_shards(parts: list[SplitPart], size: int) -> list[Shard]:
    """
    >>> [shard.file for shard in cut_into_shards([SplitPart("train", "", 5), SplitPart("train1", "", 2)], 3)]
    ['train.0-3.pt', 'train.3-5.pt', 'train1.0-2.pt']
    """
    return [
        Shard(part.name, start, min(start + size, part.lines)) for part in parts for start in range(0, part.lines, size)
    ]


# ---- shards on disk ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Store:
    folder: Path

    def path(self, shard: Shard) -> Path:
        return self.folder / shard.file

    def missing(self, shards: list[Shard]) -> list[Shard]:
        return [shard for shard in shards if not self.path(shard).exists()]

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Only one command at a time may work here; the lock ends with the process, even if that is killed."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / "lock").open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise UserError(
                    f"another lev-plugins distill is running in {self.folder}: wait until it ends"
                ) from error
            yield

    def write(self, shard: Shard, rows: Rows, seconds: float) -> None:
        """Every row ends with </s>, so a length of 0 can stand for None."""
        lengths = torch.tensor([len(row or []) for row in rows])
        tokens = torch.tensor([token for row in rows for token in row or []], dtype=torch.int32)
        checkpoints.save({"lengths": lengths, "tokens": tokens, "seconds": seconds}, self.path(shard))

    def read(self, shard: Shard) -> tuple[list[Tensor | None], float]:
        state = torch.load(self.path(shard), weights_only=True)
        rows = state["tokens"].split(state["lengths"].tolist())
        return [row if len(row) else None for row in rows], state["seconds"]


# ---- the result --------------------------------------------------------------------------------------------------


@dataclass
class Account:
    lines: int
    kept_reference: dict[str, list[int]]  # line numbers by part, from 1
    seconds: float  # of decoding, summed over processes

    @property
    def kept(self) -> int:
        return sum(map(len, self.kept_reference.values()))


def distilled(
    store: Store, parts: list[SplitPart], shards: list[Shard], dictionary: Dictionary, account: Account
) -> Iterator[tuple[SplitPart, Iterator[Tensor]]]:
    """The targets of each part, in order; ``account`` is complete when all have been read."""

    def targets(part: SplitPart) -> Iterator[Tensor]:
        original = references(part.target, dictionary)
        for shard in (shard for shard in shards if shard.part == part.name):
            rows, seconds = store.read(shard)
            account.seconds += seconds
            for index, row in enumerate(rows, shard.start):
                if row is None:
                    account.kept_reference.setdefault(part.name, []).append(index + 1)
                yield original[index] if row is None else row
                account.lines += 1

    for part in parts:
        yield part, targets(part)


def write_targets(rows: Iterator[Tensor], prefix: Path, words: int) -> None:
    builder = make_builder(f"{prefix}.bin", impl="mmap", vocab_size=words)
    for row in rows:
        builder.add_item(row)
    builder.finalize(f"{prefix}.idx")


def copy_rest(data: Path, folder: Path, parts: list[SplitPart]) -> None:
    """All files of the folder except the old targets: sources, drafts, other splits and dictionaries."""
    old = {f"{Path(part.target).name}{end}" for part in parts for end in ("", ".bin", ".idx")}
    for path in data.iterdir():
        if path.is_file() and path.name not in old:
            shutil.copyfile(path, folder / path.name)


def fingerprint(paths: list[Path]) -> str:
    """A hash of names and contents: copies of the files have the same."""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.name.encode())
        with path.open("rb") as file:
            while block := file.read(2**20):
                digest.update(block)
    return digest.hexdigest()
