"""Small models of every kind that a model folder can contain, each with its data."""

import shutil
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from lev_plugins.cli.main import main
from lev_plugins.editor.options import EditOptions, LabelOptions
from lev_plugins.text.lexicon import LEXICON, Lexicon
from tests import labelling, pretrained, teachers
from tests.commands import ROOT
from tests.torch_models import editor_of, labeller_of

GOLDEN = ROOT / "tests" / "golden" / "0.1"
CORRECTION_FLAGS = ["--task", "text_correction", "-s", "noisy", "-t", "clean"]
ENCT5 = ["--task", "text_labelling", "--criterion", "labelling", "--arch", "enct5", "--decoder-layers", 2]
CLS = ["--pool", "cls", "--decoder-layers", 1]


@dataclass(frozen=True)
class System:
    checkpoint: Path
    data: Path
    texts: list[str]
    drafts: list[str] | None = None
    bpe: dict[str, str] = field(default_factory=dict)
    decoding: dict[str, Any] = field(default_factory=dict)  # fairseq's flags

    @property
    def flags(self) -> list[str]:
        """Flags for ``lev-plugins export``."""
        return flags_of({"data": self.data, **self.bpe, **self.decoding})

    def load(self, **more: Any) -> Any:
        """Loads the checkpoint in torch."""
        if not self.edits:
            return labeller_of(self.checkpoint, self.data, LabelOptions(**more))
        bpe = Namespace(**self.bpe) if self.bpe else None
        return editor_of(self.checkpoint, self.data, EditOptions(**{**self.decoding, **more}), bpe)

    def export(self, out: Path, *flags: object) -> Path:
        """Writes the model folder and returns its path."""
        assert main([str(word) for word in ("export", self.checkpoint, out, *self.flags, *flags)]) == 0
        return out

    @property
    def edits(self) -> bool:
        return "labels" not in self.checkpoint.parts

    def answers(self, model: Any) -> Any:
        return model.edit(self.texts, self.drafts) if self.edits else model.label(self.texts, scores=True)


def flags_of(settings: dict[str, Any]) -> list[str]:
    return [part for name, value in settings.items() for part in (f"--{name.replace('_', '-')}", str(value))]


LABELLER_SIZES = flags_of({name: size for name, size in labelling.TINY.items() if name != "dropout"})
NOISY_TEXTS = ["aBc d", "b  EF c.", "Dd a f", "c"]


def golden(name: str, data: str, folder: Path) -> Path:
    shutil.copytree(GOLDEN / data, folder / "data")
    return Path(shutil.copy(GOLDEN / name / "checkpoint.pt", folder))


def with_dictionary(folder: Path, text: str) -> Path:
    """Writes a folder of data that only has a dictionary for both sides."""
    data = folder / "data"
    data.mkdir()
    for side in ("noisy", "clean"):
        (data / f"dict.{side}.txt").write_text(text, encoding="utf-8")
    return data


def levt_system(folder: Path) -> System:
    golden("levt", "levt/data", folder)
    flags = ["-s", "src", "-t", "tgt", "--draft-lang", "mt", "--max-insertions", 4]
    checkpoint = teachers.write_teacher(folder / "checkpoint.pt", folder / "data", *teachers.LEVT, *flags, seed=3)
    drafts = ["v1 v2  v9 Zürich", "v7 v7", "", "v3 v4 v5"]
    search = {"iter_decode_max_iter": 0, "iter_decode_eos_penalty": -1.5}
    return System(checkpoint, folder / "data", ["w1 w2 w3", "w4", "w5 w6", "w7 w8 w9"], drafts, decoding=search)


def speller(folder: Path) -> System:
    texts = ["the vlaue of teh function.", "Zürich", "the value of the function."]
    return spelling_system(folder, ["the", "value", "of", "function"], texts)


def speller_with_lexicon(folder: Path) -> System:
    """Returns a levt with a lexicon, which has *teh* for *of*, so that it matters."""
    texts = ["the vlaue of teh function.", "Zürich", "Teh value of Lexica."]
    return spelling_system(
        folder, ["the", "value", "of", "function"], texts, lexicon=["teh,of", "commmand,command", "lexica", "zürich"]
    )


def spelling_system(
    folder: Path, words: list[str], texts: list[str], *flags: object, lexicon: Sequence[str] = ()
) -> System:
    lines = zip([*(f"▁{word}" for word in words), "."], (9, 3, 7, 1, 5), strict=True)
    data = with_dictionary(folder, "".join(f"{word} {count}\n" for word, count in lines))
    if lexicon:
        Lexicon.of_lines(lexicon).write(data / LEXICON)
    flags = ("-s", "noisy", "-t", "clean", "--spelling", "--spelling-buckets", 300, "--share-all-embeddings", *flags)
    checkpoint = teachers.write_teacher(folder / "checkpoint.pt", data, *teachers.LEVT, *flags, seed=1)
    search = {"iter_decode_max_iter": 1, "iter_decode_eos_penalty": 5.0}
    return System(checkpoint, data, texts, bpe={"bpe": "words"}, decoding=search)


def speller_with(kind: str, folder: Path) -> System:
    """Returns a levt that spells; an encoder with positions reads the last text in parts."""
    texts = ["the qiuck fox jumps.", "Zürich", "the quick fox", " ".join(["fox jmps"] * 40)]
    backbone = imported_backbone(kind, folder)
    return spelling_system(folder, ["the", "quick", "fox", "jumps"], texts, "--backbone", backbone)


