"""The report of a study, by the game that its participants played."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from ecsuite.eval.views.console import Report
from ecsuite.people.agents_findings import learned
from ecsuite.people.agents_report import agents_report_tables, agents_result, draw_learning
from ecsuite.people.chain_languages import generations, measured
from ecsuite.people.chain_report import (
    chain_status_rows,
    chain_status_table,
    chains_result,
    chains_table,
    draw_chains,
)
from ecsuite.people.chains import read_chains
from ecsuite.people.database import Database
from ecsuite.people.findings import find
from ecsuite.people.games import game_to_read, stored_language
from ecsuite.people.pair_report import draw_pairs, pairs_result, pairs_table, understood
from ecsuite.people.records import RULES, Record
from ecsuite.people.report import as_result, draw_curves, report_tables, status_rows, status_table
from ecsuite.people.study import Study
from ecsuite.tables.table import Table


def make_report(study: Study, database: Database, records: Sequence[Record]) -> Report:
    """Count what the participants of a study did.

    Raises:
        ConfigError: If it is about trained agents, and nobody has been served yet.
    """
    if study.run:
        language, make_game = stored_language(database), game_to_read(study, database)
        roles = [learned(role, records, make_game) for role in study.roles]
        return Report(
            tables=agents_report_tables(study, language, roles),
            notes=(),
            data=agents_result(study, language, roles),
            draw=partial(draw_learning, study, roles),
        )
    if study.play:
        from ecsuite.people.rounds_report import rounds_report

        return rounds_report(study, database, records)
    if study.chains:
        chains = read_chains(study, database, now=0.0)
        rows = [row for chain in chains for row in measured(study, list(generations(study, database, chain)))]
        return Report(
            tables=[chains_table(study, rows)],
            notes=(),
            data=chains_result(study, rows),
            draw=partial(draw_chains, study, rows),
        )
    if study.pairs:
        successes = understood(study, records)
        return Report(
            tables=[pairs_table(study, successes)],
            notes=(),
            data=pairs_result(study, successes),
            draw=partial(draw_pairs, study, successes),
        )
    findings = [find(study, records, rule) for rule in RULES]
    return Report(
        tables=report_tables(study, findings),
        notes=(),
        data=as_result(study, findings),
        draw=partial(draw_curves, study, findings[-1]),
    )


def make_status(
    study: Study, database: Database, records: Sequence[Record], now: float
) -> tuple[Table, list[dict[str, Any]]]:
    """How far a study is, as a table and JSON-ready; `now` is in seconds since 1970."""
    if study.chains:
        chains = read_chains(study, database, now)
        return chain_status_table(study, chains), chain_status_rows(study, chains)
    return status_table(study, records, now), status_rows(study, records, now)
