"""A gated Transformer with spelling-aware words: what it copies, what it reads, and how spellings travel."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from fairseq.data import LanguagePairDataset
from fairseq.sequence_generator import SequenceGenerator
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from lev_plugins.cli.main import main
from lev_plugins.data.noise_flags import noisy_words
from lev_plugins.data.spelled import SpelledPairs
from lev_plugins.edits import BORROWED
from lev_plugins.errors import UserError
from lev_plugins.models.gate_equations import Copied, mix_probability, once_each
from lev_plugins.models.gated import GatedTrans
from lev_plugins.tasks.text_correction import TextCorrectionConfig, TextCorrectionTask
from lev_plugins.text.spelling import unknown_words
from tests.helpers import EOS, PAD, UNK, list_dataset, thorough
from tests.systems import CORRECTION, flags_of
from tests.unit.test_gated import toy_args
from tests.unit.test_spelling import BUCKETS, UNKNOWN, dictionary

WORDS = dictionary()
THE, VALUE, OF, FORM = (WORDS.index(word) for word in ("▁the", "▁value", "▁of", "▁form"))
TEH, VLAUE = BORROWED + 1, BORROWED  # of UNKNOWN
FLAGS = {"share_all_embeddings": True, "spelling": True, "spelling_buckets": BUCKETS}
WHAT = unknown_words(UNKNOWN, BUCKETS)
SOURCE = torch.tensor([[TEH, VLAUE, OF, EOS], [THE, FORM, EOS, PAD]])
LENGTHS = torch.tensor([4, 3])
READ = torch.tensor([[EOS, THE, VALUE, OF], [EOS, THE, FORM, PAD]])


def model(gates: str = "mask,copy,generate", mix: str = "probability", **options: Any) -> GatedTrans:
    torch.manual_seed(1)
    task = SimpleNamespace(source_dictionary=WORDS, target_dictionary=WORDS)
    return GatedTrans.build_model(toy_args(gates, mix, **{**FLAGS, **options}), task).eval()


def log_probs(net: GatedTrans, source: Tensor = SOURCE, unknown: Any = WHAT) -> Tensor:
    return net.get_normalized_probs(net(source, LENGTHS, READ, unknown), log_probs=True)


# ---- what is copied --------------------------------------------------------------------------------------------------


@thorough
@given(st.lists(st.tuples(st.integers(0, 5), st.sampled_from([0.0, 0.25, 0.5])), min_size=1, max_size=9))
def test_words_that_are_there_several_times_count_once(pairs: list[tuple[int, float]]) -> None:
    words, weights = (torch.tensor(column)[None, None] for column in zip(*pairs, strict=True))
    found = once_each(Copied(words, weights.float()))
    expected: dict[int, float] = {}
    for word, weight in pairs:
        expected[word] = expected.get(word, 0.0) + weight
    zipped = zip(found.tokens.flatten().tolist(), found.weights.flatten().tolist(), strict=True)
    named = [(word, weight) for word, weight in zipped if weight]
    assert dict(named) == pytest.approx({word: weight for word, weight in expected.items() if weight})
    assert len(dict(named)) == len(named)


def test_what_the_source_offers_is_its_word_or_one_like_it() -> None:
    """Position by position: the definition of ``models.gated_spelling``."""
    net = model()
    out = net.encoder(SOURCE, LENGTHS, WHAT)
    offered = out["offered"][0]
    plain = model(gates="copy,generate").encoder  # the states before the mask gate; the same weights
    plain.load_state_dict({name: value for name, value in net.encoder.state_dict().items() if "gate." not in name})
    states = plain(SOURCE, LENGTHS, WHAT)["encoder_out"][0]
    repair, spelling = net.encoder.repair, net.encoder.spelling
    for row, position in ((0, 0), (0, 1), (1, 1)):
        state, token = states[position, row], SOURCE[row, position]
        keep = torch.sigmoid(repair.right(state)).item()
        near = spelling.likeness_of(token[None], WHAT, offered.words.likeness).near[0]
        scores = spelling.logits(repair.meant(state)[None], token[None], offered.words)[0, near]
        expected = {int(token) if token < BORROWED else UNK: keep}
        for word, share in zip(near.tolist(), scores.softmax(-1).tolist(), strict=True):
            expected[word] = expected.get(word, 0.0) + (1 - keep) * share
        tokens, shares = offered.tokens[row, position], offered.shares[row, position]
        found = {word: shares[tokens == word].sum().item() for word in tokens.unique().tolist()}
        assert found == pytest.approx(expected, abs=1e-5)


def test_before_training_a_misspelt_word_offers_the_one_that_was_meant() -> None:
    offered = model().encoder(SOURCE, LENGTHS, WHAT)["offered"][0]
    for position, meant in ((0, THE), (1, VALUE)):
        assert offered.tokens[0, position, 1 + offered.shares[0, position, 1:].argmax()] == meant


@pytest.mark.parametrize("mix", ["hidden", "vocabulary", "probability"])
@pytest.mark.parametrize("gates", ["mask,copy,generate,skip", "copy"])
def test_step_by_step_is_all_at_once(gates: str, mix: str) -> None:
    net = model(gates, mix)
    encoder_out = net.encoder(SOURCE, LENGTHS, WHAT)
    at_once, state = net.decoder(READ, encoder_out)[0], {}
    for i in range(READ.size(1)):
        step = net.decoder(READ[:, : i + 1], encoder_out, state)[0]
        real = READ[:, i].ne(PAD)
        assert (step[:, 0] - at_once[:, i])[real].abs().max() < 1e-4


@pytest.mark.parametrize("gates", ["mask,copy,generate,skip", "copy,generate", "mask,copy", "copy,skip"])
def test_the_probabilities_are_a_distribution_in_training_too(gates: str) -> None:
    net = model(gates, dropout=0.0)
    in_decoding = log_probs(net).detach()
    assert in_decoding.exp().sum(-1).numpy() == pytest.approx(1, abs=1e-5)
    in_training = log_probs(net.train()).detach()
    assert in_training.exp().sum(-1).numpy() == pytest.approx(1, abs=1e-5)


def test_beam_search_keeps_score() -> None:
    net = model()
    sample = {"net_input": {"src_tokens": SOURCE, "src_lengths": LENGTHS, "unknown": tuple(WHAT)}}
    found = SequenceGenerator([net], WORDS, beam_size=3, max_len_b=6).generate([net], sample)
    for row, hypotheses in enumerate(found):
        for hypothesis in hypotheses:
            tokens = hypothesis["tokens"]
            read = torch.cat([tokens.new_tensor([EOS]), tokens[:-1]])[None]
            words = SOURCE[row : row + 1, : LENGTHS[row]]
            log_p = net.get_normalized_probs(net(words, LENGTHS[row : row + 1], read, WHAT), log_probs=True)[0]
            expected = log_p.gather(1, tokens[:, None])[:, 0]
            assert (hypothesis["positional_scores"][:-1] - expected[:-1]).abs().max() < 1e-4  # the last may be forced


def test_a_word_that_is_most_unlikely_stays_so() -> None:
    """Places that a repeated word leaves free stand for no word."""
    logits = torch.zeros(1, 1, 6)
    logits[..., 0] = -120.0
    rest = Copied(torch.tensor([[[5, 5, 5, 5]]]), torch.full((1, 1, 4), 0.1))
    found = mix_probability(logits, {"generate": torch.tensor([[0.6]])}, rest)
    assert found[0, 0, 0] < -100 and found.exp().sum() == pytest.approx(1, abs=1e-5)


# ---- what is read ----------------------------------------------------------------------------------------------------


def test_unknown_words_are_told_apart_by_their_spelling_alone() -> None:
    net = model()
    renamed = unknown_words({TEH + 50: UNKNOWN[TEH], VLAUE + 90: UNKNOWN[VLAUE]}, BUCKETS)
    other_ids = SOURCE.clone()
    other_ids[0, 0], other_ids[0, 1] = TEH + 50, VLAUE + 90
    swapped = SOURCE.clone()
    swapped[0, 0], swapped[0, 1] = VLAUE, TEH
    assert torch.allclose(log_probs(net), log_probs(net, other_ids, renamed), atol=1e-5)
    assert not torch.allclose(log_probs(net), log_probs(net, swapped), atol=1e-2)


def test_only_training_holds_out_the_words_of_the_target() -> None:
    net = model(dropout=0.0)
    source = net.encoder(SOURCE, LENGTHS, WHAT, target=READ)["encoder_out"][0]
    assert not torch.allclose(source[1, 1], net.encoder(SOURCE, LENGTHS, WHAT)["encoder_out"][0][1, 1])  # form: once
    scored = net.decoder(READ, net.encoder(SOURCE, LENGTHS, WHAT))[0]
    assert torch.equal(net(SOURCE, LENGTHS, READ, WHAT)[0], scored)


def test_what_the_decoder_reads_is_what_the_table_says() -> None:
    """Training computes the vectors of the batch's words alone."""
    table = model().encoder.backbone.embed_tokens
    with torch.no_grad():
        kept = table(READ)
    assert torch.allclose(table.train()(READ), kept, atol=1e-6)


