"""Reads the model folder that ``lev-plugins export`` writes, without torch.

config.json            what the model is, how it is rebuilt, and how it decodes by default (``ModelConfig``)
model.safetensors      the weights, if torch is to read them; those that are tied are stored once
graphs/, index.npz     what is read without torch: ``editor.folder``
dict.*.txt, dict.txt   fairseq's dictionaries of source and target, or of the pieces of a labeller
labels.txt             the labels of a labeller; thresholds.json: when to give each of them
sentencepiece.bpe.model, tokenizer/ or codes.txt   what cuts text into pieces
sample.txt, promised.txt   for lev-plugins adapt: lines of the training text, and of held-out text of other kinds
layout.txt, confusions.tsv   what the noise of the training reads
backbone/              the sizes of a pre-trained model, without weights
README.md              the model card

A folder may be untrusted: none of its code is run, and nothing outside it is read.
"""

import hashlib
import json
import os
import re
import shlex
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, TypeVar

from lev_plugins.utils.errors import UserError, require
from lev_plugins.utils.json_schema import from_entries, read_object
from lev_plugins.utils.ranges import bounded, check_ranges, flag_name

FORMAT = 2
CONFIG, WEIGHTS, CARD, THRESHOLDS = "config.json", "model.safetensors", "README.md", "thresholds.json"
KEPT = "words.txt"  # words that an editor leaves alone
SAMPLE, PROMISED = "sample.txt", "promised.txt"  # for lev-plugins adapt: text of the training, and held-out text
BACKBONE, GRAPHS = "backbone", "graphs"
PACKAGE = "lev_plugins_{}"  # of an installed model, by its name: scripts/model_wheel.py
BESIDE = Path(__file__).parents[2] / "models"  # of a checkout
EDITOR, LABELLER = "editor", "labeller"
NOUNS, COMMANDS = {EDITOR: "an editor", LABELLER: "a labeller"}, {EDITOR: "edit", LABELLER: "label"}
# fairseq's --bpe -> its flag that names a file, and that file in the folder
TOKENISER_FILES: dict[str, tuple[str, str] | None] = {
    "sentencepiece": ("sentencepiece_model", "sentencepiece.bpe.model"),
    "pretrained": ("pretrained_tokenizer", "tokenizer"),
    "subword_nmt": ("bpe_codes", "codes.txt"),
    **dict.fromkeys(("words", "chars", "characters", "bytes")),
}
READ, WRITE = "read", "write"  # dials: for people who look at each edit, and for machines that write without anybody
DIALS = (READ, WRITE)
EDITING_FLAGS = ("iter_decode_max_iter", "iter_decode_eos_penalty")  # flags that only text_editing has
SEARCH_FLAGS = ("beam", *EDITING_FLAGS)  # of fairseq; --keep-bias is one of the task
AGAIN = "export it again, or copy it again from where it came"
PLAIN_NAME = re.compile(r"[\w+@][\w.+@-]*")
LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*")

Flag = bool | int | float | str | None
Settings = TypeVar("Settings", bound="Decoding")


def check_confidence(what: str, value: float | str) -> None:
    """Raises an error unless the value is a number from 0 to 1 or the name of a dial; ``what`` is for the message.

    >>> check_confidence("--min-confidence", "write")
    >>> check_confidence("--min-confidence", "strict")
    Traceback (most recent call last):
    lev_plugins.utils.errors.UserError: --min-confidence must be a number, read or write, but is 'strict'
    """
    if isinstance(value, str):
        require(value in DIALS, f"{what} must be a number, {' or '.join(DIALS)}, but is {value[:60]!r}")
    else:
        bounded(what, value, 0, 1)


def confidence_of(what: str, value: float | str, dials: Mapping[str, float]) -> float:
    """Returns a confidence as a number: that of a dial, if the value is the name of one.

    what: the flag or field of the value, for messages
    value: a number or the name of a dial
    dials: those of the model folder
    """
    check_confidence(what, value)
    if not isinstance(value, str):
        return value
    advice = f"give a number, or export the model again with --promise-broken {value}=N --clean FILE"
    require(value in dials, f"{what} is {value}, but this editor has no such dial: {advice}")
    return dials[value]


