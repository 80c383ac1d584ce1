"""Writes a checkpoint, or a folder of weights, as a model folder (``lev_plugins.utils.model_folder``)."""

import json
import math
import shutil
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from fairseq.tasks import FairseqTask
from fairseq.utils import split_paths
from google.protobuf.message import DecodeError
from omegaconf import OmegaConf
from safetensors.torch import save_file
from sentencepiece import sentencepiece_model_pb2

from lev_plugins.correction.task import TextCorrectionTask
from lev_plugins.editor.editor import Editor, form_of
from lev_plugins.editor.folder import INDEX
from lev_plugins.editor.held_out import Tuning
from lev_plugins.editor.labeller import read_thresholds
from lev_plugins.editor.loading import load
from lev_plugins.editor.options import EditOptions
from lev_plugins.export import card, load_model
from lev_plugins.export.load_model import Loaded
from lev_plugins.labelling.folder import LABELS, WORDS
from lev_plugins.labelling.task import TextLabellingTask
from lev_plugins.noise import NOISE_FLAGS, NoiseOptions
from lev_plugins.noise.layouts import known_layouts
from lev_plugins.noise.options import with_language_files
from lev_plugins.text.lexicon import LEXICON
from lev_plugins.text.lines import read_lines, write_lines
from lev_plugins.text.pretrained import DICTIONARY, SENTENCEPIECE, SYMBOLS, TOKENIZER
from lev_plugins.training import checkpoints
from lev_plugins.training.checkpoints import Checkpoint
from lev_plugins.training.noisy import WITHOUT_NOISE
from lev_plugins.training.pairs import WITHOUT_SCORES
from lev_plugins.training.tokenise import MODEL
from lev_plugins.utils import model_folder
from lev_plugins.utils.errors import UserError, require
from lev_plugins.utils.files import all_or_nothing_folder, open_to_all, require_free
from lev_plugins.utils.json_schema import read_object
from lev_plugins.utils.model_folder import GRAPHS, KEPT, PROMISED, SAMPLE, THRESHOLDS, Decoding, Flag, ModelConfig
from lev_plugins.utils.ranges import flag_name
from lev_plugins.utils.version import __version__

UNLISTED = (model_folder.CONFIG, model_folder.CARD)  # in a folder, but not in its list of files
NOISE_FILES = {"layout": "layout.txt", "confusions": "confusions.tsv"}  # flags of noise, and their files in the folder
OWN_LINES = 5_000  # of each of the texts that training further reads
NAME_OR_PATH = "_name_or_path"  # entry of transformers: from where it read a configuration, such as a private path


@dataclass(frozen=True)
class Extras:
    """The parts of a model folder that are not in the checkpoint."""

    decoding: Decoding = field(default_factory=Decoding)
    bpe: Namespace | None = None
    words: Path | None = None
    thresholds: dict[str, float] | None = None
    scores: dict[str, float] = field(default_factory=dict)
    license: str | None = None
    tuning: Tuning = field(default_factory=Tuning)
    own_text: dict[str, list[Path]] = field(default_factory=dict)  # files whose first lines become those of the folder
    noise: dict[str, Flag] | None = None  # of the training; None: as the checkpoint says

    def over(self, folder: Path, config: ModelConfig) -> "Extras":
        """Fills in the parts of an earlier model folder where these have nothing."""
        is_editor, has = config.kind == model_folder.EDITOR, config.files.__contains__
        return replace(
            self,
            decoding=Decoding(**{**config.decoding.given(), **self.decoding.given()}),
            bpe=self.bpe or (config.bpe(folder) if is_editor else None),
            words=self.words or (folder / KEPT if has(KEPT) else None),
            thresholds=self.thresholds or (read_thresholds(folder / THRESHOLDS) if has(THRESHOLDS) else None),
            scores={**config.scores, **self.scores},
            license=self.license or card.license_of(folder),
            own_text={**{name: [folder / name] for name in (SAMPLE, PROMISED) if has(name)}, **self.own_text},
            noise=noise_of_folder(config, folder) if self.noise is None else self.noise,
        )


