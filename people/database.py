"""Answers of a study in one SQLite file; every change is one transaction, so that a killed server loses no answer.

The file is in WAL mode and flushed to disk at every change. Only the SHA-256 of tokens is stored, so that the file
does not allow anyone to impersonate a participant.
"""

import hashlib
import json
import secrets
import shutil
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from ecsuite.eval.results.files import require_no_other
from ecsuite.files.locks import Lock
from ecsuite.formats.directory import ANSWERS
from ecsuite.parts.config import build
from ecsuite.people.study import (
    AWAY,
    FINISHED,
    GAME,
    INSTRUCTIONS,
    LEFT,
    QUESTIONS_STAGE,
    QUIZ_STAGE,
    WAITING,
    Study,
    read_study,
    require_same,
)
from ecsuite.runtime.errors import ConfigError, DamagedError, FormatError, shown

RUNS = Path("runs")
"""Parent folder of studies."""

FORMAT = 1
"""Version of the tables below, stored as SQLite's `user_version`."""
SYNCHRONOUS = "FULL"
"""SQLite's `synchronous` setting: flush to disk at each change."""
TABLES = """
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE participants (
    id INTEGER PRIMARY KEY,
    token_hash TEXT NOT NULL UNIQUE,
    worker TEXT UNIQUE,
    dataset TEXT NOT NULL,
    grammar TEXT NOT NULL,
    protocol TEXT NOT NULL,
    seed INTEGER NOT NULL,
    stage TEXT NOT NULL,
    started_at REAL NOT NULL,
    finished_at REAL,
    last_seen REAL NOT NULL,
    step INTEGER NOT NULL DEFAULT 0,
    kind TEXT,
    thing INTEGER,
    shown_at REAL,
    shown_available INTEGER,
    num_available INTEGER NOT NULL,
    num_looks INTEGER NOT NULL DEFAULT 0,
    score INTEGER NOT NULL DEFAULT 0,
    num_quiz_attempts INTEGER NOT NULL DEFAULT 0,
    names_objects INTEGER NOT NULL DEFAULT 0,
    has_sound INTEGER NOT NULL DEFAULT 1,
    chain INTEGER,
    generation INTEGER,
    teacher INTEGER,
    taught TEXT,
    pair INTEGER,
    seat INTEGER
);
CREATE TABLE answers (
    participant INTEGER NOT NULL REFERENCES participants(id) ON DELETE CASCADE,
    step INTEGER NOT NULL,
    example INTEGER NOT NULL,
    kind TEXT NOT NULL,
    thing INTEGER NOT NULL,
    num_available INTEGER NOT NULL,
    num_looks INTEGER NOT NULL,
    typed TEXT NOT NULL,
    is_right INTEGER NOT NULL,
    points INTEGER NOT NULL,
    shown_at REAL NOT NULL,
    answered_at REAL NOT NULL,
    response_ms REAL,
    PRIMARY KEY (participant, step)
) WITHOUT ROWID;
CREATE TABLE changes (
    participant INTEGER NOT NULL REFERENCES participants(id) ON DELETE CASCADE,
    step INTEGER NOT NULL,
    num_before INTEGER NOT NULL,
    num_after INTEGER NOT NULL,
    cause TEXT NOT NULL,
    at REAL NOT NULL
);
CREATE INDEX changes_of ON changes (participant);
CREATE TABLE replies (
    participant INTEGER NOT NULL REFERENCES participants(id) ON DELETE CASCADE,
    question TEXT NOT NULL,
    reply TEXT NOT NULL,
    PRIMARY KEY (participant, question)
) WITHOUT ROWID;
"""

STAGES = (INSTRUCTIONS, QUIZ_STAGE, WAITING, GAME, QUESTIONS_STAGE, FINISHED, LEFT, AWAY)
MOST = 1_000_000
"""Maximum of integer columns without an entry in `HIGHEST`."""
SMALLEST = {"points": -MOST, "score": -MOST, "thing": -1}
"""Minimum of integer columns whose values can be negative; attention checks have thing -1."""
HIGHEST = {"seed": 2**31 - 1, "score": 1000 * MOST, "seat": 1}
"""Maximum of integer columns whose maximum is not `MOST`."""
LATEST = 1e11
"""Maximum of times, in seconds since 1970, and of response times, in milliseconds."""

NOBODY = "This page has no participant any more. Open the link of the study again."
"""Message for an unknown token."""

Row = dict[str, Any]
"""A row of a table, by column."""


class RefusedError(Exception):
    """A rejected action, with a message for the participant."""


