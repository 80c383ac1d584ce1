"""``lev-plugins import-levt IN.pt OUT.pt``: convert fairseq's ``levenshtein_transformer`` into a ``levt``.

Weights are renamed and separate projections stacked; the numbers stay the same.

A checkpoint of fairseq's ``transformer``, such as the teacher of a distillation, becomes a ``levt`` to train further
(``fairseq-train --finetune-from-model OUT.pt``). The parts that an autoregressive model lacks (deletion head,
placeholder head and placeholder embedding) are initialised as in a new model.
"""

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from omegaconf import OmegaConf
from torch import Tensor

from lev_plugins.levt.config import SHARING, LevTConfig
from lev_plugins.nn.linear import head_projection
from lev_plugins.training import checkpoints
from lev_plugins.utils.errors import UserError, require
from lev_plugins.utils.files import require_new
from lev_plugins.utils.ranges import MAX_LAYERS, bounded, flag_name

Options = dict[str, Any]  # flags of a model
MAX_INSERTIONS = 255  # in fairseq's LevT; also our default

# modules of the encoder or the decoder, here -> fairseq; several are stacked into one, in order
Modules = dict[str, list[str]]
SIDE_MODULES: Modules = {
    "embedding.tokens": ["embed_tokens"],
    "embedding.learned": ["embed_positions"],
    "norm": ["layer_norm"],
    "deletion_head": ["embed_word_del"],
    "placeholder_head": ["embed_mask_ins"],
}
BLOCK_MODULES: Modules = {
    "self_attn_residual.norm": ["self_attn_layer_norm"],
    "self_attn.in_proj": ["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"],
    "self_attn.out_proj": ["self_attn.out_proj"],
    "cross_attn_residual.norm": ["encoder_attn_layer_norm"],
    "cross_attn.q_proj": ["encoder_attn.q_proj"],
    "cross_attn.kv_proj": ["encoder_attn.k_proj", "encoder_attn.v_proj"],
    "cross_attn.out_proj": ["encoder_attn.out_proj"],
    "ffn_residual.norm": ["final_layer_norm"],
    "ffn.fc1": ["fc1"],
    "ffn.fc2": ["fc2"],
}
# fairseq's decoder blocks for each policy, and its flags for policies with blocks of their own
STACKS = {"token": "layers", "deletion": "layers_del", "placeholder": "layers_msk"}
OWN_BLOCKS = {"deletion": "no_share_discriminator", "placeholder": "no_share_maskpredictor"}
WITHOUT_COUNTERPART = [
    *("share_discriminator_maskpredictor", "adaptive_softmax_cutoff", "adaptive_input", "layernorm_embedding"),
    *("no_token_positional_embeddings", "no_cross_attention", "cross_self_attention", "no_decoder_final_norm"),
    *("encoder_layers_to_keep", "decoder_layers_to_keep"),
]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("input", metavar="IN.pt", help="checkpoint of fairseq's levenshtein_transformer, or of its transformer")
    add("output", metavar="OUT.pt", type=Path, help="levt checkpoint to write, which must not exist")
    blocks = "the decoder blocks that the deletion, placeholder and token policies read, such as 1,1,2; a transformer "
    blocks += "keeps as many as the last number, its first and last among them (default: as in the checkpoint)"
    add("--early-exit", metavar="D,P,T", help=blocks)


def run(args: argparse.Namespace) -> int:
    require_new(args.output, "OUT.pt")
    imported = convert(checkpoints.load(args.input), args.early_exit)
    checkpoints.save(imported, args.output)
    sys.stdout.write(f"{args.output} is a levt with the weights of {args.input}\n")
    return 0


