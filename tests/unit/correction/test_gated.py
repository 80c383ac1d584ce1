"""Gates on an encoder-decoder: each equation against NumPy, decoding step by step against all at once, bad input."""

from argparse import Namespace
from itertools import combinations, product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from fairseq.data import Dictionary
from fairseq.models.transformer import TransformerModel
from torch import Tensor

from lev_plugins.correction.gated import GATES, GatedModel, GatedTrans, gated_trans_tiny, parse_gates
from lev_plugins.training.encoder_decoder import both_sides
from lev_plugins.utils.errors import UserError
from tests.helpers import EOS, PAD, UNK, assert_search_adds_up, random_rows, rows_to_tensor, toy_dictionary

SUBSETS = [",".join(subset) for n in range(len(GATES) + 1) for subset in combinations(GATES, n)]
MIXES = ["hidden", "vocabulary", "probability"]
COPIES = ["decoder-input", "source"]
MIXES_AND_COPIES = list(product(MIXES, COPIES))


def toy_args(gates: str, mix: str = "vocabulary", copy_from: str = "source", **options: Any) -> Namespace:
    both = both_sides(embed_dim=16, ffn_embed_dim=24, layers=2, attention_heads=2)
    limits = {"max_source_positions": 64, "max_target_positions": 64, "dropout": 0.0}
    args = Namespace(gates=gates, gate_mix=mix, copy_from=copy_from, **{**both, **limits, **options})
    gated_trans_tiny(args)
    return args


def toy_gated(
    gates: str, mix: str = "vocabulary", copy_from: str = "source", target: Dictionary | None = None, **options: Any
) -> GatedTrans:
    torch.manual_seed(1)
    source = toy_dictionary()
    task = SimpleNamespace(source_dictionary=source, target_dictionary=target or source)
    model = GatedTrans.build_model(toy_args(gates, mix, copy_from, **options), task).eval()
    with torch.no_grad():  # so that the gates differ
        for parameter in [p for name, p in model.named_parameters() if ".backbone." not in name]:
            parameter.mul_(4)
    return model


def source_and_target(count: int = 3) -> tuple[Tensor, Tensor]:
    """Returns sources and decoder inputs, padded on the right."""
    source = rows_to_tensor([row[1:] for row in random_rows(count, seed=1, shortest=2)])
    target = rows_to_tensor([[EOS, *row[1:-1]] for row in random_rows(count, seed=2, shortest=2)])
    return source, target


def lengths_of(tokens: Tensor) -> Tensor:
    return tokens.ne(PAD).sum(1)


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def softmax(x: np.ndarray) -> np.ndarray:
    return np.exp(x - x.max()) / np.exp(x - x.max()).sum()


