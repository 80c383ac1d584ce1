"""The task: what it refuses, what it logs, and that no sentence is left out."""

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
from tests.systems import SYSTEMS
from tests.unit.editor.test_editor import GOLDEN, NOISY

ALL = {"eval_exact_match": True, "eval_wrr": True, "eval_bleu": True}
TINY = {"arch": "pbd", "attention_heads": 2, "embed_dim": 16, "ffn_embed_dim": 32, "layers": 1, "dropout": 0.0}
POSITIONS = {"max_source_positions": 64, "max_target_positions": 64}


def correction_task(**options: Any) -> TextCorrectionTask:
    dictionary = toy_dictionary()
    cfg = TextCorrectionConfig(data=".", source_lang="noisy", target_lang="clean", **options)
    return TextCorrectionTask(cfg, dictionary, dictionary)


def build(task: TextCorrectionTask, **options: Any) -> Any:
    torch.manual_seed(1)
    return task.build_model(Namespace(**{**vars(PBDConfig()), **TINY, **POSITIONS, **options}))


def sentences(count: int, seed: int = 1) -> list[list[int]]:
    return [row[1:] for row in random_rows(count, seed, shortest=2)]


def test_typed_boundaries_are_unknown_words() -> None:
    """As in an editor, and as a typed draft has them."""
    rows, lengths = correction_task().get_interactive_tokens_and_lengths(["w1 </s> w2", "<pad> <s>"], str.strip)
    assert [row.tolist() for row in rows] == [[5, UNK, 6, EOS], [UNK, UNK, EOS]] and lengths == [4, 3]


def test_decoding_needs_nothing_that_validation_needed(tmp_path: Path) -> None:
    """Such as the package of --eval-bleu-detok."""
    system = SYSTEMS["pbd"](tmp_path)
    state = checkpoints.load(system.checkpoint)
    state["cfg"]["task"] |= {**ALL, "eval_metrics": "ter", "eval_bleu_detok": "none"}
    checkpoints.save(state, system.checkpoint)
    assert not hasattr(system.load().model.decoder.task, "sequence_generator")
    assert main(["export", str(system.checkpoint), str(tmp_path / "out"), "--no-graphs", *system.flags]) == 0


def test_no_sentence_is_left_out() -> None:
    """fairseq alone makes batches of a multiple of 8 and forgets the rest, but for 0.12.2 of the package index."""
    pair = toy_pairs(sentences(13), sentences(13, seed=2))
    limits = {"max_tokens": None, "max_sentences": 9, "required_batch_size_multiple": 8}
    indices = pair.ordered_indices()
    assert sum(len(batch) for batch in pair.batch_by_size(indices, **limits)) in (8, 13)
    whole = KeepLastBatch(pair)
    found = [index for batch in whole.batch_by_size(indices, **limits) for index in batch]
    assert sorted(found) == list(range(13))
    assert whole.batch_by_size(indices[:0], **limits) == []
    assert whole.src is pair.src and whole.tgt is pair.tgt


def logged(
    task: TextCorrectionTask, model: Any, batches: list[dict[str, Any]], criterion: Any = None
) -> dict[str, float]:
    criterion = criterion or CrossEntropyCriterion(task, sentence_avg=False)
    with metrics.aggregate(new_root=True) as found:
        for batch in batches:
            task.reduce_metrics([task.valid_step(batch, model, criterion)[2]], criterion)
    return dict(found.get_smoothed_values())


def test_the_scores_are_those_of_free_running_decoding() -> None:
    """A model that must keep its source says just that, whatever the target is; batches of different size."""
    task = correction_task(keep_bias=50.0, **ALL)
    model = build(task)
    sources = sentences(9)
    targets = [row if i % 3 else [row[0], 5, *row[1:]] for i, row in enumerate(sources)]
    targets[1] = [UNK, *sources[1][1:]]  # matches nothing, not even <unk>
    sources[1] = targets[1]
    dataset = KeepLastBatch(toy_pairs(sources, targets))
    batches = [collated(dataset, rows) for rows in (range(2), range(2, 9))]
    found = logged(task, model, batches)
    strings = [[" ".join(f"w{token - 4}" for token in row[:-1]) for row in rows] for rows in (targets, sources)]
    strings[0][1] = strings[0][1].replace("w-1", "<<unk>>")
    strings[1][1] = strings[1][1].replace("w-1", "<unk>")
    assert found["exact_match"] == pytest.approx(100 * 5 / 9, abs=1e-3)
    assert found["wrr"] == pytest.approx(100 * wrr.evaluate(*strings).score, abs=1e-3)
    assert 0 < found["bleu"] < 100


