"""Checks that the installed torch and fairseq can be used, and quietens what they log."""

import importlib.util
import logging
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

from lev_plugins.utils.errors import UserError

OLDEST_TORCH = (2, 6)  # in which torch.load began to read only weights by default
INSTALL_FAIRSEQ = "pip install 'setuptools<81' wheel cython numpy && pip install --no-build-isolation fairseq-fixed"


def check_environment() -> None:
    """Raises an ImportError if the package cannot work here, for an import under ``--user-dir``."""
    if message := problem():
        raise ImportError(message)


def require_training() -> None:
    """Raises a UserError if torch or fairseq is missing, before a command imports them."""
    if message := problem():
        raise UserError(message)


def problem() -> str | None:
    """Returns what is wrong with this environment and what to install; None if all is well."""
    for name, command in (("torch 2.6 or newer", "pip install 'torch>=2.6'"), ("fairseq", INSTALL_FAIRSEQ)):
        if importlib.util.find_spec(name.split()[0]) is None:
            return f"lev-plugins needs {name}, but it is not installed: {command}"
    from importlib.metadata import version  # with many modules, which editing needs not

    torch = version("torch")
    numbers = re.match(r"(\d+)\.(\d+)", torch)
    if numbers and (int(numbers[1]), int(numbers[2])) < OLDEST_TORCH:
        return f"lev-plugins needs torch 2.6 or newer, but {torch} is installed: pip install --upgrade 'torch>=2.6'"
    # on import, fairseq tells every user to install tensorboardX, which only its speech tasks need
    logging.getLogger("fairseq.tasks.text_to_speech").setLevel(logging.WARNING)
    try:
        import_module("fairseq")
    except Exception as error:
        reason = f"{type(error).__name__}: {' '.join(str(error).split())[:120]}"
        return (
            f"the installed fairseq cannot be imported on Python {sys.version.split()[0]} ({reason}): "
            f"pip uninstall --yes fairseq && {INSTALL_FAIRSEQ}"
        )
    return None


@contextmanager
def quiet(name: str) -> Iterator[None]:
    """Hides what a library logs about its progress."""
    logger = logging.getLogger(name)
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(level)
