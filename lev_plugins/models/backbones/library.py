"""The one file that imports ``transformers``, and only when one of its models is asked for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from lev_plugins.errors import UserError, explain, require
from lev_plugins.text.pretrained import EXTRA, TOKENIZER

if TYPE_CHECKING:
    from fairseq.data import Dictionary

# what config.json calls a model -> the family that stands behind --arch gated_FAMILY, and the library's class
CLASSES = {
    "t5": ("t5", "T5ForConditionalGeneration"),  # T5, T5 1.1, ByT5
    "mt5": ("t5", "MT5ForConditionalGeneration"),
    "bart": ("bart", "BartForConditionalGeneration"),
    "bert": ("bert", "BertForMaskedLM"),
}
WEIGHTS = ("*.safetensors", "pytorch_model*.bin")
# what a folder may be without: BERT's output layer, T5's decoder (EncT5 needs none), a bias that old files of BART lack
DISPENSABLE = {"bert": ("cls.",), "t5": ("decoder.", "lm_head."), "bart": ("final_logits_bias", "lm_head.")}


def need_transformers(who: str) -> None:
    require(
        find_spec("transformers") is not None,
        f"{who} needs the package transformers, which is not installed: {EXTRA}",
    )


@contextmanager
def quietly(folder: Path, trouble: str = "") -> Iterator[None]:
    """No reports, no progress bars; what goes wrong is laid at the folder's door, as ``trouble`` with the reason."""
    from transformers.utils import logging

    level = logging.get_verbosity()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    except UserError:
        raise
    except Exception as error:  # of a damaged file the library says anything
        reason = explain(error) or " ".join(str(error).split())[:300]
        raise UserError(f"{folder}: {trouble}{reason}") from error
    finally:
        logging.set_verbosity(level)
        logging.enable_progress_bar()


def read_config(folder: Path) -> Any:
    from transformers import AutoConfig

    require((folder / "config.json").is_file(), f"{folder} has no config.json: it is no folder of a Hugging Face model")
    kind = read_json(folder / "config.json").get("model_type")
    require(
        kind in CLASSES,
        f"{folder} holds a model of type {kind}, which is not supported: the types are {', '.join(CLASSES)}",
    )
    with quietly(folder):
        return AutoConfig.from_pretrained(folder, local_files_only=True)


def read_json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:  # bad UTF-8 is one as well
        raise UserError(f"{path} is no JSON ({error}): copy the folder anew") from error
    require(isinstance(found, dict), f"{path} holds no settings, which are a JSON object: copy the folder anew")
    return found


def family_of(config: Any) -> str:
    return CLASSES[config.model_type][0]


def class_of(config: Any) -> str:
    return CLASSES[config.model_type][1]


def read_tokenizer(folder: Path) -> Any:
    from transformers import AutoTokenizer

    with quietly(folder, "its tokenizer files are damaged or do not belong together: "):
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    require_vocabulary(tokenizer, folder)
    return tokenizer


def require_vocabulary(tokenizer: Any, folder: Path) -> None:
    """Without its files, the library makes a tokenizer that knows no words."""
    names = dict(tokenizer.vocab_files_names)  # of a tokenizer of bytes: none
    whole = names.pop("tokenizer_file", TOKENIZER)
    parts = list(names.values())
    require(
        (folder / whole).is_file() or all((folder / name).is_file() for name in parts),
        f"{folder} has no tokenizer: there must be {' and '.join(parts)}, or {whole}, beside config.json",
    )


def require_weights(folder: Path) -> None:
    require(
        any(path for pattern in WEIGHTS for path in folder.glob(pattern)),
        f"{folder} has no weights: there must be a model.safetensors (or pytorch_model.bin) beside config.json",
    )


def read_model(name: str, folder: Path, **options: Any) -> tuple[Any, set[str]]:
    """A model of the class ``name`` in 32 bits, and the names of the weights that the folder does not have.

    Pickled weights are read with ``weights_only``: nothing in them is executed.
    """
    import transformers

    require_weights(folder)
    checks = {"output_loading_info": True, "ignore_mismatched_sizes": True}  # for we say it more plainly
    with quietly(folder):
        model, info = getattr(transformers, name).from_pretrained(
            folder, local_files_only=True, dtype=torch.float32, **checks, **options
        )
    for weight, *shapes in info["mismatched_keys"]:
        file, config = ("x".join(map(str, shape)) for shape in shapes)
        raise UserError(f"{folder}: {weight} is {file} in the file of weights, but {config} by config.json")
    return model, set(info["missing_keys"])


def require_pretrained(model: Any, missing: set[str], folder: Path) -> None:
    """Weights of another model have other names, and the library leaves ours random without a word."""
    family = family_of(model.config)
    lacking = sorted(name for name in missing if not name.startswith(DISPENSABLE[family]))
    require(
        not lacking,
        f"{folder}: its weights are not those of the {type(model).__name__} of its config.json: "
        f"{len(lacking)} are not there, such as {lacking[0] if lacking else ''}",
    )


def reorder_tables(model: Any, rows: list[int]) -> None:
    """Every table with a row a word, and every bias with a number a word, in the order of ``rows``."""
    index = torch.tensor(rows)
    words = model.config.vocab_size
    require(
        max(rows) < words,
        f"the tokenizer has {max(rows) + 1} tokens, but the model only {words}: they do not belong together",
    )
    head = model.get_output_embeddings()
    tables = [model.get_input_embeddings().weight, head.weight, head.bias]
    for table in {id(table): table for table in tables if table is not None}.values():
        table.data = table.data[index]
    if hasattr(model, "final_logits_bias"):  # BART
        model.final_logits_bias = model.final_logits_bias[:, index]


def save(model: Any, missing: set[str], dictionary: Dictionary, folder: Path) -> None:
    """The model in the library's format, with fairseq's ids, and without weights that it never had."""
    from transformers import GenerationConfig

    config = model.config
    config.vocab_size = len(dictionary)
    config.bos_token_id, config.pad_token_id = dictionary.bos(), dictionary.pad()
    config.eos_token_id = dictionary.eos()
    config.decoder_start_token_id = dictionary.pad() if family_of(config) == "t5" else dictionary.eos()
    model.generation_config = GenerationConfig.from_model_config(config)
    state = {name: value for name, value in model.state_dict().items() if name not in missing}
    with quietly(folder):
        model.save_pretrained(folder, state_dict=state)


def tokenizer_option(folder: Path, name: str, default: Any) -> Any:
    path = folder / "tokenizer_config.json"
    return read_json(path).get(name, default) if path.is_file() else default
