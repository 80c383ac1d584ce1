"""Every ``--user-dir`` path to the package registers it once."""

import os
from pathlib import Path

from tests.commands import ROOT, Result, lines, run, succeed

PLUGIN = ROOT / "lev_plugins"

# imports each folder as fairseq does with --user-dir, then prints the modules and the files of the classes
IMPORT = """
import argparse, os, sys
from fairseq import utils
from fairseq.models import ARCH_MODEL_REGISTRY
from fairseq.tasks import TASK_REGISTRY

def reach(cwd, *folders):
    os.chdir(cwd)
    for folder in folders:
        utils.import_user_module(argparse.Namespace(user_dir=folder))
    task, model = TASK_REGISTRY["text_editing"], ARCH_MODEL_REGISTRY["levt"]
    files = [sys.modules[part.__module__].__file__ for part in (task, model)]
    print(task.__module__, model.__module__, *files, sep="|")
    copies = [module for name, module in sys.modules.items() if name.endswith("levt.model")]
    assert len({id(module) for module in copies}) == 1, copies

"""
IMPORT_IN_FORKS = """
for words in sys.argv[1:]:
    sys.stdout.flush()
    if os.fork() == 0:
        reach(*words.split(","))
        sys.exit()
    assert os.wait()[1] == 0, words
"""


def user_dir(*folders: object, cwd: Path = ROOT, **environment: str) -> Result:
    return run("python", "-c", f"{IMPORT}reach(*sys.argv[1:])", cwd, *folders, cwd=cwd, **environment)


def assert_registered(line: str, parent: Path = ROOT) -> None:
    task, model, *files = line.removesuffix("\n").split("|")
    assert [task, model] == ["lev_plugins.levt.task", "lev_plugins.levt.model"]
    expected = [parent / "lev_plugins" / file for file in ("levt/task.py", "levt/model.py")]
    assert [os.path.realpath(file) for file in files] == [os.path.realpath(file) for file in expected]


def test_paths_to_the_package_register_it_once(tmp_path: Path) -> None:
    """Each path is imported in a fork of a process that has imported fairseq but not the package."""
    (tmp_path / "lev_plugins").symlink_to(PLUGIN)
    path_lists: list[list[object]] = [
        [ROOT, "lev_plugins/", "./lev_plugins/../lev_plugins", PLUGIN],  # fairseq drops the first one's slash
        [tmp_path, os.path.relpath(PLUGIN, tmp_path)],
        [tmp_path, tmp_path / "lev_plugins"],
    ]
    result = succeed("python", "-c", IMPORT + IMPORT_IN_FORKS, *(",".join(map(str, paths)) for paths in path_lists))
    assert len(result.out.splitlines()) == len(path_lists)
    for line in result.out.splitlines():
        assert_registered(line)


def test_a_link_with_another_name_is_refused(tmp_path: Path) -> None:
    (tmp_path / "plugins").symlink_to(PLUGIN)
    result = user_dir(tmp_path / "plugins", cwd=tmp_path)
    assert result.code == 1 and result.err.splitlines()[-1].startswith("ImportError: --user-dir ")
    assert "must be named lev_plugins" in result.err


def test_hydra_trains_with_the_user_dir(toy: Path, tmp_path: Path) -> None:
    """Names are set by ``+x={_name:...}``, because fairseq imports the folder after hydra has parsed the command."""
    result = succeed(
        *("fairseq-hydra-train", f"common.user_dir='{PLUGIN}'", "common.cpu=true", f"hydra.run.dir='{tmp_path}'"),
        *("+task={_name:text_editing}", f"+task.data={toy}", "+model={_name:levt}"),
        *(f"+model.{side}_{size}" for side in ("encoder", "decoder") for size in ("layers=1", "embed_dim=32")),
        *("~criterion", "+criterion={_name:dual_policy}", "optimizer=adam", "optimization.lr=[0.001]"),
        *("optimization.max_update=2", "dataset.max_tokens=500", "dataset.disable_validation=true"),
        f"checkpoint.save_dir={tmp_path}",
        cwd=tmp_path,
    )
    assert "num_updates 2" in result.both
    flags = ["--user-dir", PLUGIN, "--task", "text_editing", "--cpu", "--gen-subset", "valid", "--batch-size", 50]
    assert lines(succeed("fairseq-generate", toy, *flags, "--path", tmp_path / "checkpoint_last.pt").out, "H")
