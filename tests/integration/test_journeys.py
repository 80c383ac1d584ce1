"""No piece of work goes through more files of the package than a reader can follow."""

import pytest

from scripts import journeys


@pytest.fixture(scope="module")
def parts() -> dict[str, dict[str, list[str]]]:
    return journeys.measured()


@pytest.mark.slow
@pytest.mark.parametrize("part", list(journeys.LIMITS))
def test_a_journey_stays_short(parts: dict[str, dict[str, list[str]]], part: str) -> None:
    assert 0 < len(parts[part]) <= journeys.LIMITS[part], "\n".join(parts[part])
