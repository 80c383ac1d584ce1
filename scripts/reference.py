"""Write docs/reference.md from the code: ``python scripts/reference.py [--check]``.

Whatever the package registers with fairseq, and every command of ``lev-plugins``, gets a table of its flags. Nothing is
listed here by name, so a component that is added is documented by registering it.
"""

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, Field, fields
from enum import Enum
from pathlib import Path
from typing import Any

from fairseq.dataclass import FairseqDataclass
from fairseq.models import (
    ARCH_CONFIG_REGISTRY,
    ARCH_MODEL_NAME_REGISTRY,
    MODEL_DATACLASS_REGISTRY,
    MODEL_REGISTRY,
)
from fairseq.registry import REGISTRIES
from fairseq.tasks import TASK_DATACLASS_REGISTRY, TASK_REGISTRY

import lev_plugins
from lev_plugins.cli.main import COMMANDS, build_parser

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference.md"
INTRODUCTION = """\
# Reference: every flag

Which flags are there, what do they mean and what are their defaults? This page is generated from the code by
`make docs`; edit the help texts there. [user_dir.md](../user_dir.md) lists what each name is for."""
Registry = Mapping[str, type]


def registries() -> Iterator[tuple[str, Registry, Registry]]:
    """Yields the flag that chooses a component, the components, and their configurations."""
    yield "--task", TASK_REGISTRY, TASK_DATACLASS_REGISTRY
    yield "--arch", MODEL_REGISTRY, MODEL_DATACLASS_REGISTRY
    for name in ("criterion", "scoring", "optimizer", "bpe"):
        yield f"--{name}", REGISTRIES[name]["registry"], REGISTRIES[name]["dataclass_registry"]


def ours(component: type) -> bool:
    return component.__module__.partition(".")[0] == "lev_plugins"


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    heads = list(heads)
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"|{'|'.join(f' {cell} ' if cell != '---' else cell for cell in line)}|" for line in lines)


def escaped(text: str) -> str:
    return text.replace("<", "&lt;").replace("|", "\\|")


def listed(choices: Iterable[object]) -> str:
    return " (" + ", ".join(f"`{choice}`" for choice in choices) + ")"


# ---- what is registered with fairseq --------------------------------------------------------------------------------


def inherited(config: type) -> type | None:
    """Returns fairseq's own configuration that ``config`` extends."""
    bases = (base for base in config.__mro__ if base.__module__.startswith("fairseq.") and base is not FairseqDataclass)
    return next(bases, None)


def own_fields(config: type) -> Iterator[Field[Any]]:
    base = inherited(config)
    inherited_names = {field.name for field in fields(base)} if base else set()
    for field in fields(config):
        if field.name not in inherited_names and field.metadata.get("help", argparse.SUPPRESS) != argparse.SUPPRESS:
            yield field


def field_row(field: Field[Any]) -> list[str]:
    default = field.default
    if default in (MISSING, None, ""):
        shown = "none"
    elif isinstance(default, bool):
        shown = "on" if default else "off"
    else:
        shown = f"`{default}`"
    choices = ""
    if isinstance(field.type, type) and issubclass(field.type, Enum):
        choices = listed(choice.value for choice in field.type)
    flag = "DATA" if field.name == "data" else f"--{field.name.replace('_', '-')}"  # fairseq's only positional
    return [f"`{flag}`", shown, escaped(field.metadata["help"]) + choices]


def config_text(config: type, configs: Registry) -> str:
    base = inherited(config)
    parent = next((name for name, candidate in configs.items() if candidate is base), None)
    rows = [field_row(field) for field in own_fields(config)]
    if not rows:
        return f"The flags of fairseq's `{parent}`." if parent else "No further flags."
    note = f"In addition to the flags of fairseq's `{parent}`:\n\n" if parent else ""
    return note + table(["flag", "default", "meaning"], rows)


def legacy_text(model: type) -> str:
    """Documents a model whose flags are added to a parser, like those of fairseq's ``transformer``."""
    parents = [base for base in model.__mro__[1:] if base.__module__.startswith("fairseq.models")]
    inherited_actions = parser_of(parents) | parser_of([MODEL_REGISTRY["transformer"]])
    actions = [action for name, action in parser_of([model]).items() if name not in inherited_actions]
    note = "In addition to the flags of fairseq's `transformer`:\n\n"
    return note + table(["flag", "default", "meaning"], map(action_row, actions))


def parser_of(models: Iterable[Any]) -> dict[str, argparse.Action]:
    actions: dict[str, argparse.Action] = {}
    for model in models:
        parser = argparse.ArgumentParser(add_help=False)
        model.add_args(parser)
        actions |= {action.dest: action for action in parser._actions}
    return actions