def levt_on_subwords(folder: Path) -> System:
    """Returns a levt on subwords of subword-nmt."""
    codes = folder / "codes"
    codes.write_text("#version: 0.2\nt h\nth e</w>\no f</w>\nu n\n", encoding="utf-8")
    letters = sorted(set("the value of function"))
    pieces = [piece for letter in letters if letter.strip() for piece in (letter, f"{letter}@@")]
    data = with_dictionary(folder, "".join(f"{piece} 1\n" for piece in ["the", "of", "un@@", "th@@", *pieces]))
    flags = [*teachers.LEVT, "-s", "noisy", "-t", "clean", "--share-all-embeddings"]
    checkpoint = teachers.write_teacher(folder / "checkpoint.pt", data, *flags, seed=1)
    bpe = {"bpe": "subword_nmt", "bpe_codes": str(codes)}
    return System(checkpoint, data, ["the value", "function  of Z", "o"], bpe=bpe, decoding={"iter_decode_max_iter": 2})


def corrector_system(name: str, folder: Path) -> System:
    checkpoint = golden(name, "noisy/data", folder)
    return System(checkpoint, folder / "data", NOISY_TEXTS, bpe={"bpe": "chars"}, decoding={"beam": 3})


def transformer(folder: Path) -> System:
    golden("pbd", "noisy/data", folder)
    flags = [*CORRECTION_FLAGS, "--arch", "transformer", *teachers.SMALL]
    checkpoint = teachers.write_teacher(folder / "checkpoint.pt", folder / "data", *flags)
    return System(checkpoint, folder / "data", NOISY_TEXTS, bpe={"bpe": "chars"}, decoding={"beam": 2})


def gated(kind: str, folder: Path, *flags: object) -> System:
    backbone = imported_backbone(kind, folder)
    data = with_dictionary(folder, (backbone / "dict.txt").read_text(encoding="utf-8"))
    flags_of_model = ["--max-source-positions", 30, "--max-target-positions", 30, "--keep-bias", 0.5, *flags]
    family = "bert" if kind in pretrained.ENCODERS else kind.removeprefix("by")
    flags_of_model += ["--arch", f"gated_{family}", "--backbone", backbone]
    checkpoint = teachers.write_teacher(folder / "checkpoint.pt", data, *CORRECTION_FLAGS, *flags_of_model)
    bpe = {"bpe": "pretrained", "pretrained_tokenizer": str(backbone)}
    return System(checkpoint, data, ["the quick fox", "a dog .", "more jumps"], bpe=bpe, decoding={"beam": 2})


def imported_backbone(kind: str, folder: Path) -> Path:
    pretrained.make(kind, folder / "theirs")
    return pretrained.imported(folder / "theirs", folder / "backbone-of-training")


def labeller_system(kind: str, folder: Path, *flags: object, bpe: str = "characters") -> System:
    data = labelling.folder_of(folder / "labels", kind, "--bpe", bpe)
    checkpoint = teachers.write_teacher(folder / "labels" / "checkpoint.pt", data, *ENCT5, *LABELLER_SIZES, *flags)
    return System(checkpoint, data, ["sun rain", "fog", "sunny Rains" if bpe == "words" else "hail storm ice"])


def pretrained_labeller(kind: str, folder: Path, *flags: object) -> System:
    backbone = imported_backbone(kind, folder)
    prepared = ["--pretrained-tokenizer", backbone, "--longest", 60]
    data = labelling.folder_of(folder / "labels", "classification", *prepared)
    words = [*ENCT5, "--backbone", backbone, *flags]
    checkpoint = teachers.write_teacher(folder / "labels" / "checkpoint.pt", data, *words)
    return System(checkpoint, data, ["sun rain", "fog", "hail storm ice"])


SYSTEMS: dict[str, Callable[[Path], System]] = {
    "levt": levt_system,
    "levt that spells": speller,
    "levt with a lexicon": speller_with_lexicon,
    "levt on subwords": levt_on_subwords,
    "pbd": partial(corrector_system, "pbd"),
    "gated_trans": partial(corrector_system, "gated"),
    "transformer": transformer,
    **{kind: partial(labeller_system, kind) for kind in ("classification", "regression", "multilabel", "tagging")},
    "labels of words that spell": lambda folder: labeller_system(
        "tagging", folder, "--spelling", "--spelling-buckets", 64, bpe="words"
    ),
}
if find_spec("transformers") is not None:
    SYSTEMS |= {
        "gated_t5": partial(gated, "t5"),
        "gated_byt5": lambda folder: gated("byt5", folder, "--freeze-backbone"),
        "gated_bart": partial(gated, "bart"),
        "gated_bert": lambda folder: gated("bert", folder, "--tie-encoder-decoder"),
        "enct5_of_t5": lambda folder: pretrained_labeller("t5", folder, "--decoder-init", "backbone"),
        "enct5_of_bert": partial(pretrained_labeller, "bert"),
        "enct5_with_cls": lambda folder: pretrained_labeller("bert", folder, *CLS),
        "enct5_of_electra": lambda folder: pretrained_labeller("electra-small", folder, *CLS),
        "levt with a bert": partial(speller_with, "bert"),
        "gated_roberta": partial(gated, "xlm-roberta"),
    }
    if pretrained.DEBERTA_HAS_GRAPHS:
        SYSTEMS["levt with a deberta"] = partial(speller_with, "deberta-v2")
