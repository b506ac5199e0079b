"""The export of a study: tables without anything that says who took part, and each participant's codes as a corpus."""

import csv
import io
import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ecsuite.corpus import Corpus
from ecsuite.eval.views.console import write_json
from ecsuite.files.atomic_files import write_atomically
from ecsuite.formats import read_corpus, write_corpus
from ecsuite.people.agents_export import AGENTS_TRIAL_WORDS, agents_trials, sender_corpus
from ecsuite.people.agents_game import AgentsGame
from ecsuite.people.chain_languages import generations, letter_ids, object_concepts
from ecsuite.people.chains import Chain, read_chains
from ecsuite.people.codes_game import CodesGame
from ecsuite.people.database import Database, play_folder
from ecsuite.people.game import ATTENTION, HELD_OUT
from ecsuite.people.games import MakeGame, game_to_read
from ecsuite.people.objects import COLOURS, DATASETS, SHAPES, letters_of
from ecsuite.people.pair_report import pair_corpora
from ecsuite.people.records import Record, as_numbers, read_records
from ecsuite.people.responses_table import RESPONSE_WORDS, response_rows
from ecsuite.people.study import CODES, WITH_CHAINS, WITH_PAIRS, WITH_PLAY, WITH_RUN, Study
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.ragged import Ragged
from ecsuite.tables.csv_text import FORMULA

TRIAL_WORDS = {
    "participant": "The participant, P001 and so on.",
    "step": "Number of the step, from 0; the attention check is one.",
    "example": "Number of the example, from 0; of the attention check, the one that follows it.",
    "kind": "training (an unlocked object), held_out (one that never is unlocked) or attention.",
    "colour": "Colour of the object; empty in the attention check.",
    "shape": "Shape of the object.",
    "num_available": "Unlocked objects when the example was shown.",
    "num_looks": "How often the training panel was opened during the example.",
    "typed": "What was typed.",
    "code": "What was right.",
    "is_right": "Whether it was.",
    "points": "Points given.",
    "shown_after": "Seconds from the participant's start to this step.",
    "answered_after": "Seconds from the participant's start to the answer, by the server's clock.",
    "response_ms": "Milliseconds from the picture to the answer, as the page measured them; empty if it did not.",
}
"""The columns of `trials.csv` and the keys of `trials.json`."""
PARTICIPANT_WORDS = {
    "participant": "P001 and so on, in the order of beginning.",
    "dataset": "synth or eng; agents in a game with agents; rounds in one of rounds.",
    "grammar": "The language; in a game with agents, the role; of rounds, the game.",
    "chain": "The chain.",
    "generation": "Generation in the chain, from 1.",
    "counted": "Whether the participant counts: one from whom the last generation descends.",
    "pair": "The pair of people who play with each other.",
    "protocol": "balanced, published, agents, chain, pair or rounds.",
    "seed": "Seed of the codes, of the order of objects and of the pictures.",
    "stage": "How far the participant came; finished: to the end.",
    "seconds": "From agreeing to the last page.",
    "minutes_of_game": "From the first example to the last answer.",
    "score": "Points.",
    "num_answers": "Answered steps.",
    "accuracy_training": "Share of right answers to unlocked objects.",
    "accuracy_held_out": "Share of right answers to held-out objects.",
    "passed_attention": "Whether the attention check was right; true where there is none.",
    "num_quiz_attempts": "How often the quiz was tried.",
    "num_looks": "How often the training panel was opened.",
    "names_objects": "Whether colours and shapes were named in words (the participant's choice).",
    "has_sound": "Whether sounds were on.",
    "left_out_published": "Why the paper's rule leaves the participant out; empty: it does not.",
    "left_out_preregistered": "Why the preregistered rule does.",
    "strategy": "Reply: How did you work out codes that were not under Training?",
    "rule": "Reply: If you found a rule in the codes, what is it?",
    "notes": "Reply: Did you take notes?",
    "worker": "ID of the platform as stored; only with --worker-ids.",
}
"""The columns of `participants.csv`."""
OF_CHAINS, OF_PAIRS = ("chain", "generation", "counted"), ("pair",)
RULES_OF_CODES = ("left_out_published", "left_out_preregistered")
WITHOUT_QUESTIONS = (*OF_CHAINS, *OF_PAIRS, *RULES_OF_CODES, "passed_attention", "strategy", "rule", "notes")
LEFT_OUT = {
    CODES: (*OF_CHAINS, *OF_PAIRS),
    WITH_RUN: WITHOUT_QUESTIONS,
    WITH_PLAY: (*WITHOUT_QUESTIONS, "accuracy_training", "accuracy_held_out"),
    WITH_CHAINS: (*OF_PAIRS, *RULES_OF_CODES, "accuracy_held_out"),
    WITH_PAIRS: (*OF_CHAINS, *RULES_OF_CODES, "accuracy_training", "accuracy_held_out", "passed_attention"),
}
"""By kind of study, the columns of `participants.csv` that it has not."""
ROWS = {
    "responses": "a row a response, for mixed models",
    "participants": "a row a participant",
    "trials": "a row an answer, with all of its game",
}
"""By table, what a row of it is."""
TRIALS = {CODES: TRIAL_WORDS, WITH_RUN: AGENTS_TRIAL_WORDS}
"""By kind of study, the columns of `trials.csv`, where it has one."""


