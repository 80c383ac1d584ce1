"""EncT5: packing, batches, requested labels, and refused options."""

from pathlib import Path
from typing import Any

import pytest
import torch
from omegaconf import OmegaConf
from torch import Tensor

from lev_plugins.cli.main import main
from lev_plugins.labelling.config import EncT5Config
from lev_plugins.labelling.model import EncT5
from lev_plugins.labelling.task import TextLabellingTask
from tests.labelling import TINY, batch_of, model_of, task_of

TOLERANCE = 1e-5


def answers(model: EncT5, batch: dict[str, Any]) -> Tensor:
    return model(**batch["net_input"])


def split_by_text(values: Tensor, batch: dict[str, Any], kind: str) -> list[Tensor]:
    """Splits answers by text, in the order of the texts before packing."""
    sizes = batch["words"].tolist() if kind == "tagging" else [1] * len(batch["id"])
    parts = dict(zip(batch["id"].tolist(), values.split(sizes), strict=True))
    return [parts[i] for i in sorted(parts)]


MODEL_VARIANTS = [
    ("classification", {}),
    ("regression", {}),
    ("multilabel", {}),
    ("multilabel", {"no_label_interaction": True}),
    ("multilabel", {"latents": "one"}),
    ("multilabel", {"heads": "shared"}),
    ("tagging", {}),
    ("tagging", {"decoder_layers": 2}),
    ("tagging", {"pool": "mean"}),
    ("multilabel", {"pool": "mean"}),
]


@pytest.mark.parametrize(("kind", "options"), MODEL_VARIANTS)
def test_packing_keeps_answers_and_gradients(folders: dict[str, Path], kind: str, options: dict[str, Any]) -> None:
    results = []
    for pack in (False, True):
        task = task_of(folders[kind], **({"pack": True, "pack_length": 60} if pack else {}))
        model = model_of(task, **options)
        batch = batch_of(task, number=12)
        rows = batch["net_input"]["src_tokens"].size(0)
        assert rows < 12 if pack else rows == 12
        parts = split_by_text(answers(model, batch), batch, kind)
        truth = split_by_text(batch["target"], batch, kind)
        for part, goal in zip(parts, truth, strict=True):
            (part - (goal[..., None] if part.dim() > goal.dim() else goal)).pow(2).sum().backward(retain_graph=True)
        results.append((parts, truth, {name: p.grad for name, p in model.named_parameters()}))
    (parts, truth, gradients), (packed, packed_truth, packed_gradients) = results
    for value, packed_value in zip([*parts, *truth], [*packed, *packed_truth], strict=True):
        torch.testing.assert_close(value, packed_value, atol=TOLERANCE, rtol=TOLERANCE)
    for name, gradient in gradients.items():
        assert (gradient is None) == (packed_gradients[name] is None), name
        if gradient is not None:
            scale = max(1.0, float(gradient.abs().max()))
            torch.testing.assert_close(gradient / scale, packed_gradients[name] / scale, atol=TOLERANCE, rtol=TOLERANCE)


@pytest.mark.parametrize(("kind", "options"), MODEL_VARIANTS)
def test_answers_do_not_depend_on_the_batch(folders: dict[str, Path], kind: str, options: dict[str, Any]) -> None:
    task = task_of(folders[kind])
    model = model_of(task, **options)
    together = batch_of(task)
    whole = split_by_text(answers(model, together), together, kind)
    for i, expected in enumerate(whole):
        dataset = task.datasets["train"]
        alone = dataset.collater([dataset[i]])
        torch.testing.assert_close(answers(model, alone), expected, atol=TOLERANCE, rtol=TOLERANCE)


@pytest.mark.parametrize(
    ("options", "independent"), [({"no_label_interaction": True}, True), ({"latents": "one"}, True), ({}, False)]
)
def test_scores_of_requested_labels(folders: dict[str, Path], options: dict[str, Any], independent: bool) -> None:
    task = task_of(folders["multilabel"])
    model = model_of(task, **options)
    every = answers(model, batch_of(task))
    some = answers(model, batch_of(task, labels=(2, 0)))
    assert some.shape == (8, 2)
    assert torch.allclose(some, every[:, [2, 0]], atol=TOLERANCE) == independent
    assert (model.decoder.layers[0].self_attn is None) == independent


