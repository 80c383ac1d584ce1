"""The gate on long tests, on short ones with a short limit; and how tests are spread over workers."""

import sys

import pytest

from tests.processor_time import ProcessorTime

TESTS = f"""
import subprocess
import time

import pytest


def work(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


@pytest.fixture(scope="module")
def cheap():
    work(0.1)


@pytest.fixture(scope="module")
def dear(cheap):
    work(0.3)


@pytest.fixture
def own():
    work(0.15)


def test_waiting_is_not_working():
    time.sleep(0.3)


def test_shared_set_up_is_not_the_tests(cheap):
    work(0.15)


def test_long():
    work(0.3)


@pytest.mark.slow
def test_slow():
    work(0.3)


def test_its_own_set_up_is(own):
    work(0.15)


def test_of_a_dear_fixture(dear):
    pass


def test_other_processes_count():
    subprocess.run([{sys.executable!r}, "-c", "import time\\nwhile time.process_time() < 0.3: pass"])
"""


def test_what_takes_too_long_fails(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(TESTS)
    pytester.makeini("[pytest]\nmarkers = slow")
    gate = ProcessorTime({"quick": 0.25, "slow": 5.0})
    result = pytester.inline_run("-p", "no:cacheprovider", "-p", "no:xdist", plugins=[gate])
    passed, _, failed = result.listoutcomes()
    names = {report.nodeid.partition("::")[2]: report for report in failed}
    assert {report.nodeid.partition("::")[2] for report in passed} == {
        "test_waiting_is_not_working",
        "test_shared_set_up_is_not_the_tests",
        "test_slow",
    }
    assert names.keys() == {
        "test_long",
        "test_its_own_set_up_is",
        "test_of_a_dear_fixture",
        "test_other_processes_count",
    }
    assert "the limit of the quick tests is 0.25 s" in str(names["test_long"].longrepr)
    assert "the fixture dear took 0.3 s" in str(names["test_of_a_dear_fixture"].longrepr)
    assert sum(gate.spent.values()) > 1.3