def r_drop(task: TextCorrectionTask, average: bool, **options: Any) -> Any:
    module = part_of_fairseq("fairseq.criterions.label_smoothed_cross_entropy_with_rdrop")
    return module.RdropLabelSmoothedCrossEntropyCriterion(task, average, rdrop_alpha=1.0, **options)


@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize("accuracy", [True, False])
@pytest.mark.parametrize("kind", ["plain", "smoothed", "rdrop"])
def test_what_the_best_checkpoint_may_go_by_is_logged(kind: str, accuracy: bool, average: bool) -> None:
    task = correction_task()
    model = build(task)
    smoothing = {"label_smoothing": 0.1, "report_accuracy": accuracy}
    criterion = {
        "plain": lambda: CrossEntropyCriterion(task, average),
        "smoothed": lambda: LabelSmoothedCrossEntropyCriterion(task, average, **smoothing),
        "rdrop": lambda: r_drop(task, average, **smoothing),
    }[kind]()
    found = logged(task, model, [collated(toy_pairs(sentences(3), sentences(3)))], criterion)
    # the trainer adds the number of updates; no checkpoint is better for its speed, or for a sum
    others = {"num_updates", "wps", "n_correct", "total", "rdrop_kl_loss"}  # the last is 0 without dropout
    assert set(logged_by(criterion)) - others == set(found) - others


def decoded(task: TextCorrectionTask, model: Any, sources: list[list[int]], beam: int = 3) -> list[Any]:
    generator = task.build_generator([model], Namespace(beam=beam, max_len_b=12))
    return task.inference_step(generator, [model], collated(toy_pairs(sources, sources)))


def test_an_edit_must_be_sure_enough() -> None:
    """One decoding with threshold 0 says what every other threshold gives."""
    sources = sorted(sentences(6), key=len, reverse=True)  # as the batch has them
    model = build(correction_task())
    swept = decoded(correction_task(min_edit_confidence=0.0), model, sources)
    plain = decoded(correction_task(), model, sources)
    assert [h[0]["tokens"].tolist() for h in swept] == [h[0]["tokens"].tolist() for h in plain]
    assert all("confidence" not in h[0] for h in plain)
    confidences = sorted(h[0]["confidence"] for h in swept)
    assert 0 < confidences[0] < confidences[-1] < 1
    for least in (confidences[2], 1.0):
        found = decoded(correction_task(min_edit_confidence=least), model, sources)
        expected = [
            hypotheses[0]["tokens"].tolist() if hypotheses[0]["confidence"] >= least else source
            for hypotheses, source in zip(swept, sources, strict=True)
        ]
        assert [h[0]["tokens"].tolist() for h in found] == expected
        assert [len(h) for h in found] == [len(h) for h in swept]


@pytest.mark.parametrize("dial", [{"keep_bias": 1.0}, {"min_edit_confidence": 0.0}])
def test_what_the_dial_cannot_serve_is_refused(dial: dict[str, float]) -> None:
    task = correction_task(**dial)
    with pytest.raises(UserError, match="--score-reference does not work with --keep-bias or"):
        task.build_generator([build(task)], Namespace(score_reference=True))


WRONG_SEARCH: dict[str, dict[str, Any]] = {
    "--unkpen must be a finite number, but is nan": {"unkpen": float("nan")},
    "--iter-decode-max-iter must be between 0 and 1000, but is -1": {"iter_decode_max_iter": -1},
    "--beam must be between 1 and 1000, but is 0": {"beam": 0},
    "--print-step is for refinement, which a PBD does not do": {"print_step": True},
    "--beam must be a whole number, but is .5": {"beam": "5"},
}


