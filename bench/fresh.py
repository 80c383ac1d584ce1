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
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheel", type=Path, help="of lev-plugins, from make release")
    parser.add_argument("folder", type=Path, help="an editor, from lev-plugins export --onnx")
    parser.add_argument("--text", default=TEXT, help=f"to edit (default: {TEXT})")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        seconds = installed(args.wheel, Path(place))
        found = {"format": FORMAT, "installation, seconds": seconds, **edited(Path(place), args.folder, args.text)}
    sys.stdout.write(json.dumps(found, ensure_ascii=False, indent=1) + "\n")
    return 0


def installed(wheel: Path, place: Path) -> float:
    """Seconds; ``CalledProcessError``: pip finds no wheel of something that lev-plugins needs."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-m", "venv", place], check=True)
    pip = [place / "bin" / "python", "-m", "pip", "install", "--quiet", "--only-binary", ":all:"]  # nothing is compiled
    subprocess.run([*pip, wheel], check=True, env=ENVIRONMENT)
    return time.perf_counter() - start


def edited(place: Path, folder: Path, text: str) -> dict[str, Any]:
    pip = [place / "bin" / "python", "-m", "pip", "list", "--format=json"]
    listed = json.loads(subprocess.run(pip, stdout=subprocess.PIPE, check=True, env=ENVIRONMENT).stdout)
    size = sum(path.stat().st_size for path in place.rglob("*") if path.is_file() and not path.is_symlink())
    start, begun = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [place / "bin" / "lev-plugins", "edit", folder.resolve()]
    done = subprocess.run(command, input=f"{text}\n", stdout=subprocess.PIPE, text=True, check=True, env=ENVIRONMENT)
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "packages": sorted(package["name"] for package in listed),
        "size with pip, MB": size / MB,
        "edited": done.stdout.removesuffix("\n"),
        "first edit, seconds": time.perf_counter() - start,
        "first edit, processor seconds": ended.ru_utime + ended.ru_stime - begun.ru_utime - begun.ru_stime,
    }


if __name__ == "__main__":
    sys.exit(main())
