"""Imported folders of transformers: tokenizers, weights, gates, and refused models."""

import json
import os
import re
import shutil
import sys
from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from fairseq.data import Dictionary
from fairseq.sequence_generator import SequenceGenerator
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

import lev_plugins
from lev_plugins.cli import import_pretrained
from lev_plugins.cli.main import main
from lev_plugins.correction.gated import GATES, mask_symbol
from lev_plugins.pretrained.library_encoder import LibraryEncoder
from lev_plugins.text.pretrained import ByteTokenizer, PretrainedBPE
from lev_plugins.utils.errors import UserError, explain
from tests.helpers import EOS, thorough

pytest.importorskip("transformers")
from tests import pretrained
from tests.systems import SYSTEMS


@pytest.fixture(scope="session")
def families(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Saves each family's folder as on the hub as NAME, and the imported one as NAME.out."""
    root = tmp_path_factory.mktemp("folders")
    for name, make in pretrained.MAKERS.items():
        make(root / name)
        pretrained.imported(root / name, root / f"{name}.out")
    pretrained.bert(root / "bert-encoder", head=False)
    pretrained.imported(root / "bert-encoder", root / "bert-encoder.out")
    return {path.name: path for path in root.iterdir()}


def bpe_of(folder: Path) -> PretrainedBPE:
    return PretrainedBPE(str(folder))


def random_batch(model: Any) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    torch.manual_seed(1)
    words = torch.randint(4, len(model.decoder.dictionary), (2, 5))
    end = torch.full((2, 1), EOS)
    return torch.cat([words, end], 1), torch.tensor([6, 6]), torch.cat([end, words], 1)


@thorough
@given(st.text(st.characters(blacklist_categories=("Cs",))))
def test_byte_tokens_decode_to_the_text(text: str) -> None:
    assert ByteTokenizer().decode(ByteTokenizer().encode(text)) == text


@pytest.mark.parametrize("name", pretrained.MAKERS)
def test_pieces_decode_to_the_text(families: dict[str, Path], name: str) -> None:
    bpe, dictionary = bpe_of(families[f"{name}.out"]), Dictionary.load(str(families[f"{name}.out"] / "dict.txt"))
    for line in pretrained.TOKENIZER_LINES:
        symbols = bpe.encode(line)
        row = dictionary.encode_line(symbols, add_if_not_exist=False, append_eos=False)
        assert not row.eq(dictionary.unk()).any()
        assert dictionary.string(row) == symbols
        decoded = bpe.decode(symbols)
        if name == "bert":  # lower case without accents, and other spaces
            assert decoded.replace(" ", "") == line.lower().replace("é", "e").replace(" ", "")
        else:
            assert decoded == line


def test_special_symbols_in_a_text_stay_text(families: dict[str, Path]) -> None:
    text = "the [SEP] of </s> and <pad>"
    for name in ("bart", "byt5"):
        assert bpe_of(families[f"{name}.out"]).decode(bpe_of(families[f"{name}.out"]).encode(text)) == text
    for name in ("bert", "t5"):
        assert not {"<s>", "</s>", "<pad>"} & set(bpe_of(families[f"{name}.out"]).encode(text).split())


def test_decode_accepts_any_symbols(families: dict[str, Path]) -> None:
    assert bpe_of(families["bart.out"]).decode("the <<unk>>") == "the<unk>"
    assert bpe_of(families["t5.out"]).decode("▁the <extra_id_0> ▁the") == "the the"
    assert bpe_of(families["byt5.out"]).decode("a <s> <0xC3> b") == "a\N{REPLACEMENT CHARACTER}b"


def test_a_tokenizer_of_another_dictionary_is_refused(families: dict[str, Path]) -> None:
    bpe = bpe_of(families["t5.out"])
    t5, bert = (Dictionary.load(str(families[name] / "dict.txt")) for name in ("t5.out", "bert.out"))
    t5.pad_to_multiple_(64)  # with symbols that do not occur in texts
    bpe.require_dictionary(t5)
    words = len(bert) - bert.nspecial
    with pytest.raises(UserError, match=rf"--pretrained-tokenizer \S+ .* {words} words"):
        bpe.require_dictionary(bert)


def test_encode_writes_one_line_per_line(
    families: dict[str, Path], monkeypatch: Any, capsys: Any, tmp_path: Path
) -> None:
    def through(text: str, *flags: str) -> str:
        (tmp_path / "in").write_text(text, encoding="utf-8")
        with (tmp_path / "in").open(encoding="utf-8") as file:
            monkeypatch.setattr("sys.stdin", file)
            assert main(["encode", str(families["byt5.out"]), *flags]) == 0
        return capsys.readouterr().out

    assert through("a b\n\nc") == "a <0x20> b\n\nc"
    assert through("a <0x20> b\n\nc\n", "--decode") == "a b\n\nc\n"


def test_encode_into_writes_no_partial_files(families: dict[str, Path], capsys: Any, tmp_path: Path) -> None:
    into = tmp_path / "into"
    for name, text in (("a/x", b"one\n"), ("b/x", b"two\n"), ("bad", b"one\n\xff\n")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(text)

    def encode(*names: str) -> int:
        files = [str(tmp_path / name) for name in names]
        return main(["encode", str(families["byt5.out"]), *files, "--into", str(into)])

    assert encode("a/x", "b/x") == 2
    assert "2 FILEs" in capsys.readouterr().err
    assert encode("bad") == 2 and not (into / "bad").exists()
    assert "line 2" in capsys.readouterr().err
    assert encode("a/x") == 0 and (into / "x").read_text() == "o n e\n"
    os.link(into / "x", tmp_path / "x")
    assert encode("x") == 2 and f"--into {into}" in capsys.readouterr().err


def test_import_drops_rows_without_token(tmp_path: Path) -> None:
    """T5 itself has 32,100 tokens and 32,128 rows."""
    pretrained.t5(tmp_path / "wide", words=64)
    pretrained.imported(tmp_path / "wide", tmp_path / "out")
    assert json.loads((tmp_path / "out" / "config.json").read_text("utf-8"))["vocab_size"] == 59


def test_pickled_weights_are_read_as_weights_only(families: dict[str, Path], tmp_path: Path) -> None:
    source = copy(families["bart"], tmp_path / "pickled", without="*.safetensors")
    from safetensors.torch import load_file

    weights = load_file(families["bart"] / "model.safetensors")
    torch.save(weights, source / "pytorch_model.bin")
    pretrained.imported(source, tmp_path / "out")
    expected, pickled = pretrained.build(families["bart.out"]), pretrained.build(tmp_path / "out")
    assert torch.equal(expected(*random_batch(expected))[0], pickled(*random_batch(expected))[0])

    class Malice:
        def __reduce__(self) -> tuple:
            return os.mkdir, (str(tmp_path / "proof"),)

    torch.save({**weights, "x": Malice()}, source / "pytorch_model.bin")
    with pytest.raises(UserError, match=r"pickled.*posix\.mkdir.*do not need"):
        import_pretrained.run(Namespace(input=str(source), output=tmp_path / "bad", hub=False))
    assert not (tmp_path / "proof").exists() and not (tmp_path / "bad").exists()


def assert_refused(source: object, out: Path, match: str, hub: bool = False) -> None:
    with pytest.raises(UserError, match=match):
        import_pretrained.run(Namespace(input=str(source), output=out, hub=hub))
    assert not out.exists() or any(out.iterdir())
    assert not [path for path in out.parent.iterdir() if path.name.startswith(".")]  # no incomplete output remains


def test_import_refuses_other_folders(families: dict[str, Path], tmp_path: Path, monkeypatch: Any) -> None:
    out = tmp_path / "out"
    assert_refused("google/t5", out, "DIR google/t5")
    empty = tmp_path / "empty"
    empty.mkdir()
    assert_refused(empty, out, "config.json")
    (empty / "config.json").write_text('{"model_type": "gpt2"}', encoding="utf-8")
    assert_refused(empty, out, "gpt2")
    light = copy(families["bert"], tmp_path / "light", without="*.safetensors")
    assert_refused(light, out, "model.safetensors")
    (light / "model.safetensors").write_bytes(b"damaged")
    assert_refused(light, out, f"{light}: ")
    assert_refused(families["bert"], families["t5.out"], "is not empty")

    def offline(*args: Any, **kwargs: Any) -> str:
        raise OSError("no route to host")

    monkeypatch.setattr("huggingface_hub.snapshot_download", offline)
    assert_refused("google/t5", out, "--hub: google/t5", hub=True)


def copy(source: Path, target: Path, without: str = "", **files: bytes) -> Path:
    """Copies a folder ``without`` some files; ``files`` replace those of the name, with _ for the dot."""
    shutil.copytree(source, target, ignore=shutil.ignore_patterns(*without.split()))
    for name, content in files.items():
        (target / re.sub("_(json|model|txt)$", r".\1", name)).write_bytes(content)
    return target


def test_damaged_files_are_named(families: dict[str, Path], tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert_refused(copy(families["bert"], tmp_path / "a", config_json=b"{bad"), out, r"a/config\.json")
    for number, rule in ((b"2000000000", "0 and 10000"), (b'"8"', "whole number")):
        options = b'{"tokenizer_class": "T5Tokenizer", "extra_ids": %s}' % number
        odd = copy(families["t5"], tmp_path / number.hex(), tokenizer_config_json=options)
        assert_refused(odd, out, f"extra_ids .*{rule}")
    assert_refused(copy(families["t5"], tmp_path / "d", spiece_model=b"x" * 20), out, r"d/spiece\.model")
    assert_refused(copy(families["bart"], tmp_path / "e", tokenizer_json=b"{}"), out, "e: ")
    damaged = copy(families["bart.out"], tmp_path / "f", tokenizer_json=b"{}")
    with pytest.raises(UserError, match=r"f/tokenizer\.json"):
        bpe_of(damaged)
    with pytest.raises(UserError, match=r"symbols\.txt"):
        bpe_of(copy(families["byt5.out"], tmp_path / "g", symbols_txt=b"a\n"))
    bare = copy(families["bert"], tmp_path / "bert", without="vocab.txt")
    assert_refused(bare, out, "bert .*tokenizer")


def test_a_tokenizer_that_puts_no_symbol_after_a_text_is_refused(families: dict[str, Path], tmp_path: Path) -> None:
    from transformers import PreTrainedTokenizerFast

    bare = copy(families["bert"], tmp_path / "bare", without="vocab.txt tokenizer*")
    library = pretrained.byte_pairs(["[PAD]", "[UNK]"])
    PreTrainedTokenizerFast(tokenizer_object=library._tokenizer, pad_token="[PAD]", unk_token="[UNK]").save_pretrained(
        bare
    )
    assert_refused(bare, tmp_path / "out", "bare: .*one symbol after a text")


@pytest.mark.parametrize(("name", "wrong_name"), [("bert", "t5"), ("t5", "bart"), ("bart", "bert")])
def test_import_refuses_other_weights(families: dict[str, Path], tmp_path: Path, name: str, wrong_name: str) -> None:
    """The library would silently initialize them at random."""
    source = copy(families[name], tmp_path / name, without="*.safetensors")
    shutil.copyfile(families[wrong_name] / "model.safetensors", source / "model.safetensors")
    assert_refused(source, tmp_path / "out", r"weights .* \d+ are missing")


@pytest.mark.parametrize("place", ["../outside.safetensors", "part.safetensors"])
def test_weights_are_read_from_the_folder_alone(place: str, families: dict[str, Path], tmp_path: Path) -> None:
    from safetensors.torch import load_file

    source, weights = copy(families["bart"], tmp_path / "source"), families["bart"] / "model.safetensors"
    (source / "model.safetensors").rename(source / place)
    index = {"metadata": {}, "weight_map": dict.fromkeys(load_file(weights), place)}
    (source / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")
    if place.startswith(".."):
        assert_refused(source, tmp_path / "out", r"index\.json: weight_map must name files of this folder")
    else:
        pretrained.imported(source, tmp_path / "out")


def test_hub_downloads_by_name(families: dict[str, Path], tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("huggingface_hub.snapshot_download", lambda name, **_: str(families[name]))
    import_pretrained.run(Namespace(input="byt5", output=tmp_path / "out", hub=True))
    assert (tmp_path / "out" / "dict.txt").read_text("utf-8") == (families["byt5.out"] / "dict.txt").read_text("utf-8")


def test_without_transformers_the_extra_is_named(families: dict[str, Path], tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(ModuleNotFoundError) as caught:
        import_pretrained.run(Namespace(input=families["t5"], output=tmp_path / "out", hub=False))
    assert "lev-plugins[pretrained]" in str(explain(caught.value))


def test_wrong_backbone_options_are_refused(families: dict[str, Path], tmp_path: Path) -> None:
    t5, bart = families["t5.out"], families["bart.out"]

    def assert_not_built(match: str, folder: Path = bart, arch: str = "", **options: Any) -> None:
        with pytest.raises(UserError, match=match):
            pretrained.build(folder, arch, **options)

    assert_not_built("--backbone .*t5.out .*--arch gated_bart", t5, "gated_bart")
    assert_not_built("--backbone-lr-factor .*0.*0", backbone_lr_factor=0)
    assert_not_built("--freeze-backbone", freeze_backbone=True)
    assert_not_built("import-pretrained", backbone=str(families["bart"]))
    dictionary_of_t5 = Dictionary.load(str(t5 / "dict.txt"))
    assert_not_built("59 symbols.*--backbone .*bart.out .330 symbols", dictionary=dictionary_of_t5)


def trainable(model: nn.Module) -> set[str]:
    return {name for name, parameter in model.named_parameters() if parameter.requires_grad}


def test_freeze_flags_freeze_their_weights(families: dict[str, Path]) -> None:
    everything = trainable(pretrained.build(families["bert.out"], gates="mask,copy"))
    gates = {"encoder.gate.weight", "encoder.gate.bias", "decoder.gates.gate.weight", "decoder.gates.gate.bias"}
    gates.add("decoder.gates.pointer.weight")
    new_weights = {name for name in everything if "crossattention" in name} | gates
    assert len(new_weights) > len(gates)
    assert trainable(pretrained.build(families["bert.out"], gates="mask,copy", freeze_backbone=True)) == new_weights
    encoder = trainable(pretrained.build(families["bert.out"], gates="mask,copy", freeze_encoder=True))
    assert encoder == {name for name in everything if not name.startswith("encoder.backbone.")}
    words = trainable(pretrained.build(families["bert.out"], gates="mask,copy", freeze_embeddings=True))
    assert words == {name for name in everything if "_embeddings.weight" not in name}


def test_tied_bert_has_one_set_of_weights(families: dict[str, Path]) -> None:
    plain, tied = (pretrained.build(families["bert.out"], tie_encoder_decoder=tie) for tie in (False, True))
    size = [sum(p.numel() for p in model.parameters()) for model in (plain, tied)]
    assert size[0] - size[1] == sum(p.numel() for p in plain.encoder.parameters())
    assert torch.equal(plain(*random_batch(plain))[0], tied(*random_batch(tied))[0])
    assert tied.decoder.backbone.head.predictions.decoder.weight is tied.encoder.backbone.embed_tokens.weight
    state = {name: value + 1 for name, value in tied.state_dict().items()}
    tied.load_state_dict(state)
    assert all(torch.equal(value, state[name]) for name, value in tied.state_dict().items())


@pytest.mark.parametrize("mix", ["hidden", "vocabulary", "probability"])
@pytest.mark.parametrize("name", pretrained.MAKERS)
def test_all_weights_learn_and_bf16_decodes(families: dict[str, Path], name: str, mix: str) -> None:
    model = pretrained.build(families[f"{name}.out"], gates=",".join(GATES), gate_mix=mix).train()
    scores, extra = model(*random_batch(model))
    model.get_normalized_probs((scores, extra), log_probs=True).square().sum().backward()
    idle = {n for n, p in model.named_parameters() if p.grad is None or not p.grad.any()}
    # attention over the source adds the same to all scores: the biases of its keys never matter
    assert {n for n in idle if not n.endswith(("k_proj.bias", "key.bias"))} == set()
    half = model.eval().to(torch.bfloat16)
    half_scores = half(*random_batch(half))[0]
    assert half_scores.isfinite().all() and (half_scores.float() - scores).abs().mean() < 0.1 * scores.std()
    generator = SequenceGenerator([half], half.decoder.dictionary, beam_size=2, max_len_b=5)
    words, lengths, _ = random_batch(half)
    for hypotheses in generator.generate([half], {"net_input": {"src_tokens": words, "src_lengths": lengths}}):
        assert len(hypotheses) == 2 and all(beam["positional_scores"].isfinite().all() for beam in hypotheses)


def test_gates_use_the_mask_symbol_and_the_start_symbol_of_the_family(families: dict[str, Path]) -> None:
    for name, mask, start in (("t5", "<extra_id_0>", "<pad>"), ("bart", "<mask>", "<s>"), ("bert", "[MASK]", "<s>")):
        gates = {"gates": "copy", "gate_mix": "vocabulary", "copy_from": "decoder-input"}
        model = pretrained.build(families[f"{name}.out"], **gates)
        symbols = model.decoder.dictionary.symbols
        assert symbols[mask_symbol(model.decoder.dictionary)] == mask
        assert symbols[model.decoder.start] == start
        decoder_input = random_batch(model)[2]
        plain = pretrained.build(families[f"{name}.out"])(*random_batch(model))[0].log_softmax(-1)
        scores, extra = model(*random_batch(model))
        bonus, weight = scores - plain, extra["gates"].copy  # the gate's weight goes to what the decoder reads
        assert torch.allclose(bonus[:, 0, model.decoder.start], weight[:, 0], atol=1e-4)
        assert torch.allclose(bonus[:, 1:].gather(2, decoder_input[:, 1:, None])[..., 0], weight[:, 1:], atol=1e-4)
        assert weight.min() > 1 / 3 and torch.allclose(bonus.sum(-1), weight, atol=1e-2)


def test_t5_never_writes_bos(families: dict[str, Path]) -> None:
    model = pretrained.build(families["t5-1.1.out"])
    log_p = model.get_normalized_probs(model(*random_batch(model)), log_probs=True)
    assert log_p[..., model.decoder.dictionary.bos()].max() < -30
    assert log_p.isfinite().all()


def test_t5_refuses_16_bit_floats(families: dict[str, Path]) -> None:
    model = pretrained.build(families["t5.out"])
    with (
        pytest.raises(UserError, match=r"T5 .*float16.*--fp16, --amp"),
        torch.autocast("cpu", dtype=torch.float16),
    ):
        model(*random_batch(model))
    with pytest.raises(UserError, match=r"T5 .*float16"):
        model.half()(*random_batch(model))


@pytest.mark.parametrize("name", ["roberta-prelayernorm", "xlm-roberta-xl", "megatron-bert", "esm"])
def test_states_of_all_blocks_have_the_final_norm(name: str) -> None:
    config = {"model_type": name, "vocab_size": 9, "pad_token_id": 1, "bos_token_id": 0, **pretrained.BERT_SIZES}
    encoder = LibraryEncoder(Dictionary(), Namespace(encoder_config=json.dumps(config), dropout=0.0), False).eval()
    concatenated = encoder(torch.tensor([[5, 6, 7]]), None, None, nn.Identity())
    for states in concatenated.split(pretrained.BERT_SIZES["hidden_size"], -1):
        assert torch.allclose(states.mean(-1), torch.zeros(()), atol=1e-5)
        assert torch.allclose(states.std(-1, correction=0), torch.ones(()), atol=1e-2)


def test_max_positions_leave_room_for_special_symbols(families: dict[str, Path]) -> None:
    assert pretrained.build(families["t5.out"]).max_positions() == (1024, 1024)
    assert pretrained.build(families["bart.out"]).max_positions() == (39, 39)
    model = pretrained.build(families["bert.out"])
    assert model.max_positions() == (63, 64)
    longest = torch.full((1, 63), 5), None, torch.full((1, 64), 5)
    assert model(*longest)[0].shape[:2] == (1, 64)


def test_a_moved_backbone_is_set_by_a_flag(tmp_path: Path) -> None:
    system = SYSTEMS["gated_t5"](tmp_path)
    expected = system.answers(system.load())
    moved = (tmp_path / "backbone-of-training").rename(tmp_path / "moved")
    system = replace(system, bpe={**system.bpe, "pretrained_tokenizer": str(moved)})
    with pytest.raises(UserError, match="--backbone NEW"):
        system.load()
    answers = system.answers(lev_plugins.load(system.export(tmp_path / "out", "--backbone", moved)))
    assert [edited.text for edited in answers] == [edited.text for edited in expected]
