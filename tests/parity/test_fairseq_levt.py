"""The same weights in fairseq's ``levenshtein_transformer`` and in ours: logits, losses and decoding."""

import argparse
from typing import Any

import pytest
import torch
from fairseq import options as fairseq_options
from fairseq.criterions.nat_loss import LabelSmoothedDualImitationCriterion
from fairseq.data import Dictionary
from fairseq.iterative_refinement_generator import IterativeRefinementGenerator
from fairseq.tasks.translation import TranslationConfig, TranslationTask
from fairseq.tasks.translation_lev import TranslationLevenshteinConfig, TranslationLevenshteinTask
from torch import Tensor, nn

from lev_plugins.cli.import_levt import convert
from lev_plugins.edits.expert import align
from lev_plugins.edits.options import RefinementOptions
from lev_plugins.levt.config import SHARING, LevTConfig
from lev_plugins.levt.dataset import RollIn
from lev_plugins.levt.generator import RefinementGenerator
from lev_plugins.levt.model import LevT
from lev_plugins.utils.errors import UserError
from tests.helpers import (
    BOS,
    EOS,
    PAD,
    left_padded,
    needs_libnat,
    random_rows,
    rows_to_tensor,
    toy_criterion,
    toy_dataset,
    toy_dictionary,
    toy_task,
)

SIZES = [
    f"--{side}-{size}"
    for side in ("encoder", "decoder")
    for size in ("embed-dim=32", "ffn-embed-dim=48", "layers=3", "attention-heads=4")
]
SIZES += ["--dropout=0"]
PRE_NORM = ["--encoder-normalize-before", "--decoder-normalize-before"]
LEARNED = ["--encoder-learned-pos", "--decoder-learned-pos"]
# a seed with which sentences change for several iterations, and fairseq's flags
VARIANTS = {
    "sinusoidal-post-norm": (12, ["--early-exit=3,3,3", "--share-all-embeddings"]),
    "learned-pre-norm": (12, ["--early-exit=3,3,3", "--share-all-embeddings", *LEARNED, *PRE_NORM]),
    "learned-bert": (11, ["--early-exit=3,3,3", "--share-all-embeddings", *LEARNED, "--apply-bert-init"]),
    "separate-dictionaries": (11, ["--early-exit=3,3,3"]),
    "tied-output-gelu": (24, ["--early-exit=3,3,3", "--share-decoder-input-output-embed", "--activation-fn=gelu"]),
    "own-deletion": (14, ["--early-exit=3,3,3", "--share-all-embeddings", "--no-share-discriminator"]),
    "own-placeholder": (15, ["--early-exit=3,3,3", "--share-all-embeddings", "--no-share-maskpredictor", *PRE_NORM]),
    "nothing-shared": (
        11,
        ["--early-exit=2,3,3", "--no-share-discriminator", "--no-share-maskpredictor", "--no-scale-embedding"],
    ),
    "early-exit": (12, ["--early-exit=1,2,3", "--share-all-embeddings"]),
    "exit-past-the-last-block": (12, ["--early-exit=6,6,6", "--share-all-embeddings"]),  # fairseq's default
    "early-exit-pre-norm": (12, ["--early-exit=1,2,2", "--share-all-embeddings", *PRE_NORM]),
}
Pair = tuple[Any, LevT]


def settings(arch: str, *flags: str) -> Any:
    """fairseq's, of its flags."""
    task = "translation" if arch == "transformer" else "translation_lev"
    words = [".", f"--task={task}", f"--arch={arch}", *SIZES, *flags]
    words += [] if arch == "transformer" else ["--criterion=nat_loss", "--label-smoothing=0.1"]
    return fairseq_options.parse_args_and_arch(fairseq_options.get_training_parser(default_task=task), words)


def build_pair(variant: str) -> Pair:
    """fairseq's model with lively random weights, and what ``import-levt`` makes of it."""
    seed, flags = VARIANTS[variant]
    torch.manual_seed(seed)
    args = settings("levenshtein_transformer", *flags)
    args.max_source_positions = args.max_target_positions = 512
    target = toy_dictionary(20)
    source = target if "--share-all-embeddings" in flags else toy_dictionary(26)
    task = TranslationLevenshteinTask(TranslationLevenshteinConfig(data="."), source, target)
    theirs = task.build_model(args).eval()
    liven(theirs)
    drop_attention(theirs.decoder)
    return theirs, imported(args, theirs, source, target)[1]


