"""The PBD: against the paper written out position by position, one step at a time, and what each option builds."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from lev_plugins.correction import pbd
from lev_plugins.correction.pbd import COPIED, GENERATED, PBD, PBDLayer
from lev_plugins.nn.transformer import Block, CrossAttention, Residual, SelfAttention
from lev_plugins.utils.errors import UserError
from tests.helpers import (
    EOS,
    PAD,
    assert_search_adds_up,
    left_padded,
    random_rows,
    rows_to_tensor,
    toy_dictionary,
    toy_pbd,
    toy_task,
)

PBD_VARIANTS: dict[str, dict[str, Any]] = {
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


def target_rows(count: int, seed: int, shortest: int = 1, longest: int = 10) -> list[list[int]]:
    """Returns random sentences without <s>, as fairseq has them."""
    return [row[1:] for row in random_rows(count, seed, shortest=shortest, longest=longest)]


def shifted(rows: list[list[int]]) -> Tensor:
    """Returns decoder inputs: </s>, then all but the last token."""
    return rows_to_tensor([[EOS, *row[:-1]] for row in rows])


# --- the paper, one position at a time


def one_head(query: Tensor, keys: list[Tensor], values: list[Tensor]) -> Tensor:
    scores = torch.stack([(query * key).sum() for key in keys]) / len(query) ** 0.5
    weights = scores.exp() / scores.exp().sum()
    return sum((weight * value for weight, value in zip(weights, values, strict=True)), torch.zeros(()))


def slow_attention(heads: int, query: Tensor, keys: list[Tensor], values: list[Tensor]) -> Tensor:
    def part(vectors: list[Tensor], head: int) -> list[Tensor]:
        return [vector.chunk(heads)[head] for vector in vectors]

    return torch.cat([one_head(part([query], h)[0], part(keys, h), part(values, h)) for h in range(heads)])


def self_attention(layer: SelfAttention, query: Tensor, states: list[Tensor]) -> Tensor:
    weights, biases = layer.in_proj.weight.chunk(3), layer.in_proj.bias.chunk(3)
    keys, values = ([F.linear(x, weights[i], biases[i]) for x in states] for i in (1, 2))
    return layer.out_proj(slow_attention(layer.heads, F.linear(query, weights[0], biases[0]), keys, values))


def cross_attention(layer: CrossAttention, query: Tensor, source: list[Tensor]) -> Tensor:
    keys, values = zip(*(layer.kv_proj(x).chunk(2) for x in source), strict=True)
    return layer.out_proj(slow_attention(layer.heads, layer.q_proj(query), list(keys), list(values)))


def enter(residual: Residual, x: Tensor) -> Tensor:
    return residual.norm(x) if residual.pre_norm else x


def leave(residual: Residual, x: Tensor, update: Tensor) -> Tensor:
    return x + update if residual.pre_norm else residual.norm(x + update)


def feed_forward(layer: Block | PBDLayer, x: Tensor) -> Tensor:
    inner = layer.ffn.activation(layer.ffn.fc1(enter(layer.ffn_residual, x)))
    return leave(layer.ffn_residual, x, layer.ffn.fc2(inner))


def slow_encoder(model: PBD, source: list[int]) -> list[list[Tensor]]:
    """Computes the inputs of all blocks and the output of the last one, position by position."""
    states = [list(model.encoder.embedding(torch.tensor([source]))[0])]
    for layer in model.encoder.layers:
        entering = [enter(layer.self_attn_residual, x) for x in states[-1]]
        seen = [self_attention(layer.self_attn, x, entering) for x in entering]
        attended = [leave(layer.self_attn_residual, *pair) for pair in zip(states[-1], seen, strict=True)]
        states.append([feed_forward(layer, x) for x in attended])
    return states


def slow_logits(model: PBD, source: list[int], target: list[int], future: bool, copied_from: int) -> Tensor:
    """Computes logits; output N attends to inputs 1 .. N and to encoder states of the source from N + 1 on."""
    encoder = slow_encoder(model, source)
    memory = [model.encoder.norm(x) for x in encoder[-1]]
    inputs = [EOS, *target[:-1]]
    states = list(model.decoder.embedding(torch.tensor([inputs]))[0])
    for number, layer in enumerate(model.decoder.layers):
        segments = layer.segments.weight if layer.segments is not None else torch.zeros(2, states[0].numel())
        states = [x + segments[GENERATED] for x in states]
        next_states = []
        for n in range(1, len(inputs) + 1):
            visible = states[:n]
            if future:
                visible = visible + [x + segments[COPIED] for x in encoder[number + copied_from][n:]]
            visible = [enter(layer.self_attn_residual, x) for x in visible]
            x = leave(layer.self_attn_residual, states[n - 1], self_attention(layer.self_attn, visible[n - 1], visible))
            seen = cross_attention(layer.cross_attn, enter(layer.cross_attn_residual, x), memory)
            next_states.append(feed_forward(layer, leave(layer.cross_attn_residual, x, seen)))
        states = next_states
    return torch.stack([model.decoder.norm(x) for x in states]) @ model.decoder.token_head.weight.T


@pytest.mark.parametrize("options", PBD_VARIANTS.values(), ids=PBD_VARIANTS.keys())
@pytest.mark.parametrize(("source_length", "target_length"), [(3, 6), (5, 5), (7, 4), (1, 3)])
def test_logits_match_the_paper(options: dict[str, Any], source_length: int, target_length: int) -> None:
    model = toy_pbd(**options).double()
    source, target = ([*range(4, 3 + n), EOS] for n in (source_length, target_length))
    with torch.no_grad():
        logits = model(torch.tensor([source]), None, shifted([target]))[0][0]
        copied_from = int(options.get("future_states") == "output")
        expected = slow_logits(model, source, target, not options.get("no_future"), copied_from)
    torch.testing.assert_close(logits, expected, atol=1e-9, rtol=0)


# --- one step at a time


@pytest.mark.parametrize("beam", [1, 5])
@pytest.mark.parametrize("options", PBD_VARIANTS.values(), ids=PBD_VARIANTS.keys())
@torch.no_grad()
def test_beam_search_of_a_pbd_matches_the_full_forward(options: dict[str, Any], beam: int) -> None:
    rows = target_rows(4, seed=1)
    for sources in (rows_to_tensor(rows), left_padded(rows)):
        assert_search_adds_up(toy_pbd(**options), sources, beam)


@pytest.mark.parametrize("options", PBD_VARIANTS.values(), ids=PBD_VARIANTS.keys())
@torch.no_grad()
def test_logits_do_not_depend_on_padding_and_batch(options: dict[str, Any]) -> None:
    model, rows, targets = toy_pbd(**options).double(), target_rows(4, seed=5), target_rows(4, seed=6)
    previous = shifted(targets)
    right_pad, left_pad = (model(source, None, previous)[0] for source in (rows_to_tensor(rows), left_padded(rows)))
    for i, (row, target) in enumerate(zip(rows, targets, strict=True)):
        alone = model(torch.tensor([row]), None, shifted([target]))[0][0]
        for together in (right_pad, left_pad):
            torch.testing.assert_close(together[i, : len(target)], alone, atol=1e-9, rtol=0)


# --- what each option builds, what learns, and what is refused


@pytest.mark.parametrize("options", PBD_VARIANTS.values(), ids=PBD_VARIANTS.keys())
def test_every_pbd_parameter_learns(options: dict[str, Any]) -> None:
    model = toy_pbd(**options).train()
    targets = target_rows(6, seed=2)
    logits = model(rows_to_tensor(target_rows(6, seed=1, shortest=5)), None, shifted(targets))[0]
    F.cross_entropy(logits.flatten(0, 1), rows_to_tensor(targets).flatten(), ignore_index=PAD).backward()
    assert [name for name, p in model.named_parameters() if p.grad is None or not p.grad.any()] == []


@pytest.mark.parametrize("rate", ["dropout", "attention_dropout", "activation_dropout", "future_dropout"])
def test_every_dropout_rate_acts_in_training_only(rate: str) -> None:
    model = toy_pbd(**{rate: 0.5}).train()
    source, previous = rows_to_tensor(target_rows(4, seed=1, shortest=6)), shifted(target_rows(4, seed=2))
    assert not model(source, None, previous)[0].equal(model(source, None, previous)[0])
    model.eval()
    assert model(source, None, previous)[0].equal(model(source, None, previous)[0])


@torch.no_grad()
def test_future_dropout_hides_a_token_from_all_outputs() -> None:
    model = toy_pbd(future_dropout=0.5)
    memory = model.decoder.remember(model.encoder(rows_to_tensor(target_rows(4, seed=1, shortest=6))))
    all_visible = model.decoder.masks(memory, 0, 5, stepwise=False).self_attention[..., 5:]
    torch.manual_seed(1)
    visible = model.train().decoder.masks(memory, 0, 5, stepwise=False).self_attention[..., 5:]
    hidden = ~visible.any(2, keepdim=True)
    assert visible.equal(all_visible & ~hidden)
    assert visible.any() and not visible.equal(all_visible)


@pytest.mark.parametrize(("shared", "millions"), [(True, 132.0), (False, 163.3)])
def test_pbd_big_has_the_size_of_table_1(shared: bool, millions: float) -> None:
    words = toy_dictionary(30522 - 4)
    sizes = {**pbd.PBD_PRESETS["pbd_big"], "max_source_positions": 64, "max_target_positions": 64}
    with torch.device("meta"):
        model = PBD.build_model(pbd.PBDConfig(**sizes, share_all_embeddings=shared), toy_task(words, words))
    assert round(sum(p.numel() for p in model.parameters()) / 1e6, 1) == millions


def test_no_sharing_permits_two_dictionaries() -> None:
    task = toy_task(toy_dictionary(30), toy_dictionary(20))
    model = toy_pbd(task, no_sharing=True)
    assert model.encoder.embedding.tokens.num_embeddings == 34
    assert model(torch.tensor([[33, EOS]]), None, torch.tensor([[EOS, 4]]))[0].shape == (1, 2, 24)


def test_sharing_with_two_dictionaries_is_refused() -> None:
    task = toy_task(toy_dictionary(30), toy_dictionary(20))
    with pytest.raises(UserError, match=r"--joined-dictionary.*--no-sharing"):
        toy_pbd(task)
    with pytest.raises(UserError, match=r"--share-all-embeddings .*one dictionary"):
        toy_pbd(task, no_sharing=True, share_all_embeddings=True)


def test_print_alignment_is_refused() -> None:
    generation = SimpleNamespace(print_alignment="hard", beam=5)
    with pytest.raises(UserError, match="--print-alignment"):
        toy_pbd().prepare_for_inference_(SimpleNamespace(generation=generation))
