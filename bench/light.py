#!/usr/bin/env python3
"""``python bench/light.py FOLDER TEXT``: a folder with graphs, beside itself in torch; see README.md."""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from lev_plugins.runtime.folder import GRAPHS, INDEX
from lev_plugins.text.lines import read_lines

FORMAT = 1  # of the JSON
BATCH = 64  # lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="from lev-plugins export --onnx")
    parser.add_argument("text", type=Path, help="lines to edit")
    parser.add_argument("--lines", type=int, default=1000, help="of the text (default: 1000)")
    parser.add_argument("--one", choices=["torch", "32", "8"], help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one is not None:
        sys.stdout.write(json.dumps(measured(args.folder, args.text, args.lines, args.one == "8")))
        return 0
    found: dict[str, Any] = {"format": FORMAT}
    with tempfile.TemporaryDirectory() as place:
        plain, edits = without_graphs(args.folder, Path(place)), {}
        for name in ("torch", "32", "8"):
            folder = plain if name == "torch" else args.folder
            words = [sys.executable, __file__, str(folder), str(args.text), "--lines", str(args.lines), "--one", name]
            environment = {**os.environ, "OMP_NUM_THREADS": "1"}
            one = json.loads(subprocess.run(words, env=environment, stdout=subprocess.PIPE, check=True).stdout)
            edits[name] = one.pop("edits")
            found[name] = {**cold(folder, name == "8"), **one}
        for name in ("32", "8"):
            found[name]["lines edited otherwise"] = sum(
                a != b for a, b in zip(edits["torch"], edits[name], strict=True)
            )
    sys.stdout.write(json.dumps(found, indent=1) + "\n")
    return 0


def without_graphs(folder: Path, place: Path) -> Path:
    """A copy, which torch runs."""
    plain = Path(shutil.copytree(folder, place / "plain", ignore=shutil.ignore_patterns(GRAPHS, INDEX)))
    config = json.loads((plain / "config.json").read_text("utf-8"))
    kept = {name: digest for name, digest in config["files"].items() if (plain / name).is_file()}
    (plain / "config.json").write_text(json.dumps({**config, "files": kept}), "utf-8")
    return plain


def cold(folder: Path, int8: bool) -> dict[str, float]:
    """The command on one sentence with a typo."""
    words = [sys.executable, "-m", "lev_plugins", "edit", str(folder), "--cpu", *["--cpu-int8"] * int8]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, input=b"I beleive it.\n", stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {"first edit, processor seconds": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime}


def measured(folder: Path, text: Path, lines: int, int8: bool) -> dict[str, Any]:
    """In processor time, so that other programs do not matter."""
    import lev_plugins

    texts = [line for _, line in zip(range(lines), read_lines(text), strict=False)]
    editor = lev_plugins.load(folder, cpu_int8=int8)
    editor.edit(texts[:BATCH])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    single = []
    for line in texts[: min(lines, 300)]:
        start = time.process_time()
        editor.edit([line])
        single.append(time.process_time() - start)
    start, edits = time.process_time(), []
    for first in range(0, len(texts), BATCH):
        edits += [
            [(e.start, e.end, e.replacement) for e in one.edits] for one in editor.edit(texts[first : first + BATCH])
        ]
    seconds = time.process_time() - start
    return {
        "peak memory, MiB": peak,
        "one line, ms: p50": 1000 * sorted(single)[len(single) // 2],
        "lines per second and core": len(texts) / seconds,
        "edits": edits,
    }


if __name__ == "__main__":
    sys.exit(main())
