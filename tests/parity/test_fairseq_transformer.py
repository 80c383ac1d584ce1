"""``pbd`` without its three additions has the scores of fairseq's ``transformer`` with the same weights."""

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

# options of the PBD, and those that fairseq names differently
TRANSFORMER_VARIANTS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "post-norm": ({}, {}),
    "pre-norm": ({"normalize_before": True}, {"encoder_normalize_before": True, "decoder_normalize_before": True}),
    "learned-positions": ({"learned_pos": True}, {"encoder_learned_pos": True, "decoder_learned_pos": True}),
    "one-table": ({"share_all_embeddings": True, "activation_fn": "gelu"}, {}),
    "tied-output": ({"share_decoder_input_output_embed": True, "no_scale_embedding": True}, {}),
}


def convert_weights(reference: TransformerModel, model: PBD) -> dict[str, Tensor]:
    reference_weights = reference.state_dict()
    weights = {}
    for side in ("encoder", "decoder"):
        weights |= convert_modules(reference_weights, side, side, SIDE_MODULES)
        weights |= convert_blocks(reference_weights, f"{side}.layers", f"{side}.layers", range(3))
    if isinstance(model.decoder.token_head, Linear):
        weights |= convert_modules(reference_weights, "decoder", "decoder", {"token_head": ["output_projection"]})
    return weights


def build_both(variant: str) -> tuple[TransformerModel, PBD, TranslationTask]:
    """Returns fairseq's Transformer, a PBD with its weights, and their task."""
    options, renamed = TRANSFORMER_VARIANTS[variant]
    languages = TranslationConfig(data="", source_lang="source", target_lang="target")
    task = TranslationTask(languages, toy_dictionary(), toy_dictionary())
    shared_options = {key: value for key, value in options.items() if key not in ("normalize_before", "learned_pos")}
    reference = toy_transformer(task, encoder_layers=3, decoder_layers=3, **shared_options, **renamed)
    model = toy_pbd(task, layers=3, no_future=True, no_sharing=True, **options)
    model.load_state_dict(convert_weights(reference, model))
    return reference, model, task


def padded_batch() -> tuple[Tensor, Tensor]:
    sources = left_padded([row[1:] for row in random_rows(5, seed=1, shortest=1)])
    return sources, rows_to_tensor([[EOS, *row[1:-1]] for row in random_rows(5, seed=2)])


@pytest.mark.parametrize("variant", TRANSFORMER_VARIANTS)
@torch.no_grad()
def test_logits_of_a_plain_pbd_match_fairseq(variant: str) -> None:
    reference, pbd, _ = build_both(variant)
    sources, previous = padded_batch()
    lengths = sources.ne(PAD).sum(1)
    expected, logits = (model(sources, lengths, previous)[0] for model in (reference, pbd))
    real = previous.ne(PAD)
    torch.testing.assert_close(logits[real], expected[real], atol=1e-5, rtol=0)


@pytest.mark.parametrize("beam", [1, 5])
@pytest.mark.parametrize("variant", TRANSFORMER_VARIANTS)
def test_beams_of_a_plain_pbd_match_fairseq(variant: str, beam: int) -> None:
    reference, pbd, task = build_both(variant)
    sources, _ = padded_batch()
    sample = {"net_input": {"src_tokens": sources, "src_lengths": sources.ne(PAD).sum(1)}}
    results = [
        SequenceGenerator([model], task.target_dictionary, beam_size=beam, max_len_b=12).generate([model], sample)
        for model in (reference, pbd)
    ]
    for expected, hypotheses in zip(*results, strict=True):
        assert [h["tokens"].tolist() for h in hypotheses] == [h["tokens"].tolist() for h in expected]
        for hypothesis, reference_hypothesis in zip(hypotheses, expected, strict=True):
            torch.testing.assert_close(
                hypothesis["positional_scores"], reference_hypothesis["positional_scores"], atol=2e-5, rtol=0
            )


def test_an_ensemble_with_fairseqs_transformer_decodes_the_same() -> None:
    """One of the models has encoder states per sentence, the other per hypothesis."""
    reference, pbd, task = build_both("post-norm")
    sources, _ = padded_batch()
    sample = {"net_input": {"src_tokens": sources, "src_lengths": sources.ne(PAD).sum(1)}}
    reference_hypotheses, hypotheses = (
        SequenceGenerator(models, task.target_dictionary, beam_size=3, max_len_b=12).generate(models, sample)
        for models in ([reference], [reference, pbd])
    )
    assert [h[0]["tokens"].tolist() for h in hypotheses] == [h[0]["tokens"].tolist() for h in reference_hypotheses]
