"""A linear expression over the counting model."""

from dataclasses import dataclass

from solvers.cp_sat.rows import Term


@dataclass(frozen=True, slots=True)
class Expression:
    """``sum(terms) + constant``, in tier units."""

    terms: list[Term]
    constant: int = 0
