"""The model folder that ``lev-plugins export`` writes, as far as it can be read without torch.

config.json            what the model is, how it is rebuilt, and how it decodes by default (``ModelConfig``)
model.safetensors      the weights; those that are tied are stored once
dict.*.txt, dict.txt   fairseq's dictionaries of source and target, or of the pieces of a labeller
labels.txt             the labels of a labeller; thresholds.json: when to give each of them
sentencepiece.bpe.model, tokenizer/ or codes.txt   what cuts text into pieces
backbone/              the sizes of a pre-trained model, without weights
README.md              the model card

A folder may come from a stranger. Nothing in it is executed, and nothing outside it is read.
"""

import hashlib
import json
import os
import re
from argparse import Namespace
from dataclasses import asdict, dataclass, field
from importlib.metadata import entry_points
from importlib.resources import files
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from lev_plugins.errors import UserError, require
from lev_plugins.json_schema import from_entries, read_object
from lev_plugins.ranges import check as check_ranges
from lev_plugins.ranges import flag_name

FORMAT = 1
CONFIG, WEIGHTS, CARD, THRESHOLDS = "config.json", "model.safetensors", "README.md", "thresholds.json"
KEPT = "words.txt"  # that an editor leaves alone
BACKBONE = "backbone"
INSTALLED = "lev_plugins.models"  # entry points of the packages of scripts/model_wheel.py
EDITOR, LABELLER = "editor", "labeller"
NOUNS = {EDITOR: "an editor", LABELLER: "a labeller"}
# fairseq's --bpe -> its flag that names a file, and that file in the folder
TOKENISER_FILES: dict[str, tuple[str, str] | None] = {
    "sentencepiece": ("sentencepiece_model", "sentencepiece.bpe.model"),
    "pretrained": ("pretrained_tokenizer", "tokenizer"),
    "subword_nmt": ("bpe_codes", "codes.txt"),
    **dict.fromkeys(("words", "chars", "characters", "bytes")),
}
REFINEMENT = ("iter_decode_max_iter", "iter_decode_eos_penalty")  # flags of text_editing alone
AGAIN = "export it again, or copy it again from where it came"
PLAIN_NAME = re.compile(r"[\w+@][\w.+@-]*")
LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*")

Flag = bool | int | float | str | None


@dataclass(frozen=True)
class Decoding:
    """How an editor decodes; None: as it does without the setting."""

    beam: int | None = None
    iter_decode_max_iter: int | None = None
    iter_decode_eos_penalty: float | None = None
    keep_bias: float | None = None
    min_confidence: float | None = None
    language: str | None = None
    edit_also: str | None = None

    def check(self) -> None:
        """Names the flags, as those of ``edit`` and ``export`` are checked here, too."""
        check_ranges(self)
        require(
            self.language is None or LANGUAGE.fullmatch(self.language) is not None,
            f"--language must be a code such as de or pt-BR, but is {self.language!r}",
        )

    def check_for(self, *tasks: str) -> None:
        """That each of these settings has an effect on a model of one of these tasks."""
        useless = {"text_editing": ["beam"], "text_correction": REFINEMENT, "text_labelling": vars(self)}
        of_task = f"of --task {' or '.join(dict.fromkeys(tasks))}"
        for flag in self.given():
            able = any(flag not in useless.get(task, ()) for task in tasks)
            require(able, f"{flag_name(flag)} has no effect on a model {of_task}: leave it out")

    @property
    def search(self) -> dict[str, Any]:
        """fairseq's flags."""
        return self.given("beam", *REFINEMENT)

    @property
    def overrides(self) -> dict[str, Any]:
        """Flags of the task."""
        return self.given("keep_bias")

    @property
    def options(self) -> dict[str, Any]:
        """Those of the ``Editor``."""
        return self.given("min_confidence", "language", "edit_also")

    def given(self, *names: str) -> dict[str, Any]:
        """Those of these settings, or of all, that are not None."""
        return {name: value for name in names or vars(self) if (value := getattr(self, name)) is not None}


@dataclass(frozen=True)
class ModelConfig:
    """config.json."""

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
    calibration: dict[str, float] = field(default_factory=dict)  # weights that make a confidence mean something
    form: dict[str, bool | None] = field(default_factory=dict)  # how its text is written: ``text.form``
    updates: int | None = None
    scores: dict[str, float] = field(default_factory=dict)

    @property
    def tokeniser_file(self) -> dict[str, str]:
        """fairseq's flag for it, if there is a file."""
        file = None if self.tokeniser is None else TOKENISER_FILES[self.tokeniser]
        return {} if file is None else {file[0]: file[1]}

    def bpe(self, folder: Path) -> Namespace | None:
        """The options that fairseq builds the BPE from."""
        if self.tokeniser is None:
            return None
        return Namespace(bpe=self.tokeniser, **{flag: str(folder / name) for flag, name in self.tokeniser_file.items()})


def model_path(path: str | Path) -> Path:
    """``path``, or the installed model of this name, if no file has it: a package that is a folder."""
    here = Path(path)
    points = () if here.exists() else entry_points(group=INSTALLED, name=str(path))
    return next((Path(str(files(point.module))) for point in points), here)


