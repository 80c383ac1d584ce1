"""Encoders of ``transformers`` in a ``levt`` and in an ``enct5``: states, pieces, weights, graphs and labels."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
import torch
from fairseq.data import Dictionary
from fairseq.data.data_utils import collate_tokens
from omegaconf import OmegaConf
from onnxruntime.quantization import QuantType, quantize_dynamic
from torch import Tensor, nn

from lev_plugins.cli.main import main
from lev_plugins.editor.graph_file import check_graph
from lev_plugins.edits.batch_words import BatchWords, EditingDictionary, look_up_words, with_pieces
from lev_plugins.edits.word_pieces import WordTokenizer
from lev_plugins.export import tracing
from lev_plugins.export.label_graph import enct5_graphs
from lev_plugins.labelling.config import EncT5Config
from lev_plugins.labelling.task import TextLabellingConfig, TextLabellingTask
from lev_plugins.levt.model import LevT
from lev_plugins.nn.linear import Linear, pack_weights
from lev_plugins.pretrained import library
from lev_plugins.pretrained.library_encoder import LibraryEncoder
from lev_plugins.text.pretrained import PretrainedBPE, longest_text
from lev_plugins.training.tokenise import Words
from lev_plugins.utils.errors import UserError
from tests.helpers import EOS, toy_config, toy_task
from tests.labelling import prepare
from tests.pretrained import (
    DEBERTA_HAS_GRAPHS,
    ENCODERS,
    TOKENIZER_LINES,
    change_config,
    encoder,
    ids_of_symbols,
    imported,
    made_and_imported,
    make,
)
from tests.pretrained import build as build_gated

transformers = pytest.importorskip("transformers")
tokenizers = pytest.importorskip("tokenizers")

BOTH_SIDES = ["bart", "umt5", "t5", "t5-1.1", "mt5", "byt5"]
FAMILIES = [*ENCODERS, "bert", *BOTH_SIDES]
PACKAGE_LAYERS = ["bert", "t5", "t5-1.1", "mt5", "byt5"]  # read with layers of the package
UNCASED = ["bert", "electra", "electra-small", "mpnet", "distilbert", "albert"]
UNICODE = [
    "The quick fox isn't (over) zzyx.",
    "cafe\u0301 \u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627 \u0e01\u0e33\u0928\u093f",
    "\U0001f600 \U0001f469\u200d\U0001f4bb \U0001f1fa\U0001f1e6 \u200b \ufb01sh \x01 \u65e5\u672c \uff21",
]


SPELLING_OPTIONS = {"share_all_embeddings": True, "spelling": True, "spelling_buckets": 256, "dropout": 0.0}


@dataclass
class Family:
    name: str
    folder: Path
    reference: Any  # the complete model of the library
    ids: Tensor  # the library's id of each of our symbols

    @property
    def ours(self) -> Path:
        return self.folder / "ours"

    @property
    def stack(self) -> Any:
        return self.reference.get_encoder() if self.name in BOTH_SIDES else self.reference.base_model

    def states(self, rows: Tensor, prefix: bool) -> list[Tensor]:
        """Returns the library's states of rows of our symbols after each block, with the final norm."""
        tokens, real = self.ids[rows], rows.ne(1)
        if prefix:
            begin = self.ids[0].expand(len(rows), 1)
            tokens, real = torch.cat([begin, tokens], 1), torch.cat([torch.ones_like(begin).bool(), real], 1)
        with torch.no_grad():
            output = self.stack(input_ids=tokens, attention_mask=real.long(), output_hidden_states=True)
        norm = getattr(self.stack, "final_layer_norm", None) or getattr(self.stack, "final_norm", nn.Identity())
        blocks = [*map(norm, output.hidden_states[1:-1]), output.last_hidden_state]
        return [block[:, int(prefix) :] for block in blocks]


