"""One readable line when the machine has the wrong Python, torch or fairseq."""

from __future__ import annotations

import importlib.util
import sys
from importlib import metadata

OLDEST_PYTHON = (3, 10)
OLDEST_TORCH = (2, 6)  # from here on torch.load reads weights only, unless told otherwise


def problem() -> str | None:
    """What is wrong with this environment, and what to install; None when nothing is."""
    if sys.version_info < OLDEST_PYTHON:
        return f"lev-plugins needs Python 3.10 or newer, but this is {sys.version.split()[0]}"
    if importlib.util.find_spec("torch") is None:
        return "lev-plugins needs torch: pip install 'torch>=2.6'"
    torch_version = metadata.version("torch")
    if tuple(int(part) for part in torch_version.split("+")[0].split(".")[:2]) < OLDEST_TORCH:
        return f"lev-plugins needs torch 2.6 or newer, but {torch_version} is installed: pip install -U 'torch>=2.6'"
    if importlib.util.find_spec("fairseq") is None:
        return "lev-plugins needs fairseq: pip install --no-build-isolation fairseq-fixed"
    try:
        import fairseq  # noqa: F401
    except Exception as error:
        return (
            f"the installed fairseq cannot be imported on Python {sys.version.split()[0]} ({error!r:.120}): "
            "pip uninstall -y fairseq && pip install --no-build-isolation fairseq-fixed"
        )
    return None


def check_environment() -> None:
    found = problem()
    if found is not None:
        raise ImportError(found)
