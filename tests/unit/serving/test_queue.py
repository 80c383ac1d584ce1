"""Requests that wait are answered together, each as if it were alone."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from lev_plugins.serving.queue import Worker

LONG = 5.0  # seconds that no test waits


class Doubling:
    """``run`` of a worker that answers only when it may."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.begun, self.free = threading.Event(), threading.Event()

    def __call__(self, items: list[int]) -> list[int]:
        self.batches.append(items)
        self.begun.set()
        assert self.free.wait(LONG)
        if 13 in items:
            raise ValueError("13")
        return [2 * item for item in items]


def worker(run: Doubling, batch_size: int = 100) -> Worker[int, int]:
    return Worker(run, lambda item: 1, 10, batch_size)


async def begin(doing: Worker[int, int], run: Doubling, *requests: list[int]) -> list[asyncio.Task]:
    """The first is running, the others wait."""
    tasks = []
    for items in requests:
        tasks.append(asyncio.create_task(doing.answers(items, LONG)))
        await asyncio.sleep(0)
        await asyncio.to_thread(run.begun.wait, LONG)
    return tasks


def played(scene: Callable[[Doubling], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    """As a test."""
    return lambda: asyncio.run(scene(Doubling()))


@played
async def test_what_waits_is_one_batch_up_to_a_size_and_one_request_always_fits(run: Doubling) -> None:
    doing = worker(run, batch_size=3)
    tasks = await begin(doing, run, [0], [1], [2, 3], [4], [5, 6, 7, 8])
    run.free.set()
    assert await asyncio.gather(*tasks) == [[0], [2], [4, 6], [8], [10, 12, 14, 16]]
    assert run.batches == [[0], [1, 2, 3], [4], [5, 6, 7, 8]]
    doing.close()


@played
async def test_a_request_that_fails_fails_alone(run: Doubling) -> None:
    doing = worker(run)
    tasks = await begin(doing, run, [1], [13], [2])
    run.free.set()
    first, failed, last = await asyncio.gather(*tasks, return_exceptions=True)
    assert (first, last) == ([2], [4]) and isinstance(failed, ValueError)
    assert run.batches == [[1], [13, 2], [13], [2]]
    doing.close()


@played
async def test_closing_answers_what_waits_and_takes_no_more(run: Doubling) -> None:
    doing = worker(run)
    tasks = await begin(doing, run, [1], [2])
    run.free.set()
    await asyncio.to_thread(doing.close)
    assert await asyncio.gather(*tasks) == [[2], [4]]
    with pytest.raises(asyncio.QueueFull):
        await doing.answers([3], LONG)
    assert not doing.thread.is_alive()