def imported(
    args: Any, theirs: Any, source: Dictionary, target: Dictionary, *options: str | None
) -> tuple[dict[str, Any], LevT]:
    """What ``import-levt`` makes of a model, and the LevT that this is."""
    state = convert({"args": args, "cfg": None, "model": theirs.state_dict()}, *options)
    cfg = LevTConfig(**{key: value for key, value in state["cfg"]["model"].items() if key != "_name"})
    ours = LevT.build_model(cfg, toy_task(source, target)).eval()
    ours.load_state_dict(state["model"])
    return state, ours


def drop_attention(decoder: Any) -> None:
    """fairseq's decoding fails with an IndexError when a first iteration fills holes in only some of a batch's
    sentences: it then keeps attention weights for those alone. Nothing else depends on these weights.
    """
    for name in ("forward_word_del", "forward_mask_ins", "forward_word_ins"):
        forward = getattr(decoder, name)
        setattr(decoder, name, lambda forward=forward, **kwargs: (forward(**kwargs)[0], None))


@torch.no_grad()
def liven(model: Any) -> None:
    """Weights that make a sentence change for several iterations.

    fairseq starts its two small heads with zeros; and boundaries and padding, which ours never inserts, must
    not be the best word.
    """
    decoder = model.decoder
    direction = nn.functional.normalize(torch.randn(32), dim=0)
    for name, parameter in model.named_parameters():
        if "proj" in name and name.endswith("weight") and "output_projection" not in name:
            parameter.mul_(3)
    for module in model.modules():
        if isinstance(module, nn.LayerNorm):
            module.weight.add_(0.1 * torch.randn(32))
            module.bias.add_(0.1 * torch.randn(32))
    norms = [decoder.layer_norm] if decoder.layer_norm is not None else []
    for exit_layer, layers in zip(decoder.early_exit, (decoder.layers_del, decoder.layers_msk, None), strict=True):
        if decoder.layer_norm is None:
            norms.append(list(layers or decoder.layers)[:exit_layer][-1].final_layer_norm)
    for norm in {id(norm): norm for norm in norms}.values():
        norm.bias.add_(2 * direction)
    nn.init.normal_(decoder.embed_word_del.weight, std=32**-0.5)
    nn.init.normal_(decoder.embed_mask_ins.weight, std=32**-0.5)
    decoder.embed_word_del.weight[0] += direction
    decoder.embed_mask_ins.weight[0] += 0.5 * torch.cat([direction, direction])
    decoder.embed_mask_ins.weight[4:] -= 4 * torch.cat([direction, direction])
    nn.init.normal_(decoder.embed_tokens.weight, std=32**-0.5)
    nn.init.normal_(decoder.output_projection.weight, std=32**-0.5)
    for table in (decoder.embed_tokens, decoder.output_projection):
        table.weight[[BOS, EOS]] *= 0.05
        table.weight[PAD] = 0


@pytest.fixture(scope="module", params=VARIANTS)
def pair(request: pytest.FixtureRequest) -> Pair:
    return build_pair(request.param)


def source_batch(count: int, left_pad: bool = True) -> Tensor:
    rows = random_rows(count, seed=21, shortest=1, longest=12)
    return left_padded(rows) if left_pad else rows_to_tensor(rows)


@torch.no_grad()
def test_the_three_heads_give_the_same_logits(pair: Pair) -> None:
    theirs, ours = pair
    source, canvas = source_batch(6), rows_to_tensor(random_rows(6, seed=22))
    encoded, memory = theirs.encoder(source, source.ne(PAD).sum(1)), ours.encode(source)
    arguments = {"normalize": False, "encoder_out": encoded, "prev_output_tokens": canvas}
    real = canvas.ne(PAD)

    found = ours.decoder.deletion_logits(ours.decoder.hidden_states("deletion", canvas, memory))
    expected, _ = theirs.decoder.forward_word_del(**arguments)
    assert found[real].allclose(expected[real], atol=1e-5)

    found = ours.decoder.placeholder_logits(ours.decoder.hidden_states("placeholder", canvas, memory))
    expected, _ = theirs.decoder.forward_mask_ins(**arguments)
    assert found[real[:, 1:]].allclose(expected[real[:, 1:]], atol=2e-5)

    hidden = ours.decoder.hidden_states("token", canvas, memory)
    found = ours.decoder.token_logits(hidden, real.flatten().nonzero()[:, 0], memory)
    expected, _ = theirs.decoder.forward_word_ins(**arguments)
    assert found.allclose(expected[real], atol=1e-5)


