"""Training, decoding and labelling on a GPU, simulated where there is none (``tests/simulated_gpu.py``)."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor

from lev_plugins.training import checkpoints
from tests import labelling, teachers
from tests.commands import ADAM, QUIET, USER_DIR, Result, hypotheses, run, succeed
from tests.simulated_gpu import a_gpu, simulated_gpu

EDITING_TASK = ["--task", "text_editing", "-s", "en", "-t", "de", "--draft-lang", "mt"]
CORRECTION_TASK = ["--task", "text_correction", "-s", "en", "-t", "de"]
SHARED = [*teachers.SMALL, "--share-all-embeddings"]
ONE_STACK = ["--layers", 1, "--embed-dim", 32, "--ffn-embed-dim", 32, "--attention-heads", 2, "--share-all-embeddings"]
LEVT_FLAGS = [*EDITING_TASK, "--arch", "levt", "--criterion", "dual_policy", *SHARED, "--eval-metrics", "ter"]
LABELLER_FLAGS = ["--task", "text_labelling", "--arch", "enct5_tiny", "--criterion", "labelling"]
EDITOR_FLAGS = {
    "levt": LEVT_FLAGS,
    "levt --spelling": [*LEVT_FLAGS, "--spelling", "--spelling-buckets", 300],
    "post_edit": [*EDITING_TASK, "--arch", "post_edit_transformer", "--criterion", "cross_entropy", *SHARED],
    "pbd": [*CORRECTION_TASK, "--arch", "pbd", *ONE_STACK, "--criterion", "cross_entropy", "--eval-exact-match"],
    "gated": [*CORRECTION_TASK, "--arch", "gated_trans", *SHARED, "--criterion", "cross_entropy", "--eval-wrr"],
}
LABELLER_KINDS = ["classification", "tagging"]

Train = Callable[..., Result]


def test_the_simulation_refuses_to_mix_devices() -> None:
    with simulated_gpu() as gpu:
        x, host = torch.ones(2, 3, requires_grad=True).to("cuda"), torch.ones(2, 3)
        for mixed in (lambda: x + host, lambda: host[x.long()], lambda: x.detach().numpy()):
            with pytest.raises((RuntimeError, TypeError), match=r"device|cpu|cuda:0"):
                mixed()
        layer = torch.nn.Linear(3, 2).to("cuda")
        layer(x).sum().backward()
        assert layer.weight.is_cuda and layer.weight.grad is not None and layer.weight.grad.is_cuda
        assert not x.cpu().is_cuda
    assert gpu.waited == 0  # only waits of the package count


@pytest.fixture(scope="module")
def random_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return teachers.random_triples(tmp_path_factory.mktemp("triples"), {"train": 40, "valid": 8, "test": 12})


@pytest.fixture
def train_on_device(random_data: Path, tmp_path: Path) -> Train:
    def two_updates(model: str, *more: object) -> Result:
        data, flags = random_data, EDITOR_FLAGS.get(model, LABELLER_FLAGS)
        if model in LABELLER_KINDS:
            labels = tmp_path / "labels"
            data = labels / "data" if labels.exists() else labelling.folder_of(labels, model)
        return run(
            *("fairseq-train", data, "--user-dir", USER_DIR, *flags, *ADAM, *QUIET, "--max-update", 2),
            *("--max-tokens", 100, "--num-workers", 0, "--dropout", 0, "--save-dir", tmp_path, *more),
            *("--no-epoch-checkpoints", "--fp16-init-scale", 4),
        )

    return two_updates


def weights_in(folder: Path) -> dict[str, Tensor]:
    return checkpoints.load(folder / "checkpoint_last.pt")["model"]


def without_key_biases(name: str, value: Tensor) -> Tensor:
    """Drops the biases of keys: the loss does not depend on them, so only rounding changes them."""
    if name.endswith("kv_proj.bias"):
        return value.chunk(2)[1]
    if name.endswith("in_proj.bias"):
        queries, _, values = value.chunk(3)
        return torch.cat([queries, values])
    return value


@pytest.mark.slow
@pytest.mark.parametrize("model", [*EDITOR_FLAGS, *LABELLER_KINDS])
def test_training_and_decoding_match_the_cpu(
    model: str, train_on_device: Train, random_data: Path, tmp_path: Path
) -> None:
    result = train_on_device(model, "--cpu")
    assert result.code == 0, result.both[-3000:]
    expected_weights = weights_in(tmp_path)
    (tmp_path / "checkpoint_last.pt").unlink()
    with a_gpu():
        result = train_on_device(model)
    assert result.code == 0 and "CUDA enviroments for all 1 workers" in result.both, result.both[-3000:]
    for name, value in weights_in(tmp_path).items():
        expected = without_key_biases(name, expected_weights[name])
        assert without_key_biases(name, value).allclose(expected, atol=5e-5), name
    if model in EDITOR_FLAGS:
        task = EDITING_TASK if "--draft-lang" in EDITOR_FLAGS[model] else CORRECTION_TASK
        command = ["fairseq-generate", random_data, "--user-dir", USER_DIR, *task, "--gen-subset", "test"]
        command += ["--path", tmp_path / "checkpoint_last.pt", "--max-len-b", 20]
        expected_texts = hypotheses(succeed(*command, "--cpu").out)
        with a_gpu():
            texts = hypotheses(succeed(*command).out)
        assert {n: text for n, (_, text) in texts.items()} == {n: text for n, (_, text) in expected_texts.items()}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "precision"), [("levt --spelling", "--fp16"), ("gated", "--amp"), ("tagging", "--memory-efficient-bf16")]
)
def test_training_in_16_bits_stays_finite(model: str, precision: str, train_on_device: Train, tmp_path: Path) -> None:
    with a_gpu():
        result = train_on_device(model, precision)
    assert result.code == 0 and "num_updates 2" in result.both, result.both[-3000:]
    assert all(value.isfinite().all() for value in weights_in(tmp_path).values())


@pytest.mark.slow
def test_a_labeller_in_fp16_is_refused(train_on_device: Train) -> None:
    with a_gpu():
        assert "overflows in float16" in train_on_device("tagging", "--fp16").verdict
