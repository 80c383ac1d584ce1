"""``pbd`` with all three of its ideas switched off is fairseq's ``transformer``: same weights, same numbers."""

from typing import Any

import pytest
import torch
from fairseq.models.transformer import TransformerModel
from fairseq.sequence_generator import SequenceGenerator
from fairseq.tasks.translation import TranslationConfig, TranslationTask
from torch import Tensor

from lev_plugins.cli.import_levt import SIDE_MODULES, convert_blocks, convert_modules
from lev_plugins.correction.pbd import PBD
from lev_plugins.nn.linear import Linear
from tests.helpers import EOS, PAD, left_padded, random_rows, rows_to_tensor, toy_dictionary, toy_pbd, toy_transformer

# ours, and what fairseq calls it where that is not the same
VARIANTS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "post-norm": ({}, {}),
    "pre-norm": ({"normalize_before": True}, {"encoder_normalize_before": True, "decoder_normalize_before": True}),
    "learned-positions": ({"learned_pos": True}, {"encoder_learned_pos": True, "decoder_learned_pos": True}),
    "one-table": ({"share_all_embeddings": True, "activation_fn": "gelu"}, {}),
    "tied-output": ({"share_decoder_input_output_embed": True, "no_scale_embedding": True}, {}),
}


def converted(theirs: TransformerModel, ours: PBD) -> dict[str, Tensor]:
    old = theirs.state_dict()
    new = {}
    for side in ("encoder", "decoder"):
        new |= convert_modules(old, side, side, SIDE_MODULES)
        new |= convert_blocks(old, f"{side}.layers", f"{side}.layers", range(3))
    if isinstance(ours.decoder.token_head, Linear):
        new |= convert_modules(old, "decoder", "decoder", {"token_head": ["output_projection"]})
    return new


def both(variant: str) -> tuple[TransformerModel, PBD, TranslationTask]:
    """The pair of models, and every parameter of ours taken from fairseq's."""
    own, renamed = VARIANTS[variant]
    languages = TranslationConfig(data="", source_lang="source", target_lang="target")
    made = TranslationTask(languages, toy_dictionary(), toy_dictionary())
    same = {key: value for key, value in own.items() if key not in ("normalize_before", "learned_pos")}
    theirs = toy_transformer(made, encoder_layers=3, decoder_layers=3, **same, **renamed)
    ours = toy_pbd(made, layers=3, no_future=True, no_sharing=True, **own)
    ours.load_state_dict(converted(theirs, ours))
    return theirs, ours, made


def batch() -> tuple[Tensor, Tensor]:
    sources = left_padded([row[1:] for row in random_rows(5, seed=1, shortest=1)])
    return sources, rows_to_tensor([[EOS, *row[1:-1]] for row in random_rows(5, seed=2)])


@pytest.mark.parametrize("variant", VARIANTS)
@torch.no_grad()
def test_logits_are_the_same(variant: str) -> None:
    theirs, ours, _ = both(variant)
    sources, previous = batch()
    lengths = sources.ne(PAD).sum(1)
    expected, found = (model(sources, lengths, previous)[0] for model in (theirs, ours))
    real = previous.ne(PAD)
    torch.testing.assert_close(found[real], expected[real], atol=1e-5, rtol=0)


@pytest.mark.parametrize("beam", [1, 5])
@pytest.mark.parametrize("variant", VARIANTS)
def test_beam_search_finds_the_same(variant: str, beam: int) -> None:
    theirs, ours, made = both(variant)
    sources, _ = batch()
    sample = {"net_input": {"src_tokens": sources, "src_lengths": sources.ne(PAD).sum(1)}}
    results = [
        SequenceGenerator([model], made.target_dictionary, beam_size=beam, max_len_b=12).generate([model], sample)
        for model in (theirs, ours)
    ]
    for expected, found in zip(*results, strict=True):
        assert [h["tokens"].tolist() for h in found] == [h["tokens"].tolist() for h in expected]
        for one, other in zip(found, expected, strict=True):
            torch.testing.assert_close(one["positional_scores"], other["positional_scores"], atol=2e-5, rtol=0)


def test_both_make_one_ensemble() -> None:
    """Beams are kept once a sentence in one of the models and row by row in the other."""
    theirs, ours, made = both("post-norm")
    sources, _ = batch()
    sample = {"net_input": {"src_tokens": sources, "src_lengths": sources.ne(PAD).sum(1)}}
    alone, together = (
        SequenceGenerator(models, made.target_dictionary, beam_size=3, max_len_b=12).generate(models, sample)
        for models in ([theirs], [theirs, ours])
    )
    assert [h[0]["tokens"].tolist() for h in together] == [h[0]["tokens"].tolist() for h in alone]
