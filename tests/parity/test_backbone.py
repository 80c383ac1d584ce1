"""``levt --backbone``: its states are those of ``transformers``, and it is trained and asked as every levt."""

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
from tests.pretrained import ENCODERS, LINES, MAKERS, encoder, encoder_decoder, imported
from tests.unit.test_gpu import AN_UPDATE, assert_few_waits, waits_of_last_update

transformers = pytest.importorskip("transformers")

TEXT = "The quick fox isn't (over) zzyx."
SIZES = {"share_all_embeddings": True, "spelling": True, "spelling_buckets": 256, "dropout": 0.0}


@pytest.fixture(scope="module", params=["bert", "t5", "byt5"])
def backbone(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp(request.param)
    MAKERS[request.param](folder / "theirs")
    return imported(folder / "theirs", folder / "ours")


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


def states(model: LevT, *texts: str) -> Tensor:
    """What the backbone says, before it is projected."""
    part = model.encoder.backbone
    assert part is not None
    part.project = Linear(part.project.in_features, part.project.in_features)
    nn.init.eye_(part.project.weight)
    nn.init.zeros_(part.project.bias)
    with torch.no_grad():
        tokens, words = read(model, *texts)
        return part(tokens, *words.pieces)


def expected(folder: Path, text: str) -> Tensor:
    """The mean over the pieces of each word, from the tokenizer's own account of where they are."""
    theirs = transformers.AutoTokenizer.from_pretrained(folder / "theirs")
    bert = "Bert" in type(theirs).__name__
    words = [word.replace("▁", " ") for word in Words().encode(text).split()]
    pieces = [theirs(word, add_special_tokens=False)["input_ids"] for word in words]
    blank = theirs.convert_tokens_to_ids("▁")
    pieces = [
        row[1:] if row[0] == blank and len(row) > 1 and not word.startswith(" ") and not bert else row
        for row, word in zip(pieces, words, strict=True)
    ]
    ids = [piece for row in pieces for piece in row]
    ids = [theirs.cls_token_id, *ids, theirs.sep_token_id] if bert else [*ids, theirs.eos_token_id]
    if bert:
        assert ids == theirs(text)["input_ids"]  # as it reads the text
    name = "BertModel" if bert else "T5EncoderModel"
    model = getattr(transformers, name).from_pretrained(folder / "theirs").eval()
    with torch.no_grad():
        *others, last = model(input_ids=torch.tensor([ids]), output_hidden_states=True).hidden_states[1:]
        norm = nn.Identity() if bert else model.encoder.final_layer_norm  # the library norms the last one alone
        found = torch.cat([*map(norm, others), last], -1)[0][int(bert) :]
    parts = found.split([*map(len, pieces), 1])
    return torch.stack([torch.zeros_like(found[0]), *(part.mean(0) for part in parts)])  # <s>: nothing


def test_states_are_those_of_the_library(backbone: Path) -> None:
    found = states(build(backbone), TEXT, LINES[0])
    for row, text in zip(found, (TEXT, LINES[0]), strict=True):
        theirs = expected(backbone.parent, text)
        assert float((row[-len(theirs) :] - theirs).abs().max()) < 1e-5


def test_what_is_longer_than_its_positions_is_read_in_parts(tmp_path: Path) -> None:
    MAKERS["bert"](tmp_path / "theirs")
    model = build(imported(tmp_path / "theirs", tmp_path / "ours"))
    long = " ".join(["the"] * 63 + ["brown", "fox"])
    found = states(model, long)[0]
    assert torch.allclose(found[1:64], states(model, " ".join(["the"] * 63))[0, 1:64])  # [CLS] and 63 pieces
    assert torch.allclose(found[64:], states(model, "brown fox")[0, 1:], atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["t5-1.1", "roberta"])
def test_an_editor_with_a_backbone(name: str, tmp_path: Path) -> None:
    """Trained frozen and then with a rate of its own, exported, asked without the folder of its training."""
    (encoder if name in ENCODERS else encoder_decoder)(name, tmp_path / "theirs")
    folder = imported(tmp_path / "theirs", tmp_path / "backbone")
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
    MAKERS["bart"](tmp_path / "theirs")
    bart = imported(tmp_path / "theirs", tmp_path / "ours")
    for options, reason in (
        ({"backbone": str(bart), "spelling": False}, "--backbone reads words: add --spelling"),
        ({"freeze_backbone": True}, "--freeze-backbone requires --backbone"),
    ):
        with pytest.raises(UserError, match=reason):
            LevT.build_model(toy_config(**{**SIZES, **options}), toy_task(dictionary()))
