"""However ``--user-dir`` reaches the package, it is registered once, and silently."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.integration.commands import ADAM, QUIET, ROOT, TINY, Result, lines, run, succeed

PACKAGE = ROOT / "lev_plugins"

# does what a fairseq command does with --user-dir, for each argument; then says where the parts came from
IMPORT = """
import argparse, sys
from fairseq import utils
for user_dir in sys.argv[1:]:
    utils.import_user_module(argparse.Namespace(user_dir=user_dir))
from fairseq.models import ARCH_MODEL_REGISTRY
from fairseq.tasks import TASK_REGISTRY
task, model = TASK_REGISTRY["text_editing"], ARCH_MODEL_REGISTRY["levt"]
files = {sys.modules[part.__module__].__file__ for part in (task, model)}
print(task.__module__, model.__module__, *sorted(files))
copies = [module for name, module in sys.modules.items() if name.endswith("models.levt")]
assert len({id(module) for module in copies}) == 1, copies
"""


def user_dir(*folders: object, cwd: Path = ROOT, **environment: str) -> Result:
    return run("python", "-c", IMPORT, *folders, cwd=cwd, **environment)


def registered(result: Result, parent: Path = ROOT) -> None:
    assert result.code == 0, result.err
    files = [os.path.realpath(parent / "lev_plugins" / file) for file in ("models/levt.py", "tasks/text_editing.py")]
    names, found = result.out.split()[:2], [os.path.realpath(file) for file in result.out.split()[2:]]
    assert names == ["lev_plugins.tasks.text_editing", "lev_plugins.models.levt"]
    assert found == files


@pytest.mark.parametrize("folder", [PACKAGE, "lev_plugins", "./lev_plugins/../lev_plugins", "lev_plugins/"])
def test_absolute_and_relative(folder: object) -> None:
    if folder == "lev_plugins/":  # fairseq takes the absolute path, which drops the slash
        assert os.path.abspath(folder) == os.path.abspath("lev_plugins")
    registered(user_dir(folder))


def test_relative_to_another_folder(tmp_path: Path) -> None:
    registered(user_dir(os.path.relpath(PACKAGE, tmp_path), cwd=tmp_path))


@pytest.mark.parametrize("name", ["lev_plugins", "my_plugins"])
def test_through_a_link(tmp_path: Path, name: str) -> None:
    (tmp_path / name).symlink_to(PACKAGE)
    registered(user_dir(tmp_path / name, cwd=tmp_path))


def test_through_a_link_and_a_link_to_it(tmp_path: Path) -> None:
    (tmp_path / "one").symlink_to(PACKAGE)
    (tmp_path / "two").symlink_to(tmp_path / "one")
    registered(user_dir(tmp_path / "two", tmp_path / "one", PACKAGE, cwd=tmp_path))


def test_twice() -> None:
    registered(user_dir("lev_plugins", PACKAGE))


def test_a_copy_under_another_name_is_refused(tmp_path: Path) -> None:
    (tmp_path / "renamed").mkdir()
    for file in ("__init__.py", "user_dir_alias.py"):
        (tmp_path / "renamed" / file).write_text((PACKAGE / file).read_text("utf-8"), "utf-8")
    result = user_dir(tmp_path / "renamed", cwd=tmp_path)
    assert result.code == 1
    assert result.err.splitlines()[-1] == (
        f"ImportError: --user-dir {tmp_path / 'renamed'}: the folder must be named lev_plugins (or be a link to it), "
        "not renamed"
    )


def test_the_import_says_nothing() -> None:
    result = run(sys.executable, "-c", "import lev_plugins")
    assert (result.code, result.out, result.err) == (0, "", "")


def test_trained_through_a_link_and_decoded_without(toy: Path, tmp_path: Path) -> None:
    (tmp_path / "plugins").symlink_to(PACKAGE)
    shared = ["--task", "text_editing", "--cpu"]
    flags = [*shared, *TINY, *ADAM, *QUIET, "--max-tokens", 500, "--max-update", 2, "--disable-validation"]
    succeed("fairseq-train", toy, "--user-dir", tmp_path / "plugins", *flags, "--save-dir", tmp_path)
    path = ["--path", tmp_path / "checkpoint_last.pt", "--gen-subset", "valid", "--batch-size", 50]
    result = succeed("fairseq-generate", toy, "--user-dir", PACKAGE, *shared, *path)
    assert lines(result.out, "H")


def test_hydra(toy: Path, tmp_path: Path) -> None:
    """fairseq imports ``common.user_dir`` after hydra has read the command line: so names go in by ``+x._name=``."""
    result = succeed(
        "fairseq-hydra-train",
        f"common.user_dir={PACKAGE}",
        "common.cpu=true",
        "+task._name=text_editing",
        f"+task.data={toy}",
        "+model._name=levt",
        *(f"+model.{side}_layers=1" for side in ("encoder", "decoder")),
        *(f"+model.{side}_embed_dim=32" for side in ("encoder", "decoder")),
        "~criterion",
        "+criterion._name=dual_policy",
        "optimizer=adam",
        "optimization.lr=[0.001]",
        "optimization.max_update=2",
        "dataset.max_tokens=500",
        "dataset.disable_validation=true",
        f"checkpoint.save_dir={tmp_path}",
        f"hydra.run.dir={tmp_path}",
        cwd=tmp_path,
    )
    assert "num_updates 2" in result.both
    flags = ["--user-dir", PACKAGE, "--task", "text_editing", "--cpu", "--gen-subset", "valid", "--batch-size", 50]
    assert lines(succeed("fairseq-generate", toy, *flags, "--path", tmp_path / "checkpoint_last.pt").out, "H")