def convert(state: checkpoints.Checkpoint, early_exit: str | None = None) -> checkpoints.Checkpoint:
    """Returns a checkpoint that ``fairseq-generate --task text_editing`` loads, without optimizer state."""
    options = options_of(state)
    blocks = int(options["decoder_layers"])
    bounded("decoder_layers in the checkpoint", blocks, 1, MAX_LAYERS)
    if early_exit is not None:
        separate = [flag for flag in OWN_BLOCKS.values() if options.get(flag)]
        if separate:
            raise UserError(
                f"--early-exit is for policies that share their blocks, but this checkpoint has {separate[0]}"
            )
        numbers = [int(part) if part.isdecimal() else 0 for part in early_exit.split(",")]
        require(
            len(numbers) == 3 and min(numbers) >= 1 and max(numbers) == numbers[-1] <= blocks,
            f"--early-exit must be three numbers from 1 to {blocks}, the last the largest, but is {early_exit}",
        )
        options["early_exit"] = early_exit
    cfg: Any = state.get("cfg")
    if cfg is None:
        cfg = OmegaConf.to_container(convert_namespace_to_omegaconf(state["args"]), enum_to_str=True)
    task = {key: value for key, value in cfg["task"].items() if key != "noise"} | {"_name": "text_editing"}
    weights = state["model"] if is_levt(options) else add_heads(state["model"], options)
    return {
        **state,
        "cfg": {**cfg, "model": convert_options(options), "task": task, "criterion": {"_name": "dual_policy"}},
        "args": None,
        "model": convert_weights(weights, options),
        "last_optimizer_state": None,
    }


def options_of(state: checkpoints.Checkpoint) -> Options:
    """Returns fairseq's flags for the model in a checkpoint, which must have a counterpart here."""
    recorded = state["args"] if state.get("args") is not None else state["cfg"]["model"]
    options = dict(vars(recorded) if isinstance(recorded, argparse.Namespace) else recorded)
    transformer = arch_of(options).startswith("transformer") and "encoder.embed_tokens.weight" in state["model"]
    require(
        is_levt(options) or transformer,
        "import-levt accepts checkpoints of fairseq's levenshtein_transformer and transformer, but this is a "
        f"{arch_of(options)}",
    )
    width = options["decoder_embed_dim"]
    flags = [flag for flag in WITHOUT_COUNTERPART if options.get(flag)]
    flags += [flag for flag in ("decoder_input_dim", "decoder_output_dim") if options.get(flag, width) != width]
    require(not flags, f"levt has no counterpart of {' and '.join(map(flag_name, flags))}: this cannot be imported")
    return options


def arch_of(options: Options) -> str:
    return str(options.get("arch") or options.get("_name"))


def is_levt(options: Options) -> bool:
    return arch_of(options).startswith("levenshtein_transformer")


def add_heads(weights: dict[str, Tensor], options: Options) -> dict[str, Tensor]:
    """Returns a Transformer's weights with those that only an editor has, initialised as in a new model."""
    table = weights["decoder.embed_tokens.weight"]  # (V, C)
    dim = table.size(1)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)  # the same file every time
        placeholder = torch.randn(1, dim) * dim**-0.5
        deletion_head, placeholder_head = head_projection(dim, 2), head_projection(2 * dim, MAX_INSERTIONS + 1)
    extended = torch.cat([table, placeholder.to(table)])
    result = {
        **weights,
        "decoder.embed_tokens.weight": extended,
        "decoder.embed_word_del.weight": deletion_head.weight.detach(),
        "decoder.embed_mask_ins.weight": placeholder_head.weight.detach(),
    }
    if options.get("share_all_embeddings"):
        result["encoder.embed_tokens.weight"] = extended
    return result


def convert_options(options: Options) -> Options:
    """Returns the flags of ``levt`` for those of fairseq."""
    common = {key: options[key] for key in LevTConfig.__dataclass_fields__ if key in options and key[0] != "_"}
    deletion, placeholder, token = exits(options)
    require(
        max(deletion, placeholder) <= token,
        f"levt has no counterpart of {deletion}, {placeholder} and {token} decoder blocks for deletion, placeholders "
        "and tokens, of which the last must be the largest number: this cannot be imported",
    )
    stacks = {policy: policy if options.get(flag) else "shared" for policy, flag in OWN_BLOCKS.items()}
    return {
        **common,
        "_name": "levt",
        "decoder_layers": token,
        "deletion_layers": deletion,
        "placeholder_layers": placeholder,
        "share_weights": next(name for name, sharing in SHARING.items() if stacks.items() <= sharing.items()),
        "max_insertions": MAX_INSERTIONS,
        "placeholder": "unk" if is_levt(options) else "plh",
    }


