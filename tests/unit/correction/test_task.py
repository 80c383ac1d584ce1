"""``--task text_correction``: options, logs, and batches."""

from argparse import Namespace
from contextlib import nullcontext
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import torch
from fairseq import options
from fairseq.criterions.cross_entropy import CrossEntropyCriterion
from fairseq.criterions.label_smoothed_cross_entropy import LabelSmoothedCrossEntropyCriterion
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from fairseq.logging import metrics
from omegaconf import OmegaConf

from lev_plugins.cli.main import main
from lev_plugins.correction.pbd import PBDConfig
from lev_plugins.correction.task import TextCorrectionConfig, TextCorrectionTask
from lev_plugins.scoring import wrr
from lev_plugins.training import checkpoints
from lev_plugins.training.batching import KeepLastBatch
from lev_plugins.training.best_checkpoint import logged_by
from lev_plugins.utils.errors import UserError
from tests.commands import hypotheses, refused, succeed
from tests.helpers import EOS, UNK, collated, part_of_fairseq, random_rows, toy_dictionary, toy_pairs
from tests.systems import GOLDEN, SYSTEMS

ALL_SCORES = {"eval_exact_match": True, "eval_wrr": True, "eval_bleu": True}
TINY_PBD = {"arch": "pbd", "attention_heads": 2, "embed_dim": 16, "ffn_embed_dim": 32, "layers": 1, "dropout": 0.0}
POSITIONS_OF_64 = {"max_source_positions": 64, "max_target_positions": 64}


def correction_task(**options: Any) -> TextCorrectionTask:
    dictionary = toy_dictionary()
    cfg = TextCorrectionConfig(data=".", source_lang="noisy", target_lang="clean", **options)
    return TextCorrectionTask(cfg, dictionary, dictionary)


def build_pbd(task: TextCorrectionTask, **options: Any) -> Any:
    torch.manual_seed(1)
    return task.build_model(Namespace(**{**vars(PBDConfig()), **TINY_PBD, **POSITIONS_OF_64, **options}))


def random_sentences(count: int, seed: int = 1) -> list[list[int]]:
    return [row[1:] for row in random_rows(count, seed, shortest=2)]


def test_typed_special_symbols_are_unknown_words() -> None:
    """Editors and typed drafts treat them in the same way."""
    rows, lengths = correction_task().get_interactive_tokens_and_lengths(["w1 </s> w2", "<pad> <s>"], str.strip)
    assert [row.tolist() for row in rows] == [[5, UNK, 6, EOS], [UNK, UNK, EOS]] and lengths == [4, 3]


def test_decoding_ignores_validation_options(tmp_path: Path) -> None:
    """Loading and exporting need neither a decoder for scores nor the package of --eval-bleu-detok."""
    system = SYSTEMS["pbd"](tmp_path)
    expected = system.answers(system.load())
    state = checkpoints.load(system.checkpoint)
    state["cfg"]["task"] |= {**ALL_SCORES, "eval_metrics": "ter", "eval_bleu_detok": "none"}
    checkpoints.save(state, system.checkpoint)
    assert system.answers(system.load()) == expected
    assert main(["export", str(system.checkpoint), str(tmp_path / "out"), "--no-graphs", *system.flags]) == 0


def test_batches_have_every_sentence() -> None:
    """fairseq drops the sentences that are left over by batches of multiples of 8."""
    pair = toy_pairs(random_sentences(13), random_sentences(13, seed=2))
    limits = {"max_tokens": None, "max_sentences": 9, "required_batch_size_multiple": 8}
    indices = pair.ordered_indices()
    assert sum(len(batch) for batch in pair.batch_by_size(indices, **limits)) in (8, 13)
    whole = KeepLastBatch(pair)
    batch_indices = [index for batch in whole.batch_by_size(indices, **limits) for index in batch]
    assert sorted(batch_indices) == list(range(13))
    assert whole.batch_by_size(indices[:0], **limits) == []
    assert whole.src is pair.src and whole.tgt is pair.tgt


def log_of_validation(
    task: TextCorrectionTask, model: Any, batches: list[dict[str, Any]], criterion: Any = None
) -> dict[str, float]:
    criterion = criterion or CrossEntropyCriterion(task, sentence_avg=False)
    with metrics.aggregate(new_root=True) as log:
        for batch in batches:
            task.reduce_metrics([task.valid_step(batch, model, criterion)[2]], criterion)
    return dict(log.get_smoothed_values())


