"""The Transformer parts: masks, beams, dropout and gradients; that they compute what fairseq's do: tests/parity."""

import pytest
import torch
from torch import Tensor

from lev_plugins.layers.transformer import (
    Block,
    KeysValues,
    LayerShape,
    TextEmbedding,
    attend,
    attend_to_both,
    attention_mask,
    dropout,
    padding_of,
    token_embedding,
)
from tests.helpers import BOS, EOS, PAD

DIM, HEADS = 8, 2


def test_true_in_an_attention_mask_may_be_attended_to() -> None:
    tokens = torch.tensor([[BOS, 5, 6, 7, EOS], [BOS, 5, EOS, PAD, PAD]])
    mask = attention_mask(tokens, PAD)
    assert mask is not None and mask.shape == (2, 1, 1, 5)
    assert mask[1, 0, 0].tolist() == [True, True, True, False, False]
    assert attention_mask(tokens[:1], PAD) is None  # without padding
    mask, real = padding_of(torch.full((1, 3), PAD), PAD)  # padding alone
    assert mask is not None and not mask.any() and real is None


def some_heads(rows: int, length: int) -> Tensor:
    return torch.randn(rows, HEADS, length, DIM // HEADS)


@pytest.mark.parametrize("beams", [1, 3])
def test_beams_share_their_source(beams: int) -> None:
    queries, source = some_heads(2 * beams, 2), KeysValues(some_heads(2, 5), some_heads(2, 5))
    mask = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0]]).bool()[:, None, None, :]
    copies = torch.arange(2).repeat_interleave(beams)
    assert attend(queries, source, mask).allclose(attend(queries, source.select(copies), mask[copies]), atol=1e-6)


@pytest.mark.parametrize("beams", [1, 3])
@pytest.mark.parametrize("length", [1, 4])
def test_attention_to_both_is_attention_to_the_two_joined(beams: int, length: int) -> None:
    rows = 2 * beams
    queries = some_heads(rows, length)
    own, shared = (KeysValues(some_heads(n, s), some_heads(n, s)) for n, s in ((rows, 3), (2, 5)))
    mask = torch.rand(rows, 1, length, 8) < 0.5
    mask[..., 0] = True
    joined = own.joined(shared.select(torch.arange(2).repeat_interleave(beams)))
    assert attend_to_both(queries, own, shared, mask).allclose(attend(queries, joined, mask), atol=1e-6)


def test_attention_to_both_drops_weights() -> None:
    own, shared = (KeysValues(some_heads(1, 3), torch.ones(1, HEADS, 3, DIM // HEADS)) for _ in range(2))
    torch.manual_seed(1)
    mask = torch.ones(1, 1, 500, 6, dtype=torch.bool)
    found = attend_to_both(some_heads(1, 500), own, shared, mask, dropout=0.5)
    assert found.std() > 0.1 and 0.9 < float(found.mean()) < 1.1


@pytest.mark.parametrize("where", ["dropout", "attention_dropout", "activation_dropout"])
def test_every_dropout_rate_acts_in_training_only(where: str) -> None:
    rates = {"dropout": 0.0, "attention_dropout": 0.0, "activation_dropout": 0.0, where: 0.5}
    layer = Block(LayerShape(DIM, 16, HEADS, **rates))
    x = torch.randn(2, 6, DIM)
    assert not layer(x, None).equal(layer(x, None))
    layer.eval()
    assert layer(x, None).equal(layer(x, None))


@pytest.mark.parametrize("start", [0, 1, 3])
def test_the_newest_tokens_alone_are_embedded_as_among_the_others(start: int) -> None:
    embedding = TextEmbedding(token_embedding(20, DIM, PAD), 10, learned=False, scale=True, dropout=0.0)
    tokens = torch.tensor([[BOS, 5, 6, EOS], [PAD, BOS, 7, EOS]])
    assert embedding(tokens, start).equal(embedding(tokens)[:, start:])


@pytest.mark.parametrize("learned", [True, False])
def test_positions_count_real_tokens_only(learned: bool) -> None:
    embedding = TextEmbedding(token_embedding(20, DIM, PAD), 10, learned, scale=True, dropout=0.0)
    right, left = torch.tensor([[BOS, 5, EOS, PAD]]), torch.tensor([[PAD, BOS, 5, EOS]])
    assert embedding(right)[0, :3].equal(embedding(left)[0, 1:])
    assert not embedding(right)[0, 3].any()


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_dropout_drops_at_its_rate_and_keeps_the_mean(rate: float) -> None:
    torch.manual_seed(1)
    x = torch.linspace(1, 2, 401 * 503).view(401, 503).requires_grad_()  # not a multiple of four
    y = dropout(x, rate, training=True)
    dropped = y.eq(0)
    assert abs(dropped.float().mean() - rate) < 0.005
    torch.testing.assert_close(y[~dropped], x[~dropped] / (1 - rate))
    y.sum().backward()
    torch.testing.assert_close(x.grad, torch.where(dropped, 0.0, 1 / (1 - rate)))
    for one, other in (
        (dropped[1:], dropped[:-1]),
        (dropped[:, 1:], dropped[:, :-1]),
        (dropped[:, 4:], dropped[:, :-4]),
    ):
        assert abs((one & other).float().mean() - rate**2) < 0.01  # neighbours know nothing of each other
    torch.manual_seed(1)
    assert dropout(x, rate, training=True).equal(y)


def test_rates_of_nearly_1_and_other_precisions() -> None:
    for rate in (0.9999, 1 - 1e-5, 1 - 1e-7, 1.0):
        assert dropout(torch.ones(100_000), rate, training=True).ne(0).float().mean() < 0.001
    x = torch.ones(1000, dtype=torch.bfloat16)
    assert 0 < int(dropout(x, 0.5, training=True).eq(0).sum()) < 1000
    assert dropout(x, 0.5, training=False) is dropout(x, 0.0, training=True) is x