def test_every_weight_learns() -> None:
    net = model("mask,copy,generate,skip").train()
    log_p = net.get_normalized_probs(net(SOURCE, LENGTHS, READ, WHAT), log_probs=True)
    log_p.gather(-1, torch.tensor([[THE, VALUE, OF, EOS], [THE, FORM, EOS, PAD]])[..., None]).sum().backward()
    idle = [name for name, weight in net.named_parameters() if weight.grad is None]
    assert not idle


@pytest.mark.parametrize(
    "options, told",
    [
        ({"share_all_embeddings": False}, "add --share-all-embeddings"),
        ({"gates": "generate"}, "use --gates with copy"),
        ({"copy_from": "decoder-input"}, "--copy-from source"),
        ({"spelling_buckets": 0}, "--spelling-buckets must be at least 1"),
    ],
)
def test_what_does_not_go_together(options: dict[str, Any], told: str) -> None:
    with pytest.raises(UserError, match=told):
        model(**options)


# ---- how spellings travel --------------------------------------------------------------------------------------------


def clean_pairs() -> LanguagePairDataset:
    rows = [[THE, VALUE, OF, THE, FORM, EOS], [OF, VALUE, EOS], [THE, FORM, EOS]]
    side = list_dataset(rows), [len(row) for row in rows], WORDS
    return LanguagePairDataset(*side, *side, left_pad_source=True, left_pad_target=False)


