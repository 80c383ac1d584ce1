"""A training ends with exit status 0 while batches are still read ahead."""

import subprocess
import sys

import pytest

from tests.commands import TIMEOUT

SCRIPT = """
import torch
from fairseq.data.iterators import BufferedIterator
import lev_plugins

class Products:
    def __len__(self):
        return 1000
    def __getitem__(self, index):
        return torch.ones(600, 600) @ torch.ones(600, 600)
    def __iter__(self):
        return map(self.__getitem__, range(1000))

batches = BufferedIterator(SIZE, SOURCE)
assert next(batches).shape == (600, 600)
"""
BATCH_SOURCES = {
    "waiting for room": (1, "Products()"),
    "batches of a worker": (1000, "torch.utils.data.DataLoader(Products(), batch_size=None, num_workers=1)"),
}


@pytest.mark.parametrize("state", BATCH_SOURCES)
def test_the_interpreter_exits_while_batches_are_read(state: str) -> None:
    size, source = BATCH_SOURCES[state]
    script = SCRIPT.replace("SIZE", str(size)).replace("SOURCE", source)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=TIMEOUT)
    assert done.returncode == 0, done.stderr
