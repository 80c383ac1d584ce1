"""``lev-plugins distill``, killed in the middle."""

import signal
import subprocess
import time
from pathlib import Path

import pytest

from lev_plugins.cli import distill
from lev_plugins.cli.main import main
from tests.commands import BIN, ENVIRONMENT, ROOT
from tests.teachers import TRANSFORMER, random_triples, write_teacher

LINES, SHARD = 300, 10


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "distill.json"}


def finished(shards: Path) -> set[str]:
    return {path.name for path in shards.glob("train.*.json")}


@pytest.mark.slow
def test_killed_and_started_again(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = random_triples(tmp_path_factory.mktemp("distill"), {"train": LINES})
    teacher = write_teacher(tmp_path / "teacher.pt", data, *TRANSFORMER, "-s", "en", "-t", "de")
    flags = ["--path", teacher, "--cpu", "--beam", 4, "--max-len-b", 40, "--shard-size", SHARD]
    command = ["distill", *(str(word) for word in [data, *flags]), "--dest"]
    new, shards = tmp_path / "new", tmp_path / "new.shards"
    running = subprocess.Popen(
        [BIN / "lev-plugins", *command, str(new)], cwd=ROOT, env=ENVIRONMENT, stderr=subprocess.PIPE
    )
    while len(finished(shards)) < 3 and running.poll() is None:
        time.sleep(0.02)
    running.send_signal(signal.SIGKILL)
    _, said = running.communicate(timeout=120)
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
    assert contents(new)["train.en-de.de.bin"] != contents(data)["train.en-de.de.bin"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new", "teacher.pt", "whole"]