def noisy_pairs() -> SpelledPairs:
    cfg = TextCorrectionConfig(
        data=".", noise_kind="swap", noise_word_rate=0.9, noise_bpe="words", noise_tokenizer=None
    )
    pair = clean_pairs()
    return SpelledPairs(pair, WORDS, BUCKETS, noisy_words(pair, cfg, WORDS, 20))


def test_noise_comes_with_its_spelling_and_is_new_in_every_epoch() -> None:
    dataset, seen = noisy_pairs(), []
    for epoch in (1, 2):
        dataset.set_epoch(epoch)
        batch = dataset.collater([dataset[i] for i in range(3)])
        given = batch["net_input"]
        ids = given["unknown"][0]
        borrowed = given["src_tokens"][given["src_tokens"] >= BORROWED]
        assert len(borrowed) and set(borrowed.tolist()) == set(ids.tolist())
        examples = [dataset[i] for i in range(3)]
        seen.append([[each["unknown"][t] for t in each["source"].tolist() if t >= BORROWED] for each in examples])
        model()(given["src_tokens"], given["src_lengths"], given["prev_output_tokens"], given["unknown"])
    assert seen[0] != seen[1]


RARE = ["Berlin", "Gdansk", "Lyon", "Oporto", "Quito", "Xanten", "Juba", "Kiew", "Minsk", "Tirana", "Riga"]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("spelled")
    clean = ["the value of the function", "the form of the value", "of the function", "the value"] * 6
    clean += [f"the {name} of the value" for name in RARE]  # seen once: training shows them as unknown
    for split in ("train", "valid"):
        (folder / f"{split}.clean").write_text("".join(f"{line}\n" for line in clean), "utf-8")
        noisy = (line.replace("value", "vlaue").replace("the", "teh", 1) for line in clean)
        (folder / f"{split}.noisy").write_text("".join(f"{line}\n" for line in noisy), "utf-8")
    prepare = ["prepare", "-s", "noisy", "-t", "clean", "--bpe", "words", "--joined-dictionary", "--clean-dictionary"]
    parts = ["--train-prefix", folder / "train", "--valid-prefix", folder / "valid", "--dest", folder / "bin"]
    main([str(each) for each in [*prepare, *parts]])
    return folder / "bin"


def task_of(folder: Path) -> TextCorrectionTask:
    cfg = TextCorrectionConfig(data=str(folder), source_lang="noisy", target_lang="clean")
    cfg.dataset_impl, cfg.train_subset, cfg.required_seq_len_multiple = None, "train", 1  # as fairseq resolves them
    task = TextCorrectionTask.setup_task(cfg)
    task.spelling_buckets = BUCKETS
    return task


