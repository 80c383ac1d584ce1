"""Requests that wait are answered together, each as if it were alone."""

import asyncio
import threading

import pytest

from lev_plugins.serving.context import LEAST, Passage, edited, labelled
from lev_plugins.serving.queue import Full, Worker
from tests.serving import FakeEditor, FakeLabeller

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


def worker(run: Doubling, most: int = 10, batch_size: int = 100) -> Worker[int, int]:
    return Worker(run, lambda item: 1, most, batch_size)


async def begin(doing: Worker[int, int], run: Doubling, *requests: list[int]) -> list[asyncio.Task]:
    """The first is running, the others wait."""
    tasks = []
    for items in requests:
        tasks.append(asyncio.create_task(doing.answers(items, LONG)))
        await asyncio.sleep(0)
        await asyncio.to_thread(run.begun.wait, LONG)
    return tasks


def test_what_waits_is_one_batch_and_everyone_gets_their_own() -> None:
    async def scene() -> None:
        run = Doubling()
        doing = worker(run)
        tasks = await begin(doing, run, [1], [2, 3], [4])
        run.free.set()
        assert await asyncio.gather(*tasks) == [[2], [4, 6], [8]]
        assert run.batches == [[1], [2, 3, 4]]
        doing.close()

    asyncio.run(scene())


def test_a_batch_has_a_size_and_one_request_always_fits() -> None:
    async def scene() -> None:
        run = Doubling()
        doing = worker(run, batch_size=3)
        tasks = await begin(doing, run, [0], [1, 2], [3, 4], [5, 6, 7, 8])
        run.free.set()
        await asyncio.gather(*tasks)
        assert run.batches == [[0], [1, 2], [3, 4], [5, 6, 7, 8]]
        doing.close()

    asyncio.run(scene())


def test_a_request_that_fails_fails_alone() -> None:
    async def scene() -> None:
        run = Doubling()
        doing = worker(run)
        tasks = await begin(doing, run, [1], [13], [2])
        run.free.set()
        first, failed, last = await asyncio.gather(*tasks, return_exceptions=True)
        assert (first, last) == ([2], [4]) and isinstance(failed, ValueError)
        assert run.batches == [[1], [13, 2], [13], [2]]
        doing.close()

    asyncio.run(scene())


def test_a_request_waits_only_so_long() -> None:
    async def scene() -> None:
        run = Doubling()
        doing = worker(run)
        (first,) = await begin(doing, run, [1])
        with pytest.raises(asyncio.TimeoutError):
            await doing.answers([2], 0.01)
        run.free.set()
        assert await first == [2] and run.batches == [[1]]
        doing.close()

    asyncio.run(scene())


def test_closing_answers_what_waits_and_takes_no_more() -> None:
    async def scene() -> None:
        run = Doubling()
        doing = worker(run)
        tasks = await begin(doing, run, [1], [2])
        run.free.set()
        await asyncio.to_thread(doing.close)
        assert await asyncio.gather(*tasks) == [[2], [4]]
        with pytest.raises(Full):
            await doing.answers([3], LONG)
        assert not doing.thread.is_alive()

    asyncio.run(scene())


# ---- texts -----------------------------------------------------------------------------------------------------------


def test_drafts_and_texts_wait_for_the_same_model() -> None:
    editor = FakeEditor(drafts=True)
    passages = [Passage("teh"), Passage("source", "a ⟦+⟧ tset"), Passage("go", least=0.8)]
    assert [one.text for one in edited(editor, passages)] == ["the", "a new test", "go"]
    assert editor.calls == [["teh", "source", "go"]]


def test_how_much_a_text_counts() -> None:
    assert Passage("a" * 20, "de").size() == 22 and Passage(("a" * 20, "c")).size() == Passage("a" * 21).size() == 21
    assert Passage("abc", "de").size() == Passage(("ab", "c")).size() == Passage("").size() == LEAST
    assert Passage(("",) * 3_000).size() == 3_000


def test_each_label_is_answered_as_its_request_says() -> None:
    plain, scored = labelled(FakeLabeller(), [Passage("good good bad"), Passage("good bad", scores=True)])
    assert plain == {"label": "good", "score": 0.6667}
    assert scored["all_scores"] == {"bad": 0.5, "good": 0.5}