def exits(options: Options) -> tuple[int, ...]:
    """Returns the decoder blocks that feed deletion, placeholders and tokens; fairseq clips larger numbers.

    A policy with blocks of its own has as many as its number says.

    >>> exits({"early_exit": "6,3,6", "decoder_layers": 4})  # 6,6,6 is fairseq's default, however deep the decoder
    (4, 3, 4)
    >>> exits({"early_exit": "6,6,6", "decoder_layers": 4, "no_share_discriminator": True})
    (6, 4, 4)
    """
    depth = int(options["decoder_layers"])
    numbers = map(int, str(options.get("early_exit", f"{depth},{depth},{depth}")).split(","))
    separate = [bool(options.get(flag)) for flag in OWN_BLOCKS.values()] + [False]  # that of the token policy never is
    return tuple(
        number if is_separate else min(number, depth) for number, is_separate in zip(numbers, separate, strict=True)
    )


def convert_weights(weights: dict[str, Tensor], options: Options) -> dict[str, Tensor]:
    """Returns the weights of a ``levt`` for those of fairseq's LevT, without decoder blocks that never run."""
    result: dict[str, Tensor] = {}
    for side in ("encoder", "decoder"):
        result |= convert_modules(weights, side, side, SIDE_MODULES)
    if not (options.get("share_all_embeddings") or options.get("share_decoder_input_output_embed")):
        result |= convert_modules(weights, "decoder", "words", {"head": ["output_projection"]})
    result |= convert_blocks(weights, "encoder.layers", "encoder.layers", range(int(options["encoder_layers"])))
    deletion, placeholder, _ = exits(options)
    sharing = SHARING[convert_options(options)["share_weights"]]
    blocks = {"token": imported_blocks(options), "deletion": range(deletion), "placeholder": range(placeholder)}
    for policy, fairseq_name in STACKS.items():
        result |= convert_blocks(
            weights, f"decoder.{fairseq_name}", f"decoder.stacks.{sharing[policy]}", blocks[policy]
        )
    return result


def imported_blocks(options: Options) -> list[int]:
    """Returns the decoder blocks that are imported, numbered from 0: of a LevT, those that run.

    A Transformer's last block makes what its output layer reads, so if it loses blocks, then between the first and the
    last.

    >>> imported_blocks({"arch": "levenshtein_transformer", "decoder_layers": 6, "early_exit": "1,1,2"})
    [0, 1]
    >>> imported_blocks({"arch": "transformer", "decoder_layers": 6, "early_exit": "1,1,3"})
    [0, 2, 5]
    """
    blocks, depth = int(options["decoder_layers"]), exits(options)[2]
    if is_levt(options):
        return list(range(depth))
    return [round((blocks - 1) * i / (depth - 1)) for i in range(depth)] if depth > 1 else [blocks - 1]


def convert_blocks(weights: dict[str, Tensor], source: str, target: str, blocks: Iterable[int]) -> dict[str, Tensor]:
    """Returns these blocks of the stack ``source`` as those of ``target``, numbered from 0."""
    result: dict[str, Tensor] = {}
    for number, block in enumerate(blocks):
        result |= convert_modules(weights, f"{source}.{block}", f"{target}.{number}", BLOCK_MODULES)
    return result


def convert_modules(weights: dict[str, Tensor], source: str, target: str, modules: Modules) -> dict[str, Tensor]:
    """Returns the weights of those modules of ``source`` that it has as those of ``target``."""
    result: dict[str, Tensor] = {}
    for module, names in modules.items():
        for kind in ("weight", "bias"):
            keys = [f"{source}.{name}.{kind}" for name in names]
            parts = [weights[key] for key in keys if key in weights]
            if parts:
                result[f"{target}.{module}.{kind}"] = torch.cat(parts) if len(parts) > 1 else parts[0]
    return result