def component_text(name: str, component: Any, configs: Registry) -> str:
    if name in configs:
        return config_text(configs[name], configs)
    return legacy_text(component) if hasattr(component, "add_args") else "No further flags."


def presets(model: str) -> str:
    """Documents the named sizes of a model."""
    names = [name for name, parent in ARCH_MODEL_NAME_REGISTRY.items() if parent == model and name != model]
    if not names:
        return ""
    plain = {each.name: each.default for each in fields(MODEL_DATACLASS_REGISTRY.get(model, FairseqDataclass))}
    base = plain | (settings(model) if model in ARCH_CONFIG_REGISTRY else {})
    rows = []
    for name in names:
        changed = {key: value for key, value in settings(name).items() if base.get(key, MISSING) != value}
        flags = ", ".join(f"`--{key.replace('_', '-')} {value}`" for key, value in changed.items())
        rows.append([f"`{name}`", flags])
    return "\n\n" + table(["`--arch`", "what it changes"], rows)


def settings(arch: str) -> dict[str, Any]:
    filled = argparse.Namespace()
    ARCH_CONFIG_REGISTRY[arch](filled)
    return vars(filled)


def component_sections() -> Iterator[str]:
    for flag, components, configs in registries():
        by_text: dict[str, list[str]] = {}  # components with the same flags share a table
        for name, component in sorted(components.items()):
            if ours(component):
                text = component_text(name, component, configs)
                by_text.setdefault(text + (presets(name) if flag == "--arch" else ""), []).append(name)
        for text, names in by_text.items():
            yield f"## `{flag} {'`, `'.join(names)}`\n\n{text}"


# ---- the commands ---------------------------------------------------------------------------------------------------


def action_row(action: argparse.Action) -> list[str]:
    value = "" if action.nargs == 0 else action.metavar or ("" if action.choices else action.dest.upper())
    values = value if isinstance(value, tuple) else (value,)
    name = " ".join(filter(None, ["/".join(action.option_strings), *map(str, values)]))
    if action.nargs == 0 and isinstance(action.const, bool) and action.default is not action.const:
        default = "off"
    elif action.required and action.nargs != "*":
        default = "required"
    else:
        default = "none" if action.default in (None, [], "") else f"`{action.default}`"
    return [
        f"`{name}`",
        default,
        escaped(str(action.help).replace("%%", "%")) + (listed(action.choices) if action.choices else ""),
    ]


def commands(parser: argparse.ArgumentParser, words: str) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, part in action.choices.items():
                yield from commands(part, f"{words} {name}")
            return
    yield words, parser


def argument_rows(parser: argparse.ArgumentParser) -> list[list[str]]:
    actions = parser._positionals._group_actions + parser._optionals._group_actions
    hidden = (argparse._HelpAction, argparse._SubParsersAction)
    return [action_row(each) for each in actions if each.help != argparse.SUPPRESS and not isinstance(each, hidden)]


def command_text(parser: argparse.ArgumentParser, rows: list[list[str]]) -> str:
    groups = {group.title: group._group_actions for group in parser._action_groups[2:]}
    titles = [title for title, actions in groups.items() if any(a.option_strings for a in actions)]
    description = str(parser.description or "")
    parts = [escaped(f"{description[:1].upper()}{description[1:].rstrip('.')}.")] if description else []
    if rows:
        parts.append(table(["argument", "default", "meaning"], rows))
    parts += [f"Also: {title}." for title in titles]
    return "\n\n".join(parts)


def command_sections() -> Iterator[str]:
    """Yields a section for each command; the arguments that all its parts share are in a section before theirs."""
    for command in COMMANDS:
        whole, title = build_parser(command), f"lev-plugins {command}"
        parts = {words: (parser, argument_rows(parser)) for words, parser in commands(whole, title)}
        (_, first), *others = parts.values()
        shared = [row for row in first if others and all(row in rows for _, rows in others)]
        if shared:
            yield f"## `{title}`\n\n{command_text(whole, shared)}"
        for words, (parser, rows) in parts.items():
            yield f"## `{words}`\n\n{command_text(parser, [row for row in rows if row not in shared])}"


def page() -> str:
    return "\n\n".join([INTRODUCTION, *component_sections(), *command_sections()]) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="change nothing; fail if the page is out of date")
    check = parser.parse_args().check
    lev_plugins.register()
    content = page()
    if not check:
        PAGE.write_text(content, encoding="utf-8")
    elif not PAGE.exists() or PAGE.read_text(encoding="utf-8") != content:
        sys.stderr.write("docs/reference.md is out of date: run make docs\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