@pytest.mark.parametrize(("message", "flags"), WRONG_SEARCH.items())
def test_a_search_that_cannot_work_is_refused_before_it_begins(message: str, flags: dict[str, Any]) -> None:
    task = correction_task()
    with pytest.raises(UserError, match=message):
        task.build_generator([build(task)], Namespace(**flags))


def test_r_drop_leaves_the_batch_to_the_decoding() -> None:
    task = correction_task(**ALL)
    model = build(task).eval()
    batch = collated(KeepLastBatch(toy_pairs(sentences(5), sentences(5, seed=2))))
    names = ("exact_match", "wrr", "bleu")
    before = logged(task, model, [batch])
    criterion = r_drop(task, False, label_smoothing=0.1)
    after = logged(task, model, [batch], criterion)
    assert [after[name] for name in names] == [before[name] for name in names]
    assert len(batch["net_input"]["src_tokens"]) == 5


REFUSED = {
    "--task text_correction requires the folder that fairseq-preprocess or lev-plugins prepare made": {"data": None},
    "there is no folder /nowhere": {"data": "/nowhere"},
    " has no binarised texts, .* pass --source-lang and --target": {},
    "--eval-bleu-args is not valid JSON": {"eval_bleu_args": "beam=5"},
    "--eval-bleu-args must name flags of fairseq-generate, but names beem": {"eval_bleu_args": '{"beem": 5}'},
}


@pytest.mark.parametrize(("message", "options"), REFUSED.items())
def test_a_wrong_option_is_refused_by_name(message: str, options: dict[str, Any], tmp_path: Path) -> None:
    cfg = TextCorrectionConfig(**{"data": str(tmp_path), **options})
    with pytest.raises(UserError, match=message):
        TextCorrectionTask.setup_task(cfg)


def test_a_training_that_goes_on_in_a_later_epoch_has_the_same_batches() -> None:
    sources, found = [[5, 6, 7]] * 20, []
    for epoch in (1, 3):
        dataset = KeepLastBatch(toy_pairs(sources, sources))
        task = correction_task(required_seq_len_multiple=1)
        task.datasets["train"] = dataset
        batches = task.get_batch_iterator(dataset, max_sentences=4, seed=7, epoch=epoch)
        found.append([list(batch) for batch in batches.frozen_batches])
        assert (batches.epoch, dataset.epoch) == (epoch, epoch)
        assert task.get_batch_iterator(dataset, max_sentences=4, seed=7, epoch=9) is batches  # as after an epoch
        assert (batches.epoch, dataset.epoch) == (epoch, epoch)
    assert found[0] == found[1] and found[0][0] != [0, 1, 2, 3]


