"""Where the command ``lev-plugins`` starts: outside the package, because importing that takes seconds.

So ``$(lev-plugins path)`` is instant, and an environment that lacks torch or fairseq gives one line, no traceback.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec


def main() -> int:
    if sys.argv[1:] == ["path"]:
        return print_path()
    try:
        from lev_plugins.cli.main import main as run
    except ImportError as error:
        sys.stderr.write(f"lev-plugins: error: {error}\n")
        return 2
    return run()


def print_path() -> int:
    spec = find_spec("lev_plugins")
    folders = list(spec.submodule_search_locations or []) if spec else []
    if not folders:
        sys.stderr.write(
            "lev-plugins: error: the package lev_plugins is gone: pip install --force-reinstall lev-plugins\n"
        )
        return 2
    sys.stdout.write(f"{folders[0]}\n")
    return 0