def export(study: Study, database: Database, folder: Path, *, has_workers: bool) -> list[str]:
    """Write the tables, the data dictionary and the corpora of a study.

    Args:
        study: The study.
        database: Its answers.
        folder: Made, or must be empty or an earlier export, whose corpora of others are removed.
        has_workers: Whether the IDs of the platform are among the columns.

    Returns:
        The names of what was written.

    Raises:
        ConfigError: If the folder has other files.
    """
    if folder.is_dir() and any(folder.iterdir()) and not (folder / "data_dictionary.md").exists():
        raise ConfigError(f"{folder}: has other files: expected a new folder (--out)")
    records, make_game = read_records(database), game_to_read(study, database)
    chains = read_chains(study, database, now=0.0)
    if study.chains:
        counted = {row["id"] for chain in chains for row in chain.counted.values()}
    else:
        counted = {record.row["id"] for record in records if record.has_finished}
    people = _participants(study, database, records, counted, has_workers)
    columns = [name for name in PARTICIPANT_WORDS if name not in LEFT_OUT[study.kind]]
    tables = {
        "responses": (
            response_rows(study, records, make_game, counted, _played(study, database, records)),
            RESPONSE_WORDS,
        ),
        "participants": (
            people,
            {name: PARTICIPANT_WORDS[name] for name in columns if has_workers or name != "worker"},
        ),
    }
    if words := TRIALS.get(study.kind):
        tables["trials"] = [trial for record in records for trial in _trials(record, make_game)], words
    folder.mkdir(parents=True, exist_ok=True)
    # First, as it tells an export that was killed from a folder of other files.
    write_atomically(folder / "data_dictionary.md", _dictionary(study, tables).encode())
    for name, (rows, words) in tables.items():
        write_json(folder / f"{name}.json", [{key: row[key] for key in words if key in row} for row in rows])
        write_atomically(folder / f"{name}.csv", as_csv(rows, list(words)))
    corpora = _corpora(study, database, records, chains, make_game)
    for file in (folder / "corpora").glob("*/corpus.jsonl"):
        if file.parent.name not in corpora:  # of an earlier export, of somebody who has withdrawn since
            shutil.rmtree(file.parent)
    for name, corpus in corpora.items():
        write_corpus(corpus, folder / "corpora" / name)
    scored = f" (ecsuite score {shlex.quote(str(folder / 'corpora' / min(corpora)))})" if corpora else ""
    return [
        *(f"{name}.csv, {name}.json: {len(rows)} {name}" for name, (rows, _) in tables.items()),
        f"corpora/: {len(corpora)} corpora of what participants typed{scored}",
        "data_dictionary.md: what the columns mean",
    ]


def _played(study: Study, database: Database, records: Sequence[Record]) -> dict[tuple[str | None, int], str]:
    """By participant and step, what was said in plays of rounds; nothing of other studies."""
    if not study.play:
        return {}
    from ecsuite.people.plays import rounds_of
    from ecsuite.people.rounds_game import rounds_game

    return {
        (record.name, step): row["said"]
        for record in records
        for step, row in rounds_of(
            rounds_game(study, record.row), play_folder(database.file, record.row["id"])
        ).items()
    }


def _corpora(
    study: Study, database: Database, records: Sequence[Record], chains: Sequence[Chain], make_game: MakeGame
) -> dict[str, Corpus]:
    """By name, what each participant typed, or the language of each generation of the chains."""
    if study.chains:
        languages = [each for chain in chains for each in generations(study, database, chain)]
        return {each.name: each.corpus(study) for each in languages}
    if study.play:
        folders = {record.name: play_folder(database.file, record.row["id"]) for record in records}
        return {
            name: read_corpus(folder)
            for name, folder in folders.items()
            if (folder / "corpus.jsonl").is_file()
        }
    if study.pairs:
        return pair_corpora(study, records)
    corpora = {}
    for record in records:
        game = make_game(record.row)
        made = (
            sender_corpus(record, game, study)
            if isinstance(game, AgentsGame)
            else participant_corpus(record, study)
        )
        if made is not None:
            corpora[record.name] = made
    return corpora


