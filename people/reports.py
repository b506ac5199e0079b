"""The report of a study, by the game that its participants played."""

from collections.abc import Sequence
from functools import partial

from ecsuite.eval.reports.console import Report
from ecsuite.people.agents_findings import learned
from ecsuite.people.agents_report import agents_report_tables, agents_result, draw_learning
from ecsuite.people.database import Database
from ecsuite.people.findings import find
from ecsuite.people.games import game_to_read, stored_language
from ecsuite.people.records import RULES, Record
from ecsuite.people.report import as_result, draw_curves, report_tables
from ecsuite.people.study import Study


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
    findings = [find(study, records, rule) for rule in RULES]
    return Report(
        tables=report_tables(study, findings),
        notes=(),
        data=as_result(study, findings),
        draw=partial(draw_curves, study, findings[-1]),
    )
