"""The autoregressive post-editor: training, batches, and refused options."""

from argparse import Namespace
from typing import Any

import pytest
import torch
from fairseq.criterions.cross_entropy import CrossEntropyCriterion
from fairseq.dataclass.configs import GenerationConfig
from fairseq.models.transformer import TransformerModel
from omegaconf import OmegaConf

from lev_plugins.levt.model import LevT
from lev_plugins.levt.post_edit import PostEditTransformer
from lev_plugins.levt.task import TextEditingTask
from lev_plugins.training.encoder_decoder import EncoderDecoderConfig
from lev_plugins.utils.errors import UserError
from tests.helpers import (
    BOS,
    EOS,
    PAD,
    random_rows,
    toy_config,
    toy_dataset,
    toy_model,
    toy_post_editor,
    toy_sizes,
    toy_task,
)

SOURCES, TARGETS, DRAFTS = (random_rows(5, seed, shortest=1) for seed in (1, 2, 3))

# --- the model


@pytest.mark.parametrize("options", [{}, {"share_all_embeddings": True}, {"share_decoder_input_output_embed": True}])
def test_every_post_editor_parameter_learns(options: dict[str, Any]) -> None:
    model = toy_post_editor(**options)
    dataset = toy_dataset(SOURCES, TARGETS, DRAFTS, teacher_forcing=True)
    batch = dataset.collater([dataset[i] for i in range(5)])
    CrossEntropyCriterion(toy_task(), sentence_avg=False)(model, batch)[0].backward()
    idle = [name for name, parameter in model.named_parameters() if parameter.grad is None or not parameter.grad.any()]
    assert idle == []


def test_a_draft_longer_than_max_source_positions_without_padding_is_refused() -> None:
    model = toy_post_editor(encoder_learned_pos=True, max_source_positions=6)
    source, longest = torch.tensor([[BOS, 5, EOS]]), [BOS, 5, 6, 7, 8, EOS]
    assert model.encoder(source, draft=torch.tensor([[*longest, PAD, PAD]]))
    with pytest.raises(UserError, match=r"7 tokens.* 6.*--max-source-positions"):
        model.encoder(source, draft=torch.tensor([[*longest[:-1], 9, EOS]]))


# --- the task


def built(task: TextEditingTask, arch: str, from_checkpoint: bool = False) -> Any:
    if arch == "transformer":
        return task.build_model(Namespace(arch=arch, **toy_sizes()), from_checkpoint)
    config = toy_config() if arch == "levt" else EncoderDecoderConfig(**toy_sizes())
    config._name = arch
    return task.build_model(OmegaConf.structured(config), from_checkpoint)


def test_the_task_builds_autoregressive_batches_for_the_post_editor_only() -> None:
    task = toy_task(draft_lang="mt")
    assert not task.autoregressive
    assert isinstance(built(task, "post_edit_transformer"), PostEditTransformer)
    assert task.autoregressive
    assert isinstance(built(task, "levt"), LevT)
    assert not task.autoregressive


def test_building_a_reranker_does_not_make_batches_autoregressive() -> None:
    task = toy_task()
    built(task, "levt", from_checkpoint=True)
    assert isinstance(built(task, "transformer", from_checkpoint=True), TransformerModel)
    assert not task.autoregressive


def test_training_without_drafts_is_refused_and_decoding_is_not() -> None:
    with pytest.raises(UserError, match="--draft-lang"):
        built(toy_task(), "post_edit_transformer")
    assert built(toy_task(), "post_edit_transformer", from_checkpoint=True)


@pytest.mark.parametrize("from_checkpoint", [False, True])  # True: fairseq-validate
def test_the_criterion_of_another_model_is_refused(from_checkpoint: bool) -> None:
    task = toy_task(draft_lang="mt")
    for arch, wrong in (("levt", "cross_entropy"), ("post_edit_transformer", "dual_policy")):
        built(task, arch, from_checkpoint)
        with pytest.raises(UserError, match=f"--criterion .*{wrong}"):
            task.build_criterion(Namespace(criterion=wrong))


def test_another_architecture_is_refused() -> None:
    with pytest.raises(UserError, match=r"post_edit_transformer.* --arch is transformer"):
        built(toy_task(draft_lang="mt"), "transformer")


def test_keep_bias_with_a_post_editor_is_refused() -> None:
    task = toy_task(draft_lang="mt", keep_bias=1)
    with pytest.raises(UserError, match=r"--keep-bias .*levt"):
        built(task, "post_edit_transformer", from_checkpoint=True)
    assert built(task, "levt")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("iter_decode_max_iter", "post_edit_transformer"),
        ("replace_unk", "source"),
        ("constraints", "TAB"),
    ],
)
def test_search_flags_that_conflict_with_drafts_are_refused(name: str, message: str) -> None:
    with pytest.raises(UserError, match=f"--{name.replace('_', '-')} .*{message}"):
        toy_task().build_generator([toy_post_editor()], GenerationConfig(**{name: 7}))


@pytest.mark.parametrize("reranking", [True, False])
def test_an_ensemble_of_levt_and_post_editor_is_refused(reranking: bool) -> None:
    flags = Namespace(iter_decode_with_external_reranker=reranking, iter_decode_with_beam=3)
    with pytest.raises(UserError, match=r"LevT.* ensemble"):
        toy_task().build_generator([toy_model(), toy_post_editor()], flags)
