"""EncT5 with the weights of an imported folder; ``test_encoders.py`` compares the states of its encoder."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from omegaconf import OmegaConf

from lev_plugins.cli.main import main
from lev_plugins.editor.labeller import Labeller
from lev_plugins.labelling.config import EncT5Config
from lev_plugins.labelling.model import EncT5
from lev_plugins.labelling.task import TextLabellingConfig, TextLabellingTask
from lev_plugins.pretrained.weights import t5_name
from tests.commands import succeed
from tests.helpers import collated
from tests.labelling import prepare, task_of
from tests.pretrained import build as build_gated
from tests.pretrained import change_config, imported, made_and_imported, make
from tests.torch_models import labeller_of

transformers = pytest.importorskip("transformers")

T5_KINDS = ["t5", "t5-1.1", "mt5", "byt5"]
CLASSIFIED_ROWS = "the quick brown fox\tquick\nhello world! it costs 3\thello\nsea shells, by the shore\tsea\n"


@pytest.fixture(scope="module", params=T5_KINDS)
def backbone(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_and_imported(request.param, tmp_path_factory.mktemp(request.param))


def build_enct5(backbone: Path, folder: Path, **options: Any) -> EncT5:
    if not (folder / "data").exists():
        folder.mkdir(exist_ok=True)
        (folder / "train.tsv").write_text(CLASSIFIED_ROWS, encoding="utf-8")
        prepare(folder, "classification", "--pretrained-tokenizer", backbone)
    return enct5_of(folder / "data", backbone, **options)


def enct5_of(data: Path, backbone: Path, pack: bool = False, **options: Any) -> EncT5:
    task = TextLabellingTask.setup_task(TextLabellingConfig(data=str(data), pack=pack))
    torch.manual_seed(1)
    config = EncT5Config(_name="enct5", backbone=str(backbone), **options)
    return task.build_model(OmegaConf.structured(config)).eval()


INPUTS = [("the quick brown fox", "a lazy dog ."), ("hello world!", "isn't it?"), ("sea shells, by the shore", "sea")]


@pytest.fixture(scope="module")
def bert_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of pairs of texts, for the BERT in ``ours``."""
    here = tmp_path_factory.mktemp("bert")
    folder = made_and_imported("bert", here)
    rows = "".join(f"{text}\t{second_text}\t{len(text)}\n" for text, second_text in INPUTS)
    for part in ("train", "valid"):
        (here / f"{part}.tsv").write_text(rows, encoding="utf-8")
    prepare(here, "classification", "--text-columns", 2, "--pretrained-tokenizer", folder)
    return here


def test_pool_cls_reads_the_first_state_of_bert(bert_folder: Path) -> None:
    """The states of pairs of texts are those of ``transformers``, read by its own tokenizer."""
    model = enct5_of(bert_folder / "data", bert_folder / "ours", pool="cls")
    reference = transformers.BertModel.from_pretrained(bert_folder / "theirs", add_pooling_layer=False).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(bert_folder / "theirs")
    encoded = tokenizer(*map(list, zip(*INPUTS, strict=True)), padding=True, return_tensors="pt")
    batch = collated(task_of(bert_folder / "data").datasets["train"])
    with torch.no_grad():
        cls = reference(**encoded).last_hidden_state[batch["id"], 0]
        logits = model(**batch["net_input"])
    torch.testing.assert_close(logits, cls @ model.head.weight[0].T + model.head.bias[0], atol=1e-5, rtol=1e-5)
    assert not any("decoder" in name for name in model.state_dict())


def test_a_bert_trains_and_labels(bert_folder: Path, tmp_path: Path) -> None:
    """The folder is not needed afterwards, and the checkpoint becomes a model folder."""
    backbone = tmp_path / "backbone"
    shutil.copytree(bert_folder / "ours", backbone)
    command = f"{bert_folder}/data --user-dir lev_plugins --task text_labelling --arch enct5 --backbone {backbone} "
    command += "--criterion labelling --optimizer scaled_adam --lr 0.01 --backbone-lr-factor 0.1 --max-sentences 3 "
    command += f"--dropout 0 --max-update 60 --save-dir {tmp_path} --cpu --no-progress-bar --log-format none"
    succeed("fairseq-train", *command.split())
    shutil.rmtree(backbone)
    assert main(["export", str(tmp_path / "checkpoint_last.pt"), str(tmp_path / "exported")]) == 0
    labeller = labeller_of(tmp_path / "checkpoint_last.pt", bert_folder / "data")
    labels = [answer["label"] for answer in labeller.label(["\t".join(pair) for pair in INPUTS])]
    assert labels == [str(len(text)) for text, _ in INPUTS]
    exported = Labeller.load(tmp_path / "exported")
    assert [answer["label"] for answer in exported.label(["\t".join(pair) for pair in INPUTS])] == labels


