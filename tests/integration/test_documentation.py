"""Every command that a page prints is run, in the order in which it is printed; every flag is documented."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import pytest
from fairseq.criterions import CRITERION_REGISTRY
from fairseq.models import ARCH_MODEL_REGISTRY
from fairseq.tasks import TASK_REGISTRY

import lev_plugins  # noqa: F401  registers
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
    return tmp_path


def test_user_dir_commands_run_as_printed(checkout: Path) -> None:
    blocks = commands("user_dir.md")
    assert len(blocks) >= 7
    for block in blocks:
        result = run("bash", "-euo", "pipefail", "-c", block, cwd=checkout, timeout=400)
        assert result.code == 0, f"{block}\n{result.both[-3000:]}"
    for made in ("levt/checkpoint_best", "levt/average", "imported", "two/checkpoint_last", "hydra/checkpoint_last"):
        assert (checkout / f"toy/{made}.pt").is_file(), made
    assert (checkout / "toy/pbd/checkpoint_best.pt").is_file()


def test_flag_tables_are_up_to_date() -> None:
    succeed(sys.executable, ROOT / "scripts" / "document_flags.py", "--check")


def test_every_registered_name_is_on_the_page() -> None:
    page = (ROOT / "user_dir.md").read_text(encoding="utf-8")
    registries = (TASK_REGISTRY, ARCH_MODEL_REGISTRY, CRITERION_REGISTRY)
    ours = [
        name for registry in registries for name, cls in registry.items() if cls.__module__.startswith("lev_plugins")
    ]
    assert {"text_editing", "text_correction", "levt", "levt_tiny", "pbd", "dual_policy"} <= set(ours)
    assert [name for name in ours if f"`{name}`" not in page] == []
