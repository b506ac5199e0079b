"""Exports in the form of each layout, drawn and read back; damaged ones end well or in a clear error."""

import csv
import io
import json
import random

import pytest
from table_files import answered

from ecsuite.formats.reading import read_corpus
from ecsuite.runtime.errors import ConfigError, CorpusError

WORDS = "ne ka mu lu po ti wa zo".split()


def table(rows, *, above=()):
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([list(rows[0]), *above, *(list(row.values()) for row in rows)])
    return text.getvalue()


def otree(pairs):
    bookkeeping = {"participant._is_bot": 0, "participant._index_in_pages": 3, "session.code": "s"}
    rows = []
    for number, (color, shape, said) in enumerate(pairs, 1):
        own = {"group.color": color, "group.shape": shape, "group.signal": said, "group.id_in_subsession": 1}
        rows += [
            {"participant.code": code, **bookkeeping, **own, "subsession.round_number": number}
            for code in "ab"
        ]
    return table(rows)


def jspsych(pairs):
    rows = []
    for number, (color, shape, said) in enumerate(pairs):
        own = {"trial_type": "survey-text", "trial_index": number, "time_elapsed": 7 * number + 5}
        rows.append({"response": json.dumps({"Q0": said}), **own, "color": color, "shape": shape})
    return table([{**rows[0], "trial_type": "html", "response": "f"}, *rows])


def psychopy(pairs):
    loop = dict.fromkeys(("t.thisRepN", "t.thisTrialN", "t.thisN", "t.thisIndex"), 0)
    rows = [{"color": c, "shape": s, **loop, "box.text": said, "participant": "p"} for c, s, said in pairs]
    return table([*rows, {**rows[0], "box.text": ""}])


def qualtrics(pairs):
    own = {"StartDate": "d", "EndDate": "d", "Status": "IP Address", "Progress": 100}
    rows = [
        {**own, "ResponseId": f"R_{number}", "color": c, "shape": s, "message": said}
        for number, (c, s, said) in enumerate(pairs)
    ]
    names = list(rows[0])
    return table(rows, above=(names, [json.dumps({"ImportId": name}) for name in names]))


def mongoexport(pairs):
    rows = [
        {
            "_id": {"$oid": f"{number:024x}"},
            "time": {"$numberLong": str(number)},
            "color": c,
            "shape": s,
            "msg": said,
        }
        for number, (c, s, said) in enumerate(pairs)
    ]
    return "".join(json.dumps(row) + "\n" for row in rows)


def scan(pairs):
    return "".join(f"IN: {color} {shape} OUT: {said}\n" for color, shape, said in pairs)


FORMS = {
    "otree": (otree, "a.csv"),
    "jspsych": (jspsych, "a.csv"),
    "psychopy": (psychopy, "a.csv"),
    "qualtrics": (qualtrics, "a.csv"),
    "mongoexport": (mongoexport, "a.json"),
    "scan": (scan, "a.txt"),
}


def drawn(rng):
    """Rows of a language of two words, each meaning at least once."""
    colors, shapes = (rng.sample(names, rng.randint(2, 4)) for names in (["red", "blue", "grün", "pink"],
                                                                         ["star", "box", "dot", "ring"]))  # fmt: skip
    words = rng.sample(WORDS, len(WORDS))
    pairs = [
        (c, s, f"{words[place]} {words[-1 - other]}")
        for place, c in enumerate(colors)
        for other, s in enumerate(shapes)
    ]
    rows = [*pairs, *rng.choices(pairs, k=rng.randint(0, 5))]
    return rng.sample(rows, len(rows))


def check_drawn(form, folder, number):
    write, name = FORMS[form]
    for seed in range(number):
        pairs = drawn(random.Random(seed))
        (folder / name).write_text(write(pairs), encoding="utf-8")
        corpus, _ = answered(folder / name)
        said = [" ".join(corpus.symbol_names[each] for each in row) for row in corpus.messages]
        assert [
            (*map(str, meaning), text) for meaning, text in zip(corpus.meanings, said, strict=True)
        ] == pairs


def check_damaged(folder, number):
    for seed in range(number):
        rng = random.Random(seed)
        write, name = FORMS[rng.choice(list(FORMS))]
        data = bytearray(write(drawn(rng)).encode())
        for _ in range(rng.randint(1, 4)):
            start = rng.randrange(len(data))
            cut = rng.choice(
                [b"", b"\0", b'"', b",", b"\n", b"{", b"]", b"\xff", b"-1", data[: rng.randint(1, 40)]]
            )
            data[start : start + rng.randint(0, 30)] = cut
            data = data or bytearray(b" ")
        (folder / name).write_bytes(bytes(data))
        try:
            read_corpus(folder / name)
        except (CorpusError, ConfigError) as error:
            assert str(error)


@pytest.mark.parametrize("form", FORMS)
def test_exports_are_read_back(form, tmp_path):
    check_drawn(form, tmp_path, 10)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_many_exports_are_read_back(form, tmp_path):
    check_drawn(form, tmp_path, 200)


def test_damaged_exports_end_in_an_error_or_a_corpus(tmp_path):
    check_damaged(tmp_path, 200)


@pytest.mark.slow
def test_many_damaged_exports_end_in_an_error_or_a_corpus(tmp_path):
    check_damaged(tmp_path, 10_000)
