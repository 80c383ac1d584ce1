"""A server that several tests share."""

from collections.abc import Iterator

import pytest

from lev_plugins.serving.context import Context
from tests.serving import LIMITS, Client, FakeEditor, FakeLabeller, models, serving


@pytest.fixture(scope="module")
def server() -> Iterator[Client]:
    """Two editors, of which the second takes drafts, and a labeller."""
    models_of_server = models(FakeEditor(), FakeEditor(drafts=True), FakeLabeller())
    with serving(Context(models_of_server, limits=LIMITS)) as client:
        yield client
