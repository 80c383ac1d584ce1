"""Every command of a page runs, the figures that a page shows are printed, and names and links exist."""

import ast
import re
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml
from fairseq.criterions import CRITERION_REGISTRY
from fairseq.data.encoders import BPE_REGISTRY
from fairseq.models import ARCH_MODEL_REGISTRY
from fairseq.optim import OPTIMIZER_REGISTRY
from fairseq.scoring import SCORER_REGISTRY
from fairseq.tasks import TASK_REGISTRY

import lev_plugins
from lev_plugins.checking.report import REPORTS
from lev_plugins.checking.settings import Settings
from lev_plugins.cli.main import COMMANDS
from lev_plugins.noise import NOISE_KINDS
from lev_plugins.noise.layouts import known_layouts
from lev_plugins.text.documents.formats import FORMATS
from tests import pretrained
from tests.commands import ROOT, succeed
from tests.pages import FIRST_PAGE, blocks, commands, numbers_in, outputs_of, read, run_commands

DOCS = sorted(str(page.relative_to(ROOT)) for page in (ROOT / "docs").glob("*.md"))
PAGES_WITH_COMMANDS = [page for page in ["user_dir.md", *DOCS] if commands(page)]
PROSE_PAGES = ["README.md", "user_dir.md", "CONTRIBUTING.md", "SECURITY.md", *DOCS]
EXAMPLE_PAGES = sorted(str(page.relative_to(ROOT)) for page in ROOT.glob("examples/*/README.md"))
RESULT_PAGES = [page.replace("README", "RESULTS") for page in EXAMPLE_PAGES]


@pytest.fixture(scope="module")
def quick_start(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """What the pages call the root of a checkout, after the quick start, and what its commands printed."""
    checkout = tmp_path_factory.mktemp("checkout")
    for name in ("lev_plugins", "examples", "scripts"):
        shutil.copytree(ROOT / name, checkout / name, ignore=shutil.ignore_patterns("__pycache__"))
    if find_spec("transformers") is not None:
        pretrained.make("byt5", checkout / "byt5-small")  # stands for the one from huggingface.co
    return checkout, run_commands(FIRST_PAGE, checkout)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES_WITH_COMMANDS)
def test_commands_run_and_print_the_figures(page: str, quick_start: tuple[Path, str], tmp_path: Path) -> None:
    checkout, printed = quick_start
    if page != FIRST_PAGE:
        printed = run_commands(page, shutil.copytree(checkout, tmp_path / "checkout"))
    figures = numbers_in(outputs_of(page))
    assert [figure for figure in figures if figure not in numbers_in(printed)] == []


@pytest.mark.slow
def test_the_editor_of_the_quick_start_repairs_drafts(quick_start: tuple[Path, str]) -> None:
    editor, drafts = (float(ter) for ter in re.findall(r"TER = ([\d.]+) \(", quick_start[1]))
    assert editor < 0.4 * drafts


def test_commands_of_the_readme_are_in_the_quick_start() -> None:
    assert set(commands("README.md")) < set(commands(FIRST_PAGE))


