"""A queue in front of a model: one thread owns the model and decodes the waiting requests as one batch."""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Generic, NamedTuple, TypeVar

Item = TypeVar("Item")
Answer = TypeVar("Answer")


class Job(NamedTuple):
    """The items of one request."""

    items: Sequence
    size: int
    answers: Future


class Worker(Generic[Item, Answer]):
    """A thread that answers requests in batches; if a batch fails, each of its requests is run alone."""

    def __init__(
        self,
        run: Callable[[list[Item]], list[Answer]],
        size_of: Callable[[Item], int],
        max_waiting: int,
        batch_size: int,
    ) -> None:
        """Start the thread.

        ``run``: answers the items of one or more requests
        ``size_of``: the size of an item
        ``max_waiting``: how many requests may wait
        ``batch_size``: the sum of sizes up to which requests share a batch
        """
        self.run, self.size_of, self.max_waiting, self.batch_size = run, size_of, max_waiting, batch_size
        self.waiting: deque[Job] = deque()
        self.changed = threading.Condition()
        self.closed = False
        self.thread = threading.Thread(target=self.work, daemon=True)
        self.thread.start()

    async def answers(self, items: Sequence[Item], seconds: float | None = None) -> list[Answer]:
        """Return the answers.

        Raises ``asyncio.QueueFull``, ``asyncio.TimeoutError``, or what ``run`` raises for these items.
        """
        job = Job(items, sum(map(self.size_of, items)), Future())
        with self.changed:
            self.waiting = deque(waiting for waiting in self.waiting if not waiting.answers.cancelled())
            if self.closed or len(self.waiting) >= self.max_waiting:
                raise asyncio.QueueFull
            self.waiting.append(job)
            self.changed.notify()
        return await asyncio.wait_for(asyncio.wrap_future(job.answers), seconds)

    def work(self) -> None:
        while jobs := self.take():
            self.answer(jobs)

    def take(self) -> list[Job]:
        """Wait for the next batch: at least one job; none once the worker is closed and the queue is empty."""
        batch: list[Job] = []
        with self.changed:
            while not batch:
                self.changed.wait_for(lambda: self.waiting or self.closed)
                if not self.waiting:
                    return []
                room = self.batch_size
                while self.waiting and (not batch or self.waiting[0].size <= room):
                    job = self.waiting.popleft()
                    if job.answers.set_running_or_notify_cancel():
                        batch.append(job)
                        room -= job.size
        return batch

    def answer(self, jobs: list[Job]) -> None:
        try:
            answers = iter(self.run([item for job in jobs for item in job.items]))
        except Exception as error:
            if len(jobs) == 1:
                jobs[0].answers.set_exception(error)
            else:
                for job in jobs:
                    self.answer([job])
            return
        for job in jobs:
            job.answers.set_result([next(answers) for _ in job.items])

    def close(self, seconds: float | None = None) -> None:
        """Refuse further requests, and wait some seconds until the waiting ones are answered."""
        with self.changed:
            self.closed = True
            self.changed.notify_all()
        self.thread.join(seconds)
