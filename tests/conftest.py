"""Tests use the components by their names in fairseq, as its commands do; some share what takes long to make."""

from __future__ import annotations

import pytest

import lev_plugins

lev_plugins.register()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """For ``--dist loadgroup``: the tests of one file, and all that look at the model of the fixture ``trained``."""
    for item in items:
        together = "trained" if "trained" in getattr(item, "fixturenames", ()) else item.path.stem
        item.add_marker(pytest.mark.xdist_group(together))
