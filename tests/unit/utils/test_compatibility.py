"""A wrong torch or fairseq gives one line that says what to install."""

import importlib.util
import logging
import re
from importlib import metadata
from pathlib import Path

import pytest

from lev_plugins.utils import compatibility

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("version", ["1.13.1", "2.5.1+cu121", "2.0.0a0+git1234"])
def test_old_torch(monkeypatch, version):
    monkeypatch.setattr(metadata, "version", lambda name: version)
    with pytest.raises(ImportError) as refused:
        compatibility.check_environment()
    assert str(refused.value) == (
        f"lev-plugins needs torch 2.6 or newer, but {version} is installed: pip install --upgrade 'torch>=2.6'"
    )


@pytest.mark.parametrize("version", ["2.6.0", "2.13.0+cpu", "2.14.0.dev20261101", "3.0.0"])
def test_torch_that_will_do(monkeypatch, version):
    monkeypatch.setattr(metadata, "version", lambda name: version)
    assert compatibility.problem() is None


@pytest.mark.parametrize("name", ["torch", "fairseq"])
def test_missing(monkeypatch, name):
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda asked: None if asked == name else real(asked))
    assert re.match(rf"lev-plugins needs {name}.*, but it is not installed: pip install ", compatibility.problem())


def test_fairseq_that_cannot_be_imported(monkeypatch):
    """fairseq 0.12.2 on Python 3.11 and newer."""

    def fail(name):
        raise ValueError("mutable default <class 'CommonConfig'> for field common\nis not allowed: use default_factory")

    monkeypatch.setattr(compatibility, "import_module", fail)
    line = compatibility.problem()
    assert "\n" not in line
    assert "cannot be imported on Python 3." in line
    assert "(ValueError: mutable default <class 'CommonConfig'> for field common is not allowed" in line
    assert line.endswith(f"pip uninstall --yes fairseq && {compatibility.INSTALL_FAIRSEQ}")


def test_fairseqs_call_for_tensorboardx_is_not_heard():
    assert not logging.getLogger("fairseq.tasks.text_to_speech").isEnabledFor(logging.INFO)


def test_floors_are_those_of_setup():
    text = (ROOT / "setup.py").read_text("utf-8")
    assert '"torch>={}.{}"'.format(*compatibility.OLDEST_TORCH) in text
