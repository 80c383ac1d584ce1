"""What others take from a module is in its ``__all__``."""

from __future__ import annotations

import ast
from collections import defaultdict
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "lev_plugins"


def modules() -> dict[str, Path]:
    names = {path: ".".join(path.relative_to(ROOT).with_suffix("").parts) for path in PACKAGE.rglob("*.py")}
    return {name.removesuffix(".__init__"): path for path, name in names.items()}


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def listed(path: Path) -> set[str] | None:
    for node in tree(path).body:
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["__all__"]:
            return set(eval(ast.unparse(node.value), {}))
    return None


def taken() -> dict[str, dict[str, Path]]:
    """For each module, the names that other files import from it or read as its attributes."""
    known, found = modules(), defaultdict[str, dict[str, Path]](dict)
    for path in known.values():
        called: dict[str, str] = {}  # a name here -> the module that it is
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.ImportFrom) and node.module in known:
                for alias in node.names:
                    module = f"{node.module}.{alias.name}"
                    if module in known:
                        called[alias.asname or alias.name] = module
                    elif known[node.module] != path:
                        found[node.module][alias.name] = path
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in called:
                found[called[node.value.id]][node.attr] = path
    return found


def test_only_what_is_listed_is_taken() -> None:
    """By other modules of the package; tests may also try the parts of one."""
    known = modules()
    wrong = sorted(
        f"{path.relative_to(ROOT)} takes {name} from {module}"
        for module, names in taken().items()
        for name, path in names.items()
        if name not in (listed(known[module]) or names)
    )
    assert wrong == []
