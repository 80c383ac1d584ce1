#!/usr/bin/env python3
"""Builds a package from a model folder, so that pip installs the model and commands find it by its name.

    python scripts/model_wheel.py english-out/editor en

writes dist/lev_plugins_en-VERSION-py3-none-any.whl. Where that is installed, `lev-plugins edit en` and the other
commands find the folder, and so does `lev_plugins.load("en")`. The licence of the model is in its card, the README.md
of the folder, which lev-plugins export --license writes.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import lev_plugins
from lev_plugins.utils import model_folder
from lev_plugins.utils.errors import UserError, require

NAME = re.compile(r"[a-z][a-z0-9_]*")
PROJECT = """\
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = {project}
version = {version}
description = {description}
readme = "{package}/README.md"
dependencies = ["lev-plugins>={minimum}"]

[tool.setuptools]
packages = ["{package}"]
include-package-data = false

[tool.setuptools.package-data]
{package} = ["**"]
"""


def main() -> int | str:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="from lev-plugins export")
    parser.add_argument("name", help="by which commands find the model, such as en")
    parser.add_argument(
        "--version", default=lev_plugins.__version__, help="of the model (default: that of lev-plugins)"
    )
    parser.add_argument("--outdir", type=Path, default=Path("dist"), help="for the wheel (default: dist)")
    args = parser.parse_args()
    try:
        build(args.folder, args.name, args.version, args.outdir)
    except UserError as error:
        return f"model_wheel: {error}"
    return 0


def build(folder: Path, name: str, version: str, outdir: Path) -> None:
    config = model_folder.read(folder)
    require(NAME.fullmatch(name) is not None, f"a name has small letters, digits and _, but this one is {name!r}")
    package = model_folder.PACKAGE.format(name)
    with tempfile.TemporaryDirectory() as place:
        shutil.copytree(folder, Path(place, package))
        Path(place, package, "__init__.py").write_text(f'"""The model {name} of lev-plugins."""\n', encoding="utf-8")
        project = PROJECT.format(
            project=json.dumps(package.replace("_", "-")),
            version=json.dumps(version),
            description=json.dumps(f"{name}: {model_folder.NOUNS[config.kind]} for lev-plugins"),
            package=package,
            minimum=lev_plugins.__version__,
        )
        Path(place, "pyproject.toml").write_text(project, encoding="utf-8")
        command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", outdir.resolve(), place]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    sys.exit(main())