@dataclass(frozen=True)
class Decoding:
    """How an editor decodes; None stands for the default of the task or the editor."""

    beam: int | None = None
    iter_decode_max_iter: int | None = None
    iter_decode_eos_penalty: float | None = None
    keep_bias: float | None = None
    min_confidence: float | str | None = None  # or the name of a dial
    language: str | None = None
    edit_also: str | None = None

    def check(self) -> None:
        """Checks the values; messages name the flags of ``edit`` and ``export``."""
        check_ranges(self)
        if self.min_confidence is not None:
            check_confidence("--min-confidence", self.min_confidence)
        also = self.edit_also
        require(also is None or isinstance(also, str), f"--edit-also must be text such as a,b, but is {also!r}")
        require(
            self.language is None or LANGUAGE.fullmatch(str(self.language)) is not None,
            f"--language must be a code such as de or pt-BR, but is {self.language!r}",
        )

    def check_for(self, *tasks: str) -> None:
        """Raises an error for a setting that has no effect on a model of any of these tasks."""
        of_task = f"of --task {' or '.join(dict.fromkeys(tasks))}"
        for flag in self.given():
            effective = any(flag in self.suited_to(task).given() for task in tasks)
            require(effective, f"{flag_name(flag)} has no effect on a model {of_task}: leave it out")

    def suited_to(self: Settings, task: str) -> Settings:
        """Returns these settings without those that have no effect on a model of the task."""
        ignored = {"text_editing": ["beam"], "text_correction": EDITING_FLAGS, "text_labelling": self.given()}
        return replace(self, **dict.fromkeys(ignored.get(task, ())))

    def given(self, *names: str) -> dict[str, Any]:
        """Returns those of these settings, or of all that a model folder may have, that are not None."""
        every = names or tuple(Decoding.__dataclass_fields__)
        return {name: value for name in every if (value := getattr(self, name)) is not None}


@dataclass(frozen=True)
class ModelConfig:
    """The contents of config.json."""

    format: int
    made_with: str
    kind: str
    task: str
    architecture: str
    model_flags: dict[str, Flag]
    task_flags: dict[str, Flag]
    files: dict[str, str]  # the other files that the model needs, with their SHA-256 digests
    tokeniser: str | None = None  # fairseq's --bpe; None: text is cut at white space
    labelling: dict[str, Flag] = field(default_factory=dict)  # how a labeller reads text
    decoding: Decoding = field(default_factory=Decoding)
    calibration: dict[str, float] = field(default_factory=dict)  # weights by which confidences become probabilities
    text_style: dict[str, bool | None] = field(default_factory=dict)  # of its training text: ``text.text_style``
    updates: int | None = None
    dials: dict[str, float] = field(default_factory=dict)  # the min_confidence of each of ``DIALS`` that was chosen
    promises: dict[str, float] = field(default_factory=dict)  # of 1,000 right words, the most that each dial breaks
    noise: dict[str, Flag] = field(default_factory=dict)  # of its training, as flags of ``lev-plugins noise``
    scores: dict[str, float] = field(default_factory=dict)

    @property
    def tokeniser_file(self) -> dict[str, str]:
        """fairseq's flag for the tokeniser's file, with the name of the file; empty without one."""
        entry = None if self.tokeniser is None else TOKENISER_FILES[self.tokeniser]
        return {} if entry is None else {entry[0]: entry[1]}

    def bpe(self, folder: Path) -> Namespace | None:
        """Returns the options that fairseq builds the BPE from."""
        if self.tokeniser is None:
            return None
        return Namespace(bpe=self.tokeniser, **{flag: str(folder / name) for flag, name in self.tokeniser_file.items()})


def model_path(path: str | Path) -> Path:
    """Returns the folder of a model that is installed or in the checkout, unless a file has this name, or ``path``."""
    if not Path(path).exists():
        package = PACKAGE.format(path)
        spec = find_spec(package) if package.isidentifier() else None
        if spec is not None and spec.origin is not None:
            return Path(spec.origin).parent
        beside = BESIDE / path
        if (beside / CONFIG).is_file():
            return beside
    return Path(path)


def model_names() -> list[str]:
    """Returns the names of the models that are installed or in the checkout."""
    packages = [module.name for module in iter_modules() if module.name.startswith(PACKAGE.format(""))]
    installed = {name.removeprefix(PACKAGE.format("")) for name in packages}
    return sorted(installed | {path.parent.name for path in BESIDE.glob(f"*/{CONFIG}")})


def read_kind(path: str | Path, kind: str) -> ModelConfig:
    """Returns the configuration of a folder with graphs, which must be of this kind."""
    folder = Path(path)
    read_unchecked(folder)
    require(
        (folder / GRAPHS).is_dir(),
        f"{path} has no graphs, without which it can only be trained further: {command_to_export(folder)} adds them",
    )
    config = read(folder)
    require(config.kind == kind, f"{path} is {NOUNS[config.kind]}: use lev-plugins {COMMANDS[config.kind]}")
    return config


def command_to_export(path: Path, data: Path | None = None) -> str:
    """Returns the command that makes a folder with graphs of a checkpoint, whose data may be known, or of weights.

    >>> command_to_export(Path("my models/best.pt"))
    "lev-plugins export 'my models/best.pt' 'my models/best-folder'"
    """
    words = ["lev-plugins", "export", path, path.with_name(f"{path.stem}-folder"), *(["--data", data] if data else [])]
    return shlex.join(map(str, words))


def save(config: ModelConfig, folder: Path) -> None:
    text = json.dumps(asdict(config), ensure_ascii=False, allow_nan=False, indent=1)
    (folder / CONFIG).write_text(f"{text}\n", encoding="utf-8")


