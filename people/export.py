"""Export of a study: pseudonymous tables, and corpora of the typed messages."""

import csv
import io
import shlex
import shutil
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from ecsuite.eval.views.console import write_json
from ecsuite.files.atomic_files import write_atomically
from ecsuite.formats import write_corpus
from ecsuite.people.kinds import HELD_OUT, TRAINING, Record, Shown, StudyKind, read_records
from ecsuite.people.study import Study
from ecsuite.runtime.errors import ConfigError
from ecsuite.tables.forms import FORMULA

RESPONSE_WORDS = {
    "participant": "The participant, P001 and so on: the unit of random effects.",
    "counted": "1 if the participant is included: finished; in chains, in the lineage of the last generation; else 0.",
    "condition": "Dataset and grammar, the role in a game with agents, or the game of rounds.",
    "chain": "The chain; empty in studies without chains.",
    "generation": "Generation in the chain, from 1.",
    "pair": "The pair of people who play with each other; empty in studies without pairs.",
    "trial": "Number of the response, from 1, for each participant.",
    "phase": "training, held_out, test (of chains), speaking or listening (of pairs), round_speaking, "
    "round_listening or round_test (of plays of rounds), or attention (a check).",
    "item": "The object in words; empty in an attention check.",
    "message": "The message of the trial: in pairs, for receivers in a game with agents, and in ended games of rounds.",
    "response": "The answer; for listeners and receivers, the chosen object.",
    "target": "The right answer; in the test of a chain, the code that the previous participant typed; for the hearer "
    "of a name, that name.",
    "correct": "1 if the response is the target, or was understood; else 0; empty if the outcome is unknown: in "
    "round_test, which has no listener, for a message without an answer, and for a round that did not end.",
    "rt": "Milliseconds from the picture to the answer, measured by the page; empty if not measured.",
}
"""Columns of `responses.csv` and keys of `responses.json`."""
PARTICIPANT_WORDS = {
    "participant": "P001 and so on, in the order of their start.",
    "dataset": "synth or eng; agents in a game with agents; rounds in a game of rounds.",
    "grammar": "The language; in a game with agents, the role; in a game of rounds, the game.",
    "chain": "The chain.",
    "generation": "Generation in the chain, from 1.",
    "counted": "Whether the participant is included: in the lineage of the last generation.",
    "pair": "The pair of people who play with each other.",
    "protocol": "balanced, published, agents, chain, pair or rounds.",
    "seed": "Seed of the codes, of the order of objects and of the pictures.",
    "stage": "The last stage of the participant; finished: the end.",
    "seconds": "Seconds from consent to the last page.",
    "minutes_of_game": "Minutes from the first example to the last answer.",
    "score": "Points.",
    "num_answers": "Number of answered steps.",
    "accuracy_training": "Share of right answers to unlocked objects.",
    "accuracy_held_out": "Share of right answers to held-out objects.",
    "passed_attention": "Whether the attention check was answered correctly; true without a check.",
    "num_quiz_attempts": "Number of attempts at the quiz.",
    "num_looks": "Number of times that the training panel was opened.",
    "names_objects": "Whether colours and shapes were named in words (the participant's choice).",
    "has_sound": "Whether sounds were on.",
    "left_out_published": "Reason why the paper's rule excludes the participant; empty: included.",
    "left_out_preregistered": "Reason why the preregistered rule excludes the participant; empty: included.",
    "strategy": "Reply: How did you work out codes that were not under Training?",
    "rule": "Reply: If you found a rule in the codes, what is it?",
    "notes": "Reply: Did you take notes?",
    "worker": "Participant ID of the platform in its stored form; only with --worker-ids.",
}
"""Columns of `participants.csv`."""
ROWS = {
    "responses": "one row per response, for mixed models",
    "participants": "one row per participant",
    "trials": "one row per answer, with details of the game",
}
"""Descriptions of the rows of each table."""


