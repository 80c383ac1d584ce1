"""Dropout; that the other Transformer parts compute what fairseq's do: tests/parity."""

import pytest
import torch

from lev_plugins.nn.transformer import dropout


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
    for a, b in (
        (dropped[1:], dropped[:-1]),
        (dropped[:, 1:], dropped[:, :-1]),
        (dropped[:, 4:], dropped[:, :-4]),
    ):
        assert abs((a & b).float().mean() - rate**2) < 0.01  # neighbours know nothing of each other
    torch.manual_seed(1)
    assert dropout(x, rate, training=True).equal(y)


def test_dropout_of_nearly_1_and_in_bfloat16() -> None:
    for rate in (0.9999, 1 - 1e-5, 1 - 1e-7, 1.0):
        assert dropout(torch.ones(100_000), rate, training=True).ne(0).float().mean() < 0.001
    x = torch.ones(1000, dtype=torch.bfloat16)
    assert 0 < int(dropout(x, 0.5, training=True).eq(0).sum()) < 1000
    assert dropout(x, 0.5, training=False) is dropout(x, 0.0, training=True) is x
