"""The small folder of a ``levt --spelling``: its files, and its edits, which are those of 8 bits."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import lev_plugins
from lev_plugins.cli.main import main
from lev_plugins.editor.folder import StoredIndex, Vocabulary, pack, unpack
from lev_plugins.editor.options import EditOptions
from lev_plugins.edits.embedding import WHOLE_VOCABULARY
from lev_plugins.export import load_model
from lev_plugins.export.compact import CompactTables, scores, vectors
from lev_plugins.levt.model import LevT
from lev_plugins.utils import model_folder
from lev_plugins.utils.errors import UserError
from tests.helpers import Refusal, mentions
from tests.systems import SYSTEMS, System

SPELLING_SYSTEM = "levt that spells"


@pytest.fixture(scope="module")
def levt_spelling(tmp_path_factory: pytest.TempPathFactory) -> System:
    return SYSTEMS[SPELLING_SYSTEM](tmp_path_factory.mktemp("system"))


@pytest.fixture(scope="module")
def pair(levt_spelling: System, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Returns the small folder and the one with all weights."""
    place = tmp_path_factory.mktemp("folders")
    return levt_spelling.export(place / "small"), levt_spelling.export(place / "large", "--trainable")


def load_levt(levt_spelling: System) -> LevT:
    (model,) = load_model.read_model(levt_spelling.checkpoint, {"data": str(levt_spelling.data)}).models
    assert isinstance(model, LevT)
    return model.eval()


def test_a_small_folder_has_one_set_of_weights_and_one_dictionary(pair: tuple[Path, Path]) -> None:
    files = [{path.relative_to(folder).as_posix() for path in folder.rglob("*.*")} for folder in pair]
    missing = files[1] - files[0]
    assert {path for path in missing if not path.startswith("dict.")} == {
        model_folder.WEIGHTS,
        *(f"graphs/{name}.onnx" for name in ("encoder", "decide", "fill")),
    }
    assert len([path for path in missing if path.startswith("dict.")]) == 1 and not files[0] - files[1]


def test_a_small_folder_makes_the_edits_of_8_bits(levt_spelling: System, pair: tuple[Path, Path]) -> None:
    small, large = pair
    edits = [
        levt_spelling.answers(lev_plugins.load(folder, options=EditOptions(cpu_int8=in_8_bits)))
        for folder, in_8_bits in ((small, False), (small, True), (large, True))
    ]
    assert edits[0] == edits[1] == edits[2] and any(edited.edits for edited in edits[0])


def test_a_small_folder_edits_each_text_as_if_alone(levt_spelling: System, pair: tuple[Path, Path]) -> None:
    """Activations are rounded by rows: one scale for a batch would make the edits depend on the other texts."""
    editor = lev_plugins.load(pair[0], options=EditOptions(iter_decode_max_iter=3))
    texts = [
        f"{text} {word} valeu"
        for text in levt_spelling.texts
        for word in ("teh", "funtcion", "Zürich", "qqqqqqqqqqqqqq")
    ]
    together = [edited.edits for edited in editor.edit(texts)]
    assert together == [editor.edit([text])[0].edits for text in texts]


def test_compact_vectors_equal_those_of_the_model_to_7_bits(levt_spelling: System) -> None:
    model = load_levt(levt_spelling)
    embedding = model.words.embedding
    tables, words = CompactTables(embedding, model.words.scorer), embedding.vectors(None)
    ids = torch.arange(tables.vocabulary + 1)[None]
    with torch.no_grad():
        exact, rounded = (words.vector_of(ids, ids), vectors(ids, ids, torch.zeros(1, embedding.embedding_dim), tables))
    # to 7 bits: half a step of the largest of all channels, times the root of their number
    error = (exact - rounded).norm(dim=-1) / exact.norm(dim=-1).clamp(min=1e-2)
    assert 0 < error.max() < 0.5 / 63 * exact.size(-1) ** 0.5
    torch.testing.assert_close(exact[0, -1], rounded[0, -1], rtol=1e-3, atol=1e-5)  # the placeholder


def test_compact_scores_equal_those_of_the_model(levt_spelling: System) -> None:
    model = load_levt(levt_spelling)
    words, scorer = model.words.embedding, model.words.scorer
    tables, shapes = CompactTables(words, scorer), torch.tensor([0, 5, 8, 3])
    queries = 4 * F.normalize(torch.randn(4, words.embedding_dim, generator=torch.Generator().manual_seed(1)))
    with torch.no_grad():
        biases = scorer.biases_by_shape(WHOLE_VOCABULARY)[shapes]
        torch.testing.assert_close(scores(0 * queries, shapes, tables), biases, rtol=1e-3, atol=1e-3)
        exact = queries @ words.directions(words.vectors(None)).T + biases
        assert 0 < (scores(queries, shapes, tables) - exact).abs().max() < 0.05


def test_computed_position_vectors_equal_the_table(levt_spelling: System) -> None:
    embedding = load_levt(levt_spelling).decoder.embedding
    positions = torch.tensor([[embedding.pad, 2, 3, 90]])
    sinusoids = embedding.sinusoids
    torch.testing.assert_close(sinusoids.computed(positions), sinusoids(positions), rtol=1e-4, atol=1e-5)


def test_only_a_folder_with_weights_can_be_exported_again(
    levt_spelling: System, pair: tuple[Path, Path], tmp_path: Path, refusal: Refusal
) -> None:
    message = refusal("export", pair[0], tmp_path / "none")
    assert mentions(message, "model.safetensors --trainable")
    out = tmp_path / "out"
    assert main(["export", str(pair[1]), str(out), "--min-confidence", "0.25"]) == 0
    original, config = (model_folder.read(folder) for folder in (pair[0], out))
    assert config == replace(original, decoding=replace(original.decoding, min_confidence=0.25))
    options = EditOptions(min_confidence=0.0)
    assert levt_spelling.answers(lev_plugins.load(out, options=options)) == levt_spelling.answers(
        lev_plugins.load(pair[0])
    )


@pytest.mark.parametrize("numbers", [[], [0], [191, 192, 12_479, 12_480, 786_432, 50_331_648, 2**31 - 1]])
def test_packed_numbers_unpack(numbers: list[int]) -> None:
    packed, sizes = pack(np.array(numbers, dtype=np.int64), np.array([0, 0, len(numbers), len(numbers)]))
    assert sizes.tolist() == [0, len(packed), 0]
    assert unpack([packed])[0].tolist() == numbers
    assert len(unpack([packed[:-1]])[0]) < max(len(numbers), 1)  # and the last number is lost


def test_a_list_of_the_index_with_a_number_outside_the_dictionary_is_refused(
    pair: tuple[Path, Path],
) -> None:
    (dictionary,) = pair[0].glob("dict.*.txt")
    index = StoredIndex(Vocabulary(dictionary), pair[0], model_folder.read(pair[0]))
    index.packed = np.full_like(index.packed, 191)
    ngram = int(np.diff(index.begins).argmax())
    with pytest.raises(UserError, match=r"index\.npz"):
        index.owners([ngram])
