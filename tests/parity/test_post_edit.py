"""The autoregressive post-editor against fairseq's Transformer, which has no drafts."""

import math
from typing import Any

import pytest
import torch
from fairseq.criterions.label_smoothed_cross_entropy import LabelSmoothedCrossEntropyCriterion
from fairseq.models.transformer import TransformerEncoderBase, TransformerModel
from torch import Tensor

from lev_plugins.levt.post_edit import PostEditTransformer
from lev_plugins.levt.task import TextEditingTask
from tests.helpers import (
    BOS,
    EOS,
    PAD,
    collated,
    left_padded,
    random_rows,
    rows_to_tensor,
    toy_dataset,
    toy_dictionary,
    toy_pairs,
    toy_post_editor,
    toy_task,
    toy_transformer,
)

N_ROWS = 6
POST_EDIT_VARIANTS: dict[str, dict[str, Any]] = {
    "post-norm": {},
    "pre-norm": {"encoder_normalize_before": True, "decoder_normalize_before": True},
    "learned-positions": {"encoder_learned_pos": True, "decoder_learned_pos": True},
    "unscaled": {"no_scale_embedding": True},
    "shared": {"share_all_embeddings": True},
    "target-embeddings": {"share_decoder_input_output_embed": True},
    "gelu": {"activation_fn": "gelu"},
    "sizes": {"encoder_layers": 1, "encoder_ffn_embed_dim": 24, "decoder_attention_heads": 4, "decoder_layers": 3},
}
variants = pytest.mark.parametrize("options", POST_EDIT_VARIANTS.values(), ids=POST_EDIT_VARIANTS.keys())


# --- the encoder, from embeddings summed token by token


def position(model: PostEditTransformer, place: int) -> list[float]:
    """Returns the vector of the position ``place``, counted from 1."""
    table = model.encoder.embed_positions
    if isinstance(table, torch.nn.Embedding):
        return table.weight[PAD + place].tolist()
    rates = [math.exp(-math.log(10000) * i / 7) for i in range(8)]
    return [math.sin((PAD + place) * r) for r in rates] + [math.cos((PAD + place) * r) for r in rates]


def assembled(model: PostEditTransformer, source: list[int], draft: list[int], scale: float) -> Tensor:
    """Adds up the embeddings of source and draft token by token: (1, S + N, C)."""
    vectors = []
    segments = [(model.encoder.embed_tokens, source[1:])]
    if draft != [BOS, EOS]:
        segments.append((model.decoder.embed_tokens, draft[1:]))
    for language, (table, tokens) in enumerate(segments):
        for place, token in enumerate(tokens, 1):
            word, segment = table.weight[token].tolist(), model.encoder.languages.weight[language].tolist()
            where = position(model, place)
            vectors.append([scale * (w + s) + p for w, s, p in zip(word, segment, where, strict=True)])
    return torch.tensor(vectors)[None]


def encoder_of_embeddings(model: PostEditTransformer, options: dict[str, Any]) -> TransformerEncoderBase:
    """Returns fairseq's encoder with the blocks of ``model`` and without embeddings."""
    nothing = {"no_scale_embedding": True, "no_token_positional_embeddings": True}
    plain = toy_transformer(**{**options, **nothing}).encoder
    weights = {name: w for name, w in model.encoder.state_dict().items() if name.startswith("layer")}
    assert plain.load_state_dict(weights, strict=False).unexpected_keys == []
    return plain