def _trials(record: Record, make_game: MakeGame) -> list[dict[str, Any]]:
    start, game = record.row["started_at"], make_game(record.row)
    if isinstance(game, AgentsGame):
        return agents_trials(record, game)
    assert isinstance(game, CodesGame)
    rows = []
    for answer in record.answers:
        is_attention = answer["kind"] == ATTENTION
        colour, shape = (None, None) if is_attention else game.objects.values(answer["thing"])
        entry = {
            **answer,
            "participant": record.name,
            "colour": None if colour is None else tuple(COLOURS)[colour],
            "shape": None if shape is None else SHAPES[shape],
            "code": None if is_attention else game.codes.texts[answer["thing"]],
            "is_right": bool(answer["is_right"]),
            "shown_after": round(answer["shown_at"] - start, 3),
            "answered_after": round(answer["answered_at"] - start, 3),
        }
        rows.append({name: entry[name] for name in TRIAL_WORDS})
    return rows


def _participants(
    study: Study, database: Database, records: Sequence[Record], counted: set[int], has_workers: bool
) -> list[dict[str, Any]]:
    replies: dict[int, dict[str, str]] = {}
    for reply in database.table("replies"):
        replies.setdefault(reply["participant"], {})[reply["question"]] = reply["reply"]
    return [
        as_numbers(record, study)
        | (_in_chain(record, counted) if study.chains else {})
        | ({"pair": record.pair} if study.pairs else {})
        | replies.get(record.row["id"], {})
        | ({"worker": record.row["worker"]} if has_workers else {})
        for record in records
    ]


def _in_chain(record: Record, counted: set[int]) -> dict[str, Any]:
    row = record.row
    return {"chain": record.chain, "generation": row["generation"], "counted": row["id"] in counted}


def as_csv(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> bytes:
    """Rows as CSV; a text that a spreadsheet would run as a formula begins with an apostrophe."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_cell(row.get(name)) for name in columns])
    return file.getvalue().encode()


def _cell(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and FORMULA.match(value) else value


def participant_corpus(record: Record, study: Study) -> Corpus | None:
    """What a participant typed as a corpus: a message an example, letters as ids from 1 (`a`).

    Characters that are no letters are left out, and answers without letters with them.

    Returns:
        None if nothing was typed. Meanings are colour and shape; the column `split` is `train` or `held_out`, and
        `is_right` 1 for a right answer.
    """
    rows = [
        (answer, letter_ids(letters_of(answer["typed"])))
        for answer in record.answers
        if answer["kind"] != ATTENTION
    ]
    rows = [(answer, message) for answer, message in rows if message]
    if not rows:
        return None
    objects = DATASETS[record.row["dataset"]]
    values = [objects.values(answer["thing"]) for answer, _ in rows]
    return Corpus(
        Ragged.from_rows([message for _, message in rows]),
        meanings=np.array(values),
        **object_concepts(objects.name, [answer["thing"] for answer, _ in rows]),
        columns={
            "split": np.array(["held_out" if answer["kind"] == HELD_OUT else "train" for answer, _ in rows]),
            "is_right": np.array([answer["is_right"] for answer, _ in rows]),
        },
        metadata={
            "speaker": study.speakers[0],
            "participant": record.name,
            "grammar": record.grammar,
            "dataset": objects.name,
            "protocol": record.row["protocol"],
            "seed": record.row["seed"],
            "vocab_size": objects.geometry.vocab_size,
        },
    )


def _dictionary(study: Study, tables: Mapping[str, tuple[Sequence[Any], Mapping[str, str]]]) -> str:
    """The data dictionary as Markdown."""
    lines = [f"# Data of the study {study.name}", ""]
    if study.simulated:
        lines += ["**The participants are simulated: nothing here is of people.**", ""]
    lines += [
        "In the CSV files, a text that begins with `=`, `+`, `-` or `@` has an apostrophe before it, so that no "
        "spreadsheet runs it; the JSON files have what was typed.",
        "",
    ]
    for name, (_, words) in tables.items():
        lines += [f"## {name}.csv, {name}.json: {ROWS[name]}", "", "| column | meaning |", "|---|---|"]
        lines += [f"| `{column}` | {meaning} |" for column, meaning in words.items()] + [""]
    return "\n".join(lines)
