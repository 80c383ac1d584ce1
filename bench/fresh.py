#!/usr/bin/env python3
"""``python bench/fresh.py WHEEL FOLDER``: a new environment, from nothing to the first edit; see README.md."""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

FORMAT = 1  # of the JSON
TEXT = "I beleive it."
MB = 1_000_000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheel", type=Path, help="of lev-plugins, from make release")
    parser.add_argument("folder", type=Path, help="an editor, from lev-plugins export --onnx")
    parser.add_argument("--text", default=TEXT, help=f"to edit (default: {TEXT})")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        found = {"format": FORMAT, **measured(args.wheel, args.folder, args.text, Path(place))}
    sys.stdout.write(json.dumps(found, ensure_ascii=False, indent=1) + "\n")
    return 0


def measured(wheel: Path, folder: Path, text: str, place: Path) -> dict[str, Any]:
    """``CalledProcessError``: pip finds no wheel of something that lev-plugins needs."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-m", "venv", place], check=True)
    program = place / "bin" / "python"
    before = set(place.rglob("*"))
    pip = [program, "-m", "pip", "install", "--quiet", "--only-binary", ":all:", wheel]  # nothing is compiled
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run(pip, check=True, env=environment, stdout=subprocess.DEVNULL)
    installed = time.perf_counter()
    files = [path for path in set(place.rglob("*")) - before if path.is_file()]
    begun = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [place / "bin" / "lev-plugins", "edit", folder.resolve()]
    done = subprocess.run(command, input=f"{text}\n".encode(), stdout=subprocess.PIPE, check=True, env=environment)
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    listed = subprocess.run([program, "-m", "pip", "list", "--format=json"], stdout=subprocess.PIPE, env=environment)
    return {
        "edited": done.stdout.decode().removesuffix("\n"),
        "packages": sorted(package["name"] for package in json.loads(listed.stdout)),
        "installed, MB": sum(path.stat().st_size for path in files) / MB,
        "installation, seconds": installed - start,
        "first edit, processor seconds": ended.ru_utime + ended.ru_stime - begun.ru_utime - begun.ru_stime,
        "all, seconds": time.perf_counter() - start,
    }


if __name__ == "__main__":
    sys.exit(main())
