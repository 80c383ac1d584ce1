"""The helpers of examples/translation."""

import contextlib
import io
import itertools
import json
import os
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from fairseq import checkpoint_utils, tasks

from examples import logs
from lev_plugins import checkpoints
from lev_plugins.errors import UserError
from tests.examples import load_script, run_script
from tests.helpers import lively_model, random_rows
from tests.slow_refinement import refine
from tests.teachers import SMALL, TRANSFORMER, config, random_triples, write_teacher

PIECES, REPORT = load_script("translation/pieces"), load_script("translation/report")


def script(module: ModuleType, *args: object) -> tuple[int, str]:
    """The status and the errors of a script."""
    errors = io.StringIO()
    with contextlib.redirect_stderr(errors):
        return run_script(module, *args), errors.getvalue()


def log(hypotheses: dict[int, str], steps: dict[int, int] | None = None, seconds: float = 1.0) -> str:
    """As fairseq-generate prints it, in the order given."""
    lines = []
    for number, text in hypotheses.items():
        lines += [f"S-{number}\t▁x", f"T-{number}\t▁y", f"H-{number}\t-0.25\t{text}", f"D-{number}\t-0.25\t{text}"]
        lines += [f"P-{number}\t-0.2500 -0.2500"]
        lines += [f"I-{number}\t{steps[number]}"] if steps else []
    count, speed = f"{len(hypotheses):,} sentences (12 tokens)", f"{len(hypotheses) / seconds:.2f} sentences/s"
    lines += [f"INFO:fairseq_cli.generate:Translated {count} in {seconds:.1f}s ({speed}"]
    return "\n".join([*lines, "Generate test with beam=5: BLEU4 = 1.00, 1/1/1/1"]) + "\n"


# ---- logs.py -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (log({0: "▁a", 2: "▁c"}), "1 of 3 sentences were not decoded: 1; decode again"),
        (log({0: "▁a", 1: "▁b"}) + log({2: "▁c", 1: "▁b"}), "two hypotheses of sentence 1: decode with --nbest 1"),
        (log({0: "▁a", 1: "▁b", 2: "▁c", 7: "▁d"}), "has 3 lines, but the log has sentence 7: give"),
        (log({0: "▁a", 1: "▁b", 2: "▁c"}).rsplit("Generate", 1)[0], "log is cut short"),
    ],
    ids=["missing", "twice", "another text", "cut short"],
)
def test_logs_that_do_not_add_up(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "log"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=message):
        logs.in_order(logs.hypotheses(logs.read_log(path)), 3)


# ---- pieces.py -----------------------------------------------------------------------------------------------------

WORDS = ["ein", "kleiner", "hund", "läuft", "über", "die", "grüne", "wiese", "und", "der", "alte", "mann", "schaut"]
WORDS += ["ihm", "lange", "nach"]


def write_text(folder: Path) -> Path:
    folder.mkdir()
    for split, number in (("train", 60), ("valid", 4), ("test", 3)):
        text = [" ".join(WORDS[(i * k) % len(WORDS)] for k in range(1, 6)) for i in range(number)]
        (folder / f"{split}.en").write_text("".join(f"{line}\n" for line in text), encoding="utf-8")
        turned = (" ".join(reversed(line.split())) for line in text)
        (folder / f"{split}.de").write_text("".join(f"{line}\n" for line in turned), encoding="utf-8")
    return folder


def test_pieces_refuse_text_that_cannot_be_used(tmp_path: Path) -> None:
    text = write_text(tmp_path / "text")
    with pytest.raises(UserError, match=r"there is no file .*dev\.en: --text, --source, --target and --test"):
        PIECES.read_pair(text / "dev", "en", "de")
    (text / "valid.de").write_bytes(b"ein\nzwei\n")
    with pytest.raises(UserError, match=r"must be equally long, but .*valid\.en has 4 lines and .*valid\.de has 2"):
        PIECES.read_pair(text / "valid", "en", "de")
    (text / "valid.de").write_bytes("ein\nfünf\n".encode("latin-1"))
    with pytest.raises(UserError, match=r"valid\.de, line 2 is not UTF-8 \(.*\): convert it"):
        PIECES.read_pair(text / "valid", "en", "de")
    with pytest.raises(UserError, match=r"--longest is 7, but line 2 of test\.en has 8 tokens"):
        PIECES.check_fits(Path("test.en"), [7, 8], 7)


# ---- report.py -----------------------------------------------------------------------------------------------------

TRAINING = """2026-01-01 10:00:00 | INFO | fairseq_cli.train | {'_name': None}
a line without a date
2026-01-01 10:00:01 | INFO | fairseq_cli.train | num. shared model params: 2,090,368 (num. trained: 2,090,368)
2026-01-01 10:10:00 | INFO | train_inner | epoch 001:  9 / 10 loss=4, num_updates=10, lr=0.1, wall=1
2026-01-01 12:00:00 | INFO | fairseq_cli.train | {'_name': None}
2026-01-01 12:00:30 | INFO | train | epoch 002 | loss 4 | num_updates 1200 | wall 9
"""


