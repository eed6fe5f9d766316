"""The tiers of the objective: what was reached, what was proven."""

from rich.console import Group
from rich.text import Text

from placement.answer import Answer, Status, TierResult
from placement.render.layout import number, percent, plain_table, section


def tier_name(tier: TierResult) -> str:
    """Name a tier as people say it: ``work, priority 10``; ``span, rack``."""
    if tier.priority is not None:
        return f"{tier.tier}, priority {tier.priority}"
    return tier.tier if tier.level is None else f"{tier.tier}, {tier.level}"


def tiers_section(answer: Answer) -> Group | None:
    """Value, proven bound, gap and status of each tier, most important first."""
    if not answer.objective:
        return None
    table = plain_table("tier", ">value", ">bound", ">gap", "status")
    for tier in answer.objective:
        style = "green" if tier.status is Status.OPTIMAL else "yellow"
        table.add_row(
            Text(tier_name(tier)),
            Text(number(tier.value)),
            Text(number(tier.bound)),
            Text(percent(tier.gap)),
            Text(tier.status.value, style=style),
        )
    return section("Objective, most important first", table)
