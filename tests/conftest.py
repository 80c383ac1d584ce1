"""Tests use the components by their names in fairseq, as its commands do; some are slow, some share a worker."""

from __future__ import annotations

import signal

import pytest

import lev_plugins

lev_plugins.register()

# a shell starts what runs in the background deaf to Ctrl-C, and so would be all that tests start and interrupt
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

PIPELINES = ("example", "demo")  # in the names of the files that run examples/ from end to end


@pytest.hookimpl(tryfirst=True)  # pytest-xdist's own hook reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """For ``--dist loadgroup``: the tests of one file, and all that look at the model of the fixture ``trained``."""
    for item in items:
        file = item.path
        together = "trained" if "trained" in getattr(item, "fixturenames", ()) else file.stem
        item.add_marker(pytest.mark.xdist_group(together))
        if file.parent.name == "integration" and any(name in file.stem for name in PIPELINES):
            item.add_marker(pytest.mark.slow)