def test_validation_scores_are_of_decoded_text() -> None:
    """A large keep bias makes the decoded text the source, whatever the target is."""
    task = correction_task(keep_bias=50.0, **ALL_SCORES)
    model = build_pbd(task)
    sources = random_sentences(9)
    targets = [row if i % 3 else [row[0], 5, *row[1:]] for i, row in enumerate(sources)]
    targets[1] = [UNK, *sources[1][1:]]  # matches nothing, not even <unk>
    sources[1] = targets[1]
    dataset = KeepLastBatch(toy_pairs(sources, targets))
    batches = [collated(dataset, rows) for rows in (range(2), range(2, 9))]
    log = log_of_validation(task, model, batches)
    strings = [[" ".join(f"w{token - 4}" for token in row[:-1]) for row in rows] for rows in (targets, sources)]
    strings[0][1] = strings[0][1].replace("w-1", "<<unk>>")
    strings[1][1] = strings[1][1].replace("w-1", "<unk>")
    assert log["exact_match"] == pytest.approx(100 * 5 / 9, abs=1e-3)
    assert log["wrr"] == pytest.approx(100 * wrr.evaluate(*strings).score, abs=1e-3)
    assert 0 < log["bleu"] < 100


def r_drop(task: TextCorrectionTask, average: bool, **options: Any) -> Any:
    module = part_of_fairseq("fairseq.criterions.label_smoothed_cross_entropy_with_rdrop")
    return module.RdropLabelSmoothedCrossEntropyCriterion(task, average, rdrop_alpha=1.0, **options)


@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize("accuracy", [True, False])
@pytest.mark.parametrize("kind", ["plain", "smoothed", "rdrop"])
def test_selectable_metrics_are_logged(kind: str, accuracy: bool, average: bool) -> None:
    task = correction_task()
    model = build_pbd(task)
    smoothing = {"label_smoothing": 0.1, "report_accuracy": accuracy}
    criterion = {
        "plain": lambda: CrossEntropyCriterion(task, average),
        "smoothed": lambda: LabelSmoothedCrossEntropyCriterion(task, average, **smoothing),
        "rdrop": lambda: r_drop(task, average, **smoothing),
    }[kind]()
    log = log_of_validation(task, model, [collated(toy_pairs(random_sentences(3), random_sentences(3)))], criterion)
    # the trainer adds the number of updates; no checkpoint is better for its speed, or for a sum
    excluded = {"num_updates", "wps", "n_correct", "total", "rdrop_kl_loss"}  # the last is 0 without dropout
    assert set(logged_by(criterion)) - excluded == set(log) - excluded


def decode_sources(task: TextCorrectionTask, model: Any, sources: list[list[int]], beam: int = 3) -> list[Any]:
    generator = task.build_generator([model], Namespace(beam=beam, max_len_b=12))
    return task.inference_step(generator, [model], collated(toy_pairs(sources, sources)))


def test_edits_below_the_threshold_are_rejected() -> None:
    """Decoding with threshold 0 determines the result of every other threshold."""
    sources = sorted(random_sentences(6), key=len, reverse=True)  # as the batch has them
    model = build_pbd(correction_task())
    swept = decode_sources(correction_task(min_edit_confidence=0.0), model, sources)
    plain = decode_sources(correction_task(), model, sources)
    assert [h[0]["tokens"].tolist() for h in swept] == [h[0]["tokens"].tolist() for h in plain]
    assert all("confidence" not in h[0] for h in plain)
    confidences = sorted(h[0]["confidence"] for h in swept)
    assert 0 < confidences[0] < confidences[-1] < 1
    for threshold in (confidences[2], 1.0):
        hypotheses_of_threshold = decode_sources(correction_task(min_edit_confidence=threshold), model, sources)
        expected = [
            hypotheses[0]["tokens"].tolist() if hypotheses[0]["confidence"] >= threshold else source
            for hypotheses, source in zip(swept, sources, strict=True)
        ]
        assert [h[0]["tokens"].tolist() for h in hypotheses_of_threshold] == expected
        assert [len(h) for h in hypotheses_of_threshold] == [len(h) for h in swept]


