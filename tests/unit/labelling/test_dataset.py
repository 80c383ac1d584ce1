"""EncT5 with --spelling: unknown words of a folder and of new text keep their spelling."""

from pathlib import Path

import numpy as np
import pytest
import torch

from lev_plugins.cli.main import main
from lev_plugins.editor.labeller import Labeller
from lev_plugins.edits.batch_words import look_up_words
from lev_plugins.edits.embedding import NgramEmbedding
from lev_plugins.labelling.model import EncT5
from lev_plugins.labelling.task import TextLabellingTask
from tests.labelling import model_of, task_of
from tests.torch_models import TorchScorer

SPELLING_BUCKETS = 512
STEMS = ["walk", "talk", "jump", "paint", "climb", "play", "look", "turn", "call", "open"]
ENDINGS = {"ing": "GERUND", "ed": "PAST", "er": "NOUN"}
UNSEEN_STEMS = ["cook", "mix", "print"]  # stems that training has not seen


def tagged_rows(stems: list[str]) -> str:
    """Returns tagged lines that have every word once."""
    pairs = [(f"{stem}{ending}", tag) for stem in stems for ending, tag in ENDINGS.items()]
    fives = [pairs[i : i + 5] for i in range(0, len(pairs), 5)]
    return "".join(f"{' '.join(w for w, _ in five)}\t{' '.join(t for _, t in five)}\n" for five in fives)


@pytest.fixture(scope="module")
def tagging_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("words")
    (folder / "train.tsv").write_text(tagged_rows(STEMS), encoding="utf-8")
    (folder / "valid.tsv").write_text(tagged_rows([*UNSEEN_STEMS, STEMS[0]]), encoding="utf-8")
    parts = ["--train", str(folder / "train.tsv"), "--valid", str(folder / "valid.tsv")]
    assert main(["prepare-labels", "--label-kind", "tagging", *parts, "--dest", str(folder / "data")]) == 0
    return folder / "data"


def task_with_spelling(tagging_data: Path, pack: bool = False) -> tuple[TextLabellingTask, EncT5]:
    task = task_of(tagging_data, **({"pack": True, "pack_length": 16} if pack else {}))
    return task, model_of(task, spelling=True, spelling_buckets=SPELLING_BUCKETS)


def test_unknown_words_of_a_folder_keep_their_spelling(tagging_data: Path) -> None:
    task, _ = task_with_spelling(tagging_data)
    dataset = task.datasets["valid"]
    words = (tagging_data.parent / "valid.tsv").read_text(encoding="utf-8").split("\n")[0].partition("\t")[0].split()
    batch = dataset.collater([dataset[0], dataset[len(dataset) - 1]])
    spelt, index = batch["net_input"]["words"], dataset.index
    assert index is not None
    row = batch["net_input"]["src_tokens"][0, : len(words)] - len(task.dictionary) - 1
    parts = [spelt["ngrams"][spelt["ngram_starts"][i] : spelt["ngram_starts"][i + 1]].tolist() for i in row]
    assert parts == [look_up_words([word], index, search=False)["ngrams"].tolist() for word in words]


def test_without_spelling_unknown_words_are_unknown(tagging_data: Path) -> None:
    task = task_of(tagging_data)
    model_of(task)
    net_input = task.datasets["valid"].collater([task.datasets["valid"][0]])["net_input"]
    assert "words" not in net_input and net_input["src_tokens"].max() < len(task.dictionary)


def test_words_seen_once_are_read_by_spelling_in_training(tagging_data: Path) -> None:
    _, model = task_with_spelling(tagging_data)
    table = model.encoder.tokens
    assert isinstance(table, NgramEmbedding)
    word = table.unk + 1
    assert table.counts[word] == 1
    spelt = look_up_words([table.index.words[word]], table.index)
    at_work = model.eval().encoder.embedded(torch.tensor([[table.vocabulary + 1]]), spelt)
    in_training = model.train().encoder.embedded(torch.tensor([[word]]), None)
    assert torch.allclose(at_work, in_training, atol=1e-6)
    assert not torch.allclose(at_work, model.eval().encoder.embedded(torch.tensor([[word]]), None), atol=1e-2)


def test_endings_predict_the_tags_of_unseen_words(tagging_data: Path) -> None:
    task, model = task_with_spelling(tagging_data)
    train, valid = task.datasets["train"], task.datasets["valid"]
    batch = train.collater([train[i] for i in range(len(train))])
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    model.train()
    for _ in range(60):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(**batch["net_input"]), batch["target"]).backward()
        optimizer.step()
    model.eval()
    held_out = valid.collater([valid[i] for i in range(len(valid))])
    right = model(**held_out["net_input"]).argmax(1).eq(held_out["target"]).float().mean()
    assert right > 0.9


@pytest.mark.parametrize("pack", [False, True])
def test_scores_do_not_depend_on_the_batch(tagging_data: Path, pack: bool) -> None:
    task, model = task_with_spelling(tagging_data, pack)
    labeller = Labeller(TorchScorer(task, model))
    texts = ["cooking", "walked printer", "talking mixes jumper looked", "opener"]
    single = [labeller.scored([text])[0].scores for text in texts]
    for together, expected in zip(labeller.scored(texts), single, strict=True):
        assert np.allclose(together.scores, expected, atol=1e-6)


def test_word_dropout_reads_a_word_by_spelling(tagging_data: Path) -> None:
    """Training with --word-dropout 1 reads every word as if the dictionary lacked it."""
    task = task_of(tagging_data)
    word = task.dictionary.symbols[-1]
    task.dictionary.count[-1] = 50  # only frequent words have a large vector of their own
    net = model_of(task, spelling=True, spelling_buckets=SPELLING_BUCKETS, word_dropout=1.0)
    ids = torch.tensor([[task.dictionary.index(word)]])
    with torch.no_grad():
        net.encoder.tokens.own.weight.normal_()
        seen, dropped = net.encoder.embedded(ids, None), net.train().encoder.embedded(ids, None)
        table = net.encoder.tokens
        unknown_word = look_up_words([word], table.index)
        spelt = net.eval().encoder.embedded(torch.tensor([[table.vocabulary + 1]]), unknown_word)
    assert torch.allclose(dropped, spelt, atol=1e-6) and not torch.allclose(dropped, seen, atol=1e-3)
