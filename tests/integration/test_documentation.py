"""Every command that a page prints is run, in the order in which it is printed; every flag is documented."""

from __future__ import annotations

import argparse
import re
import shlex
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from fairseq.criterions import CRITERION_REGISTRY
from fairseq.data.encoders import BPE_REGISTRY
from fairseq.models import ARCH_MODEL_REGISTRY
from fairseq.optim import OPTIMIZER_REGISTRY
from fairseq.scoring import SCORER_REGISTRY
from fairseq.tasks import TASK_REGISTRY

import lev_plugins  # noqa: F401  registers
from lev_plugins.cli import confusions, noise
from lev_plugins.cli.main import Command
from lev_plugins.noise import KINDS
from lev_plugins.noise.layouts import known_layouts
from tests import pretrained
from tests.integration.commands import ROOT, run, succeed


def commands(page: str) -> list[str]:
    """The bash blocks of a page, without those that show a pattern (``...``)."""
    blocks = re.findall(r"^```bash\n(.*?)^```", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return [block for block in blocks if " ..." not in block]


@pytest.fixture()
def checkout(tmp_path: Path) -> Path:
    """What the pages call the root of a checkout."""
    for name in ("lev_plugins", "examples"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    if find_spec("transformers") is not None:
        pretrained.byt5(tmp_path / "byt5-small")  # a tiny one, where the page has one from huggingface.co
    return tmp_path


def test_user_dir_commands_run_as_printed(checkout: Path) -> None:
    blocks = commands("user_dir.md")
    assert len(blocks) >= 7
    for block in blocks:
        if "import-pretrained" in block and find_spec("transformers") is None:
            continue
        if "plot gates" in block and find_spec("matplotlib") is None:
            continue
        result = run("bash", "-euo", "pipefail", "-c", block, cwd=checkout, timeout=400)
        assert result.code == 0, f"{block}\n{result.both[-3000:]}"
    checkpoints = (
        "levt/checkpoint_best",
        "editor/checkpoint_best",
        "pbd/checkpoint_best",
        "levt/average",
        "imported",
        "two/checkpoint_last",
    )
    for made in (*checkpoints, "hydra/checkpoint_last"):
        assert (checkout / "toy" / f"{made}.pt").is_file(), made
    assert (checkout / "toy/distilled/distill.json").is_file()
    if find_spec("matplotlib") is not None:
        assert len((checkout / "toy/gates.jsonl").read_text(encoding="utf-8").splitlines()) == 100
    assert "100 of 100 sentences" in (checkout / "toy/trace.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", ["user_dir.md", "README.md", "CHANGELOG.md", "bench/README.md"])
def test_nothing_is_told_twice(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    headings = re.findall(r"^#+ .*", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL), re.MULTILINE)
    assert [heading for heading in headings if headings.count(heading) > 1] == []
    assert not re.search(r"^(<{7}|>{7}|={7})", text, re.MULTILINE)


def test_flag_tables_are_up_to_date() -> None:
    succeed(sys.executable, ROOT / "scripts" / "document_flags.py", "--check")


def test_every_registered_name_is_on_the_page() -> None:
    page = (ROOT / "user_dir.md").read_text(encoding="utf-8")
    registries = (
        *(TASK_REGISTRY, ARCH_MODEL_REGISTRY, CRITERION_REGISTRY, OPTIMIZER_REGISTRY, BPE_REGISTRY, SCORER_REGISTRY),
    )
    ours = [
        name for registry in registries for name, cls in registry.items() if cls.__module__.startswith("lev_plugins")
    ]
    assert {"text_editing", "text_correction", "levt", "levt_tiny", "pbd", "dual_policy"} <= set(ours)
    assert {"gated_t5", "scaled_adam", "pretrained", "ter"} <= set(ours)
    assert [name for name in ours if f"`{name}`" not in page] == []


def readme_lines(command: str) -> list[str]:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return re.findall(rf"^({re.escape(command)} .*?)(?:\s*#.*)?$", text, re.MULTILINE)


def test_every_make_target_of_the_readme_exists() -> None:
    """A dry run: `make setup` and `make demo` take minutes, and CI begins with the first."""
    targets = {line.split()[1] for line in readme_lines("make")}
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    targets |= set(re.findall(r"`make ([a-z-]+)`", text))
    assert {"setup", "demo", "test", "lint", "check-pythons"} <= targets
    for target in targets:
        assert succeed("make", "-n", target).out


def test_the_readme_installs_what_check_pythons_installs() -> None:
    script = (ROOT / "scripts" / "check_pythons.sh").read_text(encoding="utf-8")
    first, second, third = (shlex.split(line)[2:] for line in readme_lines("pip install"))
    assert first[0] == "torch" and f'"$torch" {" ".join(map(shlex.quote, first[1:]))} &&' in script
    assert f"pip install --quiet {' '.join(second)} &&" in script
    assert third == ["."]


@pytest.mark.parametrize("command", [noise, confusions])
def test_every_flag_of_a_command_is_on_the_page(command: Command) -> None:
    parser = argparse.ArgumentParser(add_help=False)
    command.add_arguments(parser)
    page = (ROOT / "user_dir.md").read_text(encoding="utf-8")
    flags = [flag for action in parser._actions for flag in action.option_strings]
    assert flags and [flag for flag in flags if f"| `{flag}` |" not in page] == []


def test_every_kind_of_noise_and_every_layout_is_on_the_page() -> None:
    page = (ROOT / "user_dir.md").read_text(encoding="utf-8")
    assert [name for name in (*KINDS, *known_layouts()) if f"`{name}`" not in page] == []