def export(kind: StudyKind, folder: Path, *, has_workers: bool) -> list[str]:
    """Write the tables, the data dictionary and the corpora of a study.

    Args:
        kind: The study.
        folder: The folder: new, empty, or an earlier export, which is updated.
        has_workers: Whether to include the platform's participant IDs.

    Returns:
        The names of the written files, with their contents.

    Raises:
        ConfigError: If the folder has other files.
    """
    if folder.is_dir() and any(folder.iterdir()) and not (folder / "data_dictionary.md").exists():
        raise ConfigError(f"{folder}: has other files: expected a new folder (--out)")
    records = read_records(kind.database)
    counted, corpora = kind.counted(records), kind.corpora(records)
    absent = (*kind.absent_columns, *([] if has_workers else ["worker"]))
    words = {name: meaning for name, meaning in PARTICIPANT_WORDS.items() if name not in absent}
    tables = {
        "responses": (response_rows(kind, records, counted), RESPONSE_WORDS),
        "participants": (_participant_rows(kind, records, counted), words),
    }
    if kind.trial_words:
        trials = [trial for record in records for trial in kind.trials(record)]
        tables["trials"] = trials, dict(kind.trial_words)
    folder.mkdir(parents=True, exist_ok=True)
    # Written first, since it marks the folder as an export if the program is killed.
    write_atomically(folder / "data_dictionary.md", _dictionary(kind.study, tables).encode())
    for name, (rows, words) in tables.items():
        write_json(folder / f"{name}.json", [{key: row[key] for key in words if key in row} for row in rows])
        write_atomically(folder / f"{name}.csv", as_csv(rows, list(words)))
    for file in (folder / "corpora").glob("*/corpus.jsonl"):
        if file.parent.name not in corpora:  # corpus of a participant who withdrew after an earlier export
            shutil.rmtree(file.parent)
    for name, corpus in corpora.items():
        write_corpus(corpus, folder / "corpora" / name)
    scored = f" (ecsuite score {shlex.quote(str(folder / 'corpora' / min(corpora)))})" if corpora else ""
    return [
        *(f"{name}.csv, {name}.json: {len(rows)} {name}" for name, (rows, _) in tables.items()),
        f"corpora/: {len(corpora)} corpora of the typed messages{scored}",
        "data_dictionary.md: descriptions of the columns",
    ]


def response_rows(
    kind: StudyKind, records: Sequence[Record], counted: Collection[int]
) -> list[dict[str, Any]]:
    """JSON-ready long table of all responses for mixed models, with the same columns in every study.

    Args:
        kind: The study.
        records: All participants.
        counted: Numbers of the included participants.
    """
    messages, unjudged, rows = kind.messages(records), kind.unjudged(records), []
    for record in records:
        row, game = record.row, kind.game(record.row)
        has_languages = not (kind.study.run or kind.study.play)
        shared = {
            "participant": record.name,
            "counted": int(row["id"] in counted),
            "condition": f"{row['dataset']}_{record.grammar}" if has_languages else record.grammar,
            "chain": record.chain,
            "generation": row["generation"],
            "pair": record.pair,
        }
        for answer in record.answers:
            step, shown = answer["step"], Shown(kind=answer["kind"], meaning=answer["thing"])
            key = (record.pair or record.name, step)
            rows.append(
                {
                    **shared,
                    "trial": step + 1,
                    "phase": shown.kind,
                    "item": game.name_of(shown.meaning) if shown.meaning >= 0 else None,
                    **game.response(step, shown, answer["typed"], messages.get(key)),
                    "correct": None if key in unjudged else answer["is_right"],
                    "rt": answer["response_ms"],
                }
            )
    return rows


def _participant_rows(
    kind: StudyKind, records: Sequence[Record], counted: Collection[int]
) -> list[dict[str, Any]]:
    replies: dict[int, dict[str, str]] = {}
    for reply in kind.database.table("replies"):
        replies.setdefault(reply["participant"], {})[reply["question"]] = reply["reply"]
    rows = []
    for record in records:
        row, finished = record.row, record.row["finished_at"]
        rows.append(
            {
                "participant": record.name,
                "dataset": row["dataset"],
                "grammar": record.grammar,
                "counted": row["id"] in counted,
                "protocol": row["protocol"],
                "seed": row["seed"],
                "stage": row["stage"],
                "seconds": None if finished is None else round(finished - row["started_at"], 3),
                "minutes_of_game": None if record.minutes is None else round(record.minutes, 4),
                "score": row["score"],
                "num_answers": len(record.answers),
                "accuracy_training": record.accuracy(TRAINING),
                "accuracy_held_out": record.accuracy(HELD_OUT),
                "passed_attention": record.has_passed_attention,
                "num_quiz_attempts": row["num_quiz_attempts"],
                "num_looks": sum(answer["num_looks"] for answer in record.answers),
                "names_objects": bool(row["names_objects"]),
                "has_sound": bool(row["has_sound"]),
                "worker": row["worker"],
                **kind.extra_columns(record),
                **replies.get(row["id"], {}),
            }
        )
    return rows


def as_csv(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> bytes:
    """Write rows as CSV; an apostrophe before formulas keeps spreadsheets from running them."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        values = [row.get(name) for name in columns]
        writer.writerow(
            [f"'{each}" if isinstance(each, str) and FORMULA.match(each) else each for each in values]
        )
    return file.getvalue().encode()


def _dictionary(study: Study, tables: Mapping[str, tuple[Sequence[Any], Mapping[str, str]]]) -> str:
    lines = [f"# Data of the study {study.name}", ""]
    if study.simulated:
        lines += ["**The participants are simulated programs, no people.**", ""]
    lines += [
        "In the CSV files, a text that begins with `=`, `+`, `-` or `@` is preceded by an apostrophe, so that no "
        "spreadsheet runs it; the JSON files have the texts unchanged.",
        "",
    ]
    for name, (_, words) in tables.items():
        lines += [f"## {name}.csv, {name}.json: {ROWS[name]}", "", "| column | meaning |", "|---|---|"]
        lines += [f"| `{column}` | {meaning} |" for column, meaning in words.items()] + [""]
    return "\n".join(lines)
