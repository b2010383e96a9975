"""Schedules of the learning rate: what each does, and what is refused."""

from __future__ import annotations

import pytest

from unfooled.errors import UsageError
from unfooled.hub.schedules import make_schedule


@pytest.mark.parametrize(
    ("name", "shares"),
    [
        ("linear", [1.0, 0.75, 0.5, 0.0]),
        ("cosine", [1.0, 0.8536, 0.5, 0.0]),
        ("constant", [1.0, 1.0, 1.0, 1.0]),
        ("step:0.1:30", [1.0, 1.0, 0.1, 0.001]),
        ("step:.5:25", [1.0, 0.5, 0.25, 0.0625]),
    ],
)
def test_a_schedule_gives_the_share_of_the_peak_rate(name: str, shares: list[float]) -> None:
    schedule = make_schedule(name)
    assert [schedule(done, 100 * done) for done in (0.0, 0.25, 0.5, 1.0)] == pytest.approx(shares, abs=1e-4)


@pytest.mark.parametrize("name", ["lineal", "step", "step:2:30", "step:0:30", "step:0.1:0", "step:a:3", ""])
def test_what_is_no_schedule_is_refused_with_those_there_are(name: str) -> None:
    with pytest.raises(UsageError, match=r"schedule must be linear, cosine, constant or step:FACTOR:EPOCHS"):
        make_schedule(name)
