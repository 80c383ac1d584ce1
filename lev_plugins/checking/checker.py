"""Typos in files: each file is read for its words, and once those of all are known, for its typos."""

import ctypes
import hashlib
import json
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from lev_plugins.checking.files import is_generated, read
from lev_plugins.checking.prose import FileWords, Prose, knows_of
from lev_plugins.editor.known_words import KnownWords
from lev_plugins.editor.options import EditOptions
from lev_plugins.text.control import BYTE_ORDER_MARK
from lev_plugins.text.documents.formats import format_of
from lev_plugins.text.documents.ignore import ignored_spans
from lev_plugins.text.edited import Edit
from lev_plugins.utils.errors import UserError, require
from lev_plugins.utils.model_folder import read_unchecked

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

    from lev_plugins.editor.editor import Editor

MAX_FOREIGN = 0.5  # share of unknown words in the prose of a file from which it is in another language
MIN_FOREIGN = 50  # words of prose, without which a few typos may be half of them
BATCH_SUSPECTS = 64  # words that may be typos, whose sentences are decoded together
BATCH_CHARS = 20_000  # of files that are edited as a whole

Item = TypeVar("Item")
Result = TypeVar("Result")


def is_json(text: str) -> bool:
    """Returns whether a text is JSON, or empty."""
    try:
        json.loads(text.removeprefix(BYTE_ORDER_MARK).strip() or "{}")
    except (ValueError, RecursionError):
        return False
    return True


class Scan(NamedTuple):
    """The words of a file, and the key under which the cache has them."""

    digest: str  # of its path and text
    words: FileWords
    size: int = 0  # characters


class Task(NamedTuple):
    """A file whose words have been compared with those of the project."""

    path: str
    digest: str
    suspects: int  # unknown words that are not words of the project
    project: frozenset[str]  # words of this file that are words of the project
    size: int

    @property
    def key(self) -> str:
        """The key of its edits in the cache."""
        return hashlib.sha256("\n".join([self.digest, *sorted(self.project)]).encode()).hexdigest()


@dataclass(frozen=True)
class Checker:
    """Finds the typos in files; it can be sent to another process, where it loads its editor."""

    model: Path
    options: EditOptions
    # edit all sentences, and not only those with an unknown word, which is enough at a strict confidence
    whole: bool = False
    formats: tuple[str, ...] = ()  # names of formats; none: all
    source_strings: bool = False

    @cached_property
    def language(self) -> str | None:
        return read_unchecked(self.model).decoding.language

    @cached_property
    def editor(self) -> "Editor":
        from lev_plugins.editor.editor import Editor  # not at once: there may be nothing to edit

        return Editor.load(self.model, self.options)

    @cached_property
    def words(self) -> KnownWords:
        return KnownWords.load(self.model)

    def prose(self, path: str, text: str) -> Prose | None:
        """Returns the prose of a file; None: it has none that people have written in a known format."""
        format = format_of(path)
        if format is None or (self.formats and format.name not in self.formats) or is_generated(text):
            return None
        if format.name == "notebook" and not is_json(text):
            raise UserError(f"{path} is not valid JSON, so its prose is not found: repair it, or --exclude it")
        readers = [format.reader, *([format.source_reader] if format.source_reader and self.source_strings else [])]
        try:
            paragraphs = [entry for reader in readers for entry in reader(text)]
        except UserError as error:
            raise UserError(f"{path}: {error}") from error
        return Prose(text, paragraphs, knows_of(self.words), ignored_spans(text), self.language, format.has_code)

    def scan(self, path: str) -> Scan | UserError:
        """Returns the words of a file, or the error that says why it cannot be read."""
        try:
            text = read(Path(path))
            prose = self.prose(path, text)
        except UserError as error:
            return error
        return Scan(digest(path, text), prose.words if prose else FileWords(), len(text))

    def check(self, tasks: Sequence[Task]) -> list[list[Edit] | UserError]:
        """Returns the edits of each file, or the error that says why it could not be checked."""
        proses = [self.prose_of(task) for task in tasks]
        pairs = zip(proses, tasks, strict=True)
        requests = [prose.request(task.project, self.whole) for prose, task in pairs if isinstance(prose, Prose)]
        edited = iter(self.editor.edit(requests))
        results = [prose.edits(next(edited).edits) if isinstance(prose, Prose) else prose for prose in proses]
        give_back_memory()
        return results

    def prose_of(self, task: Task) -> Prose | UserError:
        """Returns the prose of a file that had some when it was scanned, or the error that says why it has none."""
        try:
            prose = self.prose(task.path, read_unchanged(task))
        except UserError as error:
            return error
        assert prose is not None
        return prose


def read_unchanged(task: Task) -> str:
    """Returns the text of a file, which must be the one that was scanned."""
    text = read(Path(task.path))
    unchanged = digest(task.path, text) == task.digest
    require(unchanged, f"{task.path} changed while it was checked, so it is left as it is: check it again")
    return text


def give_back_memory() -> None:
    """Returns to the system what the C library keeps for later, which grows with each batch: glibc alone does that."""
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def digest(path: str, text: str) -> str:
    """Returns a key of a file, which changes when it is written or renamed."""
    return hashlib.sha256(f"{path}\n{text}".encode(errors="surrogatepass")).hexdigest()


def is_foreign(words: FileWords) -> bool:
    """Returns whether the prose of a file is in a language that the editor does not know."""
    unknown, known = sum(words.unknown.values()), sum(words.known.values())
    return unknown + known >= MIN_FOREIGN and unknown > MAX_FOREIGN * (unknown + known)


def batches(tasks: Iterable[Task], whole: bool) -> Iterator[list[Task]]:
    """Yields files in order, so many at a time that the editor decodes full batches."""
    batch, size = list[Task](), 0
    for task in tasks:
        batch.append(task)
        size += task.size if whole else task.suspects
        if size >= (BATCH_CHARS if whole else BATCH_SUSPECTS):
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


# ---- processes -------------------------------------------------------------------------------------------------------

Map = Callable[[Callable[[Checker, Item], Result], Iterable[Item]], Iterator[Result]]

worker: list[Checker] = []  # of a process of the pool


def start(checker: Checker) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started this one
    worker[:] = [checker]


def call(function: Callable[[Checker, Item], Result], item: Item) -> Result:
    return function(worker[0], item)


@contextmanager
def ending(pool: "ProcessPoolExecutor") -> Iterator["ProcessPoolExecutor"]:
    """Ends a pool, also if a signal arrives while it is ending: Python's own end would find it half closed."""
    try:
        with pool:
            yield pool
    except (KeyboardInterrupt, SystemExit):
        pool.shutdown()
        raise


@contextmanager
def processes(checker: Checker, jobs: int) -> Iterator[Map]:
    """Yields a function that applies a method of the checker to items, in order, in so many processes.

    It is like ``map``, and with one job in this process.
    """
    if jobs == 1:
        yield lambda function, items: (function(checker, item) for item in items)
        return
    from concurrent.futures import ProcessPoolExecutor, process  # not at once: a few files need none
    from multiprocessing import active_children, get_context

    with ending(ProcessPoolExecutor(jobs, get_context("spawn"), start, (checker,))) as pool:
        try:
            yield lambda function, items: pool.map(partial(call, function), items)
        except process.BrokenProcessPool as error:
            raise UserError("a process ended by itself, most likely for lack of memory: lower --jobs") from error
        except GeneratorExit:  # nobody reads the report further
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        except (KeyboardInterrupt, SystemExit):
            threading.excepthook = lambda _: None  # the thread of the pool would report that its work is canceled
            for child in active_children():
                child.terminate()
            raise
