"""``lev-plugins info FOLDER``: describes a model folder without loading the model."""

import argparse
import json
import math
import sys
from pathlib import Path
from typing import Any

from lev_plugins.cli.reporting import table
from lev_plugins.text.control import visible
from lev_plugins.utils import model_folder
from lev_plugins.utils.model_folder import ModelConfig


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="FOLDER", type=model_folder.model_path, help="folder from lev-plugins export")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    config = model_folder.read(args.folder)
    facts = facts_of(config, args.folder)
    lines = [json.dumps(facts, ensure_ascii=False, indent=1)] if args.json else [*map(visible, table(rows(facts)))]
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return 0


def facts_of(config: ModelConfig, folder: Path) -> dict[str, Any]:
    dictionaries = [name for name in config.files if name.startswith(("dict.", "labels."))]
    weights = folder / model_folder.WEIGHTS
    facts = {
        **{name: getattr(config, name) for name in ("kind", "task", "architecture")},
        "parameters": sum(map(math.prod, model_folder.read_shapes(folder).values())) if weights.exists() else None,
        "bytes": sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()),
        "dictionaries": {name: (folder / name).read_bytes().count(b"\n") for name in dictionaries},
        "tokeniser": config.tokeniser or "white space",
        "decoding": config.decoding.given(),
    }
    rest = ("labelling", "text_style", "calibration", "updates", "dials", "promises", "scores", "format", "made_with")
    return facts | {name: getattr(config, name) for name in rest}


def rows(facts: dict[str, Any]) -> list[list[str]]:
    """Returns a row for each fact; a fact with several parts has a row for each part.

    >>> rows({"kind": "editor", "scores": {"bleu": 35.5}, "updates": None, "parameters": 1200})
    [['kind', 'editor'], ['scores', 'bleu: 35.5'], ['parameters', '1,200']]
    """
    table_rows = []
    for name, value in facts.items():
        parts = value.items() if isinstance(value, dict) else [("", value)]
        items = [(part, entry_text(item)) for part, item in parts if item is not None]
        texts = [f"{part}: {text}" if part else text for part, text in items]
        table_rows += [[name if number == 0 else "", text] for number, text in enumerate(texts)]
    return table_rows


def entry_text(value: object) -> str:
    return f"{value:,}" if type(value) is int else str(value)