def export(
    model: Path,
    out: Path,
    places: dict[str, str],
    extras: Extras,
    overwrite: bool = False,
    graphs: bool = True,
    trainable: bool = False,
    half: bool = False,
) -> ModelConfig:
    """Writes a model folder, completely or not at all, and loads it once.

    model: a checkpoint from fairseq-train, or a model folder with weights
    out: the folder to write
    places: the folders that a checkpoint reads, if they have moved since the training: data and backbone
    extras: what the model does not know
    overwrite: replace ``out`` if it is a model folder
    graphs: keep the graphs, without which the folder can only be trained further
    trainable: also write the weights, although the model has compact graphs
    half: write the weights in 16 bits, and no graphs in 32 bits beside compact ones
    """
    if overwrite and out.is_dir() and any(out.iterdir()):
        try:
            require_exported(out)
        except UserError as error:
            raise UserError(f"--overwrite replaces only a model folder: {error}; or remove it") from error
    else:
        is_folder = (out / model_folder.CONFIG).is_file() and not overwrite
        require(not is_folder, f"OUT {out} is a model folder: add --overwrite to replace it, or name another one")
        require_free(out, "OUT")
    overrides = {**WITHOUT_SCORES, "pack": False, **WITHOUT_NOISE, **places}
    loaded = load_model.read_model(model, overrides)
    check_kind(loaded, model, extras)
    former = model_folder.read(model) if model.is_dir() else None
    state = {} if former else checkpoints.load(model)
    extras = extras.over(model, former) if former else extras
    with all_or_nothing_folder(out, replace=overwrite) as scratch:
        # before the graphs, whose tracing adds cached values to the model
        names, weights = load_model.stored_names(loaded.models[0]), loaded.models[0].state_dict()
        stored = {
            name: (weight.half() if half and weight.is_floating_point() else weight).contiguous()
            for name, weight in weights.items()
            if names[name] == name
        }
        needs_graphs = graphs or bool(extras.tuning)
        compact = write_graphs(loaded, scratch, only_compact=half or not trainable) if needs_graphs else False
        without_weights = graphs and compact and not trainable
        if not without_weights:
            save_file(stored, scratch / model_folder.WEIGHTS)
        config = write_parts(loaded, state, extras, scratch, without_weights)
        if former:
            facts = ("architecture", "calibration", "text_style", "updates", "dials", "promises")
            config = replace(config, **{name: getattr(former, name) for name in facts})
        model_folder.save(config, scratch)
        if extras.tuning:
            config = extras.tuning.apply(Editor.load(scratch, EditOptions(min_confidence=0.0)), config)
            if not graphs:
                config = without_graphs(config, scratch)
            model_folder.save(config, scratch)
        size = sum(weight.numel() for weight in stored.values())
        text = card.card(out.resolve().name, config, size, card.training_settings(state), extras.license)
        (scratch / model_folder.CARD).write_text(text, encoding="utf-8")
        if graphs:
            load(scratch)
        open_to_all(scratch)
    return config


def require_exported(folder: Path) -> None:
    """Refuses to replace a folder that is a link, or that has files that no export writes."""
    require(not folder.is_symlink(), f"{folder} is a link: name the folder that it leads to")
    names = {*model_folder.read_unchecked(folder).files, *UNLISTED}
    names |= {name.partition("/")[0] for name in names}
    extra = sorted({path.relative_to(folder).as_posix() for path in folder.rglob("*")} - names)
    if extra:
        raise UserError(f"{folder / extra[0]} was not written by an export: move it elsewhere")


def check_kind(loaded: Loaded, path: Path, extras: Extras) -> None:
    task, name = loaded.cfg.task._name, architecture_of(loaded)
    families = load_model.ARCHITECTURES
    choices = "; ".join(f"--task {choice} with {', '.join(names)}" for choice, names in families.items())
    require(
        load_model.family_of(name) in families.get(task, []),
        f"{path} was trained with --task {task} --arch {name}, which only fairseq-generate decodes; these can be "
        f"exported: {choices}",
    )
    labels = isinstance(loaded.task, TextLabellingTask)
    extras.decoding.check_for(task)
    extras.tuning.check(extras.decoding)
    of_editors = {"--calibrate or --clean": extras.tuning, "--bpe": extras.bpe, "--words": extras.words}
    for flag, value in of_editors.items():
        require(not (labels and value), f"{flag} is for an editor, but {path} labels texts: leave it out")
    if extras.thresholds is not None:
        require(labels, f"--thresholds is for a labeller, but {path} edits texts: leave it out")


def write_graphs(loaded: Loaded, folder: Path, only_compact: bool) -> bool:
    """Writes the graphs of a model, and returns whether some are compact: those of a levt with --spelling in 8 bits.

    loaded: the model
    folder: where to write them
    only_compact: no graphs in 32 bits, if the model has compact ones
    """
    from lev_plugins.export import export  # not at once: the package onnx may be missing

    try:
        export.write(loaded.models[0].eval(), folder, only_compact)
        return export.has_compact_form(loaded.models[0])
    except torch.onnx.errors.OnnxExporterError as error:
        reason = " ".join(str(error).split())[:200]
        raise UserError(
            f"torch {torch.__version__} cannot write the graphs of --arch {architecture_of(loaded)} ({reason}): decode "
            "the checkpoint with fairseq-generate, or use another version of torch"
        ) from error


