"""A levt with --spelling: held-out words in training, sampled losses, and decoding with unknown words."""

from typing import Any, cast

import numpy as np
import pytest
import torch

from lev_plugins.edits.actions import RemovedTokens
from lev_plugins.edits.embedding import IntendedWordEmbedding, SampleSizes
from lev_plugins.edits.options import RefinementOptions
from lev_plugins.edits.word_pieces import WordPieces, WordTokenizer
from lev_plugins.levt.generator import RefinementGenerator
from lev_plugins.levt.spelling import SpelledBatch
from lev_plugins.levt.words import PolicyContext
from lev_plugins.utils.errors import UserError
from tests.helpers import PAD, collated, toy_criterion
from tests.spelling import KNOWN, UNKNOWN, UNKNOWN_ID, batch_words, dictionary, model, noisy_dataset


def test_in_training_rare_words_of_the_target_are_read_by_spelling_in_its_sentence() -> None:
    """Otherwise the own vector of a rare word would reveal which sentence it is."""
    levt = model()
    table = levt.decoder.embedding.tokens
    assert isinstance(table, IntendedWordEmbedding)
    table.prepare_training()
    form, value, words = 4 + KNOWN.index("▁form"), 4 + KNOWN.index("▁value"), table.vectors(None)
    tokens, target = torch.tensor([[form, value], [form, value]]), torch.tensor([[value, 2, PAD], [9, form, 2]])
    for held_out_words, mask in ((target, torch.tensor([[False, True], [True, False]])), (None, None)):
        look_up = SpelledBatch(levt.words, words, held_out_words).look_up
        assert torch.equal(look_up(tokens), table.look_up(tokens, words, mask))
    assert not torch.equal(table.look_up(tokens, words), table.look_up(tokens, words, tokens.eq(form)))


def test_validation_looks_up_target_words_like_decoding() -> None:
    """Validation targets are not part of the training text, so "▁form", which occurs there once, is a known word."""
    levt, net_input = model(), collated(noisy_dataset())["net_input"]
    states, form = net_input["states"], 4 + KNOWN.index("▁form")
    assert states["target"].eq(form).any()
    logits = {training: levt.train(training)(**net_input).placeholder.logits for training in (True, False)}
    source = levt.encode(net_input["src_tokens"], net_input["words"])
    context = PolicyContext(RemovedTokens(states["removed"], states["removed_counts"]))
    hidden = levt.decoder.hidden_states("placeholder", states["kept_tokens"], source, context)
    decoded = levt.decoder.placeholder_logits(hidden).flatten(0, 1)
    assert torch.equal(logits[False], decoded) and not torch.allclose(logits[True], decoded)


def test_only_unsmoothed_training_samples_words_and_every_parameter_learns() -> None:
    batch, levt, is_sample = collated(noisy_dataset()), model().train(), list[bool]()
    levt.words.embedding.sizes = SampleSizes(2, 1, 1)
    levt.words.scorer.register_forward_pre_hook(
        lambda scorer, inputs: is_sample.append(inputs[2].sample.ids is not None)
    )
    toy_criterion()(levt, batch)[0].backward()
    toy_criterion(label_smoothing=0.1)(levt, batch)
    toy_criterion()(levt.eval(), batch)
    assert is_sample == [True, False, False]  # smoothing needs all words; validation is exact
    assert [name for name, weight in levt.named_parameters() if weight.grad is None] == []


def test_encodings_do_not_depend_on_unknown_words_of_other_sentences() -> None:
    levt = model().eval()
    source = torch.tensor([[0, 4, UNKNOWN_ID, 2]])
    memories = (levt.encode(source, batch_words(words)) for words in (["▁vlaue"], UNKNOWN, ["▁teh"]))
    alone, together, replaced = (levt.decoder.hidden_states("deletion", source, memory)[-1] for memory in memories)
    assert torch.allclose(alone, together, atol=1e-6) and not torch.allclose(alone, replaced)


def test_unedited_unknown_words_of_a_draft_are_printed_as_spelled() -> None:
    levt = model().eval()
    words = dictionary()
    with torch.no_grad():
        levt.decoder.deletion_head.weight.zero_()
        levt.decoder.placeholder_head.weight.zero_()
    draft = torch.tensor([[0, words.index("▁the"), UNKNOWN_ID, 2]])
    sample = {
        "net_input": {"src_tokens": draft, "draft": draft, "words": batch_words(["▁vlaue"])},
        "unknown_words": ["▁vlaue"],
    }
    (hypotheses,) = RefinementGenerator([levt], words, RefinementOptions()).generate(None, sample)
    assert words.string(hypotheses[0]["tokens"]) == "▁the ▁vlaue"


@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16])
def test_training_after_decoding_has_finite_gradients(precision: torch.dtype) -> None:
    """Decoding caches tensors in inference mode; --cpu-bf16 of fairseq-train is torch's autocast."""
    levt, words = model().eval(), dictionary()
    draft = torch.tensor([[0, words.index("▁the"), UNKNOWN_ID, words.index("▁value"), 2]])
    sample = {"net_input": {"src_tokens": draft, "draft": draft, "words": batch_words(["▁vlaue"])}}
    RefinementGenerator([levt], words, RefinementOptions(inference_mode=True)).generate(None, sample)
    levt.train()
    with torch.autocast("cpu", torch.bfloat16, enabled=precision != torch.float32):
        output = levt(**collated(noisy_dataset(), range(4))["net_input"])
    sum(head.logits.float().square().sum() for head in output).backward()
    assert all(weight.grad is None or weight.grad.isfinite().all() for weight in levt.parameters())


def test_an_ensemble_of_backbones_with_other_pieces_is_refused() -> None:
    models, tokenizer = [model(), model(), model()], cast(WordTokenizer, None)
    for levt, pieces in zip(models, ([7, 8, 9], [7, 8, 9], [7, 9, 8]), strict=True):
        assert levt.word_index is not None
        levt.word_index.pieces = WordPieces(tokenizer, np.array(pieces), np.array([0, 1, 3, 3]))
    RefinementGenerator(models[:2], dictionary(), RefinementOptions())
    with pytest.raises(UserError, match=r"--backbone.* 3 pieces .* 3 pieces"):
        RefinementGenerator(models[1:], dictionary(), RefinementOptions())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"share_all_embeddings": False}, "--spelling .*--share-all-embeddings"),
        ({"placeholder": "unk"}, "--placeholder .*unk"),
        ({"backbone": "folder", "spelling": False}, "--backbone .*--spelling"),
        ({"freeze_backbone": True}, "--freeze-backbone .*--backbone"),
    ],
)
def test_spelling_with_conflicting_options_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        model(**options)
