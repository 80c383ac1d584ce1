"""``levt --backbone`` is trained and asked as every levt; ``test_encoders.py`` compares its states."""

import shutil
from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from fairseq.data import ListDataset
from fairseq.data.data_utils import collate_tokens
from fairseq.utils import convert_padding_direction
from torch import Tensor, nn

from lev_plugins import load
from lev_plugins.cli.main import main
from lev_plugins.data.drafts.dataset import RollIn, TextEditingDataset
from lev_plugins.data.tokenise import Words
from lev_plugins.errors import UserError
from lev_plugins.inference.options import EditOptions
from lev_plugins.layers.linear import Linear
from lev_plugins.model_folder import read_shapes
from lev_plugins.models.levt import LevT
from lev_plugins.spelling.batch_words import BatchWords, EditingDictionary, UnknownWords
from tests.commands import succeed
from tests.helpers import collated, livened, toy_config, toy_pairs, toy_task, write_lines
from tests.pretrained import LINES, made_and_imported
from tests.unit.test_gpu import AN_UPDATE, assert_few_waits, waits_of_last_update

pytest.importorskip("transformers")

TEXT = "The quick fox isn't (over) zzyx."
SIZES = {"share_all_embeddings": True, "spelling": True, "spelling_buckets": 256, "dropout": 0.0}


