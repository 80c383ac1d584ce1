"""The files that ``lev-plugins check`` reads, and the lines of them that a change touches."""

import os
import re
import stat
import subprocess
from ast import literal_eval
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from pathspec import GitIgnoreSpec

from lev_plugins.text.documents.formats import format_of
from lev_plugins.utils.errors import UserError, require

MAX_BYTES = 5_000_000
# what GitHub's linguist takes for vendored, generated or locked; patterns of .gitignore
VENDORED = (
    *("node_modules/", "bower_components/", "vendor/", "vendors/", "third_party/", "third-party/", "3rdparty/"),
    *("Godeps/", "site-packages/", "dist/", "__pycache__/", "*.egg-info/"),
    *("*.min.js", "*.min.css", "*.map", "*.pb.go", "*.pb.cc", "*.pb.h", "*_pb2.py", "*_pb2_grpc.py"),
    *("*.lock", "package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "go.sum"),
)
GENERATED = re.compile(r"@generated\b|\bDO NOT (?:EDIT|MODIFY)\b")
GENERATED_LINES = 5  # from the first, which say that a file is generated
Fail = Callable[[UserError], None]  # what is done with the error of something that is left out
CHANGE = re.compile(rb'^\+\+\+ ("?b/.*?)\t?$|^@@ -\S+ \+(\d+)(?:,(\d+))? @@', re.M)


class NoWorkTree(UserError):
    """A folder is in no work tree of git, or git is not installed."""


class NotText(UserError):
    """A file is not one that has prose: it is left out, which is no error."""


def files_of(
    paths: Sequence[str], exclude: Sequence[str], base: Path = Path(), fail: Fail = lambda error: None
) -> Iterator[Path]:
    """Yields the files to check, each once and in order.

    Of the current folder, if none is named, these are the files that git tracks and that have a known format; of a
    folder that is named, also those that git does not ignore; or all such files if git tracks none there; no links. A
    file that is named comes, whatever its format; but what is excluded is left out even if it is named, because hooks
    name all files of a commit.

    paths: files and folders; none: the current folder
    exclude: patterns of .gitignore, for paths from ``base``, or from the folder that is named if it is elsewhere; they
        come after those of ``VENDORED``, which ``!vendor/`` takes back
    base: a folder
    fail: called with the error of each folder that cannot be read
    """
    try:
        excluded = GitIgnoreSpec.from_lines([*VENDORED, *exclude])
    except (ValueError, re.error) as error:
        raise UserError(f"--exclude has a pattern that .gitignore could not have: {error}") from error
    files: dict[Path, Path] = {}
    for path in map(Path, paths or ["."]):
        is_folder = os.path.isdir(path)
        root, candidates = (path, files_below(path, bool(paths), fail)) if is_folder else (path.parent, [path])
        for file in candidates:
            absolute = Path(os.path.abspath(file))
            start = base if absolute.is_relative_to(base.absolute()) else root
            if not excluded.match_file(os.path.relpath(absolute, start)):
                files.setdefault(Path(os.path.realpath(file)), file)
    yield from sorted(files.values())


def files_below(folder: Path, named: bool, fail: Fail) -> Iterator[Path]:
    """Yields the files in a folder and its subfolders that have a known format; if it is ``named``, also new ones."""
    try:
        tracked = os.fsdecode(git(folder, "ls-files", "-z"))
        if tracked and named:
            tracked = os.fsdecode(git(folder, "ls-files", "-z", "--cached", "--others", "--exclude-standard"))
    except NoWorkTree:
        tracked = ""
    for name in tracked.split("\0") if tracked else all_names(folder, fail):
        if format_of(name) and os.path.isfile(folder / name) and not os.path.islink(folder / name):
            yield folder / name


def all_names(folder: Path, fail: Fail) -> Iterator[str]:
    """Yields the names of all files below a folder but those in hidden folders."""

    def unreadable(error: OSError) -> None:
        fail(UserError(f"{error.filename} cannot be read: {error.strerror}"))

    for place, folders, names in os.walk(folder, onerror=unreadable):
        folders[:] = (name for name in folders if not name.startswith("."))
        yield from (os.path.relpath(os.path.join(place, name), folder) for name in names)


def git(folder: Path, *arguments: str) -> bytes:
    """Returns what git prints in a folder."""
    # with GIT_DIR, which git sets for some hooks, a subfolder would be taken for the top of the work tree
    env = {name: value for name, value in os.environ.items() if name not in ("GIT_DIR", "GIT_WORK_TREE")}
    options = ["-c", "core.quotePath=on", "-c", "core.fsmonitor=false"]  # which may be any program
    command = ["git", "-C", str(folder), *options, *arguments]
    try:
        result = subprocess.run(command, capture_output=True, env={**env, "LC_ALL": "C"}, check=False)
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
    return decode(content, str(path))


def decode(content: bytes, name: str) -> str:
    """Returns the text that these bytes are; ``name`` is for messages."""
    if b"\0" in content:
        raise NotText(f"{name} is a binary file, which is left out: byte {content.find(0)} is 0")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        place = f"byte 0x{content[error.start]:02x} at {error.start}"
        raise UserError(f"{name} is not UTF-8 ({place}): convert it, as iconv -f latin1 -t utf-8 does") from error


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
    # whatever the settings of git are; content lines must not begin with + or @, as lines of the format do
    options = ["--unified=0", "--inter-hunk-context=0", "--output-indicator-old=<", "--output-indicator-new=>"]
    options += ["--no-color", "--no-ext-diff", "--no-textconv", "--no-relative", "--submodule=short"]
    options += ["--src-prefix=a/", "--dst-prefix=b/", "--find-renames", "--diff-filter=d"]
    options += ["--cached"] if staged else []
    try:
        top = os.fsdecode(git(folder, "rev-parse", "--show-toplevel")).removesuffix("\n")
        if since is not None:
            commit = git(folder, "rev-parse", "--verify", "--end-of-options", f"{since}^{{commit}}")
            options += ["--merge-base", commit.decode().strip()]
        diff = git(folder, "diff", *options)
    except UserError as error:
        flag = "--staged needs" if since is None else f"--since {since} needs a revision that is fetched and"
        raise UserError(f"{flag} a work tree of git ({error})") from error
    changed: dict[Path, list[range]] = {}
    for name, start, count in CHANGE.findall(diff):
        if name:  # git writes names with special characters as strings of C
            name = literal_eval(f"b{name.decode()}") if name.startswith(b'"') else name
            lines = changed.setdefault(Path(top, os.fsdecode(name.removeprefix(b"b/"))).resolve(), [])
        elif count != b"0":
            lines.append(range(int(start), int(start) + int(count or 1)))
    return changed
