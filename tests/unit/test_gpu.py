"""What a GPU would do: on tensors that say they are on one (``tests/simulated_gpu.py``)."""

from collections import Counter
from typing import Any

import pytest
import torch
from fairseq import options
from fairseq.criterions.cross_entropy import CrossEntropyCriterion
from fairseq.logging import metrics
from fairseq.sequence_generator import SequenceGenerator
from fairseq.utils import move_to_cuda
from torch.utils._pytree import tree_flatten

from lev_plugins.edits.embedding import SampleSizes
from lev_plugins.edits.options import RefinementOptions
from lev_plugins.levt.generator import RefinementGenerator
from lev_plugins.levt.model import LevT
from lev_plugins.text.mark_bits import KEEP
from lev_plugins.utils.errors import explain
from tests import spelling as spelled
from tests.helpers import (
    PAD,
    collated,
    lively_model,
    random_rows,
    rows_to_tensor,
    toy_batch,
    toy_config,
    toy_criterion,
    toy_dictionary,
    toy_model,
    toy_pbd,
    toy_task,
)
from tests.simulated_gpu import simulated_gpu
from tests.unit.correction import test_task as correction

AN_ITERATION = 3  # waits for the GPU; see docs/scaling.md
A_BATCH = 10  # at most: what comes in, what is told in the end
AN_UPDATE = 2  # with --backbone, which looks for the source words beside what the model wrote; otherwise 1


def test_the_simulation_fails_and_waits_as_a_gpu_does() -> None:
    with simulated_gpu() as gpu:
        x, here = torch.ones(2, 3, requires_grad=True).to("cuda"), torch.ones(2, 3)
        assert x.is_cuda and (2 * x).view(3, 2).device == torch.zeros(1, device="cuda").device
        for wrong in (lambda: x + here, lambda: here[x.long()], lambda: x.detach().numpy()):
            with pytest.raises((RuntimeError, TypeError), match=r"device|cpu|cuda:0"):
                wrong()
        layer = torch.nn.Linear(3, 2).to("cuda")
        layer(x).sum().backward()
        assert layer.weight.is_cuda and layer.weight.grad is not None and layer.weight.grad.is_cuda
        assert not x.cpu().is_cuda
    assert gpu.waited == 0  # those of this file are nobody's


# ---- decoding --------------------------------------------------------------------------------------------------------


def assert_few_waits(model: Any, words: Any, net_input: dict[str, Any], **options: Any) -> int:
    """The same hypotheses on the CPU and on the GPU, which is waited for in iterations alone: their number."""
    results = []
    for device in ("cpu", "cuda"):
        with simulated_gpu() as gpu:
            model.to(device)
            sample = {"net_input": move_to_cuda(net_input, torch.device(device))}
            generator = RefinementGenerator([model], words, RefinementOptions(**options))
            before = gpu.waited
            groups = generator.generate(None, sample)
            waits = gpu.waited - before
            steps = [hypothesis["steps"] for group in groups for hypothesis in group]
            results.append([told(best) for best, *_ in groups])
            model.to("cpu")
    if options.get("candidates", 1) == 1:  # others are drawn by a generator of the device
        for (words_here, scores_here), (words_there, scores_there) in zip(*results, strict=True):
            assert words_here == words_there and scores_here == pytest.approx(scores_there, abs=1e-5)
    assert AN_ITERATION < waits <= AN_ITERATION * (1 + max(steps)) + A_BATCH
    return 1 + max(steps)


def told(hypothesis: dict[str, Any]) -> Any:
    states = [state["tokens"].cpu().tolist() for state in hypothesis.get("history", ())]
    edits = vars(hypothesis["edits"]) if "edits" in hypothesis else {}
    scores, shape = tree_flatten(edits)
    return (hypothesis["tokens"].tolist(), hypothesis["steps"], states, shape), scores


def batch(number: int) -> dict[str, Any]:
    sources, drafts = random_rows(number, seed=6, shortest=4), random_rows(number, seed=5, longest=8)
    return {"src_tokens": rows_to_tensor(sources), "draft": rows_to_tensor(drafts)}


def marked(net_input: dict[str, Any]) -> dict[str, Any]:
    marks = torch.zeros_like(net_input["draft"])
    marks[:, 1] = KEEP * net_input["draft"][:, 1].gt(3)
    return {**net_input, "marks": marks}


def with_unknown_words(number: int) -> dict[str, Any]:
    """Each sentence has a known word and one that the dictionary lacks."""
    known = [spelled.dictionary().index(word) for word in ("▁value", "▁the", "▁form")]
    rows = torch.tensor([[0, known[i % 3], spelled.OWN, 2] for i in range(number)])
    return {"src_tokens": rows, "draft": rows, "words": spelled.batch_words(["▁vlaue"])}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"retain_history": True},
        {"candidates": 3},
        {"keep_bias": 1.0, "min_length": 3},
        {"adaptive": False, "max_iter": 2},
    ],
    ids=str,
)
def test_refinement_waits_for_decisions_alone(options: dict[str, Any]) -> None:
    model = lively_model()
    assert max(assert_few_waits(model, toy_dictionary(), batch(number), **options) for number in (4, 32)) > 2


@pytest.mark.parametrize("share", ["all", "none"])
def test_marks_and_passes_that_are_shared(share: str) -> None:
    assert assert_few_waits(lively_model(share_weights=share), toy_dictionary(), marked(batch(8))) > 1


def test_words_that_are_spelt() -> None:
    model, words = spelled.model().eval(), spelled.dictionary()
    for number in (2, 32):
        assert_few_waits(model, words, with_unknown_words(number), max_iter=2)