def anchors(page: Path) -> set[str]:
    """Returns the targets that links can have: the headings, as GitHub names them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", [*PROSE_PAGES, "bench/README.md", *EXAMPLE_PAGES, *RESULT_PAGES])
def test_link_targets_exist(page: str) -> None:
    text = re.sub(r"`[^`\n]*`", "", read(page))
    links = [link for link in re.findall(r"\]\(([^)\s]+)\)", text) if not link.startswith("http")]
    assert links or page in RESULT_PAGES
    for link in links:
        path, _, anchor = link.partition("#")
        target = (ROOT / page).parent / path if path else ROOT / page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize("page", PROSE_PAGES)
def test_paths_exist(page: str) -> None:
    paths = re.findall(r"\b(?:lev_plugins|tests|scripts)/[\w/.-]*\w", read(page))
    assert [path for path in paths if "NAME" not in path and not (ROOT / path).exists()] == []


def names_defined_in(file: Path) -> set[str]:
    """Returns the names of functions, variables, and classes with their methods and fields."""
    module = ast.parse(file.read_text("utf-8"))
    names = {node.name for node in ast.walk(module) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    for owner in [module, *(node for node in ast.walk(module) if isinstance(node, ast.ClassDef))]:
        prefix = f"{owner.name}." if isinstance(owner, ast.ClassDef) else ""
        for node in owner.body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                names.add(prefix + node.name)
            for target in [*getattr(node, "targets", ()), getattr(node, "target", None)]:
                names |= {prefix + part.id for part in ast.walk(target or ast.Pass()) if isinstance(part, ast.Name)}
    return names


def test_names_on_the_papers_page_exist() -> None:
    """A name is a file of the package, with a name that the file defines."""
    files = {path.relative_to(ROOT).with_suffix("").parts: path for path in (ROOT / "lev_plugins").rglob("*.py")}

    def exists(name: str) -> bool:
        parts = tuple(name.split("."))
        places = (
            (path, ".".join(parts[cut:]))
            for cut in range(1, len(parts) + 1)
            for module, path in files.items()
            if module[-cut:] == parts[:cut]
        )
        return any(not rest or rest in names_defined_in(path) for path, rest in places)

    rows = [line for line in read("docs/papers.md").splitlines() if line.startswith("| ")]
    names = {name for row in rows for name in re.findall(r"`([a-z]\w*(?:\.\w+)+)`", row)}
    names = {name for name in names if not name.endswith((".py", ".sh"))}
    assert len(names) > 50 and sorted(name for name in names if not exists(name)) == []


def test_names_on_the_code_page_exist() -> None:
    """The page writes `file.py`: `name`, or `name` (`file.py`)."""
    text = "".join(line for line in read("docs/code.md").splitlines(keepends=True) if not line.startswith("|"))
    pairs = re.findall(r"`([\w/]+\.py)`(?:: | \()`([\w.]+)`", text)
    pairs += [(file, name) for name, file in re.findall(r"`([\w.]+)` \(`([\w/]+\.py)`", text)]
    pairs = [(file, name) for file, name in pairs if "NAME" not in file]
    assert len(pairs) > 35
    assert [(file, name) for file, name in pairs if name not in names_defined_in(ROOT / "lev_plugins" / file)] == []


def test_versions_in_several_files_agree() -> None:
    pinned = dict(re.findall(r"^([\w-]+)==([\w.]+)", read("constraints.txt"), re.MULTILINE))
    hooks = re.findall(r"\[ruff==([\w.]+)\]", read(".pre-commit-config.yaml"))
    assert hooks and set(hooks) == {pinned["ruff"]}
    assert f"\nversion: {lev_plugins.__version__}\n" in read("CITATION.cff")


def test_the_reference_is_up_to_date() -> None:
    succeed(sys.executable, ROOT / "scripts" / "reference.py", "--check")


def test_every_registered_name_is_on_the_page() -> None:
    page = read("user_dir.md")
    registries = [TASK_REGISTRY, ARCH_MODEL_REGISTRY, CRITERION_REGISTRY, OPTIMIZER_REGISTRY, BPE_REGISTRY]
    registered = [
        name
        for registry in [*registries, SCORER_REGISTRY]
        for name, cls in registry.items()
        if cls.__module__.startswith("lev_plugins")
    ]
    assert {"text_editing", "text_correction", "levt", "levt_tiny", "pbd", "dual_policy"} <= set(registered)
    assert {"gated_t5", "scaled_adam", "pretrained", "ter"} <= set(registered)
    assert [name for name in registered if f"`{name}`" not in page] == []
    assert "noise" in COMMANDS and [name for name in COMMANDS if not re.search(rf"`(lev-plugins )?{name}`", page)] == []
    noise = read("docs/noise.md")
    assert [name for name in (*NOISE_KINDS, *known_layouts()) if f"`{name}`" not in noise] == []


def test_formats_settings_and_reports_are_on_the_page_of_check() -> None:
    page = read("docs/check.md")
    names = [name for format in FORMATS for name in (format.name, *format.suffixes, *format.file_names)]
    assert len(names) > 70 and [name for name in names if f"`{name}`" not in page] == []
    assert [name for name in REPORTS if f"`{name}`" not in page] == []
    (table,) = [text for _, text in blocks("docs/check.md", "toml")]
    keys = {name.replace("_", "-") for name in Settings.__dataclass_fields__} - {"folder"}
    assert set(re.findall(r"^([\w-]+) = ", table, re.MULTILINE)) == keys
    snippets = [yaml.safe_load(text.replace("@REV", "")) for _, text in blocks("docs/check.md", "yaml")]
    assert snippets[0]["repos"][0]["hooks"][0]["id"] == yaml.safe_load(read(".pre-commit-hooks.yaml"))[0]["id"]
    assert (
        snippets[1]["jobs"]["typos"]["steps"][1]["with"].keys() <= yaml.safe_load(read("action.yml"))["inputs"].keys()
    )
