"""The scripts of examples/ with tiny texts and models: what they leave, and that a second run does nothing."""

import random
import re
from pathlib import Path

import pytest

from tests.commands import ROOT, Result, succeed

WORDS = ["red", "blue", "old", "young", "small", "big", "dog", "cat", "man", "woman", "runs", "sleeps", "sits", "eats"]
WORDS += ["here", "there", "today", "now"]
TINY = {"THREADS": 1, "LAYERS": 1, "WIDTH": 16, "FFN": 32, "HEADS": 2}


def run(script: str, out: Path, **settings: object) -> Result:
    """Runs a script with these settings, and again, when it must find everything complete."""
    variables = {name: str(value) for name, value in {**TINY, "OUT": out, **settings}.items()}
    first, second = (succeed("bash", ROOT / "examples" / script, timeout=900, **variables) for _ in range(2))
    assert re.search(r"^\S+ \.\.\.$", first.err, re.M) and not re.search(r"^\S+ \.\.\.$", second.err, re.M)
    assert first.out.splitlines()[-1] == second.out.splitlines()[-1]  # of the scores
    return second


def parallel(folder: Path) -> Path:
    """Writes sentences, and as their translation the same words, turned round and in capitals."""
    draw = random.Random(1)
    folder.mkdir()
    for split, size in (("train", 250), ("valid", 8), ("test", 6)):
        text = [" ".join(draw.choices(WORDS, k=draw.randint(3, 6))) for _ in range(size)]
        (folder / f"{split}.en").write_text("".join(f"{line}\n" for line in text), "utf-8")
        turned = (" ".join(reversed(line.upper().split())) for line in text)
        (folder / f"{split}.de").write_text("".join(f"{line}\n" for line in turned), "utf-8")
    return folder


def scores(printed: str, name: str) -> list[float]:
    return [float(score) for score in re.findall(rf"{name} = ([\d.]+)", printed)]


@pytest.mark.slow
def test_translation(tmp_path: Path) -> None:
    """All kinds of models, but fewer of each than by default."""
    out, small = tmp_path / "run", "--num-workers 0 --max-tokens 400"
    settings = {"TEXT": parallel(tmp_path / "text"), "VOCAB": 70, "BEAM": 2, "VALID_EVERY": 4, "MAX_ITER": 3}
    settings |= {"TEACHER_UPDATES": 30, "TEACHER_TRAINING": f"--lr 0.005 {small}", "AVERAGE": f"{out}/teacher --last 2"}
    settings |= {"LEVT_UPDATES": 8, "LEVT_TRAINING": f"--lr 0.002 {small}", "FAST_EXITS": "1,1,1", "SEARCH": 2}
    done = run("translation/ablations.sh", out, ABLATIONS="oracle,plh-tok,dae,fast,1-1,maskt,search", **settings)
    systems = ["beam", "greedy", "levt", "levt_1-1", "levt_dae", "levt_fast", "levt_oracle", "levt_plh-tok", "maskt"]
    systems += ["noisy", "reranked", "sampled"]
    assert {*re.findall(r"(\S+)\.out: [\d.]+ iterations", done.out)} == {f"{out}/{name}" for name in systems}
    found = scores(done.out, "BLEU")
    assert len(found) == 2 * len(systems) and all(0 <= score <= 100 for score in found)  # run.sh's and its own
    assert (out / "levt_plh-tok" / "checkpoint_best.pt").is_file()