@pytest.fixture(scope="module", params=FAMILIES)
def family(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Family:
    folder = tmp_path_factory.mktemp(request.param)
    return of_folder(request.param, folder, make(request.param, folder / "theirs"))


def of_folder(name: str, folder: Path, reference: Any) -> Family:
    imported(folder / "theirs", folder / "ours")
    return Family(name, folder, reference.eval(), ids_of_symbols(folder / "ours")[1])


def word_dictionary() -> EditingDictionary:
    words = EditingDictionary()
    for word in sorted({word for line in TOKENIZER_LINES for word in Words().encode(line).split()}):
        words.add_symbol(word)
    words.placeholder_index = len(words)
    return words


def build_levt(folder: Path, **options: Any) -> LevT:
    torch.manual_seed(1)
    task = toy_task(word_dictionary())
    task.from_checkpoint = False
    return LevT.build_model(toy_config(backbone=str(folder), **SPELLING_OPTIONS, **options), task).eval()


def read_texts(model: LevT, *texts: str) -> tuple[Tensor, BatchWords]:
    """Returns a batch of the texts, padded on the left, and its words."""
    words = word_dictionary()
    numbers = dict[str, int]()
    rows = [words.draft(Words().encode(text).split()).batch_ids(numbers, words.size + 1) for text in texts]
    assert model.word_index is not None
    tokens = collate_tokens(rows, words.pad(), left_pad=True)
    unknown = look_up_words(list(numbers), model.word_index)
    return tokens, with_pieces(unknown, tokens, list(numbers), model.word_index)


def with_identity(model: LevT) -> LevT:
    """Returns the model with an identity in place of the projection of the backbone's states."""
    part = model.encoder.reader
    assert part is not None
    part.project = Linear(part.project.in_features, part.project.in_features)
    nn.init.eye_(part.project.weight)
    nn.init.zeros_(part.project.bias)
    return model


def has_first_symbol(family: Family) -> bool:
    return family.name not in BOTH_SIDES or family.name == "bart"


def test_states_of_words_are_means_of_the_librarys_states(family: Family) -> None:
    model = with_identity(build_levt(family.ours))
    assert isinstance(model.encoder.reader.encoder, LibraryEncoder) == (family.name not in PACKAGE_LAYERS)
    tokens, words = read_texts(model, *UNICODE, *TOKENIZER_LINES)
    rows, positions, owners = words["pieces"]
    assert bool(rows.eq(1).any())
    with torch.no_grad():
        states = model.encoder.reader(tokens, rows, positions, owners).flatten(0, 1)
    expected = torch.cat(family.states(rows, has_first_symbol(family)), -1).flatten(0, 1)[positions]
    tokenizer, pieces_of_words = WordTokenizer(family.ours, Dictionary.load(str(family.ours / "dict.txt"))), []
    for text in [*UNICODE, *TOKENIZER_LINES]:
        row = [*map(tokenizer.pieces, Words().encode(text).split()), [EOS]]
        pieces_of_words += [[]] * (tokens.size(1) - len(row)) + row  # padding and <s> have none
    for word in range(tokens.numel()):
        pieces = expected[owners == word]
        assert rows.flatten()[positions[owners == word]].tolist() == pieces_of_words[word]
        assert float((states[word] - (pieces.mean(0) if len(pieces) else 0)).abs().max()) < 1e-5
    assert float(expected.std()) > 0.3


@torch.no_grad()
def test_texts_longer_than_the_positions_are_read_in_parts(tmp_path: Path) -> None:
    model = with_identity(build_levt(made_and_imported("bert", tmp_path)))
    head, tail = " ".join(["the"] * 63), "brown fox"
    (whole, *parts) = (read_texts(model, text) for text in (f"{head} {tail}", head, tail))
    states, *expected = (model.encoder.reader(tokens, *words["pieces"])[0] for tokens, words in (whole, *parts))
    assert torch.allclose(states[1:64], expected[0][1:64])  # [CLS] and 63 pieces
    assert torch.allclose(states[64:], expected[1][1:], atol=1e-6)


def test_pieces_match_the_tokenizer(family: Family) -> None:
    """Words after a blank have the library's pieces; words after a sign have them without the blank."""
    kind = transformers.T5Tokenizer if family.name == "umt5" else transformers.AutoTokenizer
    reference = kind.from_pretrained(family.folder / "theirs")
    word_dictionary = Dictionary.load(str(family.ours / "dict.txt"))
    tokenizer, bpe = WordTokenizer(family.ours, word_dictionary), PretrainedBPE(str(family.ours))
    for text in [*UNICODE, *TOKENIZER_LINES]:
        for word in Words().encode(text).split():
            ids, as_text = tokenizer.pieces(word), word.replace("\u2581", " ")
            expected = reference(as_text, add_special_tokens=False)["input_ids"]
            library_ids = [int(family.ids[i]) for i in ids]
            if word.startswith("\u2581"):
                assert library_ids == expected
            else:
                assert library_ids in (expected, expected[1:]) or library_ids[1:] == expected[1:]
                assert not ids or not word_dictionary[ids[0]].startswith("\u2581")
        whole = reference(text, add_special_tokens=False)["input_ids"]
        symbols = bpe.encode(text).split()
        assert [word_dictionary.index(symbol) for symbol in symbols] == [list(family.ids).index(i) for i in whole]
    if family.name not in UNCASED:
        assert bpe.decode(bpe.encode(TOKENIZER_LINES[0])) == TOKENIZER_LINES[0]


def test_every_weight_of_an_unfrozen_backbone_learns(family: Family) -> None:
    for frozen in (False, True):
        model = build_levt(family.ours, freeze_backbone=frozen).train()
        tokens, words = read_texts(model, *TOKENIZER_LINES)
        model.encoder.reader(tokens, *words["pieces"]).square().sum().backward()
        idle = {n for n, p in model.encoder.reader.encoder.named_parameters() if p.grad is None or not p.grad.any()}
        every = {n for n, _ in model.encoder.reader.encoder.named_parameters()}
        # key biases add the same to all scores, and some positions do not occur in these texts
        unused = {n for n in every if n.endswith(("key.bias", "k_lin.bias", "k_proj.bias", "k.bias"))}
        assert (idle == every) if frozen else idle <= unused | {n for n in every if "position" in n or "pair" in n}
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert model.encoder.reader(tokens, *words["pieces"]).isfinite().all()
        half = model.eval().to(torch.bfloat16)
        assert half.encoder.reader(tokens, *words["pieces"]).isfinite().all()


class GroupedReader(nn.Module):
    """Passes the tensors of one group of traced inputs to a word reader."""

    def __init__(self, reader: nn.Module) -> None:
        super().__init__()
        self.reader = reader

    def forward(self, inputs: dict[str, Tensor]) -> Tensor:
        return self.reader(*inputs.values())


def test_graphs_match_the_model(family: Family, tmp_path: Path) -> None:
    model = build_levt(family.ours)
    example = {"tokens": tracing.example("B S"), "rows": tracing.example("R W")}
    example |= {"places": tracing.example("Q"), "owners": tracing.example("Q")}
    exact, rounded = tmp_path / "exact.onnx", tmp_path / "rounded.onnx"
    if family.name == "deberta-v2" and not DEBERTA_HAS_GRAPHS:
        with pytest.raises(UserError, match="transformers"):
            tracing.trace(tracing.Traced(GroupedReader(model.encoder.reader), (example,), ["vectors"]), exact)
        return
    with torch.no_grad():
        tracing.trace(tracing.Traced(GroupedReader(model.encoder.reader), (example,), ["vectors"]), exact)
    quantize_dynamic(exact, rounded, ["MatMul"], per_channel=True, reduce_range=True, weight_type=QuantType.QInt8)
    sessions = []
    for path in (exact, rounded):
        check_graph(path)
        sessions.append(onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]))
    for texts in (TOKENIZER_LINES, UNICODE, ["fox"]):
        tokens, words = read_texts(model, *texts)
        with torch.no_grad():
            expected = model.encoder.reader(tokens, *words["pieces"]).numpy()
        values = dict(zip(example, (tokens.numpy(), *(part.numpy() for part in words["pieces"])), strict=True))
        exact_states, rounded_states = (session.run(None, values)[0] for session in sessions)
        assert np.abs(exact_states - expected).max() < 1e-4
        assert np.corrcoef(rounded_states.flat, expected.flat)[0, 1] > 0.9