class Database:
    """The database of a study; one thread at a time may use it.

    Args:
        file: Path of the file, which is created if it is missing and `settings` are given.
        settings: Settings stored in a new file.

    Raises:
        ConfigError: If the file is missing, or of another version.
        DamagedError: If the file is not a database of a study, or is damaged.
    """

    def __init__(self, file: Path, settings: Mapping[str, str] | None = None) -> None:
        self.file = file
        is_new = not file.exists()
        if is_new and settings is None:
            raise ConfigError(
                f"{file}: no such file: expected the answers of a study; start it with `ecsuite people serve`"
            )
        try:
            self._connection = sqlite3.connect(
                file, isolation_level=None, timeout=20, check_same_thread=False
            )
            self._connection.row_factory = sqlite3.Row
            self._connection.execute(f"PRAGMA synchronous = {SYNCHRONOUS}")
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA foreign_keys = ON")
            # Overwrites the answers of a withdrawn participant with zeros.
            self._connection.execute("PRAGMA secure_delete = ON")
            if is_new and settings is not None:
                self._make(settings)
            version = self._connection.execute("PRAGMA user_version").fetchone()[0]
        except sqlite3.DatabaseError as error:
            raise _unusable(file, error) from None
        if version != FORMAT:
            self.close()
            raise ConfigError(
                f"{file}: expected a database of format {FORMAT}, got {version}; read it with the version of ecsuite "
                "that wrote it"
            )
        try:
            fault = None if is_new else self._fault()
        except sqlite3.DatabaseError as error:
            raise _unusable(file, error) from None
        if fault is not None:
            self.close()
            raise DamagedError(f"{file}: {fault}: edited or damaged; restore a copy of it")

    def _fault(self) -> str | None:
        """Describe content that is damaged or that no server can have written; None if there is none."""
        if (value := self._connection.execute("PRAGMA integrity_check(1)").fetchone()[0]) != "ok":
            return str(value).partition("\n")[0]
        if (value := self._connection.execute("PRAGMA foreign_key_check").fetchone()) is not None:
            return f"a row of {value[0]} belongs to a participant that does not exist"
        with closing(sqlite3.connect(":memory:")) as empty:
            empty.executescript(TABLES)
            tables = {
                name: empty.execute(f"PRAGMA table_info({name})").fetchall()
                for name in ("settings", "participants", "answers", "changes", "replies")
            }
        for table, expected in tables.items():
            if [tuple(each) for each in self._connection.execute(f"PRAGMA table_info({table})")] != expected:
                return f"the table {table} has other columns"
            for _, column, kind, is_needed, _, is_key in expected:
                types = [kind.lower()] + ([] if is_needed or is_key else ["null"])
                wrong = f"typeof({column}) NOT IN ({', '.join(map(repr, types))})"
                if column == "stage":
                    wrong += f" OR stage NOT IN ({', '.join(map(repr, STAGES))})"
                elif kind == "INTEGER":
                    least, most = SMALLEST.get(column, 0), HIGHEST.get(column, MOST)
                    wrong += f" OR {column} NOT BETWEEN {least} AND {most}"
                elif kind == "REAL":
                    wrong += f" OR abs({column}) > {LATEST}"
                value = self._connection.execute(
                    f"SELECT {column} FROM {table} WHERE {wrong} LIMIT 1"
                ).fetchone()
                if value is not None:
                    return f"{table}.{column}: {shown(value[0])} is not a valid value of type {kind}"
        return None

    def _make(self, settings: Mapping[str, str]) -> None:
        with self.transaction():
            for statement in TABLES.split(";"):
                self._connection.execute(statement)
            for name, value in {"secret": secrets.token_hex(32), **settings}.items():
                self._connection.execute("INSERT INTO settings VALUES (?, ?)", (name, value))
            self._connection.execute(f"PRAGMA user_version = {FORMAT:d}")

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def __del__(self) -> None:
        """Close the file after a command that ended with an error."""
        if "_connection" in vars(self):
            self.close()

    @contextmanager
    def transaction(self, token: str | None = None) -> Iterator[Row]:
        """Run one transaction: all changes in it are stored, or none; other transactions wait.

        Args:
            token: Token of the participant whose row is read at the start and stored at the end.

        Yields:
            The participant's row, to be changed in place; an empty row without a token.

        Raises:
            RefusedError: If the token is unknown.
        """
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            row = {} if token is None else self.participant(token)
            if row is None:
                raise RefusedError(NOBODY)
            before = dict(row)
            yield row
            if changed := {name: value for name, value in row.items() if value != before[name]}:
                self.update(row["id"], changed)
        except BaseException:
            if self._connection.in_transaction:  # SQLite itself rolls back if the disk is full
                self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def setting(self, name: str, missing: str | None = None) -> str:
        """Read a setting; `missing` is returned if there is none, and None means that the setting is required."""
        row = self._connection.execute("SELECT value FROM settings WHERE name = ?", (name,)).fetchone()
        if row is None and missing is not None:
            return missing
        if row is None:
            raise DamagedError(
                f"{self.file}: it has no setting {name!r}: edited or damaged; restore a copy of it"
            )
        return str(row[0])

    def store_setting(self, name: str, value: str) -> None:
        """Replace a setting."""
        self._connection.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (name, value))

    def participant(self, token: str) -> Row | None:
        """The participant with a token; None if there is none."""
        row = self._connection.execute(
            "SELECT * FROM participants WHERE token_hash = ?", (hashed(token),)
        ).fetchone()
        return dict(row) if row else None

    def participant_of_worker(self, worker: str) -> Row | None:
        """The participant with a worker ID, in its stored form; None if there is none."""
        row = self._connection.execute("SELECT * FROM participants WHERE worker = ?", (worker,)).fetchone()
        return dict(row) if row else None

    def participants(self) -> list[Row]:
        """All participants in the order of their start."""
        return [dict(row) for row in self._connection.execute("SELECT * FROM participants ORDER BY id")]

    def answers(self, participant: int | None = None) -> list[Row]:
        """The answers of one participant, or all, by participant and step."""
        where, values = ("", ()) if participant is None else (" WHERE participant = ?", (participant,))
        return [
            dict(row)
            for row in self._connection.execute(
                f"SELECT * FROM answers{where} ORDER BY participant, step", values
            )
        ]

    def answer(self, participant: int, step: int) -> Row | None:
        """The answer of a step; None if there is none."""
        row = self._connection.execute(
            "SELECT * FROM answers WHERE participant = ? AND step = ?", (participant, step)
        ).fetchone()
        return dict(row) if row else None

    def table(self, name: str) -> list[Row]:
        """All rows of `changes` or `replies`."""
        assert name in ("changes", "replies")
        return [dict(row) for row in self._connection.execute(f"SELECT * FROM {name} ORDER BY participant")]

    def condition_counts(self, active_since: float, visiting_since: float) -> dict[tuple[str, str], int]:
        """Numbers of active or finished participants by dataset and grammar, without pairs that ended early.

        Args:
            active_since: Participants in the game are active if they were last seen after this time.
            visiting_since: Participants before the game are active if they were last seen after this time.
        """
        rows = self._connection.execute(
            "SELECT dataset, grammar, COUNT(*) FROM participants WHERE stage NOT IN ('left', 'away') AND ("
            "finished_at IS NOT NULL OR last_seen >= CASE WHEN shown_at IS NULL THEN ? ELSE ? END) "
            "GROUP BY dataset, grammar",
            (visiting_since, active_since),
        )
        return {(dataset, grammar): count for dataset, grammar, count in rows}

    def rows_of_chains(self) -> list[Row]:
        """Participants of chains with `ended_at`, the end of the game or None, and `num_failed` attention checks."""
        rows = self._connection.execute(
            "SELECT participants.*, "
            "CASE WHEN stage IN ('questions', 'finished') THEN MAX(answered_at) END AS ended_at, "
            "COALESCE(SUM(answers.kind = 'attention' AND NOT is_right), 0) AS num_failed "
            "FROM participants LEFT JOIN answers ON participant = id WHERE chain IS NOT NULL GROUP BY id"
        )
        return [dict(row) for row in rows]

    def partner(self, pair: int, participant: int) -> Row | None:
        """The other participant of a pair; None after a withdrawal."""
        row = self._connection.execute(
            "SELECT * FROM participants WHERE pair = ? AND id != ?", (pair, participant)
        ).fetchone()
        return dict(row) if row else None

    def next_pair(self) -> int:
        """Number of the next pair."""
        return self._last("pair") + 1

    def judge(self, participant: int, step: int, is_right: bool, points: int) -> None:
        """Store the outcome of an answer that is judged later."""
        self._connection.execute(
            "UPDATE answers SET is_right = ?, points = ? WHERE participant = ? AND step = ?",
            (int(is_right), points, participant, step),
        )

    def next_id(self) -> int:
        """Number of the next participant."""
        return self._last("id") + 1

    def _last(self, column: str) -> int:
        """Highest number assigned so far, including withdrawn participants, since exports name people by it."""
        highest = self._connection.execute(f"SELECT COALESCE(MAX({column}), 0) FROM participants").fetchone()[
            0
        ]
        return max(int(highest), int(self.setting(f"last {column}", "0")))

    def insert(self, table: str, values: Mapping[str, Any]) -> None:
        """Insert a row; names of tables and columns must come from this package, never from a request."""
        marks = ", ".join("?" * len(values))
        self._connection.execute(
            f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})", (*values.values(),)
        )

    def update(self, participant: int, values: Mapping[str, Any]) -> None:
        """Change columns of a participant."""
        columns = ", ".join(f"{name} = ?" for name in values)
        self._connection.execute(
            f"UPDATE participants SET {columns} WHERE id = ?", (*values.values(), participant)
        )

    def reply(self, participant: int, question: str, reply: str) -> None:
        """Store the reply to a question; an earlier reply is replaced."""
        self._connection.execute(
            "INSERT OR REPLACE INTO replies VALUES (?, ?, ?)", (participant, question, reply)
        )

    def forget(self, participant: int) -> None:
        """Delete all data of a participant, including the log of changes and the run folder of the play."""
        shutil.rmtree(play_folder(self.file, participant), ignore_errors=True)
        with self.transaction():
            for column in ("id", "pair"):
                self.store_setting(f"last {column}", str(self._last(column)))
            self._connection.execute("DELETE FROM participants WHERE id = ?", (participant,))
        self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def play_folder(file: Path, participant: int) -> Path:
    """Run folder of a participant's play of rounds, next to the database file."""
    return file.with_name(f"P{participant:03}")