@pytest.mark.parametrize(
    ("kind", "options", "rule"),
    [
        ("tagging", {"latents": "one"}, "--latents one .*--label-kind multilabel"),
        ("regression", {"decoder_init": "backbone"}, "--decoder-init backbone .*--backbone"),
        ("regression", {"pool": "cls"}, "--pool cls"),
        ("multilabel", {"pool": "mean", "decoder_layers": 2}, "--pool .*--decoder-layers"),
        ("multilabel", {"pool": "mean", "no_label_interaction": True}, "--pool .*--no-label-interaction"),
        ("regression", {"farthest_distance": 8}, "--farthest-distance .*8.* but is 8"),
        ("regression", {"encoder": "bert", "head_dim": 8}, "--encoder bert .*--backbone"),
    ],
)
def test_wrong_model_options(folders: dict[str, Path], kind: str, options: dict[str, Any], rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        model_of(task_of(folders[kind]), **options)


def test_a_configuration_with_missing_fields_is_built(folders: dict[str, Path]) -> None:
    """A checkpoint of an older version lacks fields, and fairseq refuses to read missing fields."""
    task = task_of(folders["classification"])
    stored = OmegaConf.to_container(OmegaConf.structured(EncT5Config(_name="enct5", **TINY)))
    for name in ("encoder", "positions", "backbone_lr_factor"):
        del stored[name]
    stored["optimizer"] = "adam"  # a field of version 0.2
    config = OmegaConf.create(stored)
    OmegaConf.set_struct(config, True)
    model = task.build_model(config, from_checkpoint=True)
    assert type(model.encoder).__name__ == "T5Encoder" and model.head.weight.size(2) == TINY["embed_dim"]


def test_a_checkpoint_refuses_other_labels_and_dictionaries(folders: dict[str, Path]) -> None:
    task = task_of(folders["classification"])
    state = task.state_dict()
    task.load_state_dict(state)
    task.load_state_dict({})  # of an older version
    with pytest.raises(ValueError, match=r"labels\.txt"):
        task.load_state_dict({**state, "labels": state["labels"][::-1]})
    with pytest.raises(ValueError, match=r"dict\.txt"):
        task_of(folders["regression"]).load_state_dict({"pieces": "0"})
    assert task_of(folders["regression"]).state_dict()["labels"] is None


def test_text_labelling_refuses_to_generate(folders: dict[str, Path]) -> None:
    with pytest.raises(ValueError, match="--task text_labelling"):
        task_of(folders["tagging"]).build_generator([], None)


def test_a_single_label_has_no_interaction(tmp_path: Path) -> None:
    for split in ("train", "valid"):
        (tmp_path / f"{split}.tsv").write_text("sun\thot\nsnow\t\n", "utf-8")
    words = ["prepare-labels", "--label-kind", "multilabel", "--train", tmp_path / "train.tsv"]
    words += ["--valid", tmp_path / "valid.tsv", "--dest", tmp_path / "data"]
    assert main([str(word) for word in words]) == 0
    task = task_of(tmp_path / "data")
    model = model_of(task)
    assert model.decoder.layers[0].self_attn is None
    assert answers(model, batch_of(task, number=2)).shape == (2, 1)


def test_a_wrong_kind_or_folder_is_refused(folders: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"--label-kind .*tagging.*regression"):
        task_of(folders["regression"], label_kind="tagging")
    with pytest.raises(ValueError, match=str(tmp_path / "none")):
        task_of(tmp_path / "none")
    with pytest.raises(ValueError, match="prepare-labels"):
        task_of(tmp_path)
    with pytest.raises(ValueError, match="no part test"):
        task_of(folders["regression"]).load_dataset("test")


@pytest.mark.parametrize("pack", [False, True])
def test_every_example_is_in_one_batch(folders: dict[str, Path], pack: bool) -> None:
    task: TextLabellingTask = task_of(folders["regression"], **({"pack": True, "pack_length": 64} if pack else {}))
    dataset = task.datasets["train"]
    for limits in ({"max_tokens": 90}, {"max_sentences": 7}, {"max_tokens": 100, "max_sentences": 3}):
        batches = dataset.batch_by_size(dataset.ordered_indices(), required_batch_size_multiple=8, **limits)
        assert sorted(i for batch in batches for i in batch) == list(range(40))
        for batch in batches:
            assert len(batch) <= limits.get("max_sentences", 40)
            assert len(batch) == 1 or sum(dataset.sizes[batch]) <= limits.get("max_tokens", 1000)