def make_run(folder: Path, outputs: dict[str, str]) -> Path:
    (folder / "pieces").mkdir(parents=True)
    (folder / "pieces" / "test.reference").write_text("ein hund läuft schnell\nzwei hunde laufen sehr\n")
    for name, text in outputs.items():
        (folder / name).mkdir()
        (folder / name / "test.out").write_text(text, encoding="utf-8")
    return folder


def report(folder: Path, *args: Any) -> tuple[int, str]:
    return script(REPORT, folder, "--reference", folder / "pieces" / "test.reference", *args)


GREEDY = log({1: "▁zwei ▁hunde ▁laufen", 0: "▁ein ▁hund ▁lä uf t ▁schnell"}, seconds=0.5)
LEVT = log({0: "▁ein ▁hund ▁lä uf t ▁schnell", 1: "▁zwei ▁hunde ▁laufen ▁sehr"}, steps={0: 1, 1: 3}, seconds=0.02)


def test_report_has_every_number(tmp_path: Path) -> None:
    run = make_run(tmp_path, {"test_greedy": GREEDY, "test_levt": LEVT})
    (run / "teacher").mkdir()
    (run / "teacher" / "log").write_text(TRAINING)
    (run / "distil" / "data").mkdir(parents=True)
    account = {"lines": 3, "kept_reference": {"train": [1, 3]}, "seconds": 90}
    (run / "distil" / "data" / "distill.json").write_text(json.dumps(account))
    assert report(run, "--max-iter", 4, "--beam", 3) == (0, "")
    found = json.loads((run / "report.json").read_text())
    greedy, levt = found["systems"]["test_greedy"], found["systems"]["test_levt"]
    assert levt["scores"] == {"BLEU": 100.0} and 0 < greedy["scores"]["BLEU"] < 100 and "tok:none" in greedy["metric"]
    assert (levt["edits"], levt["runs"], levt["ms_per_sentence"]) == (2.0, 3.0, 10.0)
    assert levt["table_of_iterations"] == {"1": 50.0, "2": 0.0, "3": 50.0, "4": 0.0, "5": 0.0}
    assert (greedy["edits"], greedy["runs"], greedy["ms_per_sentence"]) == (5.5, 5.5, 250.0)  # 7 and 4 tokens
    # two sessions, the pause between them left out
    assert greedy["training"] == {"updates": 1200, "minutes": 10.5, "parameters": 2_090_368}
    assert found["distillation"] == {"lines": 3, "kept_reference": [1, 3], "decoding_minutes": 1.5}
    text = (run / "report.md").read_text("utf-8")
    assert "| LevT, distilled data | 100.00 | 2.00 | 3.00 | 10.0 |  |  | not yet run |" in text
    missing = " | ".join(["not yet run"] * 4)
    assert f"| teacher, beam 3 | {missing} |  | 2.09 | 10.5 (1,200 updates) |" in text
    assert "| iteration | 1 | 2 | 3 | 4 | 5 | mean |" in text
    assert "| LevT, distilled data | 50.0 | 0.0 | 50.0 | 0.0 | 0.0 | 2.00 |" in text
    assert f"minus the teacher's greedy: {100 - greedy['scores']['BLEU']:+.2f}" in text
    assert "Distilled: 1 of 3 sentences in 1.5 minutes of decoding" in text
    assert "2 too long for the teacher kept their reference" in text


def test_rows_that_are_older_than_the_teacher(tmp_path: Path) -> None:
    """A teacher that was trained further, and a LevT that was not made again from it."""
    run = make_run(tmp_path, {"test_greedy": GREEDY, "test_levt": LEVT})
    (run / "average").mkdir()
    for time, stage in enumerate(["test_levt", "average", "test_greedy"]):
        (run / stage / "done").touch()
        os.utime(run / stage / "done", (time, time))
    assert report(run) == (0, "")
    text = (run / "report.md").read_text("utf-8")
    assert "| LevT, distilled data (made before this teacher) | 100.00 |" in text and "| teacher, greedy | " in text


@pytest.mark.parametrize(
    ("output", "message"),
    [
        (log({0: "▁a"}), "1 of 2 sentences were not decoded: 1"),
        (GREEDY.replace("Translated 2", "Translated 1"), "has 1 decoded sentences, but the reference has 2"),
        (LEVT.replace("I-1\t3\n", ""), "has 1 and 1 I- lines for 2 sentences"),
    ],
    ids=["missing", "stop watch", "steps"],
)
def test_report_refuses_what_does_not_add_up(tmp_path: Path, output: str, message: str) -> None:
    run = make_run(tmp_path, {"test_levt": output})
    code, errors = report(run)
    assert code == 2 and message in errors