@pytest.mark.parametrize("left_pad", [True, False])
@variants
@torch.no_grad()
def test_the_encoder_reads_source_and_draft_as_one_row(options: dict[str, Any], left_pad: bool) -> None:
    task = toy_task() if "share_all_embeddings" in options else toy_task(toy_dictionary(20), toy_dictionary(30))
    model = toy_post_editor(task, **options)
    sources, drafts = random_rows(N_ROWS, 1, shortest=1), [*random_rows(N_ROWS - 1, 2, shortest=1), [BOS, EOS]]
    drafts[0][1] = 23 if "share_all_embeddings" in options else 33  # no word of the source dictionary
    padded = left_padded if left_pad else rows_to_tensor
    encoded = model.encoder(padded(sources), draft=padded(drafts))
    plain = encoder_of_embeddings(model, options)
    for i, (source, draft) in enumerate(zip(sources, drafts, strict=True)):
        x = assembled(model, source, draft, 1.0 if "no_scale_embedding" in options else 4.0)
        expected = plain(torch.full(x.shape[:2], EOS), token_embeddings=x)["encoder_out"][0][:, 0]
        real = ~encoded["encoder_padding_mask"][0][i]
        torch.testing.assert_close(encoded["encoder_out"][0][real, i], expected, rtol=1e-4, atol=1e-5)


# --- without drafts: fairseq's `transformer`


def plain_transformer(model: PostEditTransformer, task: TextEditingTask, options: dict[str, Any]) -> TransformerModel:
    """Returns fairseq's Transformer with the weights of ``model``, whose language embeddings become zero."""
    torch.nn.init.zeros_(model.encoder.languages.weight)
    plain = toy_transformer(task, **options)
    new_weights = {"encoder.languages.weight", "encoder.draft_words.weight"}
    plain.load_state_dict({name: weight for name, weight in model.state_dict().items() if name not in new_weights})
    return plain


def amplified(model: PostEditTransformer) -> PostEditTransformer:
    """Triples the weights, so that words depend on the source and some sentences end."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "layers" in name and name.endswith(("proj.weight", "fc1.weight", "fc2.weight")):
                parameter.mul_(3)
    return model


SOURCE_ROWS, TARGET_ROWS = random_rows(N_ROWS, 1, shortest=1), random_rows(N_ROWS, 2, shortest=1)


def plain_batch() -> dict[str, Any]:
    """Returns the batch as ``--task translation`` collates it, without <s>."""
    sources, targets = ([row[1:] for row in rows] for rows in (SOURCE_ROWS, TARGET_ROWS))
    return collated(toy_pairs(sources, targets, left_pad_source=True))


def draft_batch(drafts: list[list[int]] | None, rows: range = range(N_ROWS)) -> dict[str, Any]:
    return collated(toy_dataset(SOURCE_ROWS, TARGET_ROWS, drafts, teacher_forcing=True), rows)


def loss(model: Any, sample: dict[str, Any]) -> tuple[float, int, dict[str, Any]]:
    criterion = LabelSmoothedCrossEntropyCriterion(toy_task(), sentence_avg=False, label_smoothing=0.1)
    value, size, log = criterion(model, sample)
    return float(value), size, log


EMPTY_DRAFTS = [[BOS, EOS]] * N_ROWS
without_drafts = pytest.mark.parametrize("drafts", [None, EMPTY_DRAFTS], ids=["no-drafts", "empty-drafts"])


@without_drafts
@variants
@torch.no_grad()
def test_without_drafts_the_loss_matches_a_transformer(options: dict[str, Any], drafts: list[list[int]] | None) -> None:
    task = toy_task()
    model = toy_post_editor(task, **options)
    plain = plain_transformer(model, task, options)
    value, size, log = loss(model, draft_batch(drafts))
    expected, plain_size, plain_log = loss(plain, plain_batch())
    assert value == pytest.approx(expected, rel=1e-5)
    assert size == plain_size == log["ntokens"] == plain_log["ntokens"]


# --- with drafts


DRAFT_ROWS = [*random_rows(N_ROWS - 1, 3, shortest=1), [BOS, EOS]]


@torch.no_grad()
def test_the_loss_of_a_batch_is_the_sum_over_its_sentences() -> None:
    model = amplified(toy_post_editor())
    alone = [draft_batch(DRAFT_ROWS, rows=range(i, i + 1)) for i in range(N_ROWS)]
    assert loss(model, draft_batch(DRAFT_ROWS))[0] == pytest.approx(
        sum(loss(model, sentence)[0] for sentence in alone), rel=1e-5
    )