def test_a_sentencepiece_model_that_is_missing_or_something_else_is_named(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no model", encoding="utf-8")
    for path, message in (("none.model", "file none.model not found"), (tmp_path / "text", ".*could not parse")):
        with pytest.raises(UserError, match=f"--bpe sentencepiece: {message}"):
            correction_task().build_bpe(OmegaConf.create({"_name": "sentencepiece", "sentencepiece_model": str(path)}))


def test_a_model_that_does_not_write_from_left_to_right_is_refused() -> None:
    options = {"decoder_layers": 1, "encoder_layers": 1, "tokens_per_sample": 8, **POSITIONS}
    with pytest.raises(UserError, match="such as --arch pbd or transformer, but --arch is cmlm_transformer"):
        correction_task().build_model(Namespace(arch="cmlm_transformer", **options))


def test_another_dictionary_of_the_same_size_is_refused() -> None:
    task, other = correction_task(), correction_task()
    task.load_state_dict(other.state_dict())
    task.load_state_dict({})  # of an older checkpoint, or of fairseq's own task
    symbols = other.tgt_dict.symbols
    symbols[-1], symbols[-2] = symbols[-2], symbols[-1]
    with pytest.raises(UserError, match=r"dict\.noisy\.txt of .* has other lines, or another order, than in the"):
        task.load_state_dict(other.state_dict())


def test_a_long_text_keeps_its_end() -> None:
    task = correction_task(keep_bias=50.0)
    model = build(task, max_source_positions=400, max_target_positions=400).eval()
    text = [4 + number % 9 for number in range(300)] + [EOS]
    generator = task.build_generator([model], Namespace(beam=1))
    source = torch.tensor([text])
    net_input = {"src_tokens": source, "src_lengths": torch.tensor([source.size(1)])}
    (found,) = task.inference_step(generator, [model], {"id": torch.tensor([0]), "net_input": net_input})
    assert found[0]["tokens"].tolist() == text
    short = task.build_generator([model], Namespace(beam=1, max_len_b=20))
    assert (short.max_len_a, short.max_len_b) == (0, 20)


def test_constraints_are_for_typed_lines() -> None:
    words = ["--task", "text_correction", "-s", "noisy", "-t", "clean", "--cpu", "--constraints"]
    words = [NOISY, *words, "--path", GOLDEN / "pbd" / "checkpoint.pt"]
    said = refused("fairseq-generate", *words, "--gen-subset", "test")
    assert "--constraints takes them from typed lines: use fairseq-interactive, or leave it out" in said
    typed = succeed("fairseq-interactive", *words, stdin="a b\tc c c\n").out
    assert "c c c" in hypotheses(typed)[0][1]


def test_diverse_groups_of_a_beam_whatever_the_numbers_of_the_sentences() -> None:
    """fairseq takes the number of a sentence in the set for its place in the batch."""
    task, dataset = correction_task(), toy_pairs(sentences(5), sentences(5))
    model = build(task)
    generator = task.build_generator([model], Namespace(beam=4, diverse_beam_groups=2, max_len_b=12))
    batch = collated(dataset)
    for index, together in zip(batch["id"].tolist(), task.inference_step(generator, [model], batch), strict=True):
        (alone,) = task.inference_step(generator, [model], collated(dataset, [index]))
        assert [one["tokens"].tolist() for one in alone] == [one["tokens"].tolist() for one in together]


# ---- ``--best-checkpoint-metric`` is checked before the first batch --------------------------------------------------


def from_flags(**flags: Any) -> Any:
    """As ``fairseq-train``."""
    words = [".", "--task", "text_correction", "--arch", "pbd", "--criterion", "cross_entropy"]
    for name, value in {"embed_dim": 16, "layers": 1, **POSITIONS, **flags}.items():
        words += [f"--{name.replace('_', '-')}", *([] if value is True else [str(value)])]
    parser = options.get_training_parser()
    return convert_namespace_to_omegaconf(options.parse_args_and_arch(parser, words))


def start(cfg: Any, from_checkpoint: bool = False) -> None:
    dictionary = toy_dictionary()
    task = TextCorrectionTask(cfg.task, dictionary, dictionary)
    task.build_model(cfg.model, from_checkpoint)
    task.build_criterion(cfg.criterion)


MAXIMIZE = {"maximize_best_checkpoint_metric": True}


@pytest.mark.parametrize(
    ("metric", "flags", "message"),
    [
        ("exact_match", MAXIMIZE, "exact_match is not computed: add --eval-metrics"),
        ("exact_match", ALL, "higher is better, so add --maximize-best-checkpoint-metric"),
        ("wrr", ALL | MAXIMIZE, None),
        ("loss", ALL, None),
        ("ter", {"eval_metrics": "ter"}, None),
        ("ter", {"eval_metrics": "ter"} | MAXIMIZE, "lower is better, so remove"),
        ("accuracy", MAXIMIZE, "not in the log: choose one of loss, "),
    ],
)
def test_the_best_checkpoint_is_no_mistake(metric: str, flags: dict[str, Any], message: str | None) -> None:
    cfg = from_flags(best_checkpoint_metric=metric, **flags)
    start(deepcopy(cfg), from_checkpoint=True)  # a validation does not keep checkpoints
    with pytest.raises(UserError, match=message) if message else nullcontext():
        start(cfg)