def slow_gates(model: GatedModel, source: list[int], inputs: list[int], mix: str, copy_from: str) -> dict[str, Any]:
    """Computes equations (1) to (8) for one sentence, position by position, in 64 bits."""
    weights = {name: value.detach().double().numpy() for name, value in model.named_parameters()}
    encoder, decoder = model.encoder.backbone, model.decoder.backbone
    table = 4.0 * weights["decoder.backbone.embed_tokens.weight"]  # 4 = sqrt(16), fairseq's scale
    mask = UNK  # the toy dictionary has no symbol of its own for it
    with torch.no_grad():
        encoded = encoder(torch.tensor([source]))
        h = encoded["encoder_out"][0][:, 0].double().numpy()
        u = None
        if model.encoder.gate is not None:
            emb_mask = 4.0 * weights["encoder.backbone.embed_tokens.weight"][mask]
            u = np.array(
                [sigmoid(weights["encoder.gate.weight"][0] @ h_i + weights["encoder.gate.bias"][0]) for h_i in h]
            )
            h = np.stack([u_i * emb_mask + (1 - u_i) * h_i for u_i, h_i in zip(u, h, strict=True)])
            encoded["encoder_out"] = [torch.tensor(h, dtype=torch.float)[:, None]]
        states, _ = decoder.extract_features(torch.tensor([inputs]), encoder_out=encoded)
        states = states[0].double().numpy()
    names = model.decoder.gates.names if model.decoder.gates is not None else []
    output, gates, scores = weights["decoder.backbone.output_projection.weight"], [], []
    for i, h_i in enumerate(states):
        values = {}
        for row, name in enumerate(names):
            values[name] = sigmoid(
                weights["decoder.gates.gate.weight"][row] @ h_i + weights["decoder.gates.gate.bias"][row]
            )
        if values:
            absent = 3 - len(values) if mix == "vocabulary" else 0  # in the released code they are 0, and stay
            together = softmax(np.array(list(values.values()) + [0.0] * absent))
            values = dict(zip(values, together[: len(values)], strict=True))
        onehot_copy, emb_copy = np.zeros(len(table)), np.zeros(16)
        if copy_from == "decoder-input":
            onehot_copy[inputs[i]], emb_copy = 1, table[inputs[i]]
        elif "copy" in names:
            query = weights["decoder.gates.pointer.weight"] @ h_i
            for attention, token in zip(softmax(h @ query / 4.0), source, strict=True):  # 4 = sqrt(16)
                onehot_copy[token] += attention
                emb_copy = emb_copy + attention * table[token]
        onehot_mask = np.eye(len(table))[mask]
        c, g, s = (values.get(name, 0.0) for name in ("copy", "generate", "skip"))
        generate = "generate" in values
        if mix == "hidden":
            mixed = c * emb_copy + (g * sigmoid(h_i) if generate else h_i) + s * table[mask]
            scores.append(output @ mixed)
        elif mix == "vocabulary":
            log_p = np.log(softmax(output @ h_i))
            scores.append((g if generate else 1) * log_p + c * onehot_copy + s * onehot_mask)
        else:
            p = softmax(output @ h_i)
            probability_of_skip = 0 if not model.training else s  # no text has [MASK]
            scores.append(np.log((g if generate else 1) * p + c * onehot_copy + probability_of_skip * onehot_mask))
        gates.append(values)
    return {"mask": u, "gates": gates, "log_p": np.stack([np.log(softmax(row)) for row in scores])}


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("mix, copy_from", MIXES_AND_COPIES)
@pytest.mark.parametrize("gates", SUBSETS)
def test_gates_match_the_equations(gates: str, mix: str, copy_from: str, training: bool) -> None:
    model = toy_gated(gates, mix, copy_from).train(training)
    source, target = source_and_target()
    out, extra = model(source, lengths_of(source), target)
    log_p = model.get_normalized_probs((out, extra), log_probs=True)
    values_of_gates = extra["gates"]
    for row in range(len(source)):
        words, inputs = (x[row, : lengths_of(x)[row]].tolist() for x in (source, target))
        expected = slow_gates(model, words, inputs, mix, copy_from)
        np.testing.assert_allclose(log_p[row, : len(inputs)].detach(), expected["log_p"], atol=2e-5)
        if expected["mask"] is not None:
            np.testing.assert_allclose(values_of_gates.mask[row, : len(words)].detach(), expected["mask"], atol=1e-5)
        for i, values in enumerate(expected["gates"]):
            for name, value in values.items():
                assert getattr(values_of_gates, name)[row, i].item() == pytest.approx(value, abs=1e-5)
    absent = set(GATES) - set(parse_gates(gates))
    assert all(getattr(values_of_gates, name) is None for name in absent)
    assert torch.equal(values_of_gates.source, source)


@pytest.mark.parametrize("mix, copy_from", MIXES_AND_COPIES)
@pytest.mark.parametrize("gates", ["", "copy", "mask,copy", "generate,skip", "mask,copy,generate,skip"])
def test_beam_search_of_gates_matches_the_full_forward(gates: str, mix: str, copy_from: str) -> None:
    assert_search_adds_up(toy_gated(gates, mix, copy_from), source_and_target()[0], beam=3)


