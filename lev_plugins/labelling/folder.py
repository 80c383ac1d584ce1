"""The folder that ``lev-plugins prepare-labels`` creates.

info.json                how the text was read and cut, to treat new text in the same way
dict.txt                 fairseq's dictionary of the pieces
labels.txt               label TAB count, one line per label, in the order of the ids (not for regression)
PART.text.bin, .idx      the pieces of each example, and </s>
PART.unknown.txt         its unknown pieces, one line per example
PART.labels.npz          its labels; for tagging also how many pieces each word has
"""

import json
import shutil
from argparse import Namespace
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from string import Formatter
from typing import Any

from lev_plugins.labelling.text import Labels, Layout
from lev_plugins.text.tokenise import Tokeniser
from lev_plugins.utils import model_folder
from lev_plugins.utils.errors import UserError, require
from lev_plugins.utils.json_schema import from_entries, read_object
from lev_plugins.utils.ranges import MAX_SIZE, bounded

INFO, WORDS, LABELS = "info.json", "dict.txt", "labels.txt"
LONGER = ["refuse", "cut"]
FILE_FLAGS = {entry[0] for entry in model_folder.TOKENISER_FILES.values() if entry}  # flags of a BPE that name a file


@dataclass(frozen=True)
class LabellingInfo(Layout):
    """How text becomes examples; the content of ``info.json``."""

    template: str | None = None  # "{0}" and "{1}" stand for the columns
    longest: int = 512  # tokens, </s> included
    longer: str = "refuse"  # what to do with a longer text; tagging always splits it
    bpe: dict[str, Any] = field(default_factory=dict)  # fairseq's flags; files are relative to the folder
    files: list[str] = field(default_factory=list)  # those flags that name a file in the folder
    train_examples: int = 0

    def bpe_flags(self, folder: Path) -> dict[str, object]:
        """Returns ``bpe`` with the paths of its files."""
        return {name: str(folder / value) if name in self.files else value for name, value in self.bpe.items()}

    def tokeniser(self, folder: Path) -> Tokeniser:
        return Tokeniser(Namespace(**self.bpe_flags(folder)) if self.bpe else None)

    def labels(self, folder: Path) -> Labels | None:
        return None if self.kind == "regression" else Labels.load(folder / LABELS)

    def reading(self) -> dict[str, object]:
        """Returns the entries that say how text is read, but not how it is tokenised."""
        return {name: value for name, value in asdict(self).items() if name not in ("bpe", "files", "train_examples")}

    def check(self, where: str) -> None:
        """Requires values in range; the file may come from an untrusted source."""
        super().check(where)
        require(self.longer in LONGER, f"{where}: longer must be {' or '.join(LONGER)}, but is {self.longer!r}")
        bounded(f"{where}: longest", self.longest, 1, MAX_SIZE)
        require_template(self.template, self.columns, where)

    def check_files(self, folder: Path) -> None:
        """Requires that the BPE reads only files of the folder."""
        for name, value in self.bpe.items():
            if name in self.files:
                model_folder.require_plain(str(value), f"{folder / INFO}: {name}")
                model_folder.path_inside(folder, str(value))
            else:
                is_path = isinstance(value, str) and "/" in value and value != "/"  # which may be --bpe-separator
                require(not is_path, f"{folder / INFO}: {name} must name a file of the folder, but is {value!r}")

    def save(self, folder: Path) -> None:
        (folder / INFO).write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")

    @classmethod
    def of(cls, config: model_folder.ModelConfig, folder: Path) -> "LabellingInfo":
        """Returns the entries of a model folder, which must list the files that they need."""
        where, file = f"{folder / model_folder.CONFIG}: labelling", config.tokeniser_file
        bpe = {} if config.tokeniser is None else {"bpe": config.tokeniser, **file}
        info = replace(from_entries(cls, config.labelling, where), bpe=bpe, files=list(file))
        info.check(where)
        for name in (WORDS, *([] if info.kind == "regression" else [LABELS])):
            model_folder.require_listed(config, folder, name)
        return info

    @classmethod
    def load(cls, folder: Path) -> "LabellingInfo":
        path = folder / INFO
        require(path.is_file(), f"{folder} has no {INFO}: give a folder from lev-plugins prepare-labels")
        try:
            info = from_entries(cls, read_object(path), str(path))
            info.check(str(path))
        except UserError as error:
            raise UserError(f"{path} is damaged ({error}): run lev-plugins prepare-labels again") from error
        info.check_files(folder)
        return info


def require_template(template: str | None, columns: int, where: str) -> None:
    """Requires that a template names only columns, by number.

    Python's templates could also read attributes, or ask for endless padding.

    >>> require_template("first: {0} second: {1}", 2, "x")
    >>> require_template("{0.__class__}", 2, "x")
    Traceback (most recent call last):
    lev_plugins.utils.errors.UserError: x: template may have {0} to {1}, but has {0.__class__}
    """
    numbers = {str(column) for column in range(columns)}
    try:
        fields = [part[1:] for part in Formatter().parse(template or "") if part[1] is not None]
    except ValueError as error:
        raise UserError(f"{where}: template is not valid: {error}") from error
    numbered = {name != "" for name, _, _ in fields}
    require(len(numbered) < 2, f"{where}: template must number all columns or none, but is {template!r}")
    for position, (name, format_spec, conversion) in enumerate(fields):
        require(
            (name or str(position)) in numbers and not format_spec and conversion is None,
            f"{where}: template may have {{0}} to {{{columns - 1}}}, but has {{{name}}}",
        )


def adopt_files(options: Namespace, folder: Path) -> dict[str, Any]:
    """Copies the files that a BPE reads into the folder; returns ``bpe`` and ``files`` of its ``LabellingInfo``."""
    flags, files = dict(vars(options)), []
    for name in FILE_FLAGS & flags.keys():  # a separator that has the name of a file is not one
        path = Path(flags[name])
        if path.is_dir():  # from import-pretrained: copy the tokenizer without the weights
            shutil.copytree(path, folder / name, ignore=lambda _, names: [n for n in names if n.startswith("model")])
        else:
            shutil.copyfile(path, folder / name)
        flags[name] = name
        files.append(name)
    return {"bpe": flags, "files": files}
