"""``lev-plugins check [FILE|FOLDER ...]``: find the typos in the prose of files, and correct them with --write."""

import argparse
import os
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from io import TextIOWrapper
from itertools import chain
from pathlib import Path
from typing import TypeVar

from lev_plugins.checking.cache import Cache, cache_path
from lev_plugins.checking.checker import (
    Checker,
    Map,
    Scan,
    Task,
    batches,
    digest,
    is_foreign,
    processes,
    read_unchanged,
)
from lev_plugins.checking.files import MAX_BYTES, NotText, changed_lines, decode, files_of, read
from lev_plugins.checking.prose import FileWords, base_of, words_of_project
from lev_plugins.checking.report import REPORTS, CheckedFile, checked_file, report
from lev_plugins.checking.settings import Settings, read_settings, words_file
from lev_plugins.cli.flags import number_or_name, requires
from lev_plugins.cli.trace import in_colour
from lev_plugins.editor.options import EditOptions
from lev_plugins.text.documents.formats import format_of
from lev_plugins.text.edited import Edit, apply
from lev_plugins.text.lines import read_lines
from lev_plugins.utils.errors import UserError, explain, require
from lev_plugins.utils.files import all_or_nothing
from lev_plugins.utils.model_folder import CONFIG, WRITE, confidence_of, model_path, read_unchecked
from lev_plugins.utils.model_folder import digest as digest_of_file
from lev_plugins.utils.progress import progress_bar, write_beside_bar
from lev_plugins.utils.ranges import at_least
from lev_plugins.utils.version import __version__

CLEAN, FOUND, ERROR = 0, 1, 2  # exit statuses
MAX_TOKENS = 128  # in a batch of the model: more take more memory, and are no faster
MIN_FILES_PER_JOB = 50  # with fewer files, another process takes longer to start than it saves
STDIN = "-"

Item = TypeVar("Item")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    paths = "files and folders (default: what git tracks here, or else this folder); -: standard input"
    add("paths", metavar="FILE|FOLDER", nargs="*", help=paths)
    add("--write", action="store_true", help="correct the files; from standard input, print the corrected text")
    add("--format", choices=[*REPORTS], default="text", help="how to report (default: text)")
    add("--diff", dest="format", action="store_const", const="diff", help="the same as --format diff, for git apply")
    add("--exit-zero", action="store_true", help="exit with 0 where typos were found, instead of 1")
    add("--staged", action="store_true", help="report only lines that the next commit changes")
    add("--since", metavar="REV", help="report only lines that have changed since this commit of git")
    add("--exclude", metavar="PATTERN", action="append", default=[], help="leave out files, as in .gitignore")
    add("--stdin-filename", metavar="NAME", help="what standard input would be called, which says its format")
    add("--model", metavar="MODEL", help="a model folder, or the name of an installed model (default: en)")
    minimum = "leave out edits less sure than this: 0 to 1, write (strict, the default) or read (for people who look)"
    add("--min-confidence", metavar="P", type=number_or_name, help=minimum)
    add("--words", metavar="FILE", type=Path, help="words that are no typos, one per line (default: .lev-words.txt)")
    add("--learn-words", action="store_true", help="add the words of the project to that file, most frequent first")
    add("--source-strings", action="store_true", help="check the source texts of translation files as well")
    add("--jobs", metavar="N", type=int, help="processes (default: one for each core, if there are many files)")
    add("--no-cache", action="store_true", help="read all files again, also those that had no typos in the last run")


def run(args: argparse.Namespace) -> int:
    settings = read_settings(Path())
    if args.jobs is not None:
        at_least(args, 1, "jobs")
    words = args.words or words_file(Path())
    require(args.words is None or args.learn_words or words.exists(), f"--words: there is no file {words}")
    user_words = [*settings.words, *(filter(None, map(str.strip, read_lines(words))) if words.exists() else ())]
    checker = checker_of(args, settings, user_words)
    if STDIN in args.paths or args.stdin_filename is not None:
        require(args.paths in ([], [STDIN]), "standard input is checked by itself: leave out the other files")
        requires(args, "files", present=False, staged=False, since=None, learn_words=False)
        return check_stdin(args, checker, user_words, settings)
    run = Run(args, checker, user_words, settings)
    return run.learn(words) if args.learn_words else run.report()


