"""``lev-plugins distill``, killed in the middle."""

import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from lev_plugins.cli import distill
from lev_plugins.cli.main import main
from tests.integration.commands import BIN, ENVIRONMENT, ROOT
from tests.teachers import TRANSFORMER, write_teacher

LINES, SHARD = 300, 10


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("distill")
    draw = random.Random(1)
    for side in ("src", "mt", "tgt"):
        lines = (" ".join(draw.choices("abcdefghij", k=draw.randint(3, 20))) for _ in range(LINES))
        (folder / f"train.{side}").write_text("".join(f"{line}\n" for line in lines))
    words = ["prepare", "-s", "src", "-d", "mt", "-t", "tgt"]
    words += ["--train-prefix", folder / "train", "--dest", folder / "data"]
    assert main([str(word) for word in words]) == 0
    return folder / "data"


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "distill.json"}


def finished(shards: Path) -> set[str]:
    return {path.name for path in shards.glob("train.*.json")}


@pytest.mark.slow
def test_killed_and_started_again(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    teacher = write_teacher(tmp_path / "teacher.pt", data, *TRANSFORMER, "-s", "src", "-t", "tgt")
    flags = ["--path", teacher, "--cpu", "--beam", 4, "--max-len-b", 40, "--shard-size", SHARD]
    command = ["distill", *(str(word) for word in [data, *flags]), "--dest"]
    new, shards = tmp_path / "new", tmp_path / "new.shards"
    running = subprocess.Popen(
        [BIN / "lev-plugins", *command, str(new), "--processes", "2"], cwd=ROOT, env=ENVIRONMENT, stderr=subprocess.PIPE
    )
    while len(finished(shards)) < 3 and running.poll() is None:
        time.sleep(0.02)
    running.send_signal(signal.SIGKILL)
    _, said = running.communicate(timeout=120)  # its stderr ends when the processes that it started have gone, too
    kept = finished(shards)
    assert running.returncode == -signal.SIGKILL, said
    assert 3 <= len(kept) < LINES / SHARD and not new.exists()

    written: set[str] = set()
    write = distill.write_json
    monkeypatch.setattr(distill, "write_json", lambda path, content: (written.add(path.name), write(path, content)))
    assert main([*command, str(new)]) == 0
    assert written.isdisjoint(kept) and len((written | kept) - {"distill.json", "settings.json"}) == LINES / SHARD
    assert main([*command, str(tmp_path / "whole")]) == 0
    assert contents(new) == contents(tmp_path / "whole")
    assert contents(new)["train.src-tgt.tgt.bin"] != contents(data)["train.src-tgt.tgt.bin"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new", "teacher.pt", "whole"]