@pytest.mark.parametrize("limit", [2, 3])
def test_the_last_iteration_of_a_sentence_that_runs_out_of_them_counts_if_it_changed_something(
    limit: int, tmp_path: Path
) -> None:
    """A random model; I- lines alone do not tell whether the last iteration that is allowed changed anything."""
    sources, model = random_rows(24, seed=5, shortest=1), lively_model()
    decoded, longer = (refine([model], sources, max_iter=most, retain_history=True) for most in (limit, limit + 1))
    edits = []
    for sentence in decoded:  # its history has the start, and three states for each iteration
        states = [state["tokens"].tolist() for state in sentence["history"][::3]]
        edits.append(sum(before != after for before, after in itertools.pairwise(states)))
    ended = [count for count, sentence in zip(edits, decoded, strict=True) if sentence["steps"] == limit]
    assert {*ended} == {limit, limit + 1}
    hypotheses = dict.fromkeys(range(len(sources)), "▁a")
    out, more = (
        log(hypotheses, {number: each["steps"] for number, each in enumerate(results)}) for results in (decoded, longer)
    )
    run = make_run(tmp_path, {"test_levt": out})
    (run / "test_levt" / "longer.out").write_text(more, encoding="utf-8")
    (run / "pieces" / "test.reference").write_text("a\n" * len(sources))
    assert report(run, "--max-iter", limit) == (0, "")
    found = json.loads((run / "report.json").read_text())["systems"]["test_levt"]
    assert found["edits"] == pytest.approx(sum(edits) / len(edits), abs=0.001)
    assert found["runs"] == pytest.approx(sum(each["steps"] + 1 for each in decoded) / len(edits), abs=0.001)
    shares = {str(row): 100 * edits.count(row) / len(edits) for row in range(min(1, *edits), limit + 2)}
    assert found["table_of_iterations"] == pytest.approx(shares, abs=0.1)


def test_report_segments_both_sides(tmp_path: Path) -> None:
    run = make_run(tmp_path, {"test_levt": LEVT})
    assert report(run, "--segment", "sed 's/./& /g'") == (0, "")
    found = json.loads((run / "report.json").read_text())
    assert found["systems"]["test_levt"]["scores"] == {"BLEU": 100.0}
    code, errors = report(run, "--segment", "head -n 1")
    assert code == 2 and "--segment 'head -n 1' must print one line per line of input (2), but printed 1" in errors


def test_report_by_rouge(tmp_path: Path) -> None:
    run = make_run(tmp_path, {"test_levt": LEVT})
    assert report(run, "--metric", "rouge", "--max-iter", 2) == (0, "")
    text = (run / "report.md").read_text("utf-8")
    assert "|  | ROUGE-1 | ROUGE-2 | ROUGE-L | iterations |" in text
    assert "| LevT, distilled data | 100.00 | 100.00 | 100.00 | 2.00 |" in text
    scores, metric = REPORT.rouge(["the cat sits"], ["the cat sat"])
    assert scores == {"ROUGE-1": 66.67, "ROUGE-2": 50.0, "ROUGE-L": 66.67}
    assert re.fullmatch(r"rouge-score [\d.]+, F1, with stemming", metric)


# ---- peer_start.py -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arch", ["cmlm_transformer", "iterative_nonautoregressive_transformer"])
def test_peers_with_learned_positions_start_as_the_teacher(arch: str, tmp_path: Path) -> None:
    data = random_triples(tmp_path, {"train": 9, "valid": 2})
    teacher = write_teacher(tmp_path / "teacher.pt", data, *TRANSFORMER, "--share-all-embeddings")
    assert run_script("translation/peer_start", teacher, tmp_path / "peer.pt", "--positions", 31, 40) == 0
    flags = [*SMALL, "--share-all-embeddings", "--encoder-learned-pos", "--decoder-learned-pos"]
    limits = ["--max-source-positions=31", "--max-target-positions=40"]
    cfg = config(data, "--task=translation_lev", f"--arch={arch}", *flags, *limits, "--optimizer=adam")
    task = tasks.setup_task(cfg.task)
    peer = task.build_model(cfg.model).eval()
    peer.load_state_dict(checkpoints.load(str(tmp_path / "peer.pt"))["model"])  # no weight is missing, none too many
    (theirs,), _, _ = checkpoint_utils.load_model_ensemble_and_task([str(teacher)])
    tokens = torch.tensor([[5, 6, 7, 2], [1, 8, 9, 2]])
    lengths = torch.tensor([4, 3])
    expected = theirs.eval().encoder(tokens, lengths)["encoder_out"][0]
    torch.testing.assert_close(peer.encoder(tokens, lengths)["encoder_out"][0], expected)