def training_batches() -> tuple[dict[str, Any], dict[str, Any]]:
    """One batch for each side, with the same random deletions as roll-in."""
    sources, targets = random_rows(8, 31, shortest=1), random_rows(8, 32, shortest=3)
    dataset = toy_dataset(sources, targets, rollin=RollIn(seed=1))
    ours = dataset.collater([dataset[i] for i in range(8)])
    net_input = ours["net_input"]
    states = net_input["states"]
    target, kept = states["target"], states["kept_tokens"]
    # where a word occurs twice in a row, the alignment cannot know which one was taken: label as fairseq does
    missing = ~align(kept, target, PAD).matched & target.ne(PAD)
    counts = torch.zeros_like(states["missing_counts"])
    for i, row in enumerate(missing.tolist()):
        slot = -1
        for token, gone in zip(target[i].tolist(), row, strict=True):
            if gone:
                counts[i, slot] += 1
            elif token != PAD:
                slot += 1
    holes = missing.flatten().nonzero()[:, 0]
    net_input["states"] = {**states, "placeholder_index": holes, "missing_counts": counts}
    theirs = {
        "net_input": {key: net_input[key] for key in ("src_tokens", "src_lengths")},
        "target": target,
        "prev_target": kept,
        "ntokens": ours["ntokens"],
        "nsentences": ours["nsentences"],
    }
    return theirs, ours


@needs_libnat
def test_the_three_losses_are_the_same(pair: Pair) -> None:
    theirs, ours = pair
    their_batch, our_batch = training_batches()
    nat_loss = LabelSmoothedDualImitationCriterion(toy_task(), label_smoothing=0.1)
    our_loss = toy_criterion(label_smoothing=0.1, placeholder_label_smoothing=0.01, loss_average="heads")
    expected, _, their_log = nat_loss(theirs, their_batch)
    found, _, our_log = our_loss(ours, our_batch)
    assert int(our_log["token_count"]) > 10
    for name, head in (("mask_ins", "placeholder"), ("word_ins", "token"), ("word_del", "deletion")):
        mean = float(our_log[f"{head}_loss"]) / int(our_log[f"{head}_count"])
        assert mean == pytest.approx(their_log[f"{name}-loss"], abs=1e-4)
    assert float(found.detach()) == pytest.approx(float(expected.detach()), abs=1e-4)
    token_nll = float(our_log["token_nll"]) / int(our_log["token_count"])
    assert token_nll == pytest.approx(float(their_log["nll_loss"]), abs=1e-4)


def decode_both(pair: Pair, source: Tensor, gamma: float, adaptive: bool) -> tuple[list, list]:
    theirs, ours = pair
    sample = {"net_input": {"src_tokens": source, "src_lengths": source.ne(PAD).sum(1)}}
    fairseqs = IterativeRefinementGenerator(toy_dictionary(), max_iter=9, eos_penalty=gamma, adaptive=adaptive)
    options = RefinementOptions(max_iter=9, gamma=gamma, adaptive=adaptive)
    expected = fairseqs.generate([theirs], sample)
    found = RefinementGenerator([ours], toy_dictionary(), options).generate([ours], sample)
    return [group[0] for group in expected], [group[0] for group in found]


def assert_same(expected: dict[str, Any], found: dict[str, Any]) -> None:
    """fairseq's result begins with <s>, ours does not."""
    assert expected["tokens"][0] == BOS and expected["positional_scores"][0] == 0
    assert found["tokens"].tolist() == expected["tokens"].tolist()[1:]
    assert found["steps"] == expected["steps"]
    assert found["positional_scores"].allclose(expected["positional_scores"][1:], atol=1e-4)
    assert float(found["score"]) == pytest.approx(float(expected["score"]), abs=1e-4)


@pytest.mark.parametrize(
    ("gamma", "adaptive", "left_pad"), [(0.0, True, True), (0.5, True, True), (0.0, False, True), (0.0, True, False)]
)
def test_a_batch_of_16_is_decoded_to_the_same(pair: Pair, gamma: float, adaptive: bool, left_pad: bool) -> None:
    expected, found = decode_both(pair, source_batch(16, left_pad), gamma, adaptive)
    for theirs, ours in zip(expected, found, strict=True):
        assert_same(theirs, ours)


