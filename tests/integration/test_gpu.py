"""Every kind of model on a GPU, simulated where there is none: a training, its validation, decoding, and ``load``."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from lev_plugins.training import checkpoints
from tests import labelling, systems, teachers
from tests.commands import ADAM, QUIET, USER_DIR, Result, hypotheses, run, succeed
from tests.simulated_gpu import a_gpu

EDITING = ["--task", "text_editing", "-s", "en", "-t", "de", "--draft-lang", "mt"]
CORRECTION = ["--task", "text_correction", "-s", "en", "-t", "de"]
SHARED = [*teachers.SMALL, "--share-all-embeddings"]
ONE_STACK = ["--layers", 1, "--embed-dim", 32, "--ffn-embed-dim", 32, "--attention-heads", 2, "--share-all-embeddings"]
LEVT = [*EDITING, "--arch", "levt", "--criterion", "dual_policy", *SHARED, "--eval-metrics", "ter"]
WRITERS = {
    "levt": LEVT,
    "levt that spells": [*LEVT, "--spelling", "--spelling-buckets", 300],
    "post_edit": [*EDITING, "--arch", "post_edit_transformer", "--criterion", "cross_entropy", *SHARED],
    "pbd": [*CORRECTION, "--arch", "pbd", *ONE_STACK, "--criterion", "cross_entropy", "--eval-exact-match"],
    "gated": [*CORRECTION, "--arch", "gated_trans", *SHARED, "--criterion", "cross_entropy", "--eval-wrr"],
}
LABELLER = ["--task", "text_labelling", "--arch", "enct5_tiny", "--criterion", "labelling"]
SPELT = ["--spelling", "--spelling-buckets", 64]
LABELLERS = {
    **{kind: (kind, "characters", LABELLER) for kind in ("classification", "regression", "multilabel", "tagging")},
    "packed tags": ("tagging", "characters", [*LABELLER, "--pack", "--pack-length", 64]),
    "tags of words that spell": ("tagging", "words", [*LABELLER, *SPELT]),
}
IN_16_BITS = [(model, flag) for model in (*WRITERS, *LABELLERS) for flag in ("--fp16", "--amp", "--bf16")]
IN_16_BITS += [(model, "--memory-efficient-bf16") for model in ("levt", "tagging")]

Train = Callable[..., Result]


@pytest.fixture(scope="module")
def triples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return teachers.random_triples(tmp_path_factory.mktemp("triples"), {"train": 40, "valid": 8, "test": 12})


@pytest.fixture(scope="module")
def labels(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Path]:
    made = {(kind, bpe): tmp_path_factory.mktemp(f"{kind}-{bpe}") for kind, bpe, _ in LABELLERS.values()}
    return {(kind, bpe): labelling.folder_of(folder, kind, "--bpe", bpe) for (kind, bpe), folder in made.items()}


@pytest.fixture
def train(triples: Path, labels: dict[tuple[str, str], Path], tmp_path: Path) -> Train:
    def two_updates(model: str, *more: object) -> Result:
        if model in WRITERS:
            data, flags = triples, WRITERS[model]
        else:
            kind, bpe, flags = LABELLERS[model]
            data = labels[kind, bpe]
        return run(
            *("fairseq-train", data, "--user-dir", USER_DIR, *flags, *ADAM, *QUIET, "--max-update", 2),
            *("--max-tokens", 100, "--num-workers", 0, "--dropout", 0, "--save-dir", tmp_path, *more),
            *("--no-epoch-checkpoints", "--fp16-init-scale", 4),
        )

    return two_updates


def weights(folder: Path) -> dict[str, Any]:
    return checkpoints.load(folder / "checkpoint_last.pt")["model"]


def learned(name: str, value: Tensor) -> Tensor:
    """Without the biases of keys: the loss does not depend on them, so rounding alone moves them."""
    if name.endswith("kv_proj.bias"):
        return value.chunk(2)[1]
    if name.endswith("in_proj.bias"):
        queries, _, values = value.chunk(3)
        return torch.cat([queries, values])
    return value


@pytest.mark.slow
@pytest.mark.parametrize("model", [*WRITERS, *LABELLERS])
def test_it_learns_and_decodes_what_a_cpu_does(model: str, train: Train, triples: Path, tmp_path: Path) -> None:
    done = train(model, "--cpu")
    assert done.code == 0, done.both[-3000:]
    here = weights(tmp_path)
    (tmp_path / "checkpoint_last.pt").unlink()
    with a_gpu():
        done = train(model)
    assert done.code == 0 and "CUDA enviroments for all 1 workers" in done.both, done.both[-3000:]
    for name, value in weights(tmp_path).items():
        assert learned(name, value).allclose(learned(name, here[name]), atol=5e-5), name
    if model in WRITERS:
        task = EDITING if "--draft-lang" in WRITERS[model] else CORRECTION
        words = ["fairseq-generate", triples, "--user-dir", USER_DIR, *task, "--gen-subset", "test"]
        words += ["--path", tmp_path / "checkpoint_last.pt", "--max-len-b", 20]
        expected = hypotheses(succeed(*words, "--cpu").out)
        with a_gpu():
            found = hypotheses(succeed(*words).out)
        assert {n: text for n, (_, text) in found.items()} == {n: text for n, (_, text) in expected.items()}


@pytest.mark.slow
@pytest.mark.parametrize(("model", "precision"), IN_16_BITS)
def test_it_learns_in_16_bits(model: str, precision: str, train: Train, tmp_path: Path) -> None:
    with a_gpu():
        done = train(model, precision)
    if model in LABELLERS and precision in ("--fp16", "--amp"):
        assert "overflows in 16-bit floats" in done.verdict
    else:
        assert done.code == 0 and "num_updates 2" in done.both, done.both[-3000:]
        assert all(value.isfinite().all() for value in weights(tmp_path).values())


def rounded(answers: Any) -> str:
    return re.sub(r"-?\d+\.\d+(e-?\d+)?", lambda number: f"{float(number[0]):.2f}", repr(answers))


@pytest.mark.slow
@pytest.mark.parametrize("name", systems.SYSTEMS)
def test_a_loaded_model_answers_as_on_a_cpu(name: str, tmp_path: Path) -> None:
    system = systems.SYSTEMS[name](tmp_path)
    expected = system.answers(system.load())
    with a_gpu() as gpu:
        found = system.answers(system.load(device="cuda"))
        assert gpu is None or gpu.waited
    assert rounded(found) == rounded(expected)
