"""Requests wait in a queue; one thread owns the model and decodes those that wait as one batch."""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Generic, NamedTuple, TypeVar

Item = TypeVar("Item")
Answer = TypeVar("Answer")


class Full(Exception):
    """As many requests wait as may wait."""


class Job(NamedTuple):
    items: Sequence
    size: int
    answers: Future


class Worker(Generic[Item, Answer]):
    """``run`` answers the items of many requests at once; if it fails, each request gets its own answer or error.

    At most ``most`` requests wait; one that was cancelled leaves at once.
    """

    def __init__(
        self, run: Callable[[list[Item]], list[Answer]], size_of: Callable[[Item], int], most: int, batch_size: int
    ):
        self.run, self.size_of, self.most, self.batch_size = run, size_of, most, batch_size
        self.waiting: deque[Job] = deque()
        self.changed = threading.Condition()
        self.closed = False
        self.thread = threading.Thread(target=self.work, daemon=True)
        self.thread.start()

    async def answers(self, items: Sequence[Item], seconds: float | None = None) -> list[Answer]:
        """Raises ``Full``, ``asyncio.TimeoutError``, or what ``run`` raises for these items."""
        job = Job(items, sum(map(self.size_of, items)), Future())
        with self.changed:
            self.waiting = deque(other for other in self.waiting if not other.answers.cancelled())
            if self.closed or len(self.waiting) >= self.most:
                raise Full
            self.waiting.append(job)
            self.changed.notify()
        return await asyncio.wait_for(asyncio.wrap_future(job.answers), seconds)

    def work(self) -> None:
        while jobs := self.take():
            self.answer(jobs)

    def take(self) -> list[Job]:
        """What waits, from the front, as much as a batch holds but at least one; nothing once the worker is closed."""
        taken: list[Job] = []
        with self.changed:
            while not taken:
                self.changed.wait_for(lambda: self.waiting or self.closed)
                if not self.waiting:
                    return []
                room = self.batch_size
                while self.waiting and (not taken or self.waiting[0].size <= room):
                    job = self.waiting.popleft()
                    if job.answers.set_running_or_notify_cancel():
                        taken.append(job)
                        room -= job.size
        return taken

    def answer(self, jobs: list[Job]) -> None:
        try:
            found = iter(self.run([item for job in jobs for item in job.items]))
        except Exception as error:
            if len(jobs) == 1:
                jobs[0].answers.set_exception(error)
            else:
                for job in jobs:
                    self.answer([job])
            return
        for job in jobs:
            job.answers.set_result([next(found) for _ in job.items])

    def close(self, seconds: float | None = None) -> None:
        """What waits is still answered, within some seconds; then the process need not wait for the thread."""
        with self.changed:
            self.closed = True
            self.changed.notify_all()
        self.thread.join(seconds)
