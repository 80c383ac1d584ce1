"""The only file that imports ``transformers``, when a model from it is needed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch.utils._pytree import register_pytree_node

from lev_plugins.errors import UserError, explain, require
from lev_plugins.json_schema import read_object
from lev_plugins.text.pretrained import TOKENIZER

if TYPE_CHECKING:
    from fairseq.data import Dictionary
    from transformers import PretrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

# model_type in config.json -> FAMILY in --arch gated_FAMILY, and the library's class
BACKBONE_CLASSES = {
    "t5": ("t5", "T5ForConditionalGeneration"),  # T5, T5 1.1, ByT5
    "mt5": ("t5", "MT5ForConditionalGeneration"),
    "bart": ("bart", "BartForConditionalGeneration"),
    "bert": ("bert", "BertForMaskedLM"),
}
# weights that a folder may lack: BERT's output layer, T5's decoder (unused in EncT5), a bias missing in old BART files
DISPENSABLE = {"bert": ("cls.",), "t5": ("decoder.", "lm_head."), "bart": ("final_logits_bias", "lm_head.")}


@contextmanager
def quietly(folder: Path, trouble: str = "") -> Iterator[None]:
    """Silences reports and progress bars; any failure becomes an error in ``folder``: ``trouble``, then the reason."""
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    except UserError:
        raise
    except Exception as error:  # the library raises any type for a damaged file
        reason = explain(error) or " ".join(str(error).split())[:300]
        raise UserError(f"{folder}: {trouble}{reason}") from error
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


@cache
def register_caches() -> None:
    """Lets torch find the tensors in the caches of decoders (``torch.utils._pytree``)."""
    from transformers import EncoderDecoderCache as Cache

    register_pytree_node(Cache, lambda cache: ([*cache], None), lambda layers, _: Cache(layers))


def read_config(folder: Path) -> PretrainedConfig:
    """Returns the configuration of a model of a supported type."""
    from transformers import AutoConfig

    require(
        (folder / "config.json").is_file(), f"{folder} has no config.json: choose the folder of a Hugging Face model"
    )
    kind = read_object(folder / "config.json").get("model_type")
    require(
        kind in BACKBONE_CLASSES,
        f"{folder}: the type of the model must be one of {', '.join(BACKBONE_CLASSES)}, but is {kind}",
    )
    with quietly(folder):
        return AutoConfig.from_pretrained(folder, local_files_only=True)


def backbone_family(model_type: object) -> str:
    """Returns the family of a ``model_type`` in config.json; a type that is not supported is returned as it is."""
    name = str(model_type)
    return BACKBONE_CLASSES[name][0] if name in BACKBONE_CLASSES else name


def class_of(config: PretrainedConfig) -> str:
    return BACKBONE_CLASSES[config.model_type][1]


def read_tokenizer(folder: Path) -> PreTrainedTokenizerBase:
    from transformers import AutoTokenizer

    with quietly(folder, "its tokenizer files are damaged or do not match: "):
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    names = dict(tokenizer.vocab_files_names)  # without these files, its vocabulary is empty; a byte tokenizer has none
    single = names.pop("tokenizer_file", TOKENIZER)
    parts = list(names.values())
    require(
        (folder / single).is_file() or all((folder / name).is_file() for name in parts),
        f"{folder} has no tokenizer: add {' and '.join(parts)}, or {single}, beside config.json",
    )
    return tokenizer


def read_model(name: str, folder: Path, weights: bool = True, **options: Any) -> tuple[Any, set[str]]:
    """Returns a model of the class ``name`` in 32 bits, and the names of the weights missing from the folder.

    Pickled weights are read with ``weights_only``, which executes no code from the file. Without ``weights`` they are
    random, and none of them counts as missing.
    """
    import transformers

    if not weights:
        with quietly(folder):
            config, more = transformers.AutoConfig.from_pretrained(
                folder, local_files_only=True, trust_remote_code=False, return_unused_kwargs=True, **options
            )
            return getattr(transformers, name)(config, **more), set()
    checks = {"output_loading_info": True, "ignore_mismatched_sizes": True}  # reported more plainly below
    with quietly(folder):
        model, info = getattr(transformers, name).from_pretrained(
            folder, local_files_only=True, dtype=torch.float32, **checks, **options
        )
    for weight, *shapes in info["mismatched_keys"]:
        file, config = ("x".join(map(str, shape)) for shape in shapes)
        raise UserError(
            f"{folder}: {weight} is {file} in the weights, but {config} in config.json: copy the folder again"
        )
    return model, set(info["missing_keys"])


def require_pretrained(model: PreTrainedModel, missing: set[str], folder: Path) -> None:
    """Refuses the weights of another model: the library leaves weights random whose names it does not find."""
    family = backbone_family(model.config.model_type)
    lacking = sorted(name for name in missing if not name.startswith(DISPENSABLE[family]))
    require(
        not lacking,
        f"{folder}: its weights do not match the {type(model).__name__} in its config.json: "
        f"{len(lacking)} are missing, such as {lacking[0] if lacking else ''}: copy the folder again",
    )


def reorder_tables(model: Any, rows: list[int]) -> None:
    """Puts every table and bias with one row per word into the order of ``rows``."""
    index = torch.tensor(rows)
    words = model.config.vocab_size
    require(
        max(rows) < words,
        f"the tokenizer has {max(rows) + 1} tokens, but the model only {words}: use the model's own tokenizer",
    )
    head = model.get_output_embeddings()
    tables = [model.get_input_embeddings().weight, head.weight, head.bias]
    for table in {id(table): table for table in tables if table is not None}.values():
        table.data = table.data[index]
    if hasattr(model, "final_logits_bias"):  # BART
        model.final_logits_bias = model.final_logits_bias[:, index]


def save_backbone(model: PreTrainedModel, missing: set[str], dictionary: Dictionary, folder: Path) -> None:
    """Writes the model in the library's format, with fairseq's ids and without the ``missing`` weights."""
    from transformers import GenerationConfig

    config = model.config
    config.vocab_size = len(dictionary)
    config.bos_token_id, config.pad_token_id = dictionary.bos(), dictionary.pad()
    config.eos_token_id = dictionary.eos()
    config.decoder_start_token_id = dictionary.pad() if backbone_family(config.model_type) == "t5" else dictionary.eos()
    model.generation_config = GenerationConfig.from_model_config(config)
    state = {name: value for name, value in model.state_dict().items() if name not in missing}
    with quietly(folder):
        model.save_pretrained(folder, state_dict=state)