def hashed(token: str) -> str:
    """SHA-256 of a token; tokens have 192 random bits, so that no salt is needed."""
    return hashlib.sha256(token.encode()).hexdigest()


def _unusable(file: Path, error: sqlite3.DatabaseError) -> Exception:
    if isinstance(error, sqlite3.OperationalError):
        return ConfigError(f"{file}: can't be used: {error}; expected a writable folder with free disk space")
    return DamagedError(f"{file}: not a database of a study, or damaged: {error}; restore a copy of it")


def folder_of(study: Path) -> Path:
    """Folder of a study's answers: `runs/NAME` for a study file; a folder is returned unchanged."""
    return RUNS / read_study(study).name if study.suffix in (".yaml", ".yml") else study


@contextmanager
def only_server(folder: Path) -> Iterator[Path]:
    """Lock the study: queues and running plays live in the memory of one server.

    The lock file is next to the folder, and the lock ends with the process.

    Raises:
        ConfigError: If another process holds the lock, or the folder belongs to a run or a sweep.
    """
    require_no_other(folder, "a study with people")
    folder.parent.mkdir(parents=True, exist_ok=True)
    lock = Lock(folder.parent / f".{folder.name}.lock")
    if not lock.acquire():
        raise ConfigError(
            f"{folder}: already served by {lock.holder}: end it first, or choose another folder with --out"
        )
    try:
        yield folder
    finally:
        lock.release(removes=True)


