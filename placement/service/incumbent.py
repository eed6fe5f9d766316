"""The best checked answer of one request, and whether the claims about it hold together."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from placement.answer import Answer
from placement.check import check_answer
from placement.objective import TierValue, tier_values
from placement.problem import Problem


class WrongAnswerError(Exception):
    """An answer that must not reach the caller; the text says why.

    Attributes
    ----------
    rules
        Names of what is broken, without anything of the request: for logs.
    """

    def __init__(self, message: str, rules: Sequence[str]) -> None:
        super().__init__(message)
        self.rules = tuple(sorted(set(rules)))


@dataclass(frozen=True, slots=True)
class CheckedAnswer:
    """An answer that passed the check.

    Attributes
    ----------
    answer
        The answer.
    values
        Value of each tier, computed from the problem and the decisions alone.
    bounds
        Bound of each tier in the units of ``values``, as claimed.
    """

    answer: Answer
    values: tuple[TierValue, ...]
    bounds: tuple[int, ...]

    def with_notes(self, notes: Sequence[str]) -> "CheckedAnswer":
        """The same answer with more notes about the solve."""
        report = self.answer.solver
        report = report.model_copy(update={"notes": (*report.notes, *notes)})
        return replace(self, answer=self.answer.model_copy(update={"solver": report}))

    @property
    def merits(self) -> tuple[int, ...]:
        """Value per tier, such that more is better."""
        return tuple(
            value.value_units if value.maximise else -value.value_units for value in self.values
        )

    @property
    def claims(self) -> tuple[int, ...]:
        """Bound per tier, such that no merit can be more."""
        pairs = zip(self.values, self.bounds, strict=True)
        return tuple(bound if value.maximise else -bound for value, bound in pairs)


def examine(problem: Problem, answer: Answer) -> CheckedAnswer:
    """Check an answer by the problem alone.

    Raises
    ------
    WrongAnswerError
        It breaks a rule, or its figures are not what they claim to be.
    """
    violations = check_answer(problem, answer)
    if violations:
        shown = "; ".join(str(violation) for violation in violations[:3])
        raise WrongAnswerError(shown, [violation.rule.value for violation in violations])
    values = tier_values(problem, answer)
    bounds = tuple(
        round(tier.bound * value.unit) for tier, value in zip(answer.objective, values, strict=True)
    )
    checked = CheckedAnswer(answer, values, bounds)
    for tier, merit, claim in zip(values, checked.merits, checked.claims, strict=True):
        if merit > claim:
            raise WrongAnswerError(f"tier {tier.tier} is better than its bound", ["tier-bound"])
    return checked


class Incumbent:
    """Keeps the best of the checked answers of one request."""

    def __init__(self) -> None:
        self.best: CheckedAnswer | None = None

    def offer(self, candidate: CheckedAnswer, *, final: bool = False) -> bool:
        """Take the candidate if it is better, or as good and better proven.

        Parameters
        ----------
        candidate
            A checked answer.
        final
            Whether it is the result of a solver: then it is enough that it is as good, so that
            the result does not depend on which answers before it were in time.

        Returns
        -------
        bool
            Whether it is the best now.

        Raises
        ------
        WrongAnswerError
            It claims a bound that the best answer so far exceeds.
        """
        best = self.best
        if best is None:
            self.best = candidate
            return True
        tier = _first_difference(candidate.merits, best.merits)
        if tier is None:
            better = final or (candidate.claims <= best.claims and candidate.answer != best.answer)
        elif best.merits[tier] > candidate.claims[tier]:
            # The tiers above are equal: the bound speaks about the best answer, and is wrong.
            raise WrongAnswerError(
                f"tier {candidate.values[tier].tier}: bound {candidate.bounds[tier]}, but a "
                f"checked answer reaches {best.values[tier].value_units}",
                ["bound-beaten"],
            )
        else:
            better = candidate.merits[tier] > best.merits[tier]
        if better:
            self.best = candidate
        return better


def _first_difference(left: Sequence[int], right: Sequence[int]) -> int | None:
    pairs = enumerate(zip(left, right, strict=True))
    return next((index for index, (a, b) in pairs if a != b), None)