def begun_from_a_transformer(
    flags: list[str], early_exit: str | None = None, share_weights: str | None = None
) -> tuple[Any, dict[str, Any], LevT]:
    """fairseq's model, what ``import-levt`` makes of it, and the LevT that this is."""
    torch.manual_seed(1)
    target = toy_dictionary(20)
    source = target if "--share-all-embeddings" in flags else toy_dictionary(26)
    args = settings("transformer", *flags)
    theirs = TranslationTask(TranslationConfig(data="."), source, target).build_model(args).eval()
    return theirs, *imported(args, theirs, source, target, early_exit, share_weights)


def test_an_early_exit_leaves_out_blocks_between_the_first_and_the_last() -> None:
    theirs, _, ours = begun_from_a_transformer(["--decoder-layers=3"], "1,1,2")
    assert (len(ours.decoder.stack("shared")), ours.decoder.depths) == (
        2,
        {"deletion": 1, "placeholder": 1, "token": 2},
    )
    tokens = torch.tensor([[EOS, 5, 9, 7]])
    source = source_batch(1)
    inner = theirs.decoder.extract_features(tokens, theirs.encoder(source, source.ne(PAD).sum(1)))[1]["inner_states"]
    hidden = ours.decoder.hidden_states("deletion", tokens, ours.encode(source))
    assert len(hidden) == 2 and hidden[1][0, -1].allclose(inner[1][-1, 0], atol=1e-5)
    for block, kept in zip(ours.decoder.stack("shared"), (0, 2), strict=True):
        assert block.ffn.fc2.weight.equal(theirs.decoder.layers[kept].fc2.weight)


@pytest.mark.parametrize("flags", [["--share-all-embeddings"], ["--share-decoder-input-output-embed", *PRE_NORM], []])
def test_a_levt_begun_from_a_transformer_has_its_weights(flags: list[str]) -> None:
    """With one decoder block, the last position of a left-to-right decoder sees what that of a LevT sees."""
    theirs, state, ours = begun_from_a_transformer(["--decoder-layers=1", *flags])
    assert state["cfg"]["model"]["placeholder"] == "plh"
    again = begun_from_a_transformer(["--decoder-layers=1", *flags])[1]
    assert all(value.equal(again["model"][key]) for key, value in state["model"].items())
    tokens = torch.tensor([[EOS, 5, 9, 7]])
    logits = theirs(source_batch(1), source_batch(1).ne(PAD).sum(1), tokens)[0][0, -1]
    memory = ours.encode(source_batch(1))
    hidden = ours.decoder.hidden_states("token", tokens, memory)
    assert ours.decoder.token_logits(hidden, torch.tensor([3]), memory)[0].allclose(logits, atol=1e-5)


@pytest.mark.parametrize("share", list(SHARING))
def test_blocks_of_their_own_begin_as_copies(share: str) -> None:
    """So each policy says what it says with shared blocks."""
    shared = begun_from_a_transformer(["--decoder-layers=2"])[2]
    apart = begun_from_a_transformer(["--decoder-layers=2"], share_weights=share)[2]
    assert apart.decoder.sharing == SHARING[share]
    draft, source = torch.tensor([[BOS, 5, 9, 7, EOS]]), source_batch(1)
    for policy in ("deletion", "placeholder", "token"):
        one, other = (model.decoder.hidden_states(policy, draft, model.encode(source)) for model in (shared, apart))
        assert one[-1].equal(other[-1])


def test_what_cannot_be_imported() -> None:
    state = {"args": settings("levenshtein_transformer", *VARIANTS["own-deletion"][1]), "cfg": None, "model": {}}
    with pytest.raises(UserError, match="--share-weights is for a transformer, but this is a levt of fairseq"):
        convert(state, share_weights="none")
    with pytest.raises(UserError, match="share their blocks, but this checkpoint has no_share_discriminator"):
        convert(state, "1,1,2")
    state["args"].early_exit = "6,6,6"
    with pytest.raises(UserError, match="no counterpart of 6, 3 and 3 decoder blocks for deletion, placeholders and"):
        convert(state)
    with pytest.raises(UserError, match="levenshtein_transformer and transformer, but this is a transformer_lm"):
        convert({"args": argparse.Namespace(arch="transformer_lm"), "cfg": None, "model": {}})