def read(folder: str | Path) -> ModelConfig:
    """Returns the configuration of a model folder, whose files must be those that were exported."""
    config, folder = read_unchecked(folder), Path(folder)
    path = folder / CONFIG
    require(
        config.kind in (EDITOR, LABELLER) and (config.kind == LABELLER) == bool(config.labelling),
        f"{path}: kind must be {EDITOR}, or {LABELLER} with the entry labelling, but is {config.kind!r}",
    )
    require(
        config.tokeniser is None or config.tokeniser in TOKENISER_FILES,
        f"{path}: tokeniser must be null or one of {', '.join(TOKENISER_FILES)}, but is {config.tokeniser!r}",
    )
    try:
        config.decoding.check()
    except UserError as error:
        raise UserError(f"{path}, decoding: {error}") from error
    names = " and ".join(DIALS)
    same = config.dials.keys() == config.promises.keys() <= {*DIALS}
    require(same, f"{path}: dials and promises must have the same names, some of {names}")
    for name, value in config.dials.items():
        bounded(f"{path}: dials: {name}", value, 0, 1)
        bounded(f"{path}: promises: {name}", config.promises[name], above=0)
    if not (folder / GRAPHS).is_dir():
        member(folder, WEIGHTS)
    for name, expected in config.files.items():
        require_plain(name, f"{path}: a name in files")
        require(digest(member(folder, name)) == expected, f"{folder / name} is not the file that was exported: {AGAIN}")
    for name in config.tokeniser_file.values():
        require_listed(config, folder, name)
    return config


def read_unchecked(folder: str | Path) -> ModelConfig:
    """Returns the configuration of a model folder without a look at its other files."""
    folder = Path(folder)
    make = f"make one with {command_to_export(folder) if folder.is_file() else 'lev-plugins export CHECKPOINT OUT'}"
    require(folder.is_dir() or not folder.exists(), f"{folder} is a file, not a model folder: {make}")
    if not folder.is_dir():
        names = ", ".join(model_names()) or "none"  # a look at every installed package, which takes a while
        fault = f"{folder} is no model folder, and no model of this name is installed or in {BESIDE}"
        raise UserError(f"{fault} (these are: {names}): {make}")
    require((folder / CONFIG).is_file(), f"{folder} is not a model folder, because it has no {CONFIG}: {make}")
    path = member(folder, CONFIG)
    entries = read_object(path)
    version = entries.get("format")
    if type(version) is not int:
        raise UserError(f"{path} was not written by lev-plugins export (it has no format version): {make}")
    advice = "export its checkpoint again with lev-plugins export" if version < FORMAT else "upgrade lev-plugins"
    reads = f"this version of lev-plugins reads version {FORMAT}"
    require(version == FORMAT, f"{folder} has format version {version}, but {reads}: {advice}")
    return from_entries(ModelConfig, entries, str(path))


def require_listed(config: ModelConfig, folder: Path, name: str) -> None:
    """Requires that config.json lists this file, or all files of this folder, because only those have been checked."""
    members = {entry.removeprefix(f"{name}/") for entry in config.files if entry.startswith(f"{name}/")}
    require(name in config.files or bool(members), f"{folder / CONFIG}: files must have {name}: {AGAIN}")
    if members:
        names = {path.name for path in (folder / name).iterdir()}
        require(names == members, f"{folder / name} must have exactly the files {', '.join(sorted(members))}")


def require_plain(name: str, what: str) -> None:
    """Requires the name of a visible file in the folder, or in a folder of it; ``what`` is for the message.

    >>> require_plain("dict.de.txt", "a name")
    >>> require_plain("../dict.de.txt", "a name")
    Traceback (most recent call last):
    lev_plugins.utils.errors.UserError: a name must have only letters, digits and -_.+@, but is '../dict.de.txt'
    """
    parts = name.split("/")
    plain = len(name) <= 200 and len(parts) <= 2 and all(PLAIN_NAME.fullmatch(part) for part in parts)
    require(plain, f"{what} must have only letters, digits and -_.+@, but is {name[:200]!r}")


def path_inside(folder: Path, name: str) -> Path:
    """Returns the path of a member of the folder, which must not be a link to something outside."""
    path = folder / name
    target = os.path.realpath(path)  # Path.resolve may raise an error for a link to itself
    require(
        Path(target).is_relative_to(os.path.realpath(folder)),
        f"{path} is a link that leads out of the folder: copy the folder with its files, for example with cp -rL",
    )
    return path


def member(folder: Path, name: str) -> Path:
    """Returns the path of a file of the folder, which must exist."""
    path = path_inside(folder, name)
    require(path.is_file(), f"{folder} is incomplete, because it has no {name}: {AGAIN}")
    return path


def digest(path: Path) -> str:
    """Returns the SHA-256 digest of a file."""
    sha256 = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            sha256.update(block)
    return sha256.hexdigest()


def read_shapes(folder: Path) -> dict[str, tuple[int, ...]]:
    """Returns the shape of each weight, by its name."""
    from safetensors import SafetensorError, safe_open  # which editing needs not

    path = member(folder, WEIGHTS)
    try:
        with safe_open(path, framework="np") as file:
            names = file.keys()
            return {name: tuple(file.get_slice(name).get_shape()) for name in names}
    except (SafetensorError, OSError) as error:
        raise UserError(f"{path} is damaged ({error}): {AGAIN}") from error