@pytest.mark.parametrize("option", [{"keep_bias": 1.0}, {"min_edit_confidence": 0.0}])
def test_score_reference_with_keep_bias_is_refused(option: dict[str, float]) -> None:
    task = correction_task(**option)
    with pytest.raises(UserError, match=r"--score-reference .*--keep-bias"):
        task.build_generator([build_pbd(task)], Namespace(score_reference=True))


WRONG_SEARCH: dict[str, dict[str, Any]] = {
    "--unkpen .*nan": {"unkpen": float("nan")},
    "--iter-decode-max-iter .*0 and 1000.*-1": {"iter_decode_max_iter": -1},
    "--beam .*1 and 1000.*0": {"beam": 0},
    "--print-step .*refinement": {"print_step": True},
    "--beam .*whole number.*5": {"beam": "5"},
}


@pytest.mark.parametrize(("message", "flags"), WRONG_SEARCH.items())
def test_wrong_search_options_are_refused(message: str, flags: dict[str, Any]) -> None:
    task = correction_task()
    with pytest.raises(UserError, match=message):
        task.build_generator([build_pbd(task)], Namespace(**flags))


def test_r_drop_does_not_change_the_decoded_batch() -> None:
    task = correction_task(**ALL_SCORES)
    model = build_pbd(task).eval()
    batch = collated(KeepLastBatch(toy_pairs(random_sentences(5), random_sentences(5, seed=2))))
    names = ("exact_match", "wrr", "bleu")
    log = log_of_validation(task, model, [batch])
    criterion = r_drop(task, False, label_smoothing=0.1)
    log_with_r_drop = log_of_validation(task, model, [batch], criterion)
    assert [log_with_r_drop[name] for name in names] == [log[name] for name in names]
    assert len(batch["net_input"]["src_tokens"]) == 5


WRONG_OPTIONS = {
    "--task text_correction .*folder": {"data": None},
    "there is no folder /nowhere": {"data": "/nowhere"},
    "--source-lang and --target": {},
    "--eval-bleu-args .*JSON": {"eval_bleu_args": "beam=5"},
    "--eval-bleu-args .* beem": {"eval_bleu_args": '{"beem": 5}'},
}


@pytest.mark.parametrize(("message", "options"), WRONG_OPTIONS.items())
def test_wrong_correction_options_are_refused(message: str, options: dict[str, Any], tmp_path: Path) -> None:
    cfg = TextCorrectionConfig(**{"data": str(tmp_path), **options})
    with pytest.raises(UserError, match=message):
        TextCorrectionTask.setup_task(cfg)


def test_a_resumed_training_has_the_same_batches() -> None:
    sources, epochs = [[5, 6, 7]] * 20, []
    for epoch in (1, 3):
        dataset = KeepLastBatch(toy_pairs(sources, sources))
        task = correction_task(required_seq_len_multiple=1)
        task.datasets["train"] = dataset
        batches = task.get_batch_iterator(dataset, max_sentences=4, seed=7, epoch=epoch)
        epochs.append([list(batch) for batch in batches.frozen_batches])
        assert (batches.epoch, dataset.epoch) == (epoch, epoch)
        assert task.get_batch_iterator(dataset, max_sentences=4, seed=7, epoch=9) is batches  # as after an epoch
        assert (batches.epoch, dataset.epoch) == (epoch, epoch)
    assert epochs[0] == epochs[1] and epochs[0][0] != [0, 1, 2, 3]


def test_a_wrong_sentencepiece_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no model", encoding="utf-8")
    for path, message in (("none.model", ".*none.model"), (tmp_path / "text", ".*/text")):
        with pytest.raises(UserError, match=f"--bpe sentencepiece: {message}"):
            correction_task().build_bpe(OmegaConf.create({"_name": "sentencepiece", "sentencepiece_model": str(path)}))


def test_a_non_autoregressive_model_is_refused() -> None:
    options = {"decoder_layers": 1, "encoder_layers": 1, "tokens_per_sample": 8, **POSITIONS_OF_64}
    with pytest.raises(UserError, match="--arch is cmlm_transformer"):
        correction_task().build_model(Namespace(arch="cmlm_transformer", **options))


