"""Writes files and folders that are either complete or absent, and locks folders."""

import os
import secrets
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from lev_plugins.utils.errors import UserError, require


@contextmanager
def all_or_nothing(path: str | Path) -> Iterator[BinaryIO]:
    """Opens a file to write to; the old content of ``path`` survives until the new content is complete and on disk."""
    place = Path(os.path.realpath(path))  # a link remains a link
    require(place.is_file() or not place.exists(), f"{path} exists but is not a regular file: name another one")
    place.parent.mkdir(parents=True, exist_ok=True)
    scratch = place.parent / f".{place.name}.{secrets.token_hex(4)}"
    try:  # a signal may come at any place
        try:
            # unlike the files of tempfile, readable as the user's umask says
            handle = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        except OSError as error:
            error.filename = str(path)  # the path that the user knows
            raise
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if place.exists():
            status = place.stat()
            for owner in (-1, status.st_uid):  # a group of one's own is allowed to all, another owner only to root
                with suppress(PermissionError, AttributeError):  # Windows has no chown
                    os.chown(scratch, owner, status.st_gid)
            os.chmod(scratch, stat.S_IMODE(status.st_mode))
        os.replace(scratch, place)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise


def lock(folder: str | Path, message: str) -> None:
    """Locks a folder until this process ends, however it ends; raises ``UserError`` if another process has the lock.

    Child processes do not inherit the lock. Nothing is locked on a file system without locks, and on Windows.
    """
    with suppress(OSError, ModuleNotFoundError):
        import fcntl  # not on Windows, where only commands that need no lock have to run

        file = os.open(os.path.join(folder, ".lock"), os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UserError(message) from error


def require_new(path: Path, flag: str) -> None:
    """Refuses to overwrite a file, which may be one of the inputs, or days of work."""
    require(not path.exists(), f"{flag} {path} exists: name another file, or remove it first")


def require_free(path: Path, flag: str) -> None:
    """A folder to be created may exist, but must be empty."""
    if path.is_dir():
        entry = next(path.iterdir(), None)
        require(entry is None, f"{flag} {path} is not empty (it contains {entry and entry.name}): name another folder")
    else:
        require(not os.path.lexists(path), f"{flag} {path} exists but is not a folder: name another one")


@contextmanager
def all_or_nothing_folder(path: Path, replace: bool = False) -> Iterator[Path]:
    """Creates a hidden folder beside ``path``, which is renamed to ``path`` once it is complete and on disk.

    With ``replace``, an existing folder is replaced at that moment.
    """
    path = Path(os.path.realpath(path))  # a link to an empty folder remains a link
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        scratch = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}."))
    except OSError as error:
        raise UserError(f"{path} cannot be created: {error.strerror}") from error
    try:
        yield scratch
        for file in scratch.rglob("*"):
            if file.is_file():
                # Windows flushes only what is open for writing; elsewhere, a copy may be read-only
                handle = os.open(file, os.O_RDWR if sys.platform == "win32" else os.O_RDONLY)
                os.fsync(handle)
                os.close(handle)
        scratch.chmod(0o755)
        try:
            if replace and path.exists():
                swap_in(path, scratch)
            else:
                with suppress(FileNotFoundError):
                    path.rmdir()  # an empty folder, over which Windows renames nothing
                scratch.replace(path)
        except OSError as error:
            raise UserError(
                f"{path} was written by another command meanwhile ({error}): name another folder"
            ) from error
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise


def swap_in(path: Path, replacement: Path) -> None:
    """Puts a folder in the place of another, which is restored if that fails."""
    backup = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}.old.")) / path.name
    try:
        path.replace(backup)
        replacement.replace(path)
    except BaseException:
        if backup.exists():
            backup.replace(path)  # if this fails as well, its error names the backup
        backup.parent.rmdir()
        raise
    shutil.rmtree(backup.parent)


def open_to_all(folder: Path) -> None:
    """Lets everybody read the folder: files of tempfile and safetensors are private to their owner."""
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
