"""EncT5's encoder against the T5EncoderModel of ``transformers``, with the weights of an imported folder."""

import shutil
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from omegaconf import OmegaConf

from lev_plugins.cli.main import main
from lev_plugins.inference.labeller import Labeller
from lev_plugins.models.backbones.enct5_weights import t5_name
from lev_plugins.models.enct5 import EncT5
from lev_plugins.models.enct5_config import EncT5Config
from lev_plugins.tasks.text_labelling import TextLabellingConfig, TextLabellingTask
from tests.commands import succeed
from tests.pretrained import MAKERS, imported
from tests.pretrained import build as gated

transformers = pytest.importorskip("transformers")

T5S = ["t5", "t5-1.1", "mt5", "byt5"]
ROWS = "the quick brown fox\tquick\nhello world! it costs 3\thello\nsea shells, by the shore\tsea\n"


@pytest.fixture(scope="module", params=T5S)
def backbone(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp(request.param)
    MAKERS[request.param](folder / "theirs")
    return imported(folder / "theirs", folder / "ours")


def data_for(backbone: Path, folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "train.tsv").write_text(ROWS, encoding="utf-8")
    data = folder / "data"
    words = ["prepare-labels", "--label-kind", "classification", "--train", folder / "train.tsv", "--dest", data]
    if not data.exists():
        assert main([str(word) for word in [*words, "--pretrained-tokenizer", backbone]]) == 0
    return data


def build(backbone: Path, folder: Path, **options: Any) -> tuple[TextLabellingTask, EncT5]:
    task = TextLabellingTask.setup_task(TextLabellingConfig(data=str(data_for(backbone, folder))))
    task.load_dataset("train")
    torch.manual_seed(1)
    config = EncT5Config(_name="enct5", backbone=str(backbone), **options)
    return task, task.build_model(OmegaConf.structured(config)).eval()


def test_states_are_those_of_t5(backbone: Path, tmp_path: Path) -> None:
    task, model = build(backbone, tmp_path)
    name = "MT5EncoderModel" if "mt5" in str(backbone) else "T5EncoderModel"
    theirs = getattr(transformers, name).from_pretrained(backbone).eval()
    dataset = task.datasets["train"]
    tokens = dataset.collater([dataset[i] for i in range(3)])["net_input"]["src_tokens"]
    long = torch.randint(4, len(task.dictionary), (2, 300), generator=torch.Generator().manual_seed(1))
    for rows in (tokens, long):  # 300 pieces are beyond the farthest distance
        real = rows.ne(task.dictionary.pad())
        with torch.no_grad():
            expected = theirs(input_ids=rows, attention_mask=real.long()).last_hidden_state
            found = model.encoder(rows, None)
        difference = (found - expected)[real].abs().max()
        assert float(difference) < 1e-4


PAIRS = [("the quick brown fox", "a lazy dog ."), ("hello world!", "isn't it?"), ("sea shells, by the shore", "sea")]


class Bert(NamedTuple):
    theirs: Path
    folder: Path
    data: Path
    task: TextLabellingTask
    model: EncT5


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Bert:
    """On pairs of texts."""
    here = tmp_path_factory.mktemp("bert")
    MAKERS["bert"](here / "theirs")
    folder = imported(here / "theirs", here / "ours")
    rows = "".join(f"{one}\t{other}\t{len(one)}\n" for one, other in PAIRS)
    for part in ("train", "valid"):
        (here / f"{part}.tsv").write_text(rows, encoding="utf-8")
    command = ["prepare-labels", "--label-kind", "classification", "--text-columns", 2, "--train", here / "train.tsv"]
    command += ["--valid", here / "valid.tsv", "--dest", here / "data", "--pretrained-tokenizer", folder]
    assert main([str(word) for word in command]) == 0
    task = TextLabellingTask.setup_task(TextLabellingConfig(data=str(here / "data")))
    task.load_dataset("train")
    config = OmegaConf.structured(EncT5Config(_name="enct5", backbone=str(folder)))
    return Bert(here / "theirs", folder, here / "data", task, task.build_model(config).eval())


def test_states_are_those_of_bert(bert: Bert) -> None:
    """From the same text, by the tokenizer and the model of ``transformers``."""
    theirs = transformers.BertModel.from_pretrained(bert.theirs, add_pooling_layer=False).eval()
    read = transformers.AutoTokenizer.from_pretrained(bert.theirs)(
        *map(list, zip(*PAIRS, strict=True)), padding=True, return_tensors="pt"
    )
    dataset = bert.task.datasets["train"]
    batch = dataset.collater([dataset[i] for i in range(len(PAIRS))])
    rows = batch["id"].argsort()
    tokens = batch["net_input"]["src_tokens"][rows]
    assert bool(tokens.eq(bert.task.dictionary.pad()).any())
    with torch.no_grad():
        expected = theirs(**read).last_hidden_state[:, 1:]  # without [CLS]
        found = bert.model.encoder(tokens, None)
    real = read["attention_mask"][:, 1:].bool()
    assert torch.equal(real, tokens.ne(bert.task.dictionary.pad()))
    assert float((found - expected)[real].abs().max()) < 1e-5
    assert float(expected[real].std()) > 0.5


def test_heads_read_cls(bert: Bert) -> None:
    config = EncT5Config(_name="enct5", backbone=str(bert.folder), pool="cls")
    model = bert.task.build_model(OmegaConf.structured(config)).eval()
    theirs = transformers.BertModel.from_pretrained(bert.theirs, add_pooling_layer=False).eval()
    read = transformers.AutoTokenizer.from_pretrained(bert.theirs)(*PAIRS[0], return_tensors="pt")
    dataset = bert.task.datasets["train"]
    with torch.no_grad():
        cls = theirs(**read).last_hidden_state[0, 0]
        found = model(**dataset.collater([dataset[0]])["net_input"]).logits
    torch.testing.assert_close(found[0], model.head.weight[0] @ cls + model.head.bias[0], atol=1e-5, rtol=1e-5)
    assert not any("decoder" in name for name in model.state_dict())


def test_a_bert_trains_and_labels(bert: Bert, tmp_path: Path) -> None:
    """The folder is not needed afterwards, and the checkpoint becomes a model folder."""
    backbone = tmp_path / "backbone"
    shutil.copytree(bert.folder, backbone)
    command = f"{bert.data} --user-dir lev_plugins --task text_labelling --arch enct5 --backbone {backbone} "
    command += "--criterion labelling --optimizer scaled_adam --lr 0.01 --backbone-lr-factor 0.1 --max-sentences 3 "
    command += f"--dropout 0 --max-update 60 --save-dir {tmp_path} --cpu --no-progress-bar --log-format none"
    succeed("fairseq-train", *command.split())
    shutil.rmtree(backbone)
    assert main(["export", str(tmp_path / "checkpoint_last.pt"), str(tmp_path / "exported"), "--no-graphs"]) == 0
    labeller = Labeller.load(tmp_path / "checkpoint_last.pt")
    found = [answer["label"] for answer in labeller.label(["\t".join(pair) for pair in PAIRS])]
    assert found == [str(len(one)) for one, _ in PAIRS]
    exported = Labeller.load(tmp_path / "exported")
    assert [answer["label"] for answer in exported.label(["\t".join(pair) for pair in PAIRS])] == found


def test_what_a_bert_refuses(bert: Bert) -> None:
    for options, reason in (
        ({"decoder_init": "backbone"}, "--decoder-init backbone needs the decoder of a T5"),
        ({"positions": 32}, r"--positions is 32 .*, but --backbone .* has 64"),
    ):
        config = EncT5Config(_name="enct5", backbone=str(bert.folder), **options)
        with pytest.raises(ValueError, match=reason):
            bert.task.build_model(OmegaConf.structured(config))
    assert bert.task.info.longest == 63  # by prepare-labels, which asks the folder
    config = OmegaConf.structured(EncT5Config(_name="enct5", backbone=str(bert.folder)))
    packed = TextLabellingTask.setup_task(TextLabellingConfig(data=str(bert.data), pack=True))
    with pytest.raises(ValueError, match="--pack requires a T5: other encoders count positions"):
        packed.build_model(config)


def test_each_word_has_its_pieces_and_one_tag(backbone: Path, tmp_path: Path) -> None:
    words = ["a", "café", "costs", "3", "€,", "isn't", "☃", "it?"]
    (tmp_path / "train.tsv").write_text(f"{' '.join(words)}\tA B C D E F G H\nthe fox\tA B\n", encoding="utf-8")
    data = tmp_path / "data"
    command = ["prepare-labels", "--label-kind", "tagging", "--train", tmp_path / "train.tsv", "--dest", data]
    assert main([str(word) for word in [*command, "--pretrained-tokenizer", backbone]]) == 0
    task = TextLabellingTask.setup_task(TextLabellingConfig(data=str(data), pack=True))
    task.load_dataset("train")
    model = task.build_model(OmegaConf.structured(EncT5Config(_name="enct5", backbone=str(backbone)))).eval()
    dataset = task.datasets["train"]
    long, short = (dataset[i]["example"] for i in range(2))
    assert len(long.spans) == len(words) and min(long.spans) >= 1
    assert [sum(each.spans) + 1 for each in (long, short)] == [len(each.tokens) for each in (long, short)]
    batch = dataset.collater([dataset[i] for i in range(2)])
    assert batch["net_input"]["src_tokens"].size(0) == 1
    assert model(**batch["net_input"]).logits.shape == (len(words) + 2, 8)


@pytest.mark.parametrize("begins", ["encoder", "encoder and decoder"])
def test_weights_are_those_of_t5_and_the_rest_is_new(begins: str, backbone: Path, tmp_path: Path) -> None:
    both = {"decoder_init": "backbone", "decoder_layers": 2} if "decoder" in begins else {}
    _, model = build(backbone, tmp_path, **both)
    theirs = transformers.AutoModelForSeq2SeqLM.from_pretrained(backbone).state_dict()
    gated = any("wi_0" in name for name in theirs)
    for name, parameter in model.named_parameters():
        if name.startswith("encoder.") or (both and name.startswith(("decoder.layers", "decoder.norm"))):
            assert torch.equal(parameter, theirs[t5_name(name, gated)]), name
        elif name.startswith("decoder.layers"):
            assert parameter.dim() == 1 or not torch.equal(parameter, theirs[t5_name(name, gated)]), name
    with pytest.raises(ValueError, match=r"--decoder-layers must be at most 2, as in --backbone .*, but is 3"):
        build(backbone, tmp_path, decoder_init="backbone", decoder_layers=3)


def test_a_t5_that_is_an_encoder_alone(tmp_path: Path) -> None:
    MAKERS["t5-1.1"](tmp_path / "whole")
    model = transformers.T5EncoderModel.from_pretrained(tmp_path / "whole")
    for name in ("spiece.model", "tokenizer_config.json"):
        (tmp_path / "alone").mkdir(exist_ok=True)
        (tmp_path / "alone" / name).write_bytes((tmp_path / "whole" / name).read_bytes())
    model.save_pretrained(tmp_path / "alone")
    one = imported(tmp_path / "alone", tmp_path / "imported")
    other = imported(tmp_path / "whole", tmp_path / "imported-whole")
    states = [build(folder, tmp_path)[1].encoder.state_dict() for folder in (one, other)]
    for name, weight in states[0].items():
        assert torch.equal(weight, states[1][name]), name
    with pytest.raises(ValueError, match=r"lacks decoder.block.0.*: import a complete model"):
        build(one, tmp_path, decoder_init="backbone")
    with pytest.raises(ValueError, match="has no decoder, which --arch gated_t5 requires: import a complete model"):
        gated(one)


def test_refused_folders(tmp_path: Path) -> None:
    MAKERS["t5"](tmp_path / "theirs")
    folder = imported(tmp_path / "theirs", tmp_path / "ours")
    with pytest.raises(ValueError, match=r"--embed-dim is 64 .*, but --backbone .* has 16"):
        build(folder, tmp_path, embed_dim=64)
    (folder / "dict.txt").write_text("other 1\n")
    with pytest.raises(ValueError, match=r"the dictionary of the data .* must be that of --backbone"):
        build(folder, tmp_path)
