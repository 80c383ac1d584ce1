"""The package as pip installs it: its files, its commands, and a checkout beside it."""

import shutil
import sys
from pathlib import Path

import pytest

from tests.commands import ROOT, Result, run, succeed
from tests.integration.test_user_dir import assert_registered, user_dir
from tests.systems import speller

pytestmark = pytest.mark.slow

PACKAGE_SOURCES = ["setup.py", "pyproject.toml", "MANIFEST.in", "LICENSE", "README.md", "constraints.txt"]


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The source package, and the wheel that is made from it."""
    folder = tmp_path_factory.mktemp("build")
    shutil.copytree(ROOT / "lev_plugins", folder / "lev_plugins", ignore=shutil.ignore_patterns("__pycache__"))
    for name in PACKAGE_SOURCES:
        shutil.copy(ROOT / name, folder)
    succeed(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder / "dist", folder)
    return sorted((folder / "dist").iterdir())


@pytest.fixture(scope="module")
def site(packages: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a folder with lev-plugins installed, without its dependencies."""
    folder = tmp_path_factory.mktemp("install")
    flags = ["--quiet", "--no-deps", "--no-index", "--disable-pip-version-check"]
    wheel = next(path for path in packages if path.suffix == ".whl")
    succeed(sys.executable, "-m", "pip", "install", *flags, "--target", folder / "site", wheel)
    return folder / "site"


def test_twine_accepts_the_packages(packages: list[Path]) -> None:
    assert {path.suffix for path in packages} == {".whl", ".gz"}
    succeed(sys.executable, "-m", "twine", "check", "--strict", *packages)


def console(site: Path, *arguments: str, path: Path | None = None, cwd: Path | None = None) -> Result:
    python_path = ":".join(str(folder) for folder in (path, site) if folder)
    return run(sys.executable, site / "bin" / "lev-plugins", *arguments, cwd=cwd or site.parent, PYTHONPATH=python_path)


def test_every_file_is_installed(site: Path) -> None:
    def files(parent: Path) -> set[Path]:
        return {
            file.relative_to(parent)
            for kind in ("*.py", "*.tsv", "*.txt", "*.html")
            for file in (parent / "lev_plugins").rglob(kind)
        }

    assert files(site) == files(ROOT)
    assert (site / "lev_plugins" / "py.typed").exists()


def test_edit_works_in_an_environment_without_torch_and_fairseq(packages: list[Path], tmp_path: Path) -> None:
    system, folder = speller(tmp_path), tmp_path / "out"
    succeed("lev-plugins", "export", system.checkpoint, folder, *system.flags)
    wheel = next(path for path in packages if path.suffix == ".whl")
    python, alone = tmp_path / "fresh" / "bin" / "python", {"PYTHONPATH": ""}
    succeed(sys.executable, "-m", "venv", tmp_path / "fresh")
    if run(python, "-m", "pip", "install", "--quiet", "--only-binary", ":all:", wheel, **alone).code:
        pytest.skip("pip does not reach an index that has what lev-plugins needs")
    done = succeed(python.parent / "lev-plugins", "edit", folder, stdin=f"{system.texts[0]}\n", cwd=tmp_path, **alone)
    assert done.out.removesuffix("\n") == system.load().edit(system.texts[:1])[0].text != system.texts[0]
    listing = succeed(python, "-m", "pip", "list", **alone).out
    heavy = {"torch", "fairseq", "fairseq-fixed", "scipy", "scikit-learn", "sacrebleu", "rouge_score", "nltk"}
    assert not heavy & {line.split()[0] for line in listing.splitlines()}


def test_path_prints_a_folder_for_user_dir(site: Path, tmp_path: Path) -> None:
    result = console(site, "path", cwd=tmp_path)
    assert (result.code, result.out, result.err) == (0, f"{site}/lev_plugins\n", "")
    assert run(sys.executable, "-m", "lev_plugins", "path", cwd=tmp_path, PYTHONPATH=str(site)) == result
    assert_registered(user_dir(result.out.strip(), cwd=tmp_path).out, site)
    assert_registered(user_dir(result.out.strip(), cwd=tmp_path, PYTHONPATH=str(site)).out, site)


def test_a_checkout_is_preferred_to_the_installed_package(site: Path, tmp_path: Path) -> None:
    assert_registered(user_dir(ROOT / "lev_plugins", cwd=tmp_path, PYTHONPATH=str(site)).out)
    (tmp_path / "lev_plugins").symlink_to(ROOT / "lev_plugins")
    assert_registered(user_dir(tmp_path / "lev_plugins", cwd=tmp_path, PYTHONPATH=str(site)).out)


def test_an_old_torch_is_refused_in_one_line(site: Path, tmp_path: Path) -> None:
    (tmp_path / "torch-2.5.1.dist-info").mkdir()
    metadata = "Metadata-Version: 2.1\nName: torch\nVersion: 2.5.1\n"
    (tmp_path / "torch-2.5.1.dist-info" / "METADATA").write_text(metadata)
    result = console(site, "average", "--help", path=tmp_path)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("lev-plugins: error: ") and "needs torch 2.6" in result.err
    assert result.err.count("\n") == 1
