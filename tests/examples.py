"""The examples' scripts as modules, for tests of their functions."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from unittest import mock

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def load_script(path: str) -> ModuleType:
    """``grammar/texts`` under a name of its own: other examples have files of the same names."""
    spec = importlib.util.spec_from_file_location(path.replace("/", "_"), EXAMPLES / f"{path}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look
    spec.loader.exec_module(module)
    return module


def run_script(script: ModuleType | str, *words: object) -> int:
    """The exit status of a script that is started with these arguments."""
    module = load_script(script) if isinstance(script, str) else script
    with mock.patch.object(sys, "argv", ["script", *map(str, words)]):
        return int(module.main())
