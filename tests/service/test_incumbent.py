"""The best checked answer is kept, and claims that it refutes are not."""

import pytest

from placement.answer import Answer
from placement.engine import SolveOptions, solve
from placement.objective import TierValue
from placement.resolve import problem_from_document
from placement.service.incumbent import CheckedAnswer, Incumbent, WrongAnswerError, examine
from tests.service.documents import FOUR_JOBS

PROBLEM = problem_from_document(FOUR_JOBS)
ANSWER = solve(PROBLEM, SolveOptions(solver="greedy"))


def checked(values: tuple[int, int], bounds: tuple[int, int], name: str = "a") -> CheckedAnswer:
    """An answer with one tier to maximise and one to minimise."""
    report = ANSWER.solver.model_copy(update={"name": name})
    work = TierValue("work", 0, None, values[0], 1, maximise=True)
    span = TierValue("span", None, "rack", values[1], 1, maximise=False)
    return CheckedAnswer(ANSWER.model_copy(update={"solver": report}), (work, span), bounds)


FIRST = checked((5, 5), (9, 3))


@pytest.mark.parametrize(
    ("candidate", "taken"),
    [
        (checked((6, 9), (9, 0), "more work, more span"), True),
        (checked((4, 0), (9, 0), "less work, less span"), False),
        (checked((5, 4), (9, 3), "as much work, less span"), True),
        (checked((5, 6), (9, 3), "as much work, more span"), False),
        (checked((5, 5), (7, 3), "as good, work better proven"), True),
        (checked((5, 5), (9, 4), "as good, span better proven"), True),
        (checked((5, 5), (9, 2), "as good, span less well proven"), False),
        (checked((5, 5), (9, 3)), False),
        (checked((10, 5), (12, 3), "beats the bound of the first"), True),
        (checked((4, 7), (9, 9), "a bound of another branch"), False),
    ],
    ids=lambda value: value.answer.solver.name if isinstance(value, CheckedAnswer) else None,
)
def test_the_better_answer_stays(candidate: CheckedAnswer, taken: bool) -> None:
    incumbent = Incumbent()
    assert incumbent.offer(FIRST)
    assert incumbent.offer(candidate) is taken
    assert incumbent.best is (candidate if taken else FIRST)


@pytest.mark.parametrize(
    "liar",
    [
        checked((4, 5), (4, 3), "optimal work, but less than known"),
        checked((5, 7), (9, 6), "least span, but more than known"),
    ],
    ids=lambda value: value.answer.solver.name,
)
def test_a_refuted_bound_is_refused(liar: CheckedAnswer) -> None:
    incumbent = Incumbent()
    incumbent.offer(FIRST)
    with pytest.raises(WrongAnswerError, match="but a checked answer reaches 5"):
        incumbent.offer(liar)
    assert incumbent.best is FIRST


def test_a_result_replaces_what_is_as_good() -> None:
    """Tests that the result does not depend on which answers before it were in time."""
    incumbent = Incumbent()
    incumbent.offer(FIRST)
    result = checked((5, 5), (9, 2), "result")
    assert incumbent.offer(result, final=True)
    assert not incumbent.offer(checked((5, 6), (9, 2), "worse"), final=True)
    assert incumbent.best is result


def altered(field: str, value: object) -> Answer:
    """The answer with another figure in its first tier."""
    first, *rest = ANSWER.objective
    spoilt = first.model_copy(update={field: value})
    return ANSWER.model_copy(update={"objective": (spoilt, *rest)})


def test_a_right_answer_passes() -> None:
    found = examine(PROBLEM, ANSWER)
    assert found.answer is ANSWER
    assert [value.reported for value in found.values] == [tier.value for tier in ANSWER.objective]


@pytest.mark.parametrize(
    "answer",
    [
        altered("value", 0.5),
        altered("bound", 0.0),
        altered("tier", "luck"),
        ANSWER.model_copy(update={"objective": ()}),
        ANSWER.model_copy(update={"decisions": ANSWER.decisions[1:]}),
        ANSWER.model_copy(update={"decisions": ANSWER.decisions[:1] * 4}),
    ],
    ids=["value", "bound", "tier", "no tiers", "a decision less", "one decision four times"],
)
def test_a_wrong_answer_does_not(answer: Answer) -> None:
    with pytest.raises(WrongAnswerError) as caught:
        examine(PROBLEM, answer)
    assert caught.value.rules
