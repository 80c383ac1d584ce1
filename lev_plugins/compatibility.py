"""One readable line if the machine has the wrong Python, torch or fairseq."""

from __future__ import annotations

import importlib.util
import logging
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module, metadata

OLDEST_PYTHON = (3, 10)
OLDEST_TORCH = (2, 6)  # the first whose torch.load reads weights only by default
INSTALL_FAIRSEQ = "pip install 'setuptools<81' wheel cython numpy && pip install --no-build-isolation fairseq-fixed"


def check_environment() -> None:
    message = problem()
    if message is not None:
        raise ImportError(message)


def problem() -> str | None:
    """What is wrong with this environment and what to install; None if all is well."""
    return python_problem() or torch_problem() or fairseq_problem()


def python_problem() -> str | None:
    if sys.version_info[:2] < OLDEST_PYTHON:
        return f"lev-plugins needs Python 3.10 or newer, but this is {python_version()}: install a newer Python"
    return None


def torch_problem() -> str | None:
    if importlib.util.find_spec("torch") is None:
        return "lev-plugins needs torch 2.6 or newer, but it is not installed: pip install 'torch>=2.6'"
    version = metadata.version("torch")
    numbers = re.match(r"(\d+)\.(\d+)", version)
    if numbers and (int(numbers[1]), int(numbers[2])) < OLDEST_TORCH:
        return f"lev-plugins needs torch 2.6 or newer, but {version} is installed: pip install --upgrade 'torch>=2.6'"
    return None


def fairseq_problem() -> str | None:
    if importlib.util.find_spec("fairseq") is None:
        return f"lev-plugins needs fairseq, but it is not installed: {INSTALL_FAIRSEQ}"
    # on import, fairseq tells every user to install tensorboardX, which only its speech tasks need
    logging.getLogger("fairseq.tasks.text_to_speech").setLevel(logging.WARNING)
    try:
        import_module("fairseq")
    except Exception as error:
        reason = " ".join(str(error).split())[:120]
        return (
            f"the installed fairseq cannot be imported on Python {python_version()} "
            f"({type(error).__name__}: {reason}): pip uninstall --yes fairseq && {INSTALL_FAIRSEQ}"
        )
    return None


def python_version() -> str:
    return ".".join(str(number) for number in sys.version_info[:3])


@contextmanager
def quiet(name: str) -> Iterator[None]:
    """Without what a library says of its progress."""
    logger = logging.getLogger(name)
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(level)
