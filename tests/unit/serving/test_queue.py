"""Requests that wait are answered together, each as if it were alone."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from lev_plugins.serving.queue import Worker

TIMEOUT = 5.0  # seconds that no test waits


class Doubling:
    """A function for a worker that waits until ``free`` is set and doubles its items."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.begun, self.free = threading.Event(), threading.Event()

    def __call__(self, items: list[int]) -> list[int]:
        self.batches.append(items)
        self.begun.set()
        assert self.free.wait(TIMEOUT)
        if 13 in items:
            raise ValueError("13")
        return [2 * item for item in items]


def worker(run: Doubling, batch_size: int = 100) -> Worker[int, int]:
    return Worker(run, lambda item: 1, 10, batch_size)


async def begin(queue_worker: Worker[int, int], run: Doubling, *requests: list[int]) -> list[asyncio.Task]:
    """Sends requests: the first one runs, the others wait."""
    tasks = []
    for items in requests:
        tasks.append(asyncio.create_task(queue_worker.answers(items, TIMEOUT)))
        await asyncio.sleep(0)
        await asyncio.to_thread(run.begun.wait, TIMEOUT)
    return tasks


def run_scene(scene: Callable[[Doubling], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    """Returns a test function that runs the scene."""
    return lambda: asyncio.run(scene(Doubling()))


@run_scene
async def test_waiting_requests_are_batched_up_to_a_size_but_never_split(run: Doubling) -> None:
    queue_worker = worker(run, batch_size=3)
    tasks = await begin(queue_worker, run, [0], [1], [2, 3], [4], [5, 6, 7, 8])
    run.free.set()
    assert await asyncio.gather(*tasks) == [[0], [2], [4, 6], [8], [10, 12, 14, 16]]
    assert run.batches == [[0], [1, 2, 3], [4], [5, 6, 7, 8]]
    queue_worker.close()


@run_scene
async def test_a_failing_request_fails_alone(run: Doubling) -> None:
    queue_worker = worker(run)
    tasks = await begin(queue_worker, run, [1], [13], [2])
    run.free.set()
    doubled, failed, last = await asyncio.gather(*tasks, return_exceptions=True)
    assert (doubled, last) == ([2], [4]) and isinstance(failed, ValueError)
    assert run.batches == [[1], [13, 2], [13], [2]]
    queue_worker.close()


@run_scene
async def test_close_answers_waiting_requests_and_refuses_more(run: Doubling) -> None:
    queue_worker = worker(run)
    tasks = await begin(queue_worker, run, [1], [2])
    run.free.set()
    await asyncio.to_thread(queue_worker.close)
    assert await asyncio.gather(*tasks) == [[2], [4]]
    with pytest.raises(asyncio.QueueFull):
        await queue_worker.answers([3], TIMEOUT)
    assert not queue_worker.thread.is_alive()