def checker_of(args: argparse.Namespace, settings: Settings, user_words: Sequence[str]) -> Checker:
    beside = (settings.folder or Path()) / settings.model
    model = model_path(args.model or (beside if beside.is_dir() else settings.model))
    minimum = settings.min_confidence if args.min_confidence is None else args.min_confidence
    dials = read_unchecked(model).dials
    whole = confidence_of("--min-confidence", minimum, dials) < dials.get(WRITE, 1.0)
    options = EditOptions(min_confidence=minimum, words=user_words, max_tokens=MAX_TOKENS)
    strings = args.source_strings or settings.source_strings
    return Checker(model, options, whole, tuple(settings.formats), strings)


def check_stdin(args: argparse.Namespace, checker: Checker, user_words: Sequence[str], settings: Settings) -> int:
    content = sys.stdin.buffer.read(MAX_BYTES + 1)
    require(len(content) <= MAX_BYTES, f"standard input has more than {MAX_BYTES:,} bytes, the limit: cut it up")
    text, prose, edits = "", None, list[Edit]()
    try:
        text = decode(content, "standard input")
        require_wanted(args, settings)
        prose = checker.prose(args.stdin_filename or "stdin.txt", text)
    except NotText as error:
        say(str(error))
    if prose and not is_foreign(prose.words):
        project = words_of_project([prose.words], checker.words.lexicon) | {*map(base_of, user_words)}
        (edited,) = checker.editor.edit([prose.request(project, checker.whole)])
        edits = prose.edits(edited.edits)
    if args.write:
        sys.stdout.buffer.write(apply(text, edits).encode() if edits else content)
    else:
        print_report(args, [checked_file(args.stdin_filename or "standard input", text, edits)])
    return FOUND if edits and not args.exit_zero else CLEAN


def require_wanted(args: argparse.Namespace, settings: Settings) -> None:
    """Raises ``NotText`` if a file of the name that standard input has would be left out."""
    name = args.stdin_filename
    if name and format_of(name) is None:
        raise NotText(f"--stdin-filename {name} has no known format, so standard input is not checked")
    if name and not any(files_of([name], *exclusion(args, settings))):
        raise NotText(f"--stdin-filename {name} is excluded, so standard input is not checked")


def exclusion(args: argparse.Namespace, settings: Settings) -> tuple[list[str], Path]:
    """Returns the patterns of what is left out, and the folder that they are from."""
    return [*settings.exclude, *args.exclude], settings.folder or Path()