def test_options_that_need_a_t5_are_refused_with_a_bert(bert_folder: Path) -> None:
    for options, reason in (
        ({"decoder_init": "backbone"}, "--decoder-init backbone"),
        ({"positions": 32}, r"--positions is 32 .* 64"),
        ({"pack": True}, "--pack .*T5"),
    ):
        with pytest.raises(ValueError, match=reason):
            enct5_of(bert_folder / "data", bert_folder / "ours", **options)
    assert task_of(bert_folder / "data").info.longest == 63  # prepare-labels reads the limit of the folder


@pytest.mark.parametrize(
    ("kind", "options", "reason"),
    [("t5-1.1", {"pack": True}, r"--pack .*gated-gelu"), ("umt5", {"pool": "cls"}, "--pool cls .*mean")],
)
def test_options_that_a_t5_of_the_library_lacks_are_refused(
    kind: str, options: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    make(kind, tmp_path / "theirs")
    change_config(tmp_path / "theirs", feed_forward_proj="gated-silu")  # as in UL2
    with pytest.raises(ValueError, match=reason):
        build_enct5(imported(tmp_path / "theirs", tmp_path / "ours"), tmp_path, **options)


def test_each_word_has_its_pieces_and_one_tag(backbone: Path, tmp_path: Path) -> None:
    words = ["a", "café", "costs", "3", "€,", "isn't", "☃", "it?"]
    for part in ("train", "valid"):
        (tmp_path / f"{part}.tsv").write_text(f"{' '.join(words)}\tA B C D E F G H\n", encoding="utf-8")
    dataset = task_of(prepare(tmp_path, "tagging", "--pretrained-tokenizer", backbone)).datasets["train"]
    example = dataset[0]["example"]
    assert len(example.spans) == len(words) and min(example.spans) >= 1
    assert sum(example.spans) + 1 == len(example.tokens)


@pytest.mark.parametrize("init", ["encoder", "encoder and decoder"])
def test_imported_blocks_have_the_weights_of_t5(init: str, backbone: Path, tmp_path: Path) -> None:
    both = {"decoder_init": "backbone", "decoder_layers": 2} if "decoder" in init else {}
    model = build_enct5(backbone, tmp_path, **both)
    reference = transformers.AutoModelForSeq2SeqLM.from_pretrained(backbone).state_dict()
    gated = any("wi_0" in name for name in reference)
    for name, parameter in model.named_parameters():
        if name.startswith("encoder.") or (both and name.startswith(("decoder.layers", "decoder.norm"))):
            assert torch.equal(parameter, reference[t5_name(name, gated)]), name
        elif name.startswith("decoder.layers"):
            assert parameter.dim() == 1 or not torch.equal(parameter, reference[t5_name(name, gated)]), name
    with pytest.raises(ValueError, match=r"--decoder-layers must be at most 2.* 3"):
        build_enct5(backbone, tmp_path, decoder_init="backbone", decoder_layers=3)


def test_a_t5_encoder_without_decoder_has_the_same_states(tmp_path: Path) -> None:
    complete, source = made_and_imported("t5-1.1", tmp_path), tmp_path / "theirs"
    transformers.T5EncoderModel.from_pretrained(source).save_pretrained(source)
    encoder_only = imported(source, tmp_path / "alone")
    states = [build_enct5(folder, tmp_path).encoder.state_dict() for folder in (encoder_only, complete)]
    for name, weight in states[0].items():
        assert torch.equal(weight, states[1][name]), name
    with pytest.raises(ValueError, match=r"lacks decoder\.block\.0"):
        build_enct5(encoder_only, tmp_path, decoder_init="backbone")
    with pytest.raises(ValueError, match=r"no decoder.* --arch gated_t5"):
        build_gated(encoder_only)


def test_a_backbone_that_contradicts_flags_or_data_is_refused(tmp_path: Path) -> None:
    folder = made_and_imported("t5", tmp_path)
    with pytest.raises(ValueError, match=r"--embed-dim is 64 .* 16"):
        build_enct5(folder, tmp_path, embed_dim=64)
    (folder / "dict.txt").write_text("other 1\n")
    with pytest.raises(ValueError, match=r"dictionary of the data .*--backbone"):
        build_enct5(folder, tmp_path)