def without_graphs(config: ModelConfig, folder: Path) -> ModelConfig:
    """Removes the graphs of a folder, and returns its configuration without them."""
    shutil.rmtree(folder / GRAPHS)
    (folder / INDEX).unlink(missing_ok=True)
    files = {name: digest for name, digest in config.files.items() if (folder / name).exists()}
    return replace(config, files=files)


def bpe_of(task: FairseqTask, bpe: Namespace | None) -> Namespace | None:
    """Returns ``bpe``, or the sentencepiece model in the data folder of a checkpoint, if there is one."""
    model = Path(split_paths(task.cfg.data)[0], MODEL)
    if bpe is None and model.is_file():
        return Namespace(bpe="sentencepiece", sentencepiece_model=str(model))
    return bpe


def architecture_of(loaded: Loaded) -> str:
    flags = vars(loaded.cfg.model) if isinstance(loaded.cfg.model, Namespace) else loaded.cfg.model
    return str(flags.get("_name") or flags["arch"])


def write_parts(loaded: Loaded, state: Checkpoint, extras: Extras, folder: Path, without_weights: bool) -> ModelConfig:
    """Writes all but weights, graphs and card, and returns the contents of config.json.

    without_weights: the folder has compact graphs alone, which read one dictionary for both sides
    """
    task = loaded.task
    labels = isinstance(task, TextLabellingTask)
    bpe = task.info.bpe_flags(task.folder) if labels else vars(bpe_of(task, extras.bpe) or Namespace())
    tokeniser = copy_tokeniser(bpe, folder)
    names = [WORDS, LABELS]
    if not labels:
        names = [f"dict.{language}.txt" for language in (task.cfg.source_lang, task.cfg.target_lang)]
        if without_weights:
            names = names[1:]
        for name in names:
            model_folder.require_plain(name, "the name of a dictionary")
    copy_existing(Path(split_paths(task.cfg.data)[0]), folder, [*names, LEXICON])
    flags = model_flags(loaded)
    if flags.get("backbone") is not None:
        copy_backbone(Path(str(flags["backbone"])), folder / model_folder.BACKBONE)
        flags["backbone"] = model_folder.BACKBONE
        if not labels:  # which may be fewer than the flags say
            flags["max_source_positions"], flags["max_target_positions"] = loaded.models[0].max_positions()
    write_texts(extras, folder)
    noise = dict[str, Flag]()
    if not without_weights:  # only to train further
        noise = write_noise(noise_of_training(state) if extras.noise is None else extras.noise, folder)
    decoding = extras.decoding
    if decoding.keep_bias is None and not labels and task.cfg.keep_bias:
        decoding = replace(decoding, keep_bias=task.cfg.keep_bias)
    # of a sentence with one edit, it is the same
    if decoding.min_confidence is None and isinstance(task, TextCorrectionTask):
        decoding = replace(decoding, min_confidence=task.cfg.min_edit_confidence)
    written = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return ModelConfig(
        format=model_folder.FORMAT,
        made_with=f"lev-plugins {__version__}",
        kind=model_folder.LABELLER if labels else model_folder.EDITOR,
        task=task.name,
        architecture=architecture_of(loaded),
        model_flags=flags,
        task_flags={name: getattr(task.cfg, name) for name in load_model.TASK_FLAGS[task.name]},
        files={name: model_folder.digest(folder / name) for name in written if name not in UNLISTED},
        tokeniser=tokeniser,
        labelling=task.info.reading() if labels else {},
        decoding=decoding,
        text_style={} if labels else asdict(form_of(task.target_dictionary)),
        updates=(state.get("optimizer_history") or [{}])[-1].get("num_updates"),
        noise=noise,
        scores={**validation_score(state), **extras.scores},
    )


def model_flags(loaded: Loaded) -> dict[str, Flag]:
    """Returns the flags that the model is built from."""
    model = loaded.cfg.model
    legacy = isinstance(model, Namespace)
    values: Any = vars(model) if legacy else OmegaConf.to_container(model, resolve=True, enum_to_str=True)
    names = load_model.flags_of(architecture_of(loaded))
    return {name: value for name, value in sorted(values.items()) if name in names}


