"""A wrong torch or fairseq is explained by what to install."""

import importlib.util
import logging
import re
from importlib import metadata
from pathlib import Path

import pytest

from lev_plugins.utils import compatibility

REPOSITORY_ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("version", ["1.13.1", "2.5.1+cu121", "2.0.0a0+git1234"])
def test_old_torch_is_refused(monkeypatch, version):
    monkeypatch.setattr(metadata, "version", lambda name: version)
    with pytest.raises(ImportError) as refused:
        compatibility.check_environment()
    assert "torch 2.6" in str(refused.value) and version in str(refused.value)


@pytest.mark.parametrize("version", ["2.6.0", "2.13.0+cpu", "2.14.0.dev20261101", "3.0.0"])
def test_new_torch_is_accepted(monkeypatch, version):
    monkeypatch.setattr(metadata, "version", lambda name: version)
    assert compatibility.problem() is None


@pytest.mark.parametrize("name", ["torch", "fairseq"])
def test_missing_packages_are_named(monkeypatch, name):
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda package: None if package == name else real(package))
    assert re.match(rf"lev-plugins needs {name}.* pip install ", compatibility.problem())


def test_fairseq_that_cannot_be_imported_is_explained(monkeypatch):
    """fairseq 0.12.2 raises this error on Python 3.11 and newer."""

    def fail(name):
        raise ValueError("mutable default <class 'CommonConfig'> for field common\nis not allowed: use default_factory")

    monkeypatch.setattr(compatibility, "import_module", fail)
    line = compatibility.problem()
    assert "\n" not in line
    assert "on Python 3." in line and "mutable default <class 'CommonConfig'>" in line
    assert line.endswith(compatibility.INSTALL_FAIRSEQ)


def test_the_message_of_fairseq_about_tensorboardx_is_silenced():
    assert not logging.getLogger("fairseq.tasks.text_to_speech").isEnabledFor(logging.INFO)


def test_the_oldest_torch_equals_that_of_setup():
    text = (REPOSITORY_ROOT / "setup.py").read_text("utf-8")
    assert '"torch>={}.{}"'.format(*compatibility.OLDEST_TORCH) in text
