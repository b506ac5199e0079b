"""Roles of the columns of a table, such as message, attribute, speaker or time, set by the user or inferred from names.

Inferred roles are reported in one note, with the option that changes them. Columns that are not scored are stored.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ecsuite.formats.cells import is_decimal, is_missing, looks_literal
from ecsuite.formats.signs import combined, have_spaces, named_values
from ecsuite.formats.table import NO_EOS, RawTable
from ecsuite.runtime.errors import CorpusError, unknown_name
from ecsuite.runtime.ragged import Ragged

ROLES = {
    "message": "the symbols that were said",
    "meaning": "all that was meant: a list of values, a mapping of attributes, or words",
    "attribute": "a value of what was meant",
    "feature": "a number, or numbers, of what was meant",
    "concept": "the concepts that were meant, such as color=red",
    "image": "the file of an image that was meant",
    "speaker": "who said it",
    "listener": "to whom",
    "group": "what it belongs to: a participant, a chain",
    "time": "when: a round, a turn, a generation",
    "split": "train or held_out",
    "weight": "how often it is said, where agents are taught it",
    "success": "whether it was understood",
    "kept": "none of these; kept beside the messages",
}
"""The roles of columns, and what each means."""
MESSAGE_NAMES = (
    "input_ids messages message msg tokens text signal signals utterance utterances sentence phrase word response"
).split()
"""Names of columns of messages; the first that is there is read."""
NAMES: Mapping[str, Sequence[str]] = {
    "meaning": ("meaning", "meanings", "sender_input"),
    "concept": ("concept", "concepts"),
    "image": ("image", "images", "image_file", "image_path", "file", "filename", "file_name"),
    "speaker": ("speaker", "speaker_id", "sender", "sender_id"),
    "listener": ("listener", "listener_id", "receiver", "receiver_id", "hearer"),
    "group": (
        "participant", "participant_id", "subject", "subject_id", "worker", "worker_id", "prolific_pid", "chain",
        "chain_id", "dyad", "pair", "group", "dialogue_id", "dialog_id", "conversation_id", "game_id", "gameid",
        "participant_private_id", "participant_public_id", "participant_code",
    ),
    "time": ("round", "turn", "step", "generation", "epoch", "iteration", "episode", "time", "timestamp", "date"),
    "split": ("split",),
    "success": ("success", "correct", "is_correct"),
    "kept": (
        "id", "index", "row", "trial", "trial_id", "trial_number", "trial_index", "trial_type", "block", "rt",
        "reaction_time", "response_time", "time_elapsed", "study_id", "exp_name", "frame_rate",
        "condition", "experiment", "session", "session_id", "phase", "age", "gender", "sex", "education", "country",
        "native_language", "browser", "accuracy", "acc", "score", "reward", "loss", "confidence", "feedback", "comment",
        "comments", "event_index", "event_id", "utc_timestamp", "utc_date", "local_timestamp", "local_timezone",
        "local_date", "experiment_id", "experiment_version", "tree_node_key", "task_name", "task_version",
        "screen_name", "screen_number", "screen_id", "zone_name", "zone_type", "spreadsheet_row", "psychopy_version",
        "message_length", "receiver_input", "receiver_output", "aux", "aux_input", "labels",
    ),
}  # fmt: skip
"""Names of columns that have a role unless the user gives them another one, in lower case."""
NOT_MEANT = ("distractor", "foil", "lure", "candidate")
"""How names of columns begin that say what was shown beside what was meant; they are kept."""
BESIDE_SUBJECTS = frozenset({"object", "verb", "predicate"})
"""Names of columns beside which `subject`, without digits in it, is that of a sentence, and no participant."""
SYMBOL_NAMES = (*MESSAGE_NAMES, "symbol", "sym", "char", "character", "letter", "m")
"""Names of columns of one symbol each, before their number: `symbol_0`, `symbol_1`."""
SINGLE = ("meaning", "speaker", "listener", "split", "weight", "success")
"""Roles that one column has; the first by its name, the others are kept."""
OF_MEANING = ("meaning", "attribute", "feature", "concept")
"""Roles of columns that are scored as what was meant."""
MIN_ROWS = 10
"""A column with a value of its own in each of at least as many rows numbers them, if other columns repeat theirs."""
FEWEST_OBJECTS = 6
"""Fewest different objects of which a column is taken as their names, where no name has the values in it."""
_UNNAMED = re.compile(r"unnamed_*\d*")
_NUMBERED = re.compile(rf"({'|'.join(SYMBOL_NAMES)})_?(\d+)")
_UNIT = re.compile(r"_(?:ms|msec|s|sec|secs|seconds)$")
_WITH_ROLE = re.compile(rf"(.*?)\s*:\s*({'|'.join(ROLES)}|eos=(?:\"(?:[^\"\\]|\\.)*\"|\S+))\s*", re.DOTALL)


def plain_name(name: str) -> str:
    """A name of a column in lower case, with `_` between words, as `Trial Number`, `trial-number`, `trialNumber`."""
    return re.sub(r"[\W_]+", "_", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.strip()).lower()).strip("_")


def split_header(cell: str) -> tuple[str, str | None]:
    """A cell of a header as a name, and the role that it says itself: `rt:kept`."""
    found = _WITH_ROLE.fullmatch(cell.strip())
    return (found[1], found[2]) if found and found[1] else (cell.strip(), None)


def eos_in(roles: Mapping[str, str]) -> str | None:
    """EOS in a header, `eos=0`, `eos=none` or `eos="da bu"`; None if there is none."""
    said = next((role.removeprefix("eos=") for role in roles.values() if role.startswith("eos=")), None)
    if said is not None and len(said) > 1 and said[0] == said[-1] == '"':
        return str(json.loads(said))
    return NO_EOS if said == "none" else said


def roles_of(table: RawTable, given: Mapping[str, str], *, needs_message: bool = True) -> dict[str, str]:
    """The role of each column, in the order of the table.

    Args:
        table: The columns.
        given: Roles by name of column, which the user says; `ConfigError` and `CorpusError` name what is wrong.
        needs_message: Whether a column must be messages; otherwise rows are objects.

    Raises:
        ConfigError: If there is no such column or role.
        CorpusError: If there is no message.
    """
    known = {**table.roles, **_checked(table, given)}
    if not table.is_header and len(table.columns) == 2 and not set(known) >= set(table.columns):
        known = _of_pair(table, known)
    plain = {plain_name(name) for name in table.columns if name not in known}
    message = None if "message" in known.values() else next(filter(plain.__contains__, MESSAGE_NAMES), None)
    if needs_message and message is None and "message" not in known.values():
        known |= dict.fromkeys(
            _of_symbols(table, [each for each in table.columns if each not in known]), "message"
        )
    roles: dict[str, str] = {}
    for name in table.columns:
        roles[name] = known.get(name) or _by_name(name, message, needs_message=needs_message)
        if (
            roles[name] == "group"
            and name not in known
            and plain_name(name) == "subject"
            and plain & BESIDE_SUBJECTS
        ):
            roles[name] = "group" if has_digits(table.columns[name]) else "attribute"
        if roles[name] == "time" and name not in known and not has_digits(table.columns[name]):
            roles[name] = "attribute"
    _keep_seconds(roles, known)
    if whole := _whole_meaning(table, roles, known):
        roles[whole] = "meaning"
    if needs_message and "message" not in roles.values():
        is_text = table.are_texts and table.is_header
        numbered = " (1=message where the first row is one of cells)" if is_text else ""
        raise CorpusError(
            f"{table.source}: no column of messages among {_listed(list(table.columns))}: say which with "
            f"--column NAME=message{numbered}"
        )
    has_meaning = any(role == "meaning" for role in roles.values())
    for name in roles:
        if (
            name not in known
            and roles[name] == "attribute"
            and (has_meaning or _numbers_rows(table, name, roles) or _names_objects(table, name, roles))
        ):
            roles[name] = "kept"
    return roles


def _checked(table: RawTable, given: Mapping[str, str]) -> dict[str, str]:
    found = {}
    for name, role in given.items():
        if role not in ROLES:
            raise unknown_name("role", str(role), ROLES)
        column = next((each for each in table.columns if each == name), None) or next(
            (each for each in table.columns if plain_name(each) == plain_name(name)), None
        )
        if column is None:
            raise unknown_name("column", name, table.columns)
        found[column] = role
    return found


def role_of_name(name: str) -> str:
    """The role that a name says alone; attribute if it says none."""
    plain = plain_name(name)
    if not plain or _UNNAMED.fullmatch(plain) or plain.startswith(NOT_MEANT):
        return "kept"
    names = {plain, _UNIT.sub("", plain)}
    return next((role for role, those in NAMES.items() if names & {*those}), "attribute")


def _whole_meaning(table: RawTable, roles: Mapping[str, str], known: Mapping[str, str]) -> str | None:
    """The one column of what was meant, where its texts have several values, as `red cup` or `color=red;shape=cup`."""
    meant = [name for name, role in roles.items() if role in (*OF_MEANING, "image")]
    if len(meant) != 1 or meant[0] in known or roles[meant[0]] != "attribute":
        return None
    cells = table.columns[meant[0]]
    if isinstance(cells, Ragged) or not all(isinstance(cell, str) or is_missing(cell) for cell in cells):
        return None
    texts = [text for text in dict.fromkeys(cells) if not is_missing(text) and not looks_literal(text)]
    return meant[0] if combined(texts) or named_values(texts) else None


def finds_meaning(roles: Mapping[str, str]) -> bool:
    """Whether a column is the meaning by its texts, and not by its name, which is to be said."""
    return any(role == "meaning" != role_of_name(name) for name, role in roles.items())


def _of_symbols(table: RawTable, names: Sequence[str]) -> list[str]:
    """The columns of one symbol each, whose numbers follow each other from 0 or 1; none if there are fewer than two.

    Columns with texts of several words, as `sentence1` and `sentence2`, are messages of their own.
    """
    found: dict[str, list[tuple[int, str]]] = {}
    for name in names:
        if numbered := _NUMBERED.fullmatch(plain_name(name)):
            found.setdefault(numbered[1], []).append((int(numbered[2]), name))
    for stem in filter(found.__contains__, SYMBOL_NAMES):
        numbers = [number for number, _ in found[stem]]
        if any(_has_words(table.columns[name]) for _, name in found[stem]):
            continue
        if len(numbers) > 1 and numbers[0] in (0, 1) and numbers == list(range(numbers[0], numbers[-1] + 1)):
            return [name for _, name in found[stem]]
    return []


def _has_words(cells: Any) -> bool:
    return not isinstance(cells, Ragged) and have_spaces([cell for cell in cells if isinstance(cell, str)])


def has_digits(cells: Any) -> bool:
    """Whether a cell has a digit, as times have."""
    return isinstance(cells, Ragged) or any(
        not isinstance(cell, bool) and any(map(str.isdecimal, str(cell))) for cell in cells
    )


def _of_pair(table: RawTable, known: Mapping[str, str]) -> dict[str, str]:
    """The roles of two columns without names: the side whose values repeat as meanings do is the meaning.

    Raises:
        CorpusError: If neither repeats its values.
    """
    first, second = table.columns
    roles = set(known.values())
    if roles:
        other = "meaning" if "message" in roles else "message"
        return {name: known.get(name, other) for name in table.columns}
    sides = [name for name in (first, second) if _repeats(table.columns[name])]
    if not sides:
        raise CorpusError(
            f"{table.source}: {table.about}, of which neither repeats values as meanings do: say which is the message "
            "with --column 2=message, or --column 1=message"
        )
    return {name: "meaning" if name == sides[0] else "message" for name in (first, second)}


def _repeats(cells: Any) -> bool:
    """Whether all texts have as many words, and the words at each place come again."""
    rows = [cell.split() for cell in cells if isinstance(cell, str)]
    if len(rows) != len(cells) or len({len(row) for row in rows}) != 1 or not rows[0]:
        return False
    return all(len(set(column)) <= len(rows) / 2 for column in zip(*rows, strict=True))


def _by_name(name: str, message: str | None, *, needs_message: bool) -> str:
    """The role that the name of a column says, `message` being the plain name of that of the messages."""
    plain = plain_name(name)
    if plain == message:
        return "message"
    if plain in MESSAGE_NAMES and needs_message:
        return "kept"
    return role_of_name(name)


def _keep_seconds(roles: dict[str, str], known: Mapping[str, str]) -> None:
    """Assign a role of `SINGLE` to the first of several columns whose names imply it."""
    for role in SINGLE:
        named = [name for name, each in roles.items() if each == role]
        said = [name for name in named if name in known]
        if len(said) > 1:
            raise CorpusError(f"two columns with the role {role}, {' and '.join(said[:2])}: expected one")
        for name in named:
            if name != (said or named)[0]:
                roles[name] = "kept"


def _numbers_rows(table: RawTable, name: str, roles: Mapping[str, str]) -> bool:
    """Whether a column of texts has another one in each row, while an attribute repeats its values."""
    cells = table.columns[name]
    if len(table.rows) < MIN_ROWS or isinstance(cells, Ragged):
        return False
    if not _is_distinct(
        [str(cell).replace(",", ".") for cell in cells] if table.has_decimal_comma else cells
    ):
        return False
    others = [table.columns[each] for each, role in roles.items() if role == "attribute" and each != name]
    return any(not isinstance(each, Ragged) and len(set(map(repr, each))) < len(each) for each in others)


def _names_objects(table: RawTable, name: str, roles: Mapping[str, str]) -> bool:
    """Whether a column of texts names what the attributes say, as files of images do: one name for all values together.

    Attributes with as many values do not count, as they may be such names, too; there are at least two others.
    """
    cells = table.columns[name]
    if isinstance(cells, Ragged) or not all(isinstance(cell, str) or is_missing(cell) for cell in cells):
        return False
    names = [each for each, role in roles.items() if role == "attribute" and each != name]
    others = [each for each in map(table.columns.__getitem__, names) if not isinstance(each, Ragged)]
    if len(others) < 2:
        return False
    rows = [
        (cell, *map(repr, values))
        for cell, *values in zip(cells, *others, strict=True)
        if not is_missing(cell) and not any(map(is_missing, values))
    ]
    objects = [row[0] for row in rows]
    number = len({*objects})
    if all(map(is_decimal, objects)):
        return False
    fewer = [part for part in zip(*(row[1:] for row in rows), strict=True) if len({*part}) < number]
    is_named = number == len({*zip(*fewer, strict=True)}) == len({*zip(objects, *fewer, strict=True)})
    says = all(any(value.strip("'") in cell for value in values) for cell, *values in rows)
    return len(fewer) > 1 and is_named and (number >= FEWEST_OBJECTS or (says and number > 3))


def _is_distinct(cells: Sequence[Any]) -> bool:
    """Whether all cells are texts that are no numbers, and each is another one."""
    if not all(isinstance(cell, str) for cell in cells) or len(set(cells)) < len(cells):
        return False
    return not all(map(is_decimal, cells))


def described(table: RawTable, roles: Mapping[str, str]) -> str:
    """Summary of the roles of columns: `message: code; attributes: colour, shape; kept: trial, rt`."""
    words = {"attribute": "attributes", "feature": "features", "concept": "concepts", "time": "times"}
    parts = []
    for role in ROLES:
        names = [name for name, each in roles.items() if each == role]
        if names:
            shown_names = [
                f"{name} (a value a row)" if _numbers(table, name, role) else name for name in names
            ]
            parts.append(f"{words.get(role, role) if len(names) > 1 else role}: {_listed(shown_names)}")
    return "; ".join(parts)


def _numbers(table: RawTable, name: str, role: str) -> bool:
    cells = table.columns[name]
    if role != "kept" or isinstance(cells, Ragged) or len(cells) < 2:
        return False
    filled = [repr(cell) for cell in cells if not is_missing(cell)]
    return len(set(filled)) == len(cells)


def _listed(names: Sequence[str]) -> str:
    """Names for a message, cut where there are many."""
    names = [name if len(name) <= 60 else f"{name[:59]}…" for name in names]
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
