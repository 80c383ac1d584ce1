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

from examples.translation import start
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

SIZE_FLAGS = [
    f"--{side}-{size}"
    for side in ("encoder", "decoder")
    for size in ("embed-dim=32", "ffn-embed-dim=48", "layers=3", "attention-heads=4")
]
SIZE_FLAGS += ["--dropout=0"]
PRE_NORM = ["--encoder-normalize-before", "--decoder-normalize-before"]
LEARNED_POSITIONS = ["--encoder-learned-pos", "--decoder-learned-pos"]
# a seed with which sentences change for several iterations, and fairseq's flags
LEVT_VARIANTS = {
    "sinusoidal-post-norm": (12, ["--early-exit=3,3,3", "--share-all-embeddings"]),
    "learned-pre-norm": (12, ["--early-exit=3,3,3", "--share-all-embeddings", *LEARNED_POSITIONS, *PRE_NORM]),
    "learned-bert": (11, ["--early-exit=3,3,3", "--share-all-embeddings", *LEARNED_POSITIONS, "--apply-bert-init"]),
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
    """Parses flags of fairseq."""
    task = "translation" if arch == "transformer" else "translation_lev"
    words = [".", f"--task={task}", f"--arch={arch}", *SIZE_FLAGS, *flags]
    words += [] if arch == "transformer" else ["--criterion=nat_loss", "--label-smoothing=0.1"]
    return fairseq_options.parse_args_and_arch(fairseq_options.get_training_parser(default_task=task), words)


def build_pair(variant: str) -> Pair:
    """Returns fairseq's model with random weights that edit for several iterations, and its import."""
    seed, flags = LEVT_VARIANTS[variant]
    torch.manual_seed(seed)
    args = settings("levenshtein_transformer", *flags)
    args.max_source_positions = args.max_target_positions = 512
    target = toy_dictionary(20)
    source = target if "--share-all-embeddings" in flags else toy_dictionary(26)
    task = TranslationLevenshteinTask(TranslationLevenshteinConfig(data="."), source, target)
    reference = task.build_model(args).eval()
    liven_fairseq(reference)
    drop_attention(reference.decoder)
    return reference, import_model(args, reference, source, target)[1]


def import_model(
    args: Any, reference: Any, source: Dictionary, target: Dictionary, *options: str | None
) -> tuple[dict[str, Any], LevT]:
    """Imports a model: returns the checkpoint of ``import-levt`` and its LevT."""
    state = convert({"args": args, "cfg": None, "model": reference.state_dict()}, *options)
    return state, load_imported(state, source, target)


def load_imported(state: dict[str, Any], source: Dictionary, target: Dictionary) -> LevT:
    cfg = LevTConfig(**{key: value for key, value in state["cfg"]["model"].items() if key != "_name"})
    model = LevT.build_model(cfg, toy_task(source, target)).eval()
    model.load_state_dict(state["model"])
    return model


def drop_attention(decoder: Any) -> None:
    """Makes a decoder return no attention weights.

    fairseq's decoding fails with an IndexError when a first iteration fills placeholders in only some sentences of a
    batch: it then keeps attention weights for those alone. Nothing else depends on these weights.
    """
    for name in ("forward_word_del", "forward_mask_ins", "forward_word_ins"):
        forward = getattr(decoder, name)
        setattr(decoder, name, lambda forward=forward, **kwargs: (forward(**kwargs)[0], None))


@torch.no_grad()
def liven_fairseq(model: Any) -> None:
    """Sets weights that make a sentence change for several iterations.

    fairseq initializes its two small heads with zeros; boundaries and padding, which ours never inserts, must not be
    the best word.
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


@pytest.fixture(scope="module", params=LEVT_VARIANTS)
def model_pair(request: pytest.FixtureRequest) -> Pair:
    return build_pair(request.param)


def source_batch(count: int, left_pad: bool = True) -> Tensor:
    rows = random_rows(count, seed=21, shortest=1, longest=12)
    return left_padded(rows) if left_pad else rows_to_tensor(rows)


@torch.no_grad()
def test_logits_of_the_three_heads_match_fairseq(model_pair: Pair) -> None:
    reference, model = model_pair
    source, canvas = source_batch(6), rows_to_tensor(random_rows(6, seed=22))
    encoded, memory = reference.encoder(source, source.ne(PAD).sum(1)), model.encode(source)
    arguments = {"normalize": False, "encoder_out": encoded, "prev_output_tokens": canvas}
    real = canvas.ne(PAD)

    logits = model.decoder.deletion_logits(model.decoder.hidden_states("deletion", canvas, memory))
    expected, _ = reference.decoder.forward_word_del(**arguments)
    assert logits[real].allclose(expected[real], atol=1e-5)

    logits = model.decoder.placeholder_logits(model.decoder.hidden_states("placeholder", canvas, memory))
    expected, _ = reference.decoder.forward_mask_ins(**arguments)
    assert logits[real[:, 1:]].allclose(expected[real[:, 1:]], atol=2e-5)

    hidden = model.decoder.hidden_states("token", canvas, memory)
    logits = model.decoder.token_logits(hidden, real.flatten().nonzero()[:, 0], memory)
    expected, _ = reference.decoder.forward_word_ins(**arguments)
    assert logits.allclose(expected[real], atol=1e-5)


def training_batches() -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the same batch for fairseq and for us, with the same random deletions as roll-in."""
    sources, targets = random_rows(8, 31, shortest=1), random_rows(8, 32, shortest=3)
    dataset = toy_dataset(sources, targets, rollin=RollIn(seed=1))
    batch = dataset.collater([dataset[i] for i in range(8)])
    net_input = batch["net_input"]
    states = net_input["states"]
    target, kept_tokens = states["target"], states["kept_tokens"]
    # of a repeated word, the alignment may keep either one: use the labels of fairseq's alignment
    missing = ~align(kept_tokens, target, PAD).matched & target.ne(PAD)
    counts = torch.zeros_like(states["missing_counts"])
    for i, row in enumerate(missing.tolist()):
        slot = -1
        for token, is_missing in zip(target[i].tolist(), row, strict=True):
            if is_missing:
                counts[i, slot] += 1
            elif token != PAD:
                slot += 1
    placeholders = missing.flatten().nonzero()[:, 0]
    net_input["states"] = {**states, "placeholder_index": placeholders, "missing_counts": counts}
    reference_batch = {
        "net_input": {key: net_input[key] for key in ("src_tokens", "src_lengths")},
        "target": target,
        "prev_target": kept_tokens,
        "ntokens": batch["ntokens"],
        "nsentences": batch["nsentences"],
    }
    return reference_batch, batch


@needs_libnat
def test_the_three_losses_match_fairseq(model_pair: Pair) -> None:
    reference, model = model_pair
    fairseq_batch, batch = training_batches()
    nat_loss = LabelSmoothedDualImitationCriterion(toy_task(), label_smoothing=0.1)
    criterion = toy_criterion(label_smoothing=0.1, placeholder_label_smoothing=0.01, loss_average="heads")
    expected, _, fairseq_log = nat_loss(reference, fairseq_batch)
    loss, _, log = criterion(model, batch)
    assert int(log["token_count"]) > 10
    for name, head in (("mask_ins", "placeholder"), ("word_ins", "token"), ("word_del", "deletion")):
        mean = float(log[f"{head}_loss"]) / int(log[f"{head}_count"])
        assert mean == pytest.approx(fairseq_log[f"{name}-loss"], abs=1e-4)
    assert float(loss.detach()) == pytest.approx(float(expected.detach()), abs=1e-4)
    token_nll = float(log["token_nll"]) / int(log["token_count"])
    assert token_nll == pytest.approx(float(fairseq_log["nll_loss"]), abs=1e-4)


def decode_both(model_pair: Pair, source: Tensor, gamma: float, adaptive: bool) -> tuple[list, list]:
    reference, model = model_pair
    sample = {"net_input": {"src_tokens": source, "src_lengths": source.ne(PAD).sum(1)}}
    fairseqs = IterativeRefinementGenerator(toy_dictionary(), max_iter=9, eos_penalty=gamma, adaptive=adaptive)
    options = RefinementOptions(max_iter=9, gamma=gamma, adaptive=adaptive)
    expected = fairseqs.generate([reference], sample)
    hypotheses = RefinementGenerator([model], toy_dictionary(), options).generate([model], sample)
    return [group[0] for group in expected], [group[0] for group in hypotheses]


def assert_same_hypothesis(expected: dict[str, Any], hypothesis: dict[str, Any]) -> None:
    """Asserts equality up to the <s> with which fairseq's hypotheses begin."""
    assert expected["tokens"][0] == BOS and expected["positional_scores"][0] == 0
    assert hypothesis["tokens"].tolist() == expected["tokens"].tolist()[1:]
    assert hypothesis["steps"] == expected["steps"]
    assert hypothesis["positional_scores"].allclose(expected["positional_scores"][1:], atol=1e-4)
    assert float(hypothesis["score"]) == pytest.approx(float(expected["score"]), abs=1e-4)


@pytest.mark.parametrize(
    ("gamma", "adaptive", "left_pad"), [(0.0, True, True), (0.5, True, True), (0.0, False, True), (0.0, True, False)]
)
def test_decoding_matches_fairseq(model_pair: Pair, gamma: float, adaptive: bool, left_pad: bool) -> None:
    expected, hypotheses = decode_both(model_pair, source_batch(16, left_pad), gamma, adaptive)
    for reference, hypothesis in zip(expected, hypotheses, strict=True):
        assert_same_hypothesis(reference, hypothesis)


def levt_of_transformer(flags: list[str], early_exit: str | None = None) -> tuple[Any, dict[str, Any], LevT]:
    """Returns fairseq's Transformer, the checkpoint that ``import-levt`` makes of it, and its LevT."""
    torch.manual_seed(1)
    target = toy_dictionary(20)
    source = target if "--share-all-embeddings" in flags else toy_dictionary(26)
    args = settings("transformer", *flags)
    reference = TranslationTask(TranslationConfig(data="."), source, target).build_model(args).eval()
    return reference, *import_model(args, reference, source, target, early_exit)


def test_import_for_early_exit_drops_middle_blocks() -> None:
    reference, _, model = levt_of_transformer(["--decoder-layers=3"], "1,1,2")
    assert len(model.decoder.stack("shared")) == 2
    assert model.decoder.depths == {"deletion": 1, "placeholder": 1, "token": 2}
    tokens = torch.tensor([[EOS, 5, 9, 7]])
    source = source_batch(1)
    encoded = reference.encoder(source, source.ne(PAD).sum(1))
    inner = reference.decoder.extract_features(tokens, encoded)[1]["inner_states"]
    hidden = model.decoder.hidden_states("deletion", tokens, model.encode(source))
    assert len(hidden) == 2 and hidden[1][0, -1].allclose(inner[1][-1, 0], atol=1e-5)
    for block, number in zip(model.decoder.stack("shared"), (0, 2), strict=True):
        assert block.ffn.fc2.weight.equal(reference.decoder.layers[number].fc2.weight)


@pytest.mark.parametrize("flags", [["--share-all-embeddings"], ["--share-decoder-input-output-embed", *PRE_NORM], []])
def test_import_of_a_transformer_keeps_its_weights(flags: list[str]) -> None:
    """The last position of one decoder block attends to the same positions in both models."""
    reference, state, model = levt_of_transformer(["--decoder-layers=1", *flags])
    assert state["cfg"]["model"]["placeholder"] == "plh"
    repeated = levt_of_transformer(["--decoder-layers=1", *flags])[1]
    assert all(value.equal(repeated["model"][key]) for key, value in state["model"].items())
    tokens = torch.tensor([[EOS, 5, 9, 7]])
    logits = reference(source_batch(1), source_batch(1).ne(PAD).sum(1), tokens)[0][0, -1]
    memory = model.encode(source_batch(1))
    hidden = model.decoder.hidden_states("token", tokens, memory)
    assert model.decoder.token_logits(hidden, torch.tensor([3]), memory)[0].allclose(logits, atol=1e-5)


@pytest.mark.parametrize("share", list(SHARING))
def test_separate_blocks_are_initialized_as_copies(share: str) -> None:
    shared = levt_of_transformer(["--decoder-layers=2"])[2]
    state = levt_of_transformer(["--decoder-layers=2"])[1]
    separate = load_imported(start.separate(state, share), toy_dictionary(26), toy_dictionary(20))
    assert separate.decoder.sharing == SHARING[share]
    draft, source = torch.tensor([[BOS, 5, 9, 7, EOS]]), source_batch(1)
    for policy in ("deletion", "placeholder", "token"):
        shared_states, separate_states = (
            model.decoder.hidden_states(policy, draft, model.encode(source)) for model in (shared, separate)
        )
        assert shared_states[-1].equal(separate_states[-1])


def test_import_refuses_models_without_counterpart() -> None:
    args = settings("levenshtein_transformer", *LEVT_VARIANTS["own-deletion"][1])
    state = {"args": args, "cfg": None, "model": {}}
    with pytest.raises(UserError, match="no_share_discriminator"):
        convert(state, "1,1,2")
    args.early_exit = "6,6,6"
    with pytest.raises(UserError, match="6, 3 and 3"):
        convert(state)
    with pytest.raises(UserError, match="transformer_lm"):
        convert({"args": argparse.Namespace(arch="transformer_lm"), "cfg": None, "model": {}})


def test_blocks_are_separated_only_where_all_are_shared() -> None:
    separated = start.separate(levt_of_transformer(["--decoder-layers=1"])[1], "none")
    with pytest.raises(UserError, match="--share-weights plh-tok"):
        start.separate(separated, "plh-tok")
