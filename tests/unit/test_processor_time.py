"""The gate on long tests."""

import pytest

from tests.processor_time import ProcessorTime

TESTS = """
import time, pytest

def work(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass

@pytest.fixture(scope="module")
def shared():
    work(0.2)

def test_waiting_is_not_working():
    time.sleep(0.3)

def test_shared_set_up_is_not_the_tests(shared):
    work(0.15)

@pytest.mark.slow
def test_slow():
    work(0.3)

def test_long():
    work(0.3)
"""


def test_what_takes_too_long_fails(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(TESTS)
    pytester.makeini("[pytest]\nmarkers = slow")
    gate = ProcessorTime({"quick": 0.25, "slow": 5.0})
    passed, _, failed = pytester.inline_run("-p", "no:cacheprovider", "-p", "no:xdist", plugins=[gate]).listoutcomes()
    assert len(passed) == 3 and [report.nodeid.partition("::")[2] for report in failed] == ["test_long"]
    assert "the limit of the quick tests is 0.25 s" in str(failed[0].longrepr)
