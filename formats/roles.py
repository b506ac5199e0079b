"""Roles of the columns of a table, such as message, attribute, speaker or time, set by the user or inferred from names.

Inferred roles are reported in one note, with the option that changes them. Columns that are not scored are stored.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ecsuite.formats.cells import is_id, is_missing, looks_literal
from ecsuite.formats.signs import combined, have_spaces, named_values
from ecsuite.formats.strict_json import shorten
from ecsuite.formats.table import NO_EOS, RawTable, indices_of
from ecsuite.runtime.errors import ConfigError, CorpusError, ReadingQuestion, joined, look_up, unknown_name
from ecsuite.runtime.ragged import Ragged

ROLES = {
    "message": "the symbols of the message",
    "meaning": "the whole meaning: a list of values, a mapping of attributes, or words",
    "attribute": "the value of an attribute of the meaning",
    "feature": "a number, or numbers, that describe the meaning",
    "concept": "the concepts of the meaning, such as color=red",
    "image": "the file of the image that is the meaning",
    "speaker": "the speaker of the message",
    "listener": "the listener of the message",
    "group": "the group that the message belongs to, such as a participant or a chain",
    "time": "the time, such as a round, a turn or a generation",
    "split": "train or held_out",
    "weight": "the frequency of the message when agents are taught the language",
    "success": "whether the message was understood",
    "action": "the action of the agent at a step, or of the listener in a round",
    "observation": "the observation of the agent at a step, or of the speaker in a round",
    "context": "the context of the listener in a round, such as the candidates",
    "kept": "another column, which is stored with the messages",
}
"""Descriptions of the roles of columns."""
MESSAGE_NAMES = (
    "input_ids messages message msg tokens text signal signals utterance utterances sentence phrase word"
).split()
"""Names of columns of messages; the first existing column is read."""
ANSWERS = (*MESSAGE_NAMES, "response", "responses", "answer")
"""Names of columns whose cells are objects with the message and other parts, such as the confidence."""
NAMES: Mapping[str, Sequence[str]] = {
    "meaning": ("meaning", "meanings", "sender_input"),
    "concept": ("concept", "concepts"),
    "image": ("image", "images", "image_file", "image_path", "file", "filename", "file_name"),
    "speaker": ("speaker", "sender", "user", "username", "author", "player", "director", "describer"),
    "listener": ("listener", "receiver", "hearer", "matcher", "guesser"),
    "group": (
        "participant", "subject", "subj", "worker", "prolific_pid", "pid", "ppt", "vp", "vpn", "chain", "lineage",
        "dyad", "pair", "group", "dialogue", "dialog", "conversation", "game", "gameid", "participant_private_id",
        "participant_public_id", "seed", "random_seed", "run", "replication", "replicate", "rep",
    ),
    "time": (
        "round", "turn", "step", "generation", "gen", "epoch", "iteration", "episode", "time", "timestamp", "datetime",
        "date_time", "date", "created_at", "start_time", "end_time", "started_at", "ended_at",
    ),
    "split": ("split",),
    "success": ("success", "correct", "is_correct"),
    "kept": (
        "id", "uuid", "index", "row", "trial", "trial_type", "block", "rt", "log_rt", "reaction_time",
        "reactiontime", "response_time", "responsetime", "latency", "time_elapsed", "elapsed",
        "elapsed_time", "time_taken", "condition", "cond", "treatment", "experiment", "exp", "experimenter",
        "session", "phase", "age", "gender", "sex", "education", "country", "native_language", "browser",
        "ip", "ip_address", "accuracy", "acc", "score", "reward", "bonus", "payoff", "loss",
        "confidence", "feedback", "comment", "comments", "note", "notes", "message_length", "receiver_input",
        "receiver_output", "aux", "aux_input", "labels", "guess", "choice", "prediction", "output",
        "correct_answer", "correct_response", "corr_ans", "log_prob", "log_probs", "logprob", "logprobs",
        "logits", "surprisal", "perplexity", "attention_mask", "this_n", "this_trial_n",
        "this_rep_n", "this_index",
    ),
}  # fmt: skip
"""Default roles by name of column, in lower case."""
NUMBERED_ROLES = ("speaker", "listener", "group", "time", "kept")
"""Roles of names that may end in `_id`, `_no` and the like: `trial_no`, `speaker_name`."""
NOT_MEANT = (
    "distractor",
    "foil",
    "lure",
    "candidate",
    "guess_",
    "guessed_",
    "chosen_",
    "selected_",
    "predicted_",
)
"""Prefixes of names of columns about distractors and choices, which are not part of the meaning."""
ASKED = frozenset(
    "agent model version variant lang language population community team room family source dataset batch role partner "
    "day task list rater annotator coder result outcome ok hit solved success succeeded understood passed failed won "
    "correct corr valid excluded dropout practice check key keys button click clicked clicks answer response chosen "
    "selected selection duration points device entropy pred predicted gloss translation context options time age "
    "gender rt l1".split()
)
"""Last words of names of columns of which the user is asked whether they are part of the meaning."""
ASKED_NUMBERS = frozenset(
    "id no nr num idx index order position item level stage target stimulus length len words temperature rating score "
    "similarity prob probability likelihood fold cycle wave visit attempts tries seconds ms steps".split()
)
"""Further last words of names of columns of which the user is asked if their cells have digits."""
PEOPLE = frozenset(
    "speaker sender listener receiver hearer matcher participant player worker user native".split()
)
"""First words of names of columns about people, of which the user is asked."""
WITH_DIGITS = ("time", "subject", "seed", "run", "vp", "game")
"""Roles and names of columns whose cells have digits; columns without digits may be attributes of the meaning."""
SYMBOL_NAMES = (*MESSAGE_NAMES, "symbol", "sym", "char", "character", "letter", "m")
"""Stems of numbered columns with one symbol each: `symbol_0`, `symbol_1`."""
SINGLE = ("meaning", "speaker", "listener", "split", "weight", "success")
"""Roles that only one column can have; if several names imply such a role, the first column gets it."""
OF_MEANING = ("meaning", "attribute", "feature", "concept")
"""Roles of columns that are parts of the meaning."""
OF_LOG: Mapping[str, Sequence[str]] = {
    "speaker": ("agent", "agent_id", "agent_name"),
    "group": ("episode", "episode_id", "traj_id", "traj_ids", "trajectory"),
    "time": ("t", "timestep", "time_step"),
    "action": ("action", "actions", "answer", "choice", "chosen", "guess", "output", "receiver_output"),
    "context": ("context", "candidates", "options", "receiver_input"),
    "kept": ("done", "terminated", "truncated", "termination", "truncation", "info", "infos", "return", "rewards"),
}  # fmt: skip
"""Further default roles by name of column in logs of steps or rounds, in lower case."""
_SEEN = re.compile(r"(?:observation|observations|obs|state|target|goal)(?:_(?!position|index).+)?")
_UNNAMED = re.compile(r"unnamed_*\d*")
_NUMBERED = re.compile(rf"({'|'.join(SYMBOL_NAMES)})_?(\d+)")
_UNIT = re.compile(r"_(?:ms|msec|s|sec|secs|seconds)$")
_NUMBER = re.compile(r"_(?:id|no|nr|num|number|index|code|name)$")
_WITH_ROLE = re.compile(rf"(.*?)\s*:\s*({'|'.join(ROLES)}|eos=(?:\"(?:[^\"\\]|\\.)*\"|\S+))\s*", re.DOTALL)


def plain_name(name: str) -> str:
    """Name of a column in lower case with `_` between words, for `Trial Number`, `trial-number` or `trialNumber`."""
    return re.sub(r"[\W_]+", "_", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.strip()).lower()).strip("_")


def split_header(cell: str) -> tuple[str, str | None]:
    """Split a header cell into name and declared role: `rt:kept`."""
    found = _WITH_ROLE.fullmatch(cell.strip())
    return (found[1], found[2]) if found and found[1] else (cell.strip(), None)


def roles_in(header: Mapping[str, str | None]) -> dict[str, Any]:
    """Fields of a table with the roles and EOS (`eos=0`, `eos=none` or `eos="da bu"`) declared in a header."""
    roles = {name: role for name, role in header.items() if role}
    said = next((role.removeprefix("eos=") for role in roles.values() if role.startswith("eos=")), None)
    if said is not None and len(said) > 1 and said[0] == said[-1] == '"':
        said = json.loads(said)
    elif said == "none":
        said = NO_EOS
    plain = {name: "message" if role.startswith("eos=") else role for name, role in roles.items()}
    return {"roles": plain, "eos": said}


def roles_of_log(table: RawTable, given: Mapping[str, str]) -> dict[str, str]:
    """Roles of the columns of a log without a role in its layout, from their names and from the user."""
    own = {_column(table, name): role for name, role in given.items()}
    free = [name for name in table.columns if name not in own and table.roles.get(name, "kept") == "kept"]
    taken = {*own.values(), *table.roles.values(), *map(role_of_name, free)}
    found: dict[str, str] = {}
    for role, names in OF_LOG.items():
        named = [name for name in free if {plain_name(name), plain_name(name.rpartition(".")[2])} & {*names}]
        found |= dict.fromkeys(named[: role not in taken] if role in SINGLE else named, role)
    if not taken & {"meaning", "concept", "feature", "observation"} and "attribute" not in own.values():
        found |= {name: "observation" for name in free if _SEEN.fullmatch(plain_name(name))}
    if "observation" in {*found.values(), *own.values()}:  # other columns are no observations
        stems = {
            name: plain_name(name.rpartition(".")[2]).rstrip("_0123456789")
            for name in free
            if name not in found
        }
        others = {name for name, stem in stems.items() if stem not in SYMBOL_NAMES}
        found |= {name: "kept" for name in others if role_of_name(name) == "attribute"}
    return found | own


def roles_of(
    table: RawTable, given: Mapping[str, str], *, attributes: Sequence[str] = (), needs_message: bool = True
) -> dict[str, str]:
    """Infer the role of each column, in the order of the table.

    Args:
        table: The columns.
        given: Roles by name of column, set by the user.
        attributes: The columns that are attributes of the meaning, if the user sets them.
        needs_message: Whether a column of messages is required; otherwise rows are objects.

    Raises:
        ConfigError, CorpusError: If a column or role does not exist, or two columns get a role of `SINGLE`.
        ReadingQuestion: If it is ambiguous which column has the messages, or whether a text is several values.
    """
    for name, role in given.items():
        if role not in ROLES and name in ROLES and role in table.columns:
            raise ConfigError(f"{name}={role}: the column comes first: --column {role}={name}")
        look_up("role", role, ROLES)
    own = {_column(table, name): role for name, role in given.items()}
    for name in attributes:
        column = _column(table, name)
        if own.setdefault(column, "attribute") not in OF_MEANING:
            both = f"{column} is both {own[column]} and an attribute"
            raise CorpusError(f"{table.source}: {both}: expected one")
    displaced = {role for role in own.values() if role in (*SINGLE, "message")}
    known = {name: "kept" if role in displaced else role for name, role in table.roles.items()} | own
    if not table.is_header and len(table.columns) == 2 and not known.keys() >= table.columns.keys():
        if not known:
            raise _which_of_two(table)
        other = "meaning" if "message" in known.values() else "message"
        known = {name: known.get(name, other) for name in table.columns}
    unknown = [name for name in table.columns if name not in known]
    plain = {plain_name(name): name for name in reversed(unknown)}
    plain = {plain_name(name.rpartition(".")[2]): name for name in unknown if "." in name} | plain
    if "message" not in known.values():
        message = next((plain[name] for name in MESSAGE_NAMES if name in plain), None)
        said = [message] if message else _of_symbols(table, unknown) if needs_message else []
        known |= dict.fromkeys(said, "message")
    roles: dict[str, str] = {}
    for name in table.columns:
        roles[name] = role = known.get(name) or role_of_name(name)
        if name not in known:
            if role == "attribute" and needs_message and plain_name(name.partition(".")[0]) in ANSWERS:
                roles[name] = "kept"
            if {role, plain_name(name)} & {*WITH_DIGITS} and not has_digits(table.columns[name]):
                roles[name] = "attribute"
            if roles[name] in OF_MEANING and attributes:
                roles[name] = "kept"
    for role in SINGLE:  # only the first of several columns with such a name gets the role
        named = [name for name, each in roles.items() if each == role]
        said = [name for name in named if name in known]
        if len(said) > 1:
            raise CorpusError(f"two columns with the role {role}, {' and '.join(said[:2])}: expected one")
        roles |= {name: "kept" for name in named if name != (said or named)[0]}
    if whole := _whole_meaning(table, roles, known):
        roles[whole] = "meaning"
    if needs_message and "message" not in roles.values():
        raise _no_message(table)
    if "meaning" in roles.values():
        roles |= {name: "kept" for name, role in roles.items() if role == "attribute" and name not in known}
    elif needs_message and not attributes:
        _ask_target(table, roles, known)
    return roles


def _ask_target(table: RawTable, roles: Mapping[str, str], known: Mapping[str, str]) -> None:
    """Raise ReadingQuestion if a column such as `target` has indices of a list of candidates in another column."""
    free = [name for name, role in roles.items() if name not in known and role in ("attribute", "kept")]
    lists = [name for name in free if isinstance(table.columns[name][0], list | str)]
    for name in free:
        for column in (
            lists if {*plain_name(name).split("_")} & {"target", "referent", "label", "gold"} else ()
        ):
            if indices_of(table, name, column) is not None:
                asked = f"{name} has indices of items of {column}: what is meant?"
                readings: list[tuple[Mapping[str, Any], str]] = [
                    ({"columns": {f"{column}.{name}": "meaning"}}, "the item with this index"),
                    ({"columns": {name: "attribute"}}, "the index itself"),
                    ({"columns": {column: "attribute", name: "kept"}}, "all items"),
                ]
                raise ReadingQuestion(table.source, asked, readings)


def _which_of_two(table: RawTable) -> ReadingQuestion:
    samples = {name: _samples(cells) or ["nothing"] for name, cells in table.columns.items()}
    readings: list[tuple[Mapping[str, Any], str]] = [
        ({"columns": {name: "message"}}, f"messages such as {samples[name][0]}") for name in reversed(samples)
    ]
    readings.append(({"layout": "line:(?P<message>.+)"}, "neither: a line is a message"))
    seen = [f"{name}: {', '.join(texts)}" for name, texts in samples.items()]
    return ReadingQuestion(table.source, f"{table.about}: which has the messages?", readings, seen)


def _no_message(table: RawTable) -> CorpusError:
    asked = f"no column of messages among {_listed(list(table.columns))}"
    row = {name: cells[0] for name, cells in table.columns.items()}
    whole: list[tuple[Mapping[str, Any], str]] = []
    are_first, keys = True, dict[str, str]()
    for name, column in table.columns.items():
        values = () if isinstance(column, Ragged) else table.values(name, is_strict=False)
        filled = [cell for cell in values if cell]
        if filled and isinstance(filled[0], dict):
            keys[name] = next(iter(filled[0]))
        if filled and all(map(_is_language, filled)):
            whole.append(({"layout": f"rows:{name}"}, "a language: keys are meanings, values are messages"))
            are_first = len(filled[0]) > len(table.rows)
        if filled and all(isinstance(cell, list) and isinstance(cell[0], dict) for cell in filled):
            whole.append(({"layout": f"rows:{name}"}, "a message an object of its lists"))
    if wide := _wide(table):
        whole, are_first = [*wide, *whole], True
    if len(table.rows) == 1 < len(row) and _is_language(row):
        whole = [({"layout": "rows:*"}, "a language: column names are meanings, cells are messages")]
    for name, key in keys.items():
        table = table.with_part(f"{name}.{key}") or table
    samples = {name: _samples(cells) for name, cells in table.columns.items() if name}
    plain = [name for name, cells in table.columns.items() if not isinstance(cells, Ragged)]
    filled_of = {name: filter(None, table.values(name, is_strict=False)) for name in plain}
    texts = [name for name in plain if any(isinstance(cell, list | str) for cell in filled_of[name])]
    texts = sorted(reversed(texts), key=row.__contains__)  # parts of objects first, since answers are objects
    names = [name for name in dict.fromkeys([*texts, *samples]) if samples.get(name)]
    if not names:
        got = "got columns without values or names"
        return CorpusError(f"{table.source}: expected a column of messages, {got}")
    parts = [({"columns": {name: "message"}}, f"messages such as {samples[name][0]}") for name in names[:4]]
    readings = [*whole, *parts] if are_first else [*parts, *whole]
    if table.is_header and table.are_texts:
        number = str(list(row).index(next(filter(row.__contains__, [*names, *row]))) + 1)
        words = {"columns": {number: "message"}}
        readings.append((words, f"the file has no header; column {number} has the messages"))
    seen = [f"{name}: {', '.join(samples[name])}" for name in names[:2]]
    return ReadingQuestion(table.source, asked, readings, seen)


def _wide(table: RawTable) -> list[tuple[Mapping[str, Any], str]]:
    """Readings of columns such as `message_1`, `color_1`, or `trial1_message`, and of a column for each meaning."""
    names = [name for name in table.columns if role_of_name(name) == "attribute"]
    forms = dict[str, list[str]]()
    for name in table.columns:
        if found := re.fullmatch(r"(\D*?)([\W_]?)(\d+)([\W_]?)(\D*)", name):
            start, before, _, after, end = found.groups()
            form = rf"(?P<column>.+?){re.escape(before)}(?P<trial>\d+)"
            if end:
                form = rf"{re.escape(start + before)}(?P<trial>\d+){re.escape(after)}(?P<column>.+)"
            forms.setdefault(form, []).append(end or start)
    for form, stems in forms.items():
        if any(plain_name(stem) in MESSAGE_NAMES and stems.count(stem) > 1 for stem in stems):
            form = form if len({*stems}) > 1 else form.replace("<trial>", "<number>")
            return [({"layout": f"wide:{form}"}, "a row for each number, with these columns")]
    parts = combined(names) if len(names) > 3 else None
    if parts is None or parts[1] == "unclear":
        return []
    sign = next((each for each in "_-. /" if all(each in name for name in names)), "")
    short = re.escape(sign).join([f"[^{sign}]+"] * len(parts[0][0]))
    fitting = [name for name in table.columns if re.fullmatch(short, name)]
    pattern = short if fitting == names and sign else "|".join(map(re.escape, names))
    return [({"layout": f"wide:(?P<meaning>{pattern})"}, "a message for each of these meanings")]


def _is_language(cell: Any) -> bool:
    values = cell.values() if isinstance(cell, dict) else ()
    return bool(values) and all(isinstance(each, str | list) for each in values)


def _samples(cells: Any) -> list[str]:
    if isinstance(cells, Ragged):
        return [str(cells[row].tolist()) for row in range(min(2, len(cells)))]
    return [shorten(cell) for cell in dict.fromkeys(str(cell) for cell in cells if not is_missing(cell))][:2]


def _column(table: RawTable, name: str) -> str:
    """Find the column that a user names, ignoring capitals and signs."""
    if name in table.columns:
        return name
    found = next((each for each in table.columns if plain_name(each) == plain_name(name)), None)
    if found is None:
        raise unknown_name("column", name, table.columns)
    return found


def role_of_name(name: str) -> str:
    """The default role of a name; attribute if there is none."""
    plain = plain_name(name)
    if not plain or _UNNAMED.fullmatch(plain) or plain.startswith(NOT_MEANT):
        return "kept"
    names = {plain, _UNIT.sub("", plain), plain_name(name.rpartition(".")[2])}
    stems = {_NUMBER.sub("", each) for each in names}
    found = (
        role
        for role, those in NAMES.items()
        if (names | stems if role in NUMBERED_ROLES else names) & {*those}
    )
    return next(found, "attribute")


def is_asked(name: str, cells: Any) -> bool:
    """Whether a name is usual for columns that may or may not be part of the meaning."""
    plain = plain_name(name)
    stem = plain.rstrip("_0123456789")
    words = stem.split("_")
    is_numbered = stem != plain and role_of_name(stem) != "attribute"  # `group2`
    is_usual = words[-1] in ASKED or words[0] in PEOPLE or is_numbered
    return is_usual or (words[-1] in ASKED_NUMBERS and has_digits(cells))


def _varies(cells: Any) -> bool:
    return len({str(cells[place]) for place in range(len(cells))}) > 1


def _whole_meaning(table: RawTable, roles: Mapping[str, str], known: Mapping[str, str]) -> str | None:
    """The only attribute column if its texts have several values, such as `red cup` or `color=red;shape=cup`."""
    meant = [
        name
        for name, role in roles.items()
        if role in (*OF_MEANING, "image") and (name in known or _varies(table.columns[name]))
    ]
    if len(meant) != 1 or meant[0] in known or roles[meant[0]] != "attribute":
        return None
    cells = table.columns[meant[0]]
    if isinstance(cells, Ragged) or not all(isinstance(cell, str) or is_missing(cell) for cell in cells):
        return None
    texts = [text for text in dict.fromkeys(cells) if not is_missing(text) and not looks_literal(text)]
    if named_values(texts):
        return meant[0]
    found = combined(texts)
    if found is None or found[1] == "values":
        return meant[0] if found else None
    parts = ", ".join(map(shorten, found[0][0]))
    readings = [
        ({"columns": {meant[0]: "meaning"}}, f"{shorten(texts[0])} is the values {parts}"),
        ({"columns": {meant[0]: "attribute"}}, f"{shorten(texts[0])} is one value"),
    ]
    seen = [f"texts such as {', '.join(map(shorten, texts[:3]))}"]
    raise ReadingQuestion(table.source, f"column {meant[0]}: is a text one value or several?", readings, seen)


def finds_meaning(roles: Mapping[str, str]) -> bool:
    """Whether a column has the role meaning because of its content and not its name, which needs a note."""
    return any(role == "meaning" != role_of_name(name) for name, role in roles.items())


def _of_symbols(table: RawTable, names: Sequence[str]) -> list[str]:
    """Columns with one symbol each, numbered consecutively from 0 or 1; empty if fewer than two."""
    found: dict[str, dict[int, str]] = {}
    for name in names:
        if numbered := _NUMBERED.fullmatch(plain_name(name)):
            found.setdefault(numbered[1], {})[int(numbered[2])] = name
    for stem in filter(found.__contains__, SYMBOL_NAMES):
        columns, first = list(found[stem].values()), min(found[stem])
        cells: list[Any] = [table.columns[name] for name in columns]
        texts = [cell for own in cells if isinstance(own, list) for cell in own if isinstance(cell, str)]
        follow = list(found[stem]) == list(range(first, first + len(columns)))
        if len(columns) < 2 or have_spaces(texts) or first > 1 or not follow:
            continue
        if stem in MESSAGE_NAMES and not all(map(is_id, texts)):  # a number is a symbol
            asked = f"is a row of {_listed(columns)} one message, or one message per column?"
            column = re.escape(columns[0].rstrip("0123456789"))
            readings: list[tuple[Mapping[str, Any], str]] = [
                ({"columns": dict.fromkeys(columns, "message")}, "one message: one symbol per column"),
                ({"layout": rf"wide:(?P<column>{column})(?P<number>\d+)"}, "one message per column"),
            ]
            seen = [f"{name}: {', '.join(_samples(table.columns[name]))}" for name in columns]
            raise ReadingQuestion(table.source, asked, readings, seen)
        return columns
    return []


def has_digits(cells: Any) -> bool:
    """Whether a cell has a digit."""
    return isinstance(cells, Ragged) or any(map(str.isdecimal, "".join(map(str, cells))))


def described(table: RawTable, roles: Mapping[str, str]) -> str:
    """Summarise the roles of columns: `message: code; attributes: colour, shape; not used: trial, rt`."""
    words = {"attribute": "attributes", "feature": "features", "concept": "concepts", "time": "times"}
    named = {role: list[str]() for role in ROLES}
    for name, role in roles.items():
        cells = table.columns[name]
        filled = [] if isinstance(cells, Ragged) else [repr(cell) for cell in cells if not is_missing(cell)]
        is_numbered = role == "kept" and len({*filled}) == len(table.rows) > 1
        is_pooled = role == "group" and len({*filled}) > 1
        about = " (a different value in each row)" if is_numbered else ""
        about = f" (pooled: --by {name} scores each)" if is_pooled else about
        named[role].append(f"{name}{about}")
    filled_roles = [
        ("not used" if role == "kept" else words.get(role, role) if len(own) > 1 else role, own)
        for role, own in named.items()
        if own
    ]
    return "; ".join(f"{role}: {_listed(names)}" for role, names in filled_roles)


def _listed(names: Sequence[str]) -> str:
    names = [name if len(name) <= 100 else f"{name[:99]}…" for name in names]
    return joined(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