def copy_backbone(source: Path, target: Path) -> None:
    """Copies the sizes and the tokeniser of a pre-trained model, without weights."""
    copy_existing(source, target, [DICTIONARY, SYMBOLS, SENTENCEPIECE, TOKENIZER])
    entries = {name: value for name, value in read_object(source / "config.json").items() if name != NAME_OR_PATH}
    write_lines(target / "config.json", [json.dumps(entries, indent=1)])


def write_texts(extras: Extras, folder: Path) -> None:
    """Writes the words to leave alone, the thresholds, and the lines for training further."""
    if extras.words is not None:
        write_lines(folder / KEPT, read_lines(extras.words))
    if extras.thresholds is not None:
        write_lines(folder / THRESHOLDS, [json.dumps(extras.thresholds, ensure_ascii=False, indent=1)])
    for name, paths in extras.own_text.items():
        write_lines(folder / name, islice((line for path in paths for line in read_lines(path)), OWN_LINES))


def validation_score(state: Checkpoint) -> dict[str, float]:
    """Returns the score on the validation set by which training chose its best checkpoint, if it has one."""
    metric = checkpoints.config_of(state, "checkpoint", "best_checkpoint_metric")
    value = (state.get("extra_state") or {}).get("val_loss")
    return {f"validation {metric}": round(value, 4)} if value is not None and math.isfinite(value) else {}


def write_noise(noise: Mapping[str, Flag], folder: Path) -> dict[str, Flag]:
    """Copies the files that the noise reads into the folder, and returns its flags for there; {}: a file has moved."""
    files = {name: Path(str(noise[name])) for name in NOISE_FILES if noise.get(name) not in (None, *known_layouts())}
    if not all(path.is_file() for path in files.values()):
        return {}
    for name, path in files.items():
        copy_file(path, folder / NOISE_FILES[name])
    return {**noise, **{name: NOISE_FILES[name] for name in files}}


def noise_of_folder(config: ModelConfig, folder: Path) -> dict[str, Flag]:
    """Returns the noise of the training; its files are those of the folder, and no others."""
    noise = {**config.noise}
    for name in NOISE_FILES:
        value = noise.get(name)
        if value in config.files:
            noise[name] = str(folder / str(value))
        else:
            require(value in (None, *known_layouts()), f"{folder} lacks {value}, the {name} of its noise")
    return noise


def noise_of_training(state: Checkpoint) -> dict[str, Flag]:
    flags = {flag.name: checkpoints.config_of(state, "task", f"noise_{flag.name}") for flag in NOISE_FLAGS}
    if flags["kind"] is None:
        return {}
    options = with_language_files(NoiseOptions(**flags))  # the folder has copies of the files
    return {flag.name: getattr(options, flag.name) for flag in NOISE_FLAGS}


def copy_tokeniser(flags: dict[str, Any], folder: Path) -> str | None:
    """Copies the file of a tokeniser and returns its --bpe; ``flags`` are fairseq's, with the path of the file."""
    if not flags:
        return None
    name = flags["bpe"]
    file = model_folder.TOKENISER_FILES[name]
    more = sorted(flags.keys() - {"bpe", file[0] if file else None})
    if more:
        raise UserError(f"{flag_name(more[0])} cannot be exported: leave it out")
    if file is not None:
        source, target = Path(flags[file[0]]), folder / file[1]
        if source.is_dir():
            copy_existing(source, target, [DICTIONARY, SYMBOLS, SENTENCEPIECE, TOKENIZER])
        else:
            require(source.is_file(), f"{flag_name(file[0])}: there is no file {source}")
            copy_file(source, target)
    return name


def copy_existing(source: Path, target: Path, names: list[str]) -> None:
    """Copies the files of these names that exist."""
    target.mkdir(exist_ok=True)
    for name in names:
        if (source / name).is_file():
            copy_file(source / name, target / name)


def copy_file(source: Path, target: Path) -> None:
    if target.suffix == ".model":
        target.write_bytes(without_paths(source))
    else:
        shutil.copyfile(source, target)


def without_paths(path: Path) -> bytes:
    """Returns a sentencepiece model without the names of the files of its training: paths on somebody's machine."""
    model: Any = sentencepiece_model_pb2.ModelProto()  # type: ignore[attr-defined]
    try:
        model.ParseFromString(path.read_bytes())
    except DecodeError as error:
        raise UserError(f"the sentencepiece model {path} is damaged: copy it again") from error
    for field_name in ("input", "model_prefix", "seed_sentencepieces_file"):
        model.trainer_spec.ClearField(field_name)
    for rules in (model.normalizer_spec, model.denormalizer_spec):
        rules.ClearField("normalization_rule_tsv")
    return model.SerializeToString()