def test_binarised_sources_keep_their_spelling_in_notes(prepared: Path) -> None:
    task = task_of(prepared)
    task.load_dataset("valid")
    dataset = task.dataset("valid")
    batch = dataset.collater([dataset[0]])["net_input"]
    words = [task.source_dictionary[i] for i in batch["src_tokens"][0].tolist()]
    assert words == ["▁teh", "▁vlaue", "▁of", "▁the", "▁function", "</s>"]
    assert len(batch["unknown"][0]) == 2


@pytest.mark.parametrize("damage", [{"line": 900}, {"tokens": ["▁the"]}, {"line": 2}, {"more": 1}])
def test_damaged_notes_are_refused(prepared: Path, damage: dict[str, Any], tmp_path: Path) -> None:
    for file in prepared.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    path = tmp_path / "valid.noisy-clean.noisy.notes.jsonl"
    first, *rest = path.read_text("utf-8").splitlines()
    path.write_text("\n".join([json.dumps({**json.loads(first), **damage}), *rest]) + "\n", "utf-8")
    with pytest.raises(UserError, match="is damaged: run lev-plugins prepare again"):
        task_of(tmp_path).load_dataset("valid")


def test_typed_lines_lend_their_unknown_words(prepared: Path) -> None:
    task = task_of(prepared)
    rows, sizes = task.get_interactive_tokens_and_lengths(["▁teh ▁value"], str)
    assert [task.source_dictionary[i] for i in rows[0].tolist()] == ["▁teh", "▁value", "</s>"] and sizes == [3]
    sample = {"net_input": {"src_tokens": rows[0][None], "src_lengths": torch.tensor([3])}}
    assert len(task.spelled(sample)["net_input"]["unknown"][0]) == 1


def test_parts_of_the_training_text_are_noted_each(prepared: Path, tmp_path: Path) -> None:
    """As fairseq joins them: train, three times, and train1."""
    for file in prepared.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
        if file.name.startswith("valid."):
            (tmp_path / file.name.replace("valid.", "train1.", 1)).write_bytes(file.read_bytes())
    task = task_of(tmp_path)
    task.cfg.upsample_primary = 3
    task.load_dataset("train", combine=True)
    dataset = task.dataset("train")
    lines = len(dataset) // 4
    counts = [int((dataset[i]["source"] >= BORROWED).sum()) for i in range(len(dataset))]
    assert counts == counts[:lines] * 4 and sum(counts[:lines]) > lines
    task.cfg.truncate_source = True
    with pytest.raises(UserError, match="leave it out with --spelling"):
        task.load_dataset("valid")


def test_a_model_that_spells_and_one_that_does_not_read_different_sources(prepared: Path) -> None:
    task = task_of(prepared)
    plain = model(spelling=False, spelling_buckets=32768)
    with pytest.raises(UserError, match="--path names models with --spelling and without"):
        task.build_generator([model(), plain], SimpleNamespace(beam=2))


def test_it_learns_to_repair(prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As commands do it: trained on noise, exported, and run on words that no text of its training has."""
    from fairseq_cli.train import cli_main

    flags = {
        **{f"{side}_{name}": 32 for side in ("encoder", "decoder") for name in ("embed_dim", "ffn_embed_dim")},
        **{"encoder_layers": 1, "decoder_layers": 1, "dropout": 0, "spelling_buckets": 500, "arch": "gated_trans_tiny"},
        **{"optimizer": "adam", "lr": 0.005, "max_tokens": 400, "max_update": 100, "num_workers": 0, "bpe": "words"},
        **{"noise_kind": "swap", "noise_word_rate": 0.5, "criterion": "label_smoothed_cross_entropy"},
        **{"save_interval": 1000, "save_dir": tmp_path / "model", "user_dir": "lev_plugins", "log_format": "none"},
    }
    switches = ["--share-all-embeddings", "--spelling", "--disable-validation", "--no-epoch-checkpoints"]
    monkeypatch.setattr(
        "sys.argv", ["fairseq-train", str(prepared), *map(str, CORRECTION), *switches, *flags_of(flags)]
    )
    cli_main()
    folder = tmp_path / "editor"
    main(["export", str(tmp_path / "model" / "checkpoint_last.pt"), str(folder), "--bpe", "words", "--beam", "1"])
    import lev_plugins

    edited = lev_plugins.load(folder).edit(["hte vaule of teh function", "the Zuerich of the value"])
    assert edited[0].text == "the value of the function"
    assert "Zuerich" in edited[1].text  # an unknown word that is kept is printed as it was