def is_model_folder(path: str | Path) -> bool:
    """Whether ``path`` is to be read as one: checkpoints are files."""
    return Path(path).is_dir()


def read_kind(path: str | Path, kind: str, **of_checkpoints: Any) -> ModelConfig | None:
    """A folder of this kind; None: a checkpoint. A folder already has what the other flags name."""
    if not is_model_folder(path):
        return None
    config = read(path)
    command = {EDITOR: "edit", LABELLER: "label"}[config.kind]
    require(config.kind == kind, f"{path} is {NOUNS[config.kind]}: use lev-plugins {command}")
    for name, value in of_checkpoints.items():
        require(value is None, f"{flag_name(name)} is for a checkpoint, but {path} is a model folder: leave it out")
    return config


def places(data: str | Path | None, backbone: str | Path | None = None) -> dict[str, str]:
    """Overrides for a checkpoint whose data or pre-trained model are no longer where they were in training.

    >>> places(None, Path("models/t5"))
    {'backbone': 'models/t5'}
    """
    return {name: str(path) for name, path in (("data", data), ("backbone", backbone)) if path is not None}


def save(config: ModelConfig, folder: Path) -> None:
    text = json.dumps(asdict(config), ensure_ascii=False, allow_nan=False, indent=1)
    (folder / CONFIG).write_text(f"{text}\n", encoding="utf-8")


def read(folder: str | Path) -> ModelConfig:
    """What the folder says of itself, if all its files are there and unchanged."""
    config = described(folder)
    check(config, Path(folder))
    return config


def described(folder: str | Path) -> ModelConfig:
    """What the folder says of itself."""
    folder = Path(folder)
    make = "make one with lev-plugins export CHECKPOINT OUT"
    require(folder.is_dir(), f"there is no model folder {folder}: {make}")
    require((folder / CONFIG).is_file(), f"{folder} is not a model folder, because it has no {CONFIG}: {make}")
    path = member(folder, CONFIG)
    entries = read_object(path)
    version = entries.get("format")
    if type(version) is not int:
        raise UserError(f"{path} was not written by lev-plugins export (it has no format version): {make}")
    require(
        1 <= version <= FORMAT,
        f"{folder} has format version {version}, but this version of lev-plugins reads only up to {FORMAT}: "
        "pip install --upgrade lev-plugins",
    )
    return from_entries(ModelConfig, entries, str(path))


def check(config: ModelConfig, folder: Path) -> None:
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
    member(folder, WEIGHTS)
    for name, expected in config.files.items():
        require_plain(name, f"{path}: a name in files")
        require(digest(member(folder, name)) == expected, f"{folder / name} is not the file that was exported: {AGAIN}")
    for name in config.tokeniser_file.values():
        require_listed(config, folder, name)


def require_listed(config: ModelConfig, folder: Path, name: str) -> None:
    """Only what is listed has been looked at: a file, or a folder and all that is in it."""
    inside = {listed.removeprefix(f"{name}/") for listed in config.files if listed.startswith(f"{name}/")}
    require(name in config.files or bool(inside), f"{folder / CONFIG}: files must have {name}: {AGAIN}")
    if inside:
        there = {path.name for path in (folder / name).iterdir()}
        require(there == inside, f"{folder / name} must have exactly the files {', '.join(sorted(inside))}")


def require_plain(name: str, what: str) -> None:
    """A file of the folder, or of a folder in it: nothing hidden, and no way out.

    >>> require_plain("dict.de.txt", "a name")
    >>> require_plain("../dict.de.txt", "a name")
    Traceback (most recent call last):
    lev_plugins.errors.UserError: a name must have only letters, digits and -_.+@, but is '../dict.de.txt'
    """
    parts = name.split("/")
    plain = len(name) <= 200 and len(parts) <= 2 and all(PLAIN_NAME.fullmatch(part) for part in parts)
    require(plain, f"{what} must have only letters, digits and -_.+@, but is {name[:200]!r}")


def inside(folder: Path, name: str) -> Path:
    """What has that name there, which a link may not replace by something from outside."""
    path = folder / name
    place = os.path.realpath(path)  # Path.resolve may raise an error for a link to itself
    require(
        Path(place).is_relative_to(os.path.realpath(folder)),
        f"{path} is a link that leads out of the folder: copy the folder with its files, for example with cp -rL",
    )
    return path


def member(folder: Path, name: str) -> Path:
    """A file of the folder."""
    path = inside(folder, name)
    require(path.is_file(), f"{folder} is incomplete, because it has no {name}: {AGAIN}")
    return path


def digest(path: Path) -> str:
    sums = hashlib.sha256()
    with path.open("rb") as file:
        while part := file.read(1 << 20):
            sums.update(part)
    return sums.hexdigest()


def read_shapes(folder: Path) -> dict[str, tuple[int, ...]]:
    """Those of the weights, by their names."""
    path = member(folder, WEIGHTS)
    try:
        with safe_open(path, framework="np") as file:
            names = file.keys()
            return {name: tuple(file.get_slice(name).get_shape()) for name in names}
    except (SafetensorError, OSError) as error:
        raise UserError(f"{path} is damaged ({error}): {AGAIN}") from error