LABELLED_ROWS = "the quick brown fox\tA\nhello world! it costs 3\tB\nsea shells, by the shore\tA\n"


def labelling_task(family: Family, folder: Path) -> TextLabellingTask:
    (folder / "train.tsv").write_text(LABELLED_ROWS, encoding="utf-8")
    data = prepare(folder, "classification", "--pretrained-tokenizer", family.ours)
    task = TextLabellingTask.setup_task(TextLabellingConfig(data=str(data)))
    task.load_dataset("train")
    return task


def test_a_labeller_reads_the_states_of_the_library(family: Family, tmp_path: Path) -> None:
    task = labelling_task(family, tmp_path)
    assert task.info.longest == min(longest_text(family.ours) or 512, 512)
    cfg = OmegaConf.structured(EncT5Config(_name="enct5", backbone=str(family.ours), dropout=0.0))
    model = task.build_model(cfg).eval()
    batch = task.datasets["train"].collater([task.datasets["train"][i] for i in range(3)])["net_input"]
    tokens = batch["src_tokens"]
    assert bool(tokens.eq(1).any())
    logits = model(**batch)
    expected, real = family.states(tokens, has_first_symbol(family))[-1], tokens.ne(1)
    assert float((model.encoder(tokens, None) - expected)[real].abs().max()) < 1e-5
    if longest_text(family.ours) is None:  # at 300 pieces, distances share the last relative bias
        long_rows = torch.randint(4, len(task.dictionary), (2, 300), generator=torch.Generator().manual_seed(1))
        with torch.no_grad():
            difference = model.encoder(long_rows, None) - family.states(long_rows, has_first_symbol(family))[-1]
        assert float(difference.abs().max()) < 1e-4
    # the checkpoint suffices to build the model without the backbone's folder
    family.ours.rename(tmp_path / "moved")
    try:
        saved = OmegaConf.create(OmegaConf.to_container(cfg, enum_to_str=True))
        rebuilt = task.build_model(saved, from_checkpoint=True)
    finally:
        (tmp_path / "moved").rename(family.ours)
    rebuilt.load_state_dict(model.state_dict())
    pack_weights(rebuilt.eval())
    assert torch.allclose(rebuilt(**batch), logits, atol=1e-5)
    path = tmp_path / "label.onnx"
    with torch.no_grad():
        tracing.trace(enct5_graphs(model)["label"], path)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    values = {"latents": batch["latents"], "where": batch["where"], "words": tokens[None]}
    (scores,) = session.run(None, {name: value.numpy() for name, value in values.items()})
    assert np.abs(scores - logits.log_softmax(-1).detach().numpy()).max() < 1e-4 or np.allclose(
        scores, logits.softmax(-1).detach().numpy(), atol=1e-4
    )


