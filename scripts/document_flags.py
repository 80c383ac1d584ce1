"""Write the tables of flags in user_dir.md from the code: ``python scripts/document_flags.py [--check]``.

A table stands between ``<!-- flags: NAME -->`` and ``<!-- end -->``.
"""

from __future__ import annotations

import argparse
import re
import sys
from dataclasses import MISSING, fields
from enum import Enum
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from fairseq.tasks.translation import TranslationConfig

from lev_plugins.cli import distill, label, plot, prepare, prepare_labels, sweep, trace, tune_thresholds
from lev_plugins.criterions.dual_policy import DualPolicyConfig
from lev_plugins.criterions.labelling import LabellingConfig
from lev_plugins.models.backbones.bert import GatedBertConfig
from lev_plugins.models.backbones.pretrained import PretrainedConfig
from lev_plugins.models.encoder_decoder import EncoderDecoderConfig
from lev_plugins.models.enct5 import EncT5Config
from lev_plugins.models.gated import GateConfig
from lev_plugins.models.levt import LevTConfig
from lev_plugins.models.pbd import PBDConfig
from lev_plugins.scoring.rouge import RougeConfig
from lev_plugins.scoring.ter import TerConfig
from lev_plugins.tasks.text_correction import TextCorrectionConfig
from lev_plugins.tasks.text_editing import TextEditingConfig
from lev_plugins.tasks.text_labelling import TextLabellingConfig

PAGE = Path(__file__).resolve().parent.parent / "user_dir.md"


def names(config: type) -> set[str]:
    return {field.name for field in fields(config)}


# what is on the page -> the flags, and those that are documented elsewhere
TABLES: dict[str, tuple[type, set[str]]] = {
    "levt": (LevTConfig, set()),
    "post_edit_transformer": (EncoderDecoderConfig, set()),
    "pbd": (PBDConfig, set()),
    "text_correction": (TextCorrectionConfig, names(TranslationConfig)),
    "dual_policy": (DualPolicyConfig, set()),
    "text_editing": (TextEditingConfig, names(TranslationConfig)),
    "enct5": (EncT5Config, set()),
    "labelling": (LabellingConfig, set()),
    "text_labelling": (TextLabellingConfig, {"data"}),
    "gates": (GateConfig, set()),
    "pretrained": (PretrainedConfig, names(GateConfig)),
    "gated_bert": (GatedBertConfig, names(PretrainedConfig)),
    "ter": (TerConfig, set()),
    "rouge": (RougeConfig, set()),
}
COMMANDS: dict[str, Any] = {
    "lev-plugins prepare": prepare,
    "lev-plugins distill": distill,
    "lev-plugins trace": trace,
    "lev-plugins sweep": sweep,
    "lev-plugins plot gates": SimpleNamespace(add_arguments=plot.add_gates_arguments),
    "lev-plugins prepare-labels": prepare_labels,
    "lev-plugins label": label,
    "lev-plugins tune-thresholds": tune_thresholds,
}


def default_of(field: Any) -> str:
    if field.default is MISSING or field.default is None:
        return "none"
    if isinstance(field.default, bool):
        return "on" if field.default else "off"
    return f"`{field.default}`"


def choices_of(field: Any) -> str:
    if isinstance(field.type, type) and issubclass(field.type, Enum):
        return " (" + ", ".join(f"`{choice.value}`" for choice in field.type) + ")"
    return ""


def meaning(field: Any) -> str:
    return field.metadata["help"].replace("<", "&lt;") + choices_of(field)


def table(config: type, skipped: set[str]) -> str:
    rows = ["| flag | default | meaning |", "|---|---|---|"]
    for field in fields(config):
        if field.name in skipped or field.name.startswith("_") or "help" not in field.metadata:
            continue
        flag = f"`--{field.name.replace('_', '-')}`"
        rows.append(f"| {flag} | {default_of(field)} | {meaning(field)} |")
    return "\n".join(rows)


def command_table(command: Any) -> str:
    parser = argparse.ArgumentParser(add_help=False)
    command.add_arguments(parser)
    rows = ["| argument | default | meaning |", "|---|---|---|"]
    for action in parser._positionals._group_actions + parser._optionals._group_actions:  # not fairseq's, in groups
        value = "" if action.nargs == 0 else action.metavar or ("" if action.choices else action.dest.upper())
        name = " ".join(filter(None, ["/".join(action.option_strings), str(value or "")]))
        default = (
            "none" if action.default in (None, []) else "off" if action.default is False else f"`{action.default}`"
        )
        choices = " (" + ", ".join(f"`{choice}`" for choice in action.choices) + ")" if action.choices else ""
        meaning = str(action.help).replace("<", "&lt;")
        rows.append(f"| `{name}` | {default} | {meaning}{choices} |")
    return "\n".join(rows)


def filled(page: str) -> str:
    texts = {name: table(*config) for name, config in TABLES.items()}
    texts |= {name: command_table(command) for name, command in COMMANDS.items()}
    for name, text in texts.items():
        pattern = rf"(<!-- flags: {name} -->\n).*?(<!-- end -->)"
        page, found = re.subn(pattern, lambda m, text=text: f"{m[1]}{text}\n{m[2]}", page, flags=re.DOTALL)
        if not found:
            raise SystemExit(f"{PAGE.name} has no place for the flags of {name}: <!-- flags: {name} --><!-- end -->")
    return page


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; fail if the page is out of date")
    check = parser.parse_args().check
    old = PAGE.read_text(encoding="utf-8")
    new = filled(old)
    if check and old != new:
        sys.stderr.write(f"{PAGE.name} is out of date: python scripts/document_flags.py\n")
        return 1
    if not check:
        PAGE.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