def test_without_gates_scores_match_fairseqs_transformer() -> None:
    model = toy_gated("")
    task = SimpleNamespace(source_dictionary=toy_dictionary(), target_dictionary=toy_dictionary())
    plain = TransformerModel.build_model(toy_args(""), task).eval()
    names = {name.replace(".backbone.", ".") for name in model.state_dict()}
    assert names == set(plain.state_dict())
    plain.load_state_dict({name.replace(".backbone.", "."): value for name, value in model.state_dict().items()})
    source, target = source_and_target()
    batch = (source, lengths_of(source), target)
    assert torch.equal(model(*batch)[0], plain(*batch)[0])


@pytest.mark.parametrize("mix, copy_from", MIXES_AND_COPIES)
def test_every_gate_parameter_learns(mix: str, copy_from: str) -> None:
    model = toy_gated("mask,copy,generate,skip", mix, copy_from).train()
    source, target = source_and_target()
    log_p = model.get_normalized_probs(model(source, lengths_of(source), target), log_probs=True)
    log_p[target.ne(PAD)][:, 5].sum().backward()
    assert [name for name, p in model.named_parameters() if p.grad is None or not p.grad.any()] == []


def test_four_gates_of_768_channels_have_3076_parameters() -> None:
    """Appendix B of the paper counts them."""
    options = {f"{side}_embed_dim": 768 for side in ("encoder", "decoder")}
    small = {f"{side}_layers": 1 for side in ("encoder", "decoder")}
    gated, plain = (toy_gated(gates, "hidden", "decoder-input", **options, **small) for gates in (",".join(GATES), ""))
    size = [sum(p.numel() for p in model.parameters()) for model in (gated, plain)]
    assert size[0] - size[1] == 3076


@pytest.mark.parametrize("mix", MIXES)
def test_gates_do_not_depend_on_padding_and_batch(mix: str) -> None:
    model = toy_gated("mask,copy,generate,skip", mix, "source")
    source, target = source_and_target()
    together = model(source, lengths_of(source), target)[0]
    for row in range(len(source)):
        words, inputs = (x[row : row + 1, : lengths_of(x)[row]] for x in (source, target))
        left_padded_words = torch.cat([torch.full((1, 4), PAD), words], 1)
        shifted = model(left_padded_words, lengths_of(left_padded_words), inputs)[0][0]
        assert (together[row, : len(shifted)] - shifted).abs().max() < 1e-5


def test_copying_maps_words_between_dictionaries() -> None:
    target = Dictionary()
    for word in ("w3", "other", "w1"):
        target.add_symbol(word)
    model = toy_gated("copy", "probability", "source", target=target)
    source = torch.tensor([[toy_dictionary().index(word) for word in ("w1", "w7", "w3")] + [EOS]])
    index = model.decoder.to_target[source][0].tolist()
    assert index == [target.index("w1"), target.unk(), target.index("w3"), EOS]
    assert model(source, lengths_of(source), torch.tensor([[EOS]]))[0].shape == (1, 1, len(target))


def test_copying_from_the_source_needs_common_words() -> None:
    target = Dictionary()
    target.add_symbol("other")
    with pytest.raises(UserError, match="share no word"):
        toy_gated("copy", copy_from="source", target=target)
    toy_gated("copy", copy_from="decoder-input", target=target)
    toy_gated("generate", copy_from="source", target=target)


def test_unknown_gates_are_refused() -> None:
    with pytest.raises(UserError, match=r"--gates .* forget, keep"):
        toy_gated("mask,forget,keep")
    assert parse_gates(" skip, mask,skip") == ["mask", "skip"]


def test_gates_with_adaptive_softmax_are_refused() -> None:
    for gates in ("", "mask", "generate"):
        with pytest.raises(UserError, match="--adaptive-softmax-cutoff"):
            toy_gated(gates, adaptive_softmax_cutoff="10,20")
