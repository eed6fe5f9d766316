"""How the time of a request is divided."""

import pytest

from placement.service.supervise import Deadlines


@pytest.mark.parametrize(
    ("limit_s", "call_s", "reproducible", "solve_s", "hard_s"),
    [
        (5.0, None, False, 5.0, 6.5),  # the limit, then a grace
        (5.0, 60.0, False, 5.0, 6.5),  # a call with time to spare
        (5.0, 1.0, False, 0.9, 1.0),  # the call decides; a tenth to hand over
        (600.0, 100.0, False, 98.0, 100.0),  # never more than 2 s of it
        (5.0, 5.0, False, 4.5, 5.0),
        (5.0, None, True, 100.0, 111.0),  # the clock only guards
        (5.0, 10.0, True, 9.0, 10.0),
    ],
)
def test_deadlines(
    limit_s: float, call_s: float | None, reproducible: bool, solve_s: float, hard_s: float
) -> None:
    now_s = 1000.0
    call_end_s = None if call_s is None else now_s + call_s
    found = Deadlines.of(now_s, limit_s, call_end_s, reproducible=reproducible)
    assert found.solve_s - now_s == pytest.approx(solve_s)
    assert found.hard_s - now_s == pytest.approx(hard_s)