@pytest.mark.parametrize(("name", "rule"), [("distilbert", "--arch gated_bert"), ("electra-small", " 8 .* 16")])
def test_encoders_that_cannot_be_decoders_are_refused(
    name: str, rule: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    imported_folder = made_and_imported(name, tmp_path)
    assert capsys.readouterr().out.endswith("--arch levt (with --spelling) or enct5\n")
    with pytest.raises(UserError, match=rule):
        build_gated(imported_folder)


def test_a_roberta_with_another_padding_id_has_the_librarys_states(tmp_path: Path) -> None:
    """A RoBERTa whose <pad> is 0 counts positions from 1, but here <pad> is 1."""
    reference = encoder("roberta", tmp_path / "theirs", "BertTokenizer", more_rows=3)
    assert reference.config.pad_token_id == 0 and reference.config.max_position_embeddings == 66
    family = of_folder("roberta", tmp_path, reference)
    assert longest_text(family.ours) == 64  # and <s>
    rows = torch.randint(4, 60, (2, 64), generator=torch.Generator().manual_seed(1))
    rows[1, 40:] = 1
    model = build_levt(family.ours)
    with torch.no_grad():
        states = model.encoder.reader.encoder(rows, None)
    assert float((states - family.states(rows, True)[-1])[rows.ne(1)].abs().max()) < 1e-5


def test_a_t5_with_another_epsilon_has_the_librarys_states(tmp_path: Path) -> None:
    make("t5-1.1", tmp_path / "theirs")
    change_config(tmp_path / "theirs", layer_norm_epsilon=0.1)
    reference = transformers.T5EncoderModel.from_pretrained(tmp_path / "theirs")
    family = of_folder("t5-1.1", tmp_path, reference)
    rows = torch.randint(4, 50, (2, 9), generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        states = build_levt(family.ours).encoder.reader.encoder(rows, None)
    assert float((states - family.states(rows, False)[-1]).abs().max()) < 1e-5


@pytest.mark.parametrize("name", ENCODERS)
def test_an_encoder_without_output_layer_has_the_same_weights(name: str, tmp_path: Path) -> None:
    """sentence-transformers and the discriminators of ELECTRA are published without an output layer."""
    reference, folders = encoder(name, tmp_path / "theirs"), [tmp_path / "whole", tmp_path / "alone"]
    imported(tmp_path / "theirs", folders[0])
    reference.base_model.save_pretrained(tmp_path / "theirs")
    imported(tmp_path / "theirs", folders[1])
    whole, alone = (library.encoder_part(library.read_complete(folder)[0]).state_dict() for folder in folders)
    assert all(torch.equal(weight, alone[name]) for name, weight in whole.items())


def test_code_that_a_folder_contains_or_names_is_not_executed(tmp_path: Path) -> None:
    encoder("roberta", tmp_path / "theirs")
    (tmp_path / "theirs" / "own.py").write_text(f"open({str(tmp_path / 'proof')!r}, 'w')")
    classes = {"AutoConfig": "own.Config", "AutoModelForMaskedLM": "own.Model", "AutoModel": "own.Model"}
    settings_with_code = {"auto_map": classes, "attn_implementation": "somebody/some-kernel"}
    change_config(tmp_path / "theirs", **settings_with_code)
    folder = imported(tmp_path / "theirs", tmp_path / "ours")
    change_config(folder, **settings_with_code)
    model = build_levt(folder)
    tokens, words = read_texts(model, *TOKENIZER_LINES)
    assert model.encoder.reader(tokens, *words["pieces"]).isfinite().all()
    build_gated(folder)
    assert not (tmp_path / "proof").exists()


def test_tokenizers_with_other_final_symbols_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    encoder("modernbert", tmp_path / "theirs")
    path = tmp_path / "theirs" / "tokenizer.json"
    tokenizer = json.loads(path.read_text("utf-8"))
    ends = tokenizer["post_processor"]["single"]
    for single in ([*ends, ends[-1]], ends[:-1]):
        tokenizer["post_processor"]["single"] = single
        path.write_text(json.dumps(tokenizer), "utf-8")
        assert main(["import-pretrained", str(tmp_path / "theirs"), str(tmp_path / "ours")]) == 2
        assert "one symbol after a text" in capsys.readouterr().err


def test_padding_and_truncation_of_a_tokenizer_are_ignored(tmp_path: Path) -> None:
    """Tokenizers of sentence encoders have settings for both."""
    encoder("modernbert", tmp_path / "theirs")
    path = str(tmp_path / "theirs" / "tokenizer.json")
    tokenizer = tokenizers.Tokenizer.from_file(path)
    tokenizer.enable_padding(length=8)
    tokenizer.enable_truncation(3)
    tokenizer.save(path)
    bpe = PretrainedBPE(str(imported(tmp_path / "theirs", tmp_path / "ours")))
    assert bpe.encode("a").split() == bpe.encode("a a").split()[:1]
    assert bpe.decode(bpe.encode(TOKENIZER_LINES[0])) == TOKENIZER_LINES[0]
