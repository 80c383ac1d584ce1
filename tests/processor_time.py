"""A test, or a fixture that several tests share, fails if it takes more processor time than its tier allows.

Processor time, with that of processes which have ended, depends less than the clock on what else a machine does. A
slow or busy processor takes twice as long as a fast one, and the limits leave room for that.
"""

import os
from collections.abc import Iterator
from typing import Any

import pytest

LIMITS = {"quick": 20.0, "slow": 600.0}  # seconds
SHOWN = 10  # tests in the summary, the longest first


def seconds() -> float:
    return sum(os.times()[:4])


class ProcessorTime:
    """The plug-in, with the seconds that a test of each tier may take."""

    def __init__(self, limits: dict[str, float] | None = None):
        self.limits = limits or LIMITS
        self.tier, self.begun, self.shared = "quick", 0.0, 0.0  # of the test that runs
        self.spent: dict[str, float] = {}

    def check(self, name: str, spent: float) -> None:
        if spent > self.limits[self.tier]:
            pytest.fail(
                f"{name} took {spent:.1f} s of processor time, but the limit of the {self.tier} tests is "
                f"{self.limits[self.tier]:g} s: make it shorter, or see CONTRIBUTING.md for the tiers",
                pytrace=False,
            )

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Iterator[None]:
        self.tier = "quick" if item.get_closest_marker("slow") is None else "slow"
        self.begun, self.shared = seconds(), 0.0
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[None]:
        """A fixture of one test counts as part of it; another has what a test has, without those that it is made of."""
        if fixturedef.scope == "function":
            return (yield)
        begun, others = seconds(), self.shared
        made = yield
        spent = seconds() - begun - (self.shared - others)
        self.shared += spent
        self.check(f"the fixture {fixturedef.argname}", spent)
        return made

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        result = yield
        spent = seconds() - self.begun
        item.user_properties.append(("processor time", spent))
        self.check("the test", spent - self.shared)
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, spent in report.user_properties:
            if name == "processor time":
                self.spent[report.nodeid] = float(spent)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        longest = sorted(self.spent.items(), key=lambda entry: -entry[1])[:SHOWN]
        terminalreporter.section(f"{sum(self.spent.values()):.0f} s of processor time; most, with shared fixtures, for")
        for name, spent in longest:
            terminalreporter.line(f"{spent:6.1f} s  {name}")
