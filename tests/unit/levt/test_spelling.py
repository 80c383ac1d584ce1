"""A levt with --spelling: what is held out of training, samples, and decoding with unknown words."""

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
from tests.spelling import OWN, UNKNOWN, WORDS, batch_words, dictionary, model, noisy_dataset


def test_in_training_the_words_of_a_target_are_held_out_of_its_sentence() -> None:
    """As if training had not seen this sentence, of which a rare word says how it is written."""
    levt = model()
    table = levt.decoder.embedding.tokens
    assert isinstance(table, IntendedWordEmbedding)
    table.prepare_training()
    form, value, words = 4 + WORDS.index("▁form"), 4 + WORDS.index("▁value"), table.vectors(None)
    tokens, target = torch.tensor([[form, value], [form, value]]), torch.tensor([[value, 2, PAD], [9, form, 2]])
    for wanted, out in ((target, torch.tensor([[False, True], [True, False]])), (None, None)):
        look_up = SpelledBatch(levt.words, words, wanted).look_up
        assert torch.equal(look_up(tokens), table.look_up(tokens, words, out))
    assert not torch.equal(table.look_up(tokens, words), table.look_up(tokens, words, tokens.eq(form)))


def test_validation_reads_the_words_of_a_target_as_decoding_does() -> None:
    """Validation targets are not part of the training text, so "▁form", which occurs there once, is a known word."""
    levt, net_input = model(), collated(noisy_dataset())["net_input"]
    states, form = net_input["states"], 4 + WORDS.index("▁form")
    assert states["target"].eq(form).any()
    found = {training: levt.train(training)(**net_input).placeholder.logits for training in (True, False)}
    source = levt.encode(net_input["src_tokens"], net_input["words"])
    context = PolicyContext(RemovedTokens(states["removed"], states["removed_counts"]))
    hidden = levt.decoder.hidden_states("placeholder", states["kept_tokens"], source, context)
    decoded = levt.decoder.placeholder_logits(hidden).flatten(0, 1)
    assert torch.equal(found[False], decoded) and not torch.allclose(found[True], decoded)


def test_training_with_samples_learns_every_parameter() -> None:
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


def test_the_unknown_words_of_other_sentences_change_nothing() -> None:
    levt = model().eval()
    source = torch.tensor([[0, 4, OWN, 2]])
    memories = (levt.encode(source, batch_words(words)) for words in (["▁vlaue"], UNKNOWN, ["▁teh"]))
    alone, company, another = (levt.decoder.hidden_states("deletion", source, memory)[-1] for memory in memories)
    assert torch.allclose(alone, company, atol=1e-6) and not torch.allclose(alone, another)


def test_a_draft_is_edited_and_its_unknown_words_are_kept() -> None:
    levt = model().eval()
    words = dictionary()
    with torch.no_grad():
        levt.decoder.deletion_head.weight.zero_()
        levt.decoder.placeholder_head.weight.zero_()
    draft = torch.tensor([[0, words.index("▁the"), OWN, 2]])
    sample = {
        "net_input": {"src_tokens": draft, "draft": draft, "words": batch_words(["▁vlaue"])},
        "unknown_words": ["▁vlaue"],
    }
    (found,) = RefinementGenerator([levt], words, RefinementOptions()).generate(None, sample)
    assert words.string(found[0]["tokens"]) == "▁the ▁vlaue"


@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16])
def test_what_decoding_keeps_may_be_used_in_training(precision: torch.dtype) -> None:
    """fairseq-train --cpu-bf16 is torch's autocast."""
    levt, words = model().eval(), dictionary()
    draft = torch.tensor([[0, words.index("▁the"), OWN, words.index("▁value"), 2]])
    sample = {"net_input": {"src_tokens": draft, "draft": draft, "words": batch_words(["▁vlaue"])}}
    RefinementGenerator([levt], words, RefinementOptions(inference_mode=True)).generate(None, sample)
    levt.train()
    with torch.autocast("cpu", torch.bfloat16, enabled=precision != torch.float32):
        output = levt(**collated(noisy_dataset(), range(4))["net_input"])
    sum(head.logits.float().square().sum() for head in output).backward()
    assert all(weight.grad is None or weight.grad.isfinite().all() for weight in levt.parameters())


def test_backbones_with_as_many_but_other_pieces_make_no_ensemble() -> None:
    models, tokenizer = [model(), model(), model()], cast(WordTokenizer, None)
    for levt, pieces in zip(models, ([7, 8, 9], [7, 8, 9], [7, 9, 8]), strict=True):
        assert levt.word_index is not None
        levt.word_index.pieces = WordPieces(tokenizer, np.array(pieces), np.array([0, 1, 3, 3]))
    RefinementGenerator(models[:2], dictionary(), RefinementOptions())
    with pytest.raises(UserError, match=r"same --backbone, but they have one with 3 pieces .* and one with 3 pieces"):
        RefinementGenerator(models[1:], dictionary(), RefinementOptions())


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"share_all_embeddings": False}, "--spelling is for both sides and the output: add --share-all-embeddings"),
        ({"placeholder": "unk"}, "--placeholder must not be unk"),
        ({"backbone": "folder", "spelling": False}, "--backbone reads words: add --spelling"),
        ({"freeze_backbone": True}, "--freeze-backbone requires --backbone"),
    ],
)
def test_what_does_not_go_together(options: dict[str, Any], told: str) -> None:
    with pytest.raises(UserError, match=told):
        model(**options)
