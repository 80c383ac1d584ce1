"""The only file that imports ``transformers``, when a model from it is needed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.utils._pytree import register_pytree_node

from lev_plugins.text.pretrained import TOKENIZER
from lev_plugins.utils.errors import UserError, explain, require
from lev_plugins.utils.json_schema import read_object

if TYPE_CHECKING:
    from fairseq.data import Dictionary
    from transformers import PretrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

ENCODER, ENCODER_DECODER = "AutoModelForMaskedLM", "AutoModelForSeq2SeqLM"
DEBERTA_GRAPHS = (5, 23)  # the version in which graphs of all blocks of a DeBERTa have no branches


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


def kind_of(model_type: str) -> str:
    """Returns the library's class for models of a type: encoders, or encoder-decoders."""
    from transformers.models.auto import modeling_auto as names

    if model_type in names.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES:
        return ENCODER_DECODER
    return ENCODER if model_type in names.MODEL_FOR_MASKED_LM_MAPPING_NAMES else ""


def encoder_part(model: Any) -> Any:
    """Returns the encoder of a model of one of the two classes."""
    return model.get_encoder() if kind_of(model.config.model_type) == ENCODER_DECODER else model.base_model


def read_config(folder: Path) -> PretrainedConfig:
    """Returns the configuration of an encoder or an encoder-decoder."""
    from transformers import AutoConfig

    require(
        (folder / "config.json").is_file(), f"{folder} has no config.json: choose the folder of a Hugging Face model"
    )
    model_type = str(read_object(folder / "config.json").get("model_type"))
    require(
        kind_of(model_type) != "",
        f"{folder}: its type, {model_type}, is neither an encoder nor an encoder-decoder of transformers",
    )
    with quietly(folder):
        return plain_config(AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False))


def plain_config(config: PretrainedConfig) -> PretrainedConfig:
    """Returns a configuration without the implementation of attention that it may name, which may be code."""
    config._attn_implementation = None
    return config


def gated_arch(model_type: str) -> str | None:
    """Returns the --arch of a gated model that takes models of a type.

    None: an encoder whose blocks the library does not have with cross-attention, for a levt or an enct5 alone.
    """
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

    if kind_of(model_type) == ENCODER:
        return "gated_bert" if model_type in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES else None
    return "gated_t5" if "t5" in model_type else "gated_bart"


def widths(encoder: Any) -> tuple[int, int]:
    """Returns the widths of the word vectors and of the states of an encoder, which a gated_bert mixes."""
    return encoder.get_input_embeddings().embedding_dim, encoder.config.hidden_size


def read_tokenizer(folder: Path) -> PreTrainedTokenizerBase:
    from transformers import AutoTokenizer

    with quietly(folder, "its tokenizer files are damaged or do not match: "):
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    names = dict(tokenizer.vocab_files_names)  # without these files, its vocabulary is empty; a byte tokenizer has none
    single = names.pop("tokenizer_file", TOKENIZER)
    parts = list(names.values())
    require(
        (folder / single).is_file() or all((folder / name).is_file() for name in parts),
        f"{folder} has no tokenizer: add {' and '.join(parts)}, or {single}, beside config.json",
    )
    return tokenizer


def with_dropout(names: Iterable[str], rate: float) -> dict[str, float]:
    """Returns those of the ``names`` of settings that are rates of dropout, all with this ``rate``."""
    return {name: rate for name in names if name.endswith(("dropout", "dropout_prob", "dropout_rate"))}


def build_encoder(entries: dict[str, Any], dropout: float) -> nn.Module:
    """Returns an encoder with random weights; ``entries`` are those of its config.json."""
    import transformers

    entries = {**entries, **with_dropout(entries, dropout)}
    config = plain_config(transformers.AutoConfig.for_model(**entries))
    auto = getattr(transformers, kind_of(config.model_type))
    return encoder_part(auto.from_config(config, trust_remote_code=False))


def require_traceable(model_type: str) -> None:
    """Refuses to make graphs of all blocks of a DeBERTa with a version of the library in which they would branch."""
    import transformers

    require(
        model_type != "deberta-v2" or tuple(map(int, transformers.__version__.split(".")[:2])) >= DEBERTA_GRAPHS,
        f"graphs of a levt with a DeBERTa need transformers 5.23 or newer, but {transformers.__version__} is "
        "installed: upgrade it, with Python 3.11 or newer",
    )


