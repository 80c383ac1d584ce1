"""Tests use the components by their names in fairseq, as its commands do; some are slow, some share a worker."""

from __future__ import annotations

import pytest

import lev_plugins

lev_plugins.register()

PIPELINES = ("example", "demo")  # in the names of the files that run examples/ from end to end


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """For ``--dist loadgroup``: the tests of one file, and all that look at the model of the fixture ``trained``."""
    for item in items:
        file = item.path
        together = "trained" if "trained" in getattr(item, "fixturenames", ()) else file.stem
        item.add_marker(pytest.mark.xdist_group(together))
        if file.parent.name == "integration" and any(name in file.stem for name in PIPELINES):
            item.add_marker(pytest.mark.slow)
