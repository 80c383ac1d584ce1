"""The LevT: variants of its options, presets, and refused options."""

from argparse import Namespace
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from fairseq import options
from fairseq.models import ARCH_CONFIG_REGISTRY
from torch import Tensor

from lev_plugins.levt import words
from lev_plugins.levt.config import SHARING
from lev_plugins.levt.model import LevT, LevTOutput, random_words
from lev_plugins.levt.words import Learning, choose_classes
from lev_plugins.nn.output_loss import HeadOutput, SummedLoss
from lev_plugins.utils.errors import UserError
from tests.helpers import run_model, toy_batch, toy_config, toy_dictionary, toy_model, toy_task

LEVT_OPTIONS: dict[str, dict[str, Any]] = {
    **{f"share-{name}": {"share_weights": name} for name in SHARING},
    "early-exit": {"deletion_layers": 1, "placeholder_layers": 1},
    "early-exit-own-stacks": {"deletion_layers": 1, "placeholder_layers": 1, "share_weights": "none"},
    "learned-positions": {"encoder_learned_pos": True, "decoder_learned_pos": True},
    "pre-norm": {"encoder_normalize_before": True, "decoder_normalize_before": True},
    "all-embeddings": {"share_all_embeddings": True},
    "target-embeddings": {"share_decoder_input_output_embed": True},
    "unk-placeholder": {"placeholder": "unk"},
    "one-insertion": {"max_insertions": 1},
    "bert": {"apply_bert_init": True, "activation_fn": "gelu"},
    "unscaled": {"no_scale_embedding": True},
    "wide-encoder": {"encoder_embed_dim": 24},
}


def total(output: LevTOutput) -> Tensor:
    """Returns the sum of the three cross-entropies."""
    return torch.stack([head.loss(smoothing=0.0).loss for head in output]).sum()


@pytest.mark.parametrize("options", LEVT_OPTIONS.values(), ids=LEVT_OPTIONS.keys())
def test_every_levt_parameter_learns(options: dict[str, Any]) -> None:
    model = toy_model(**options)
    total(run_model(model, toy_batch())).backward()
    idle = [name for name, p in model.named_parameters() if p.grad is None or not p.grad.any()]
    assert idle == []


def test_the_placeholder_has_an_embedding_but_is_no_output_class() -> None:
    model = toy_model(share_all_embeddings=True)
    size = len(toy_dictionary())
    assert model.placeholder == size
    assert model.decoder.embedding.tokens.num_embeddings == size + 1
    assert model.words.head.weight.size(0) == size


WRONG_LEVT_OPTIONS = {
    r"--deletion-layers .*0.*--decoder-layers \(2\).*3": {"deletion_layers": 3},
    r"--placeholder-layers .*0.*--decoder-layers \(2\).*-1": {"placeholder_layers": -1},
    "--share-all-embeddings .*24 and 16": {
        "share_all_embeddings": True,
        "encoder_embed_dim": 24,
    },
}


@pytest.mark.parametrize(("message", "options"), WRONG_LEVT_OPTIONS.items())
def test_wrong_levt_options_are_refused(message: str, options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=message):
        toy_model(**options)


def test_share_all_embeddings_with_two_dictionaries_is_refused() -> None:
    task = toy_task(toy_dictionary(30), toy_dictionary(20))
    with pytest.raises(UserError, match=r"dict\.source\.txt and dict\.target\.txt"):
        toy_model(task, share_all_embeddings=True)


def test_a_levt_with_task_translation_is_refused() -> None:
    task = SimpleNamespace(cfg=SimpleNamespace(_name="translation"))
    with pytest.raises(UserError, match=r"--arch levt .*--task translation.*--task text_editing"):
        LevT.build_model(toy_config(), task)


def test_sampled_classes_follow_the_models_probabilities() -> None:
    probabilities = torch.tensor([0.1, 0.2, 0.3, 0.4])
    logits = probabilities.log().expand(8000, 4)
    samples = choose_classes(logits, Learning("sample", torch.Generator().manual_seed(1)))
    shares = torch.bincount(samples, minlength=4) / 8000
    assert (shares - probabilities).abs().max() < 4 * (0.25 / 8000) ** 0.5


def test_dae_permutes_the_missing_words_of_the_batch() -> None:
    missing = torch.tensor([5, 6, 7]).repeat(100)
    samples = random_words(missing, torch.Generator().manual_seed(1))
    assert not samples.equal(missing)
    assert set(samples.tolist()) == {5, 6, 7}


@pytest.mark.parametrize("rollin", ["dae", "argmax"])
def test_a_summed_loss_has_the_gradients_of_the_loss_of_logits(rollin: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, batch = toy_model(), toy_batch()
    results = []
    for sums in (False, True):
        monkeypatch.setattr(words, "can_compute_gradient_early", lambda states, sums=sums: sums)
        torch.manual_seed(1)
        output = run_model(model, batch, rollin=rollin)
        assert isinstance(output.token, SummedLoss if sums else HeadOutput)
        loss = output.token.loss(0.1).loss + output.deletion.loss(0.0).loss
        gradients = torch.autograd.grad(loss, list(model.parameters()), allow_unused=True)
        results.append((output.deletion.tokens, loss, [gradient for gradient in gradients if gradient is not None]))
    (tokens, loss, gradients), (tokens_of_sum, loss_of_sum, gradients_of_sum) = results
    assert tokens_of_sum.equal(tokens) and loss_of_sum.allclose(loss)
    for gradient, gradient_of_sum in zip(gradients, gradients_of_sum, strict=True):
        assert gradient_of_sum.allclose(gradient, atol=1e-5)


def test_a_preset_fills_in_flags_that_older_checkpoints_lack() -> None:
    args = Namespace(deletion_layers=0)
    ARCH_CONFIG_REGISTRY["levt_tiny"](args)
    assert (args.backbone, args.backbone_lr_factor, args.spelling, args.deletion_layers) == (None, 1, False, 0)


def test_levt_editor_sets_sizes_and_bpe_and_rollins_that_flags_override() -> None:
    def parse(*words: str) -> Namespace:
        return options.parse_args_and_arch(options.get_training_parser(), [*words])

    flags = ["data", "--task", "text_editing", "--criterion", "dual_policy", "--arch", "levt_editor", "--spelling"]
    args = parse(*flags)
    recipe = {"encoder_layers": 2, "decoder_layers": 1, "decoder_embed_dim": 160, "encoder_ffn_embed_dim": 320}
    recipe |= {"encoder_normalize_before": True, "share_all_embeddings": True, "max_insertions": 7, "dropout": 0.0}
    recipe |= {"bpe": "words", "rollin_alpha": 1.0, "rollin_beta": 1.0, "encoder_attention_heads": 4}
    assert {name: vars(args)[name] for name in recipe} == recipe
    changed = ["--decoder-layers", "2", "--dropout", "0.2", "--rollin-beta", "0", "--bpe", "chars"]
    args = parse(*flags, *changed)
    assert (args.decoder_layers, args.dropout, args.rollin_beta, args.bpe) == (2, 0.2, 0.0, "chars")
    args = parse(*flags[:-2], "levt_tiny")
    assert (args.bpe, args.rollin_alpha) == (None, None)
