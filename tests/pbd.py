"""What the tests of the PBD share: one model for each set of options, and sentences."""

from typing import Any

from torch import Tensor

from tests.helpers import EOS, random_rows, rows_to_tensor

VARIANTS: dict[str, dict[str, Any]] = {
    "paper": {},
    "pre-norm": {"normalize_before": True},
    "no-future": {"no_future": True},
    "no-segments": {"no_segments": True},
    "no-sharing": {"no_sharing": True},
    "no-sharing-pre-norm": {"no_sharing": True, "normalize_before": True, "no_segments": True},
    "nothing": {"no_future": True, "no_sharing": True},
    "states-that-leave": {"future_states": "output"},
    "states-that-leave-pre-norm": {"future_states": "output", "normalize_before": True},
    "one-block": {"layers": 1, "share_all_embeddings": True},
    "four-blocks": {"layers": 4, "activation_fn": "gelu"},
    "learned-positions": {"learned_pos": True, "max_source_positions": 40},
    "own-learned-positions": {"learned_pos": True, "no_sharing": True, "share_decoder_input_output_embed": True},
    "bert": {"apply_bert_init": True, "no_scale_embedding": True},
}


def outputs(count: int, seed: int, shortest: int = 1, longest: int = 10) -> list[list[int]]:
    """Sentences as fairseq has them: words and </s>, without <s>."""
    return [row[1:] for row in random_rows(count, seed, shortest=shortest, longest=longest)]


def shifted(rows: list[list[int]]) -> Tensor:
    """Decoder inputs: </s> first, then all but the last token."""
    return rows_to_tensor([[EOS, *row[:-1]] for row in rows])
