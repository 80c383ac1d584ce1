"""The model card of a folder: front matter as the Hugging Face hub reads it, what the model is, and how to use it."""

import json
import re
import shlex
from pathlib import Path

from lev_plugins.training.checkpoints import Checkpoint, config_of
from lev_plugins.utils.model_folder import CARD, LABELLER, ModelConfig, path_inside

LICENSE = re.compile(r"[a-z0-9][a-z0-9.+-]{0,60}")  # a name as on the Hugging Face hub
WHAT = {
    "levt": "A Levenshtein Transformer, which edits a text or a draft by deleting and inserting words",
    "pbd": "A corrector of text (Pseudo-Bidirectional Decoding)",
    "gated": "A corrector of text (gated Transformer)",
    "transformer": "A corrector of text (Transformer)",
    "enct5": "A model that labels texts (EncT5)",
}
TEXT_STYLES = {
    "straight_quotes": "typewriter apostrophes",
    "lowercase": "no capitals",
    "spaced_punctuation": "blanks before punctuation",
}
PIPELINES = {"tagging": "token-classification", "editor": "text-generation"}
# settings of a training that the card shows, as SECTION.NAME of fairseq's configuration. The flag of such a setting is
# its name; that of ``SECTION._name`` is the section, as in --task, unless ``SECTION_FLAGS`` has another
SETTINGS = [
    *("task._name", "model._name", "criterion._name", "optimizer._name", "optimization.lr", "lr_scheduler._name"),
    *("dataset.max_tokens", "dataset.batch_size", "optimization.update_freq", "optimization.max_update"),
    *("optimization.clip_norm", "common.seed"),
]
SECTION_FLAGS = {"model": "arch"}


def card(name: str, config: ModelConfig, weights: int, settings: list[list[str]], license: str | None) -> str:
    labels = config.kind == LABELLER
    text = "\\t".join(["a text"] * int(config.labelling.get("columns") or 1))
    variable, call = ("labeller", f'label(["{text}"])') if labels else ("editor", 'edit(["a text"])[0].text')
    command = f"lev-plugins {'label' if labels else 'edit'} {shlex.quote(name)} < in.txt > out.txt"
    what = next(text for start, text in WHAT.items() if config.architecture.startswith(start))
    parts = [
        front_matter(config, license),
        f"# {name}",
        f"{what}, made with [fairseq](https://github.com/facebookresearch/fairseq) and {config.made_with}.",
        "## How to use it",
        f"```bash\n{command}\n```",
        f"```python\nimport lev_plugins\n\n{variable} = lev_plugins.load({json.dumps(name, ensure_ascii=False)})\n"
        f"print({variable}.{call})\n```",
        "## The model",
        markdown_table(["", ""], facts(config, weights)),
    ]
    if config.scores:
        parts += ["## Scores", markdown_table(["score", "value"], [[n, f"{v:g}"] for n, v in config.scores.items()])]
    if settings:
        parts += ["## Training", markdown_table(["setting of fairseq-train", "value"], settings)]
    return "\n\n".join(parts) + "\n"


def markdown_table(heads: list[str], rows: list[list[str]]) -> str:
    """
    >>> print(markdown_table(["a", "b"], [["1", "x|y"]]))
    | a | b |
    |---|---|
    | 1 | x\\|y |
    """
    cells = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    lines = [f"| {' | '.join(row)} |" for row in [heads, *cells]]
    return "\n".join([lines[0], "|---" * len(heads) + "|", *lines[1:]])


def front_matter(config: ModelConfig, license: str | None) -> str:
    kind = config.labelling.get("kind") if config.kind == LABELLER else config.kind
    lines = [] if config.decoding.language is None else ["language:", f"- {config.decoding.language}"]
    lines += [] if license is None else [f"license: {license}"]
    lines += ["library_name: fairseq", f"pipeline_tag: {PIPELINES.get(str(kind), 'text-classification')}", "tags:"]
    lines += [f"- {tag}" for tag in ("lev-plugins", config.task.replace("_", "-"), config.architecture)]
    return "\n".join(["---", *lines, "---"])


def license_of(folder: Path) -> str | None:
    """Returns the licence that the model card of a folder names."""
    path = path_inside(folder, CARD)  # which its owner may have edited, or removed
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    named = re.match(rf"---\n(?:(?!---).*\n)*?license: ({LICENSE.pattern})\n", text)
    return named and named[1]


def facts(config: ModelConfig, weights: int) -> list[list[str]]:
    defaults = {**config.labelling, **config.decoding.given()}
    rows = [["architecture", f"`{config.architecture}`"], ["task", f"`{config.task}`"]]
    rows.append(["parameters", f"{weights:,}"])
    rows += [] if config.updates is None else [["updates", f"{config.updates:,}"]]
    rows.append(["text is cut by", f"`{config.tokeniser}`" if config.tokeniser else "white space"])
    styles = [style for name, style in TEXT_STYLES.items() if config.text_style.get(name)]
    rows += [["text is written with", ", ".join(styles)]] if styles else []
    rows += [["confidence of an edit", "calibrated on held-out text"]] if config.calibration else []
    rows += [[f"`--min-confidence {name}`", f"`{value:g}`"] for name, value in config.dials.items()]
    return rows + [[name, f"`{value}`"] for name, value in defaults.items()]


def training_settings(state: Checkpoint) -> list[list[str]]:
    """Returns the settings of the training that a checkpoint stores; of paths, only the last name."""
    data = config_of(state, "task", "data")
    rows = [] if data is None else [["data", f"`{Path(str(data).split(':')[0]).name}`"]]
    for setting in SETTINGS:
        section, name = setting.split(".")
        value = config_of(state, section, name)
        flag = SECTION_FLAGS.get(section, section) if name == "_name" else name
        rows += [] if value is None else [[f"`--{flag.replace('_', '-')}`", f"`{value}`"]]
    return rows