def test_a_row_is_printed_after_one_question() -> None:
    words = toy_dictionary()
    with simulated_gpu() as gpu:
        assert words.string(torch.tensor([5, 6, 7, 2]).to("cuda")) == " ".join(words[i] for i in (5, 6, 7))
    assert gpu.waited == 1


def test_a_beam_search_is_asked_once_a_step_whose_sentences_are_left() -> None:
    model, longest = toy_pbd(), 10
    source = rows_to_tensor(random_rows(6, seed=6))
    with simulated_gpu() as gpu:
        sample = {"src_tokens": source, "src_lengths": source.ne(PAD).sum(1)}
        search = SequenceGenerator([model.to("cuda")], toy_dictionary(), beam_size=3, max_len_b=longest)
        search.generate(None, {"net_input": move_to_cuda(sample, torch.device("cuda"))})
    assert 1 < gpu.waited <= 1 + longest  # fairseq's own questions are not counted


# ---- validation ------------------------------------------------------------------------------------------------------


def waits_of_validation(task: Any, model: Any, criterion: Any, sample: dict[str, Any]) -> Counter[str]:
    """By line, of a batch that is decoded and scored."""
    with simulated_gpu() as gpu:
        model.to("cuda")
        with metrics.aggregate(new_root=True):
            output = task.valid_step(move_to_cuda(sample, torch.device("cuda")), model, criterion)[2]
            task.reduce_metrics([output], criterion)
        model.to("cpu")
    return gpu.waits


def test_validation_waits_as_often_for_many_sentences_as_for_few() -> None:
    task = toy_task(eval_metrics="ter")
    model = lively_model(task)
    once = RefinementOptions(max_iter=1, adaptive=False)
    task.tokenizer, task.sequence_generator = None, RefinementGenerator([model], task.tgt_dict, once)
    few, many = (
        waits_of_validation(task, model, toy_criterion(task), toy_batch(number, drafts=True)) for number in (4, 16)
    )
    assert few == many and few.total() == 2 * AN_ITERATION + 3  # hypotheses, references, the loss


def test_validation_by_beam_search_waits_for_hypotheses_and_references() -> None:
    task = correction.correction_task(**correction.ALL)
    model = correction.build(task)
    for number in (4, 16):
        pairs = correction.toy_pairs(correction.sentences(number), correction.sentences(number))
        criterion = CrossEntropyCriterion(task, sentence_avg=False)
        found = waits_of_validation(task, model, criterion, correction.collated(pairs))
        # the most frequent ones are fairseq's search and its question to the model, once a step
        assert [waits for _, waits in found.most_common()[2:]] == [1, 1]


# ---- training --------------------------------------------------------------------------------------------------------


def waits_of_last_update(model: Any, sample: dict[str, Any], number: int) -> dict[str, int]:
    """By line, with its log."""
    criterion = toy_criterion()
    with simulated_gpu() as gpu:
        model.to("cuda")
        sample = move_to_cuda(sample, torch.device("cuda"))
        for _ in range(number):
            gpu.waits.clear()
            loss, _, log = criterion(model, sample)
            loss.backward()
            with metrics.aggregate(new_root=True):
                criterion.reduce_metrics([log])
    return dict(gpu.waits)


def test_an_update_waits_for_its_log_alone() -> None:
    assert list(waits_of_last_update(toy_model(), toy_batch(drafts=True), 1).values()) == [1]


@pytest.mark.parametrize("sampled", [False, True])
def test_an_update_of_words_that_are_spelt(sampled: bool) -> None:
    model = spelled.model().train()
    if sampled:  # as if the dictionary were large
        model.words.embedding.sizes = SampleSizes(2, 1, 16)
    sample = collated(spelled.noisy_dataset(), range(4))
    found = waits_of_last_update(model, sample, 2)  # the first finds what words may be meant to be
    assert sum(found.values()) == 1 + 2 * sampled, found


def largest_gradients(model: LevT, sample: dict[str, Any]) -> dict[str, float]:
    loss, _, _ = toy_criterion()(model.train(), sample)
    loss.backward()
    return {
        name: float(weight.grad.abs().max()) for name, weight in model.named_parameters() if weight.grad is not None
    }


@pytest.mark.parametrize("seed", range(3))
def test_the_first_gradients_of_words_that_are_spelt_fit_into_16_bits(seed: int) -> None:
    """So that --fp16 has the same scale of the loss with and without --spelling."""
    dataset = spelled.noisy_dataset(seed)
    largest = largest_gradients(spelled.model(), collated(dataset, range(4)))
    query = max(value for name, value in largest.items() if "scorer.query" in name)
    assert query <= 2 * max(value for name, value in largest.items() if "scorer" not in name)
    dataset.index = None
    plain = LevT.build_model(toy_config(share_all_embeddings=True), toy_task(spelled.dictionary()))
    assert max(largest.values()) <= 4 * max(largest_gradients(plain, collated(dataset, range(4))).values())


# ---- flags -----------------------------------------------------------------------------------------------------------


def tpu(*flags: str) -> bool:
    words = ["data", "--arch", "levt_tiny", "--task", "text_editing", "--criterion", "dual_policy", *flags]
    return bool(options.parse_args_and_arch(options.get_training_parser(), words).tpu)


@pytest.mark.parametrize("flag", ["--bf16", "--memory-efficient-bf16"])
def test_bf16_is_not_for_a_tpu_if_there_is_a_gpu(flag: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["fairseq-train"])
    assert tpu(flag)
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    assert not tpu(flag) and tpu(flag, "--cpu") and not tpu()


@pytest.mark.parametrize("message", ["'NoneType' object has no attribute 'xla_device'", "No module named 'torch_xla'"])
def test_bf16_that_cannot_work_is_explained(message: str) -> None:
    assert "--bf16 needs a GPU and an --arch of lev-plugins" in str(explain(Exception(message)))