class Run:
    """One run over files: first for their words, which say what the words of the project are, then for their typos."""

    def __init__(
        self, args: argparse.Namespace, checker: Checker, user_words: Sequence[str], settings: Settings
    ) -> None:
        """``user_words``: words of the user's own, which are no typos."""
        self.args, self.checker, self.user_words = args, checker, frozenset(map(base_of, user_words))
        self.errors = self.typos = 0
        self.files = [str(path) for path in files_of(args.paths, *exclusion(args, settings), self.fail)]
        changed = args.staged or args.since is not None
        self.changed = changed_lines(Path(), args.since, args.staged) if changed else None
        model = digest_of_file(checker.model / CONFIG)
        self.cache = Cache(None if args.no_cache else cache_path((__version__, model, checker)))
        self.jobs = args.jobs or max(1, min(cores(), len(self.files) // MIN_FILES_PER_JOB))

    def fail(self, error: Exception) -> None:
        """Reports a file that is left out; the others are checked all the same."""
        self.errors += not isinstance(error, NotText)
        say(explain(error) or str(error))

    def scans(self, map_in_processes: Map) -> dict[str, Scan]:
        """Returns the words of each file that can be read."""
        scans, waiting = dict[str, Scan | None](), list[str]()
        # hooks name all files of a commit
        others = dict.fromkeys(path for path in self.files if format_of(path) is None and os.path.exists(path))
        if others:
            example = next(iter(others))
            say(f"{len(others):,} of these files have no known format, such as {example}: they are not checked")
        for path in self.files:
            if path in others:
                continue
            try:
                text = read(Path(path))
            except UserError as error:
                self.fail(error)
                continue
            name = digest(path, text)
            words = self.cache.words_of(name)
            scans[path] = None if words is None else Scan(name, words, len(text))
            if words is None:
                waiting.append(path)
        results = map_in_processes(Checker.scan, waiting)
        for path, scan in zip(waiting, progress(results, len(waiting), "reading"), strict=True):
            if isinstance(scan, UserError):
                self.fail(scan)
                continue
            scans[path] = scan
            self.cache.words[scan.digest] = scan.words
        return {path: scan for path, scan in scans.items() if scan is not None}

    def tasks(self, scans: Mapping[str, Scan], project: Collection[str]) -> Iterator[Task]:
        """Yields the files that may have typos."""
        for path, (name, words, size) in scans.items():
            project_words = frozenset(word for word in words.unknown if word in project)
            suspects = sum(count for word, count in words.unknown.items() if word not in project_words)
            is_wanted = self.changed is None or Path(path).resolve() in self.changed
            may_have_typos = suspects or (self.checker.whole and bool(words.known))
            if is_wanted and may_have_typos and not is_foreign(words):
                yield Task(path, name, suspects, project_words, size)

    def checked(self) -> Iterator[CheckedFile]:
        """Yields the files with typos."""
        with processes(self.checker, self.jobs) as map_in_processes:
            scans = self.scans(map_in_processes)
            project = words_of_project(words_of(scans), self.checker.words.lexicon) | self.user_words
            tasks = [*self.tasks(scans, project)]
            waiting = [task for task in tasks if self.cache.edits_of(task.key) is None]
            groups = [*batches(waiting, self.checker.whole)]
            results = chain.from_iterable(map_in_processes(Checker.check, groups))
            bar = progress(results, len(waiting), "checking")
            for task in tasks:
                edits = self.cache.edits_of(task.key)
                if edits is None:
                    result = next(bar)
                    if isinstance(result, UserError):
                        self.fail(result)
                        continue
                    self.cache.edits[task.key] = edits = result
                if edits and (file := self.file(task, edits)) and file.findings:
                    yield file

    def file(self, task: Task, edits: Sequence[Edit]) -> CheckedFile | None:
        """Returns a file with its typos, which --write corrects; None: that failed."""
        try:
            file = checked_file(task.path, read_unchanged(task), edits)
            if self.changed is not None:
                lines = self.changed[Path(task.path).resolve()]
                findings = (finding for finding in file.findings if any(finding.line in part for part in lines))
                file = file._replace(findings=tuple(findings))
            if self.args.write and file.findings:
                write(file)
        except UserError as error:
            self.fail(error)
            return None
        except OSError as error:
            self.fail(UserError(f"{task.path} cannot be written: {explain(error) or error.strerror}"))
            return None
        self.typos += len(file.findings)
        return file

    def report(self) -> int:
        """Prints what is found, and returns the exit status."""
        print_report(self.args, self.checked())
        self.cache.save(keep_others=bool(self.args.paths or self.args.exclude or self.changed is not None))
        if self.errors:
            return ERROR
        return FOUND if self.typos and not self.args.exit_zero else CLEAN

    def learn(self, path: Path) -> int:
        """Adds the words of the project that are in its prose to a file of the user's own words."""
        with processes(self.checker, self.jobs) as map_in_processes:
            scans = self.scans(map_in_processes)
        self.cache.save(keep_others=True)
        files = words_of(scans)
        counts = Counter[str]()
        for file_words in files:
            counts.update(file_words.unknown)
        project = words_of_project(files, self.checker.words.lexicon) - self.user_words
        words = [word for word, _ in counts.most_common() if word in project]
        if words:
            present = path.read_bytes() if path.exists() else b""
            with all_or_nothing(path) as file:
                file.write(present if present.endswith(b"\n") or not present else present + b"\n")
                file.writelines(f"{word}\n".encode() for word in words)
        say(f"{len(words):,} new words are in {path}: remove the typos" if words else "there are no new words")
        return ERROR if self.errors else CLEAN


def words_of(scans: Mapping[str, Scan]) -> list[FileWords]:
    """Returns the words of the files that are in the language of the editor."""
    return [scan.words for scan in scans.values() if not is_foreign(scan.words)]


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def progress(items: Iterable[Item], total: int, what: str) -> Iterator[Item]:
    """Yields the items, with a bar if standard error is a terminal."""
    with progress_bar(total=total, desc=what, unit=" files", leave=False) as advance:
        for item in items:
            yield item
            advance(1)


def say(message: str) -> None:
    write_beside_bar(f"lev-plugins: {message}\n", sys.stderr)


def print_report(args: argparse.Namespace, files: Iterable[CheckedFile]) -> None:
    if isinstance(sys.stdout, TextIOWrapper):
        # a diff has the bytes of the files, and names of files need not be UTF-8
        sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape")
    for part in report(args.format, files, args.format == "text" and in_colour(None)):
        write_beside_bar(part, sys.stdout)


def write(file: CheckedFile) -> None:
    """Corrects the typos in a file; its line ends, byte order mark and permissions stay."""
    require(os.access(file.path, os.W_OK), f"{file.path} cannot be written: it is read-only")
    edits = [Edit(finding.start, finding.end, finding.replacement) for finding in file.findings]
    with all_or_nothing(file.path) as out:
        out.write(apply(file.text, edits).encode())