def make_database(study: Study, folder: Path) -> Database:
    """Open the database of a study for new answers, or create it.

    Raises:
        ConfigError: If the folder has answers of another study, belongs to a run or a sweep, or can't be used.
    """
    require_no_other(folder, "a study with people")
    folder.mkdir(parents=True, exist_ok=True)
    settings = json.dumps(study.as_json())
    database = Database(folder / ANSWERS, {"study": settings})
    require_same(stored_study(database), study, folder)
    database.store_setting("study", settings)
    return database


def open_database(study: Path) -> Database:
    """Open the database of a study, given its folder or its file.

    Raises:
        ConfigError: If there is no database.
    """
    return Database(folder_of(study) / ANSWERS)


def stored_study(database: Database) -> Study:
    """Read the settings and texts of the study from its database."""
    text = database.setting("study")
    try:
        study: Study = build(Study, json.loads(text), str(database.file))
    except ValueError as error:
        raise _unfit(database, error) from None
    for row in database.participants():
        if (row["dataset"], row["grammar"]) not in study.conditions or row[
            "protocol"
        ] != study.played_protocol:
            raise _unfit(
                database,
                f"it has no condition with protocol {row['protocol']}, {row['grammar']} and {row['dataset']}",
            )
    return study


@contextmanager
def reading(database: Database) -> Iterator[None]:
    """Report errors while answers are read as damage of the database.

    Raises:
        DamagedError: If the answers do not fit their study, for example because the file was edited.
    """
    try:
        yield
    except (ConfigError, FormatError):
        raise
    except (LookupError, ValueError, TypeError, ArithmeticError, AttributeError, AssertionError) as error:
        raise _unfit(database, error) from error


def _unfit(database: Database, cause: object) -> DamagedError:
    reason = " ".join(str(cause).split()) or type(cause).__name__
    return DamagedError(
        f"{database.file}: the answers do not fit their study ({reason:.200}): edited or damaged; restore a copy "
        "of the file"
    )


def find_participant(token: str, study: Path | None) -> tuple[Database, Row]:
    """Find the participant with a token in one study, or in all studies in `runs/`.

    Raises:
        ConfigError: If no participant has the token.
    """
    folders = sorted(file.parent for file in RUNS.glob(f"*/{ANSWERS}")) if study is None else [study]
    for folder in folders:
        database = open_database(folder)
        if (row := database.participant(token)) is not None:
            return database, row
        database.close()
    searched = ", ".join(map(str, folders)) or f"{RUNS}/*/{ANSWERS} (no such file)"
    raise ConfigError(
        f"no participant with this token in {searched}; expected the token from a participant's last page"
    )