@pytest.fixture(scope="module", params=["bert", "t5", "byt5"])
def backbone(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_and_imported(request.param, tmp_path_factory.mktemp(request.param))


def dictionary() -> EditingDictionary:
    words = EditingDictionary()
    for word in sorted({word for line in LINES for word in Words().encode(line).split()}):
        words.add_symbol(word)
    words.placeholder_index = len(words)
    return words


def build(folder: Path, **options: Any) -> LevT:
    torch.manual_seed(1)
    task = toy_task(dictionary())
    task.from_checkpoint = False
    return LevT.build_model(toy_config(backbone=str(folder), **SIZES, **options), task).eval()


def read(model: LevT, *texts: str) -> tuple[Tensor, BatchWords]:
    """Padded on the left."""
    words = dictionary()
    numbers = UnknownWords(words.size)
    rows = [numbers.ids_of(words.draft(Words().encode(text).split())) for text in texts]
    assert model.word_index is not None
    tokens, unknown = (
        collate_tokens(rows, words.pad(), left_pad=True),
        BatchWords.of_words(numbers.spellings, model.word_index),
    )
    return tokens, unknown.with_pieces(tokens, numbers.spellings, model.word_index)


def with_identity(model: LevT) -> LevT:
    """With the states of the backbone, which are projected otherwise."""
    part = model.encoder.backbone
    assert part is not None
    part.project = Linear(part.project.in_features, part.project.in_features)
    nn.init.eye_(part.project.weight)
    nn.init.zeros_(part.project.bias)
    return model


@torch.no_grad()
def test_what_is_longer_than_its_positions_is_read_in_parts(tmp_path: Path) -> None:
    model = with_identity(build(made_and_imported("bert", tmp_path)))
    first, last = " ".join(["the"] * 63), "brown fox"
    (whole, *parts) = (read(model, text) for text in (f"{first} {last}", first, last))
    found, *expected = (model.encoder.backbone(tokens, *words.pieces)[0] for tokens, words in (whole, *parts))
    assert torch.allclose(found[1:64], expected[0][1:64])  # [CLS] and 63 pieces
    assert torch.allclose(found[64:], expected[1][1:], atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["t5-1.1", "roberta"])
def test_an_editor_with_a_backbone(name: str, tmp_path: Path) -> None:
    """Trained frozen and then with a rate of its own, exported, asked without the folder of its training."""
    folder = made_and_imported(name, tmp_path)
    noisy, clean = [TEXT, "hello brwn fox"], ["the quick fox is over.", "hello brown fox"]
    for side, lines in (("src", noisy), ("draft", noisy), ("tgt", clean)):
        write_lines(tmp_path / f"train.{side}", lines)
    command = "prepare -s src -d draft -t tgt --bpe words --joined-dictionary --clean-dictionary --dest"
    assert main([*command.split(), f"{tmp_path}/data", "--train-prefix", f"{tmp_path}/train"]) == 0
    training = f"{tmp_path}/data -s src -t tgt --draft-lang draft --user-dir lev_plugins --task text_editing "
    training += "--arch levt_tiny --spelling --spelling-buckets 256 --share-all-embeddings --criterion dual_policy "
    training += f"--backbone {folder} --rollin-alpha 1 --rollin-beta 1 --lr 0.005 --max-sentences 2 --dropout 0 --cpu "
    training += f"--save-dir {tmp_path} --no-progress-bar --log-format none --disable-validation --max-update"
    succeed("fairseq-train", *training.split(), "15", "--freeze-backbone", "--optimizer", "adam")
    frozen = load(tmp_path / "checkpoint_last.pt", options=EditOptions(min_confidence=0.0))
    names = [name for name, _ in frozen.model.decoder.models[0].named_parameters() if ".backbone.encoder." in name]
    before = build(folder).state_dict()
    after = frozen.model.decoder.models[0].state_dict()
    assert names and all(torch.equal(before[name], after[name]) for name in names)

    again = ["10", "--reset-optimizer", "--restore-file", str(tmp_path / "checkpoint_last.pt"), "--save-dir"]
    again += [str(tmp_path / "second"), "--reset-meters", "--reset-dataloader", "--reset-lr-scheduler"]
    again += ["--optimizer", "scaled_adam", "--backbone-lr-factor", "0.1"]
    succeed("fairseq-train", *training.split(), *again)
    export = ["export", str(tmp_path / "second/checkpoint_last.pt"), str(tmp_path / "made"), "--bpe", "words"]
    assert main([*export, "--no-graphs"]) == 0
    texts = ["hello brwn fox", TEXT]
    options = EditOptions(edit_also="all", min_confidence=0.0)
    of_checkpoint = replace(options, bpe=Namespace(bpe="words"))
    trained = load(tmp_path / "second/checkpoint_last.pt", options=of_checkpoint).edit(texts)
    shutil.rmtree(folder)
    editor = load(tmp_path / "made", options=options)
    after = editor.model.decoder.models[0].state_dict()
    assert all(not torch.equal(before[name], after[name]) for name in names)
    tables = [".backbone.encoder.tokens", ".word_embeddings."]
    assert sum(any(part in name for part in tables) for name in read_shapes(tmp_path / "made")) == 1
    assert editor.edit(texts) == trained


def test_a_gpu_is_waited_for_no_more_often_than_without_a_backbone(backbone: Path) -> None:
    model, words = livened(build(backbone, max_insertions=4)), dictionary()
    texts = [TEXT, *LINES, "hello brwn fox"]
    tokens, unknown = read(model, *texts)
    draft = convert_padding_direction(tokens, words.pad(), left_to_right=True)
    for more in ({}, {"candidates": 2}, {"retain_history": True}):
        assert_few_waits(model, words, {"src_tokens": tokens, "draft": draft, "words": unknown}, max_iter=4, **more)
    rows = [words.draft(Words().encode(text).split()) for text in texts]
    pair = toy_pairs([row.ids.tolist() for row in rows], [row.ids.tolist() for row in rows], words)
    drafts = ListDataset(rows[::-1], [len(row.ids) for row in rows[::-1]])
    sample = collated(TextEditingDataset(pair, drafts, RollIn(1, alpha=0.5, beta=1.0), index=model.word_index))
    found = waits_of_last_update(model.train(), sample, 2)
    assert sum(found.values()) <= AN_UPDATE, found


def test_what_does_not_go_together(tmp_path: Path) -> None:
    bart = made_and_imported("bart", tmp_path)
    for options, reason in (
        ({"backbone": str(bart), "spelling": False}, "--backbone reads words: add --spelling"),
        ({"freeze_backbone": True}, "--freeze-backbone requires --backbone"),
    ):
        with pytest.raises(UserError, match=reason):
            LevT.build_model(toy_config(**{**SIZES, **options}), toy_task(dictionary()))