def test_another_dictionary_of_the_same_size_is_refused() -> None:
    task, permuted = correction_task(), correction_task()
    task.load_state_dict(permuted.state_dict())
    task.load_state_dict({})  # of an older checkpoint, or of fairseq's own task
    symbols = permuted.tgt_dict.symbols
    symbols[-1], symbols[-2] = symbols[-2], symbols[-1]
    with pytest.raises(UserError, match=r"dict\.noisy\.txt"):
        task.load_state_dict(permuted.state_dict())


def test_long_texts_are_decoded_completely() -> None:
    task = correction_task(keep_bias=50.0)
    model = build_pbd(task, max_source_positions=400, max_target_positions=400).eval()
    text = [4 + number % 9 for number in range(300)] + [EOS]
    generator = task.build_generator([model], Namespace(beam=1))
    source = torch.tensor([text])
    net_input = {"src_tokens": source, "src_lengths": torch.tensor([source.size(1)])}
    (hypotheses_of_text,) = task.inference_step(generator, [model], {"id": torch.tensor([0]), "net_input": net_input})
    assert hypotheses_of_text[0]["tokens"].tolist() == text
    short = task.build_generator([model], Namespace(beam=1, max_len_b=20))
    assert (short.max_len_a, short.max_len_b) == (0, 20)


def test_constraints_require_typed_lines() -> None:
    words = ["--task", "text_correction", "-s", "noisy", "-t", "clean", "--cpu", "--constraints"]
    words = [GOLDEN / "noisy" / "data", *words, "--path", GOLDEN / "pbd" / "checkpoint.pt"]
    message = refused("fairseq-generate", *words, "--gen-subset", "test")
    assert "--constraints" in message and "fairseq-interactive" in message
    typed = succeed("fairseq-interactive", *words, stdin="a b\tc c c\n").out
    assert "c c c" in hypotheses(typed)[0][1]


def test_diverse_beam_groups_do_not_depend_on_sentence_numbers() -> None:
    """fairseq uses the number of a sentence in the set as its index in the batch."""
    task, dataset = correction_task(), toy_pairs(random_sentences(5), random_sentences(5))
    model = build_pbd(task)
    generator = task.build_generator([model], Namespace(beam=4, diverse_beam_groups=2, max_len_b=12))
    batch = collated(dataset)
    for index, together in zip(batch["id"].tolist(), task.inference_step(generator, [model], batch), strict=True):
        (alone,) = task.inference_step(generator, [model], collated(dataset, [index]))
        assert [beam["tokens"].tolist() for beam in alone] == [beam["tokens"].tolist() for beam in together]


# ---- ``--best-checkpoint-metric`` is checked before the first batch --------------------------------------------------


def config_from_flags(**flags: Any) -> Any:
    """Parses flags as ``fairseq-train`` does."""
    words = [".", "--task", "text_correction", "--arch", "pbd", "--criterion", "cross_entropy"]
    for name, value in {"embed_dim": 16, "layers": 1, **POSITIONS_OF_64, **flags}.items():
        words += [f"--{name.replace('_', '-')}", *([] if value is True else [str(value)])]
    parser = options.get_training_parser()
    return convert_namespace_to_omegaconf(options.parse_args_and_arch(parser, words))


def build_from_config(cfg: Any, from_checkpoint: bool = False) -> None:
    dictionary = toy_dictionary()
    task = TextCorrectionTask(cfg.task, dictionary, dictionary)
    task.build_model(cfg.model, from_checkpoint)
    task.build_criterion(cfg.criterion)


MAXIMIZE = {"maximize_best_checkpoint_metric": True}


@pytest.mark.parametrize(
    ("metric", "flags", "message"),
    [
        ("exact_match", MAXIMIZE, "exact_match"),
        ("exact_match", ALL_SCORES, "--maximize-best-checkpoint-metric"),
        ("wrr", ALL_SCORES | MAXIMIZE, None),
        ("loss", ALL_SCORES, None),
        ("ter", {"eval_metrics": "ter"}, None),
        ("ter", {"eval_metrics": "ter"} | MAXIMIZE, "lower is better"),
        ("accuracy", MAXIMIZE, "accuracy"),
    ],
)
def test_best_checkpoint_metric_is_checked(metric: str, flags: dict[str, Any], message: str | None) -> None:
    cfg = config_from_flags(best_checkpoint_metric=metric, **flags)
    build_from_config(deepcopy(cfg), from_checkpoint=True)  # a validation does not keep checkpoints
    with pytest.raises(UserError, match=message) if message else nullcontext():
        build_from_config(cfg)
