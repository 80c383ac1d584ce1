"""The model: what each option builds, what learns, and what is refused."""

import dataclasses
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from lev_plugins.errors import UserError
from lev_plugins.models.pbd import (
    PBD,
    PRESETS,
    PBDConfig,
)
from tests.helpers import (
    EOS,
    PAD,
    rows_to_tensor,
    toy_dictionary,
    toy_pbd,
    toy_task,
)
from tests.pbd import VARIANTS, outputs, shifted


def test_sharing_is_by_identity_and_leaves_cross_attention() -> None:
    model = toy_pbd(normalize_before=True, learned_pos=True)
    assert model.encoder.embedding is model.decoder.embedding and model.encoder.norm is model.decoder.norm
    for own, other in zip(model.decoder.layers, model.encoder.layers, strict=True):
        shared = {name for name, part in own.named_children() if part is getattr(other, name, None)}
        assert shared == {"self_attn", "self_attn_residual", "ffn", "ffn_residual"}
        assert {name for name, _ in own.named_children()} - shared == {"cross_attn", "cross_attn_residual", "segments"}


def test_nothing_is_shared_without_sharing() -> None:
    model = toy_pbd(no_sharing=True, normalize_before=True)
    assert {id(p) for p in model.encoder.parameters()}.isdisjoint(id(p) for p in model.decoder.parameters())


@pytest.mark.parametrize("options", VARIANTS.values(), ids=VARIANTS.keys())
def test_every_parameter_learns(options: dict[str, Any]) -> None:
    model = toy_pbd(**options).train()
    targets = outputs(6, seed=2)
    logits = model(rows_to_tensor(outputs(6, seed=1, shortest=5)), None, shifted(targets))[0]
    F.cross_entropy(logits.flatten(0, 1), rows_to_tensor(targets).flatten(), ignore_index=PAD).backward()
    assert [name for name, p in model.named_parameters() if p.grad is None or not p.grad.any()] == []


@pytest.mark.parametrize("rate", ["dropout", "attention_dropout", "activation_dropout", "future_dropout"])
def test_every_dropout_rate_acts_in_training_only(rate: str) -> None:
    model = toy_pbd(**{rate: 0.5}).train()
    source, previous = rows_to_tensor(outputs(4, seed=1, shortest=6)), shifted(outputs(4, seed=2))
    assert not model(source, None, previous)[0].equal(model(source, None, previous)[0])
    model.eval()
    assert model(source, None, previous)[0].equal(model(source, None, previous)[0])


@torch.no_grad()
def test_future_dropout_hides_a_token_from_all_outputs() -> None:
    model = toy_pbd(future_dropout=0.5)
    memory = model.decoder.remember(model.encoder(rows_to_tensor(outputs(4, seed=1, shortest=6))))
    shown = model.decoder.masks(memory, 0, 5, stepwise=False).generated[..., 5:]
    torch.manual_seed(1)
    kept = model.train().decoder.masks(memory, 0, 5, stepwise=False).generated[..., 5:]
    hidden = ~kept.any(2, keepdim=True)
    assert kept.equal(shown & ~hidden)
    assert kept.any() and not kept.equal(shown)


@torch.no_grad()
def test_the_future_is_seen_and_nothing_before_it() -> None:
    """Without cross-attention, output N depends on source position j just if j > N."""
    model = toy_pbd(layers=1).double()
    model.decoder.layers[0].cross_attn.out_proj.weight.zero_()
    source = torch.tensor([[4, 5, 6, 7, EOS]])
    previous = torch.tensor([[EOS, 8, 9, 10, 11, 12]])
    before = model(source, None, previous)[0]
    for j in range(5):
        changed = source.clone()
        changed[0, j] = 20
        moved = (model(changed, None, previous)[0] - before).abs().amax(2)[0] > 1e-12
        assert moved.tolist() == [n < j + 1 for n in range(1, 7)], j


@pytest.mark.parametrize(("name", "changes"), PRESETS.items())
def test_a_preset_changes_what_it_says_and_keeps_what_was_asked(name: str, changes: dict[str, int]) -> None:
    from fairseq.models import ARCH_CONFIG_REGISTRY

    asked = SimpleNamespace(layers=7)
    ARCH_CONFIG_REGISTRY[name](asked)
    assert vars(asked) == {**changes, "layers": 7}
    assert {f.name for f in dataclasses.fields(PBDConfig)} >= set(changes)


@pytest.mark.parametrize(("shared", "millions"), [(True, 132.0), (False, 163.3)])
def test_the_big_preset_has_the_size_of_table_1_with_one_table(shared: bool, millions: float) -> None:
    words = toy_dictionary(30522 - 4)
    sizes = {**PRESETS["pbd_big"], "max_source_positions": 64, "max_target_positions": 64}
    with torch.device("meta"):
        model = PBD.build_model(PBDConfig(**sizes, share_all_embeddings=shared), toy_task(words, words))
    assert round(sum(p.numel() for p in model.parameters()) / 1e6, 1) == millions


def test_the_tables_may_be_of_two_dictionaries_where_nothing_is_shared() -> None:
    task = toy_task(toy_dictionary(30), toy_dictionary(20))
    model = toy_pbd(task, no_sharing=True)
    assert model.encoder.embedding.tokens.num_embeddings == 34
    assert model(torch.tensor([[33, EOS]]), None, torch.tensor([[EOS, 4]]))[0].shape == (1, 2, 24)


def test_positions_are_those_that_were_asked_for() -> None:
    for options in ({}, {"no_sharing": True}):
        model = toy_pbd(max_source_positions=30, max_target_positions=50, **options)
        assert model.max_positions() == (30, 50)
        assert model.max_decoder_positions() == 50


def test_two_dictionaries_cannot_be_shared() -> None:
    task = toy_task(toy_dictionary(30), toy_dictionary(20))
    with pytest.raises(UserError, match=r"shares its embeddings .* --joined-dictionary, or add --no-sharing"):
        toy_pbd(task)
    with pytest.raises(UserError, match="--share-all-embeddings requires one dictionary"):
        toy_pbd(task, no_sharing=True, share_all_embeddings=True)


def test_alignments_are_refused() -> None:
    generation = SimpleNamespace(print_alignment="hard", beam=5)
    with pytest.raises(UserError, match="--print-alignment requires attention weights"):
        toy_pbd().prepare_for_inference_(SimpleNamespace(generation=generation))