def read_model(kind: str, folder: Path, weights: bool = True, **options: Any) -> tuple[Any, set[str]]:
    """Returns a model in 32 bits, and the names of the weights missing from the folder.

    Pickled weights are read with ``weights_only``, which executes no code from the file. Without ``weights`` they are
    random, and none of them counts as missing. ``kind`` is one of the library's classes whose names begin with Auto;
    ``options`` replace settings of its configuration.
    """
    import transformers

    config, auto = read_config(folder), getattr(transformers, kind)
    with quietly(folder):
        for name, value in options.items():
            setattr(config, name, value)
        if not weights:
            return auto.from_config(config, trust_remote_code=False), set()
        require_own_weights(folder)
        checks = {"output_loading_info": True, "ignore_mismatched_sizes": True}  # reported more plainly below
        model, info = auto.from_pretrained(
            folder, config=config, local_files_only=True, trust_remote_code=False, dtype=torch.float32, **checks
        )
    for weight, *shapes in info["mismatched_keys"]:
        file, expected = ("x".join(map(str, shape)) for shape in shapes)
        raise UserError(
            f"{folder}: {weight} is {file} in the weights, but {expected} in config.json: copy the folder again"
        )
    return model, set(info["missing_keys"])


def require_own_weights(folder: Path) -> None:
    """Refuses a list of the files of weights that names a file outside the folder."""
    for path in folder.glob("*.index.json"):
        places = read_object(path).get("weight_map")
        named = isinstance(places, dict) and all(name == Path(str(name)).name for name in places.values())
        require(named, f"{path}: weight_map must name files of this folder: copy the folder again")


def read_complete(folder: Path) -> tuple[Any, set[str]]:
    """Returns ``read_model`` of an encoder with its output layer, or of an encoder-decoder."""
    return read_model(kind_of(read_config(folder).model_type), folder)


def missing_in(part: nn.Module, model: nn.Module, missing: set[str]) -> list[str]:
    """Returns those of the names of ``missing`` weights of a ``model`` that its ``part`` has."""
    names: dict[int, set[str]] = {}  # tied weights have several
    for name, weight in model.named_parameters(remove_duplicate=False):
        names.setdefault(id(weight), set()).add(name)
    return sorted(min(names[id(weight)]) for weight in part.parameters() if names[id(weight)] <= missing)


def require_pretrained(model: PreTrainedModel, missing: set[str], folder: Path) -> None:
    """Refuses the weights of another model: the library leaves weights random whose names it does not find."""
    lacking = missing_in(encoder_part(model), model, missing)
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


def place_text(model: PreTrainedModel, dictionary: Dictionary, begins: bool) -> None:
    """Sets ``text_positions``: the number of symbols that the encoder reads; None: it has no maximum.

    The positions of a RoBERTa begin after the id of <pad>, so its table moves with this id. ``begins``: texts begin
    with <s>.
    """
    config, offset = model.config, 0
    for name, table in encoder_part(model).named_modules():
        if isinstance(table, nn.Embedding) and name.endswith("position_embeddings") and table.padding_idx is not None:
            offset = dictionary.pad() + 1
            if table.padding_idx == config.pad_token_id:
                shift = dictionary.pad() - table.padding_idx
                table.weight.data = nn.functional.pad(table.weight.data, (0, 0, shift, 0))
                config.max_position_embeddings += shift
    positions = getattr(config, "max_position_embeddings", None)
    config.text_positions = positions and positions - offset
    config.bos_token_id = dictionary.bos() if begins else None


def save_backbone(
    model: PreTrainedModel, missing: set[str], dictionary: Dictionary, rows: list[int], folder: Path
) -> None:
    """Writes the model in the library's format, with fairseq's ids and without the ``missing`` weights.

    ``rows``: the model's own id of each symbol of the dictionary.
    """
    from transformers import GenerationConfig

    config = model.config
    place_text(model, dictionary, rows[dictionary.bos()] != rows[dictionary.pad()])
    config.vocab_size = len(dictionary)
    numbers = {row: number for number, row in enumerate(rows)}
    for name, row in config.to_dict().items():
        if name.endswith("_token_id") and name != "bos_token_id":
            setattr(config, name, numbers.get(row))
    config.pad_token_id, config.eos_token_id = dictionary.pad(), dictionary.eos()
    model.generation_config = GenerationConfig.from_model_config(config)
    state = {name: value for name, value in model.state_dict().items() if name not in missing}
    with quietly(folder):
        model.save_pretrained(folder, state_dict=state)
