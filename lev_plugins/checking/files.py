"""The files that ``lev-plugins check`` reads, and the lines of them that a change touches."""

from __future__ import annotations

import os
import re
import stat
import subprocess
from ast import literal_eval
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from pathspec import GitIgnoreSpec

from lev_plugins.text.documents.formats import format_of
from lev_plugins.utils.errors import UserError, require

MAX_BYTES = 5_000_000
# what nobody of the project writes by hand, as GitHub's linguist has it; patterns of .gitignore
NOT_WRITTEN_HERE = (
    *("node_modules/", "bower_components/", "vendor/", "vendors/", "third_party/", "third-party/", "3rdparty/"),
    *("Godeps/", "site-packages/", "dist/", "__pycache__/", "*.egg-info/"),
    *("*.min.js", "*.min.css", "*.map", "*.pb.go", "*.pb.cc", "*.pb.h", "*_pb2.py", "*_pb2_grpc.py"),
    *("*.lock", "package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "go.sum"),
)
GENERATED = re.compile(r"@generated\b|\bDO NOT (?:EDIT|MODIFY)\b")
GENERATED_LINES = 5  # from the first, which say that a file is generated
CHANGE = re.compile(rb'^\+\+\+ ("?b/.*?)\t?$|^@@ -\S+ \+(\d+)(?:,(\d+))? @@', re.M)


class NoWorkTree(UserError):
    """A folder is in no work tree of git, or git is not installed."""


def files_of(paths: Sequence[str], exclude: Sequence[str]) -> Iterator[Path]:
    """Yields the files to check, each once and in order.

    In a folder, these are the files that git tracks and that have a known format, or all such files if the folder is in
    no work tree; no links. A file that is named comes, whatever its format; but what is excluded is left out even if
    it is named, because hooks name all files of a commit.

    paths: files and folders; none: the current folder
    exclude: patterns of .gitignore, for paths from the current folder, or from the folder that is named if it is
        elsewhere; they come after those of ``NOT_WRITTEN_HERE``, which ``!vendor/`` takes back
    """
    try:
        excluded = GitIgnoreSpec.from_lines([*NOT_WRITTEN_HERE, *exclude])
    except ValueError as error:
        raise UserError(f"--exclude has a pattern that .gitignore could not have: {error}") from error
    files: dict[str, Path] = {}
    for path in map(Path, paths or ["."]):
        root, candidates = (path, files_below(path)) if os.path.isdir(path) else (path.parent, [path])
        for file in candidates:
            if not excluded.match_file(os.path.relpath(file, Path() if is_below(file, Path()) else root)):
                files.setdefault(os.path.abspath(file), file)
    yield from sorted(files.values())


def is_below(path: Path, folder: Path) -> bool:
    return Path(os.path.abspath(path)).is_relative_to(os.path.abspath(folder))


def files_below(folder: Path) -> Iterator[Path]:
    """Yields the files in a folder and its subfolders that a reader of documents knows."""
    for name in tracked(folder):
        file = folder / name
        if format_of(name) and os.path.isfile(file) and not file.is_symlink():
            yield file


def tracked(folder: Path) -> Iterable[str]:
    """Returns the names below a folder that git tracks; outside of work trees, all but those in hidden folders."""
    try:
        return filter(None, os.fsdecode(git(folder, "ls-files", "-z")).split("\0"))
    except NoWorkTree:
        return all_names(folder)


def all_names(folder: Path) -> Iterator[str]:
    for place, folders, names in os.walk(folder):
        folders[:] = (name for name in folders if not name.startswith("."))
        yield from (os.path.relpath(os.path.join(place, name), folder) for name in names)


def git(folder: Path, *arguments: str) -> bytes:
    """Returns what git prints in a folder."""
    command = ["git", "-C", str(folder), "-c", "core.quotePath=on", *arguments]
    try:
        result = subprocess.run(command, capture_output=True, env={**os.environ, "LC_ALL": "C"}, check=False)
    except FileNotFoundError as error:
        raise NoWorkTree("git is not installed") from error
    if result.returncode:
        message = result.stderr.decode(errors="replace").strip()
        kind = NoWorkTree if "not a git repository" in message else UserError
        raise kind(f"git {arguments[0]} in {folder}: {message}")
    return result.stdout


def read(path: Path) -> str:
    """Returns the text of a file, with its line ends and byte order mark; raises ``UserError`` if it has none."""
    try:
        status = path.stat()
        require(stat.S_ISREG(status.st_mode), f"{path} is not a regular file")
        limit = f"the limit is {MAX_BYTES:,}: cut it up, or --exclude it"
        require(status.st_size <= MAX_BYTES, f"{path} has {status.st_size:,} bytes, but {limit}")
        content = path.read_bytes()
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from error
    require(b"\0" not in content, f"{path} is a binary file: byte {content.find(0)} is 0")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        place = f"byte 0x{content[error.start]:02x} at {error.start}"
        raise UserError(
            f"{path} is not UTF-8 ({place}): convert it first, for example with iconv -f latin1 -t utf-8"
        ) from error


def is_generated(text: str) -> bool:
    """Returns whether the first lines of a file say that a program wrote it.

    >>> is_generated("#!/bin/sh\\n# Code generated by x. DO NOT EDIT.\\n"), is_generated("# Generated code\\n")
    (True, False)
    """
    return any(map(GENERATED.search, text.split("\n", GENERATED_LINES)[:GENERATED_LINES]))


def changed_lines(folder: Path, since: str | None = None, staged: bool = False) -> dict[Path, list[range]]:
    """Returns the lines, from 1, that a change adds or alters in each file; keys are absolute paths without links.

    folder: where git runs; the files are those of its whole work tree
    since: a revision: what differs from its common ancestor with HEAD
    staged: what differs in the index rather than in the work tree
    """
    try:
        top = os.fsdecode(git(folder, "rev-parse", "--show-toplevel")).removesuffix("\n")
    except NoWorkTree as error:
        raise UserError(f"--since and --staged need a work tree of git ({error})") from error
    options = ["--cached"] if staged else []
    if since is not None:
        try:
            commit = git(folder, "rev-parse", "--verify", "--end-of-options", f"{since}^{{commit}}")
            options += ["--merge-base", commit.decode().strip()]
        except UserError as error:
            raise UserError(
                f"--since {since}: git knows no such commit; in a shallow clone, fetch it first ({error})"
            ) from error
    # content lines must not begin with + or @, as lines of the format do
    options += ["--unified=0", "--inter-hunk-context=0", "--output-indicator-old=<", "--output-indicator-new=>"]
    options += ["--no-color", "--no-ext-diff", "--no-textconv", "--no-relative", "--submodule=short"]
    options += ["--src-prefix=a/", "--dst-prefix=b/", "--find-renames", "--diff-filter=d"]
    changed: dict[Path, list[range]] = {}
    for name, start, count in CHANGE.findall(git(folder, "diff", *options)):
        if name:  # git writes names with special characters as strings of C
            name = literal_eval(f"b{name.decode()}") if name.startswith(b'"') else name
            lines = changed.setdefault(Path(top, os.fsdecode(name.removeprefix(b"b/"))).resolve(), [])
        elif count != b"0":
            lines.append(range(int(start), int(start) + int(count or 1)))
    return changed
