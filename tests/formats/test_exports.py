import csv
import io
import json
import random
import zipfile
from pathlib import Path

import pytest

from ecsuite.formats.layouts import shipped_layouts
from ecsuite.formats.reading import read_corpus
from ecsuite.runtime.errors import ConfigError, CorpusError, ReadingQuestion
from table_files import answered
from table_files import said as said_in

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
        own |= {"subsession.round_number": number}
        rows += [{"participant.code": code, **bookkeeping, **own} for code in "ab"]
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
    rows = [{"_id": {"$oid": f"{n:024x}"}, "time": {"$numberLong": str(n)}, "color": c, "shape": s, "msg": said}
            for n, (c, s, said) in enumerate(pairs)]  # fmt: skip
    return "".join(json.dumps(row) + "\n" for row in rows)


def scan(pairs):
    return "".join(f"IN: {color} {shape} OUT: {said}\n" for color, shape, said in pairs)


def gorilla(pairs):
    own = {"UTC Timestamp": 5, "Participant Private ID": 7, "Trial Number": 1, "Reaction Time": 9}
    return table([{"Event Index": number, **own, "Response": said, "color": c, "shape": s}
                  for number, (c, s, said) in enumerate(pairs, 1)])  # fmt: skip


def labjs(pairs):
    rows = [
        {"sender": "name", "sender_type": "html.Page", "sender_id": f"1_{number}_0", "timestamp": "2026-11-29",
         "meta": "", "color": c, "duration": 7.5 * number, "ended_on": "form submission", "message": said, "shape": s}
        for number, (c, s, said) in enumerate(pairs)
    ]  # fmt: skip
    screen = {
        **rows[0], "sender": "fixation", "sender_type": "canvas.Screen", "ended_on": "timeout", "color": "",
        "message": "", "shape": "",
    }  # fmt: skip
    return table([screen, *rows, screen])


def empirica_chat(pairs):
    rows = []
    for number, (color, shape, said) in enumerate(pairs):
        texts = [
            {"text": said, "sender": {"id": "p1", "name": "Ann"}},
            {"text": "ok", "sender": {"id": "p2", "name": "p2"}},
        ]
        own = {"batchID": "b", "gameID": "g", "color": color, "shape": shape, "messages": json.dumps(texts)}
        rows.append({"id": f"r{number}", **own, "messagesLastChangedAt": "2026-11-29T08:00:00Z"})
    silent = {**rows[0], "id": "last", "messages": "", "messagesLastChangedAt": ""}
    return "\ufeff" + table([*rows, silent])


def empirica(pairs):
    def changed(number):
        return {f"{key}LastChangedAt": f"2026-11-29T08:00:{number:02}Z" for key in ("color", "signal")}

    rows = [{"id": n, "playerID": "p", "gameID": "g", "color": c, "shape": s, "signal": said, **changed(n)}
            for n, (c, s, said) in enumerate(pairs)]  # fmt: skip
    return "\ufeff" + table(rows)


def otree_chat(pairs):
    own = {"session_code": "s", "id_in_session": 1, "participant_code": "p", "channel": "1-naming-1"}
    own |= {"nickname": "me"}
    return table([own | {"body": said, "timestamp": 0.5 + n} for n, (_, _, said) in enumerate(pairs)])


def names(pairs, column, pair):
    return list(dict.fromkeys(each[column] for each in pairs)).index(pair[column])


def symbols(pairs, pair):
    words = list(dict.fromkeys(word for each in pairs for word in each[2].split()))
    return [words.index(word) + 1 for word in pair[2].split()] + [0]


def lines(write):
    """Exports of a line a pair: of the numbers of its color and shape, of its symbols, its words and its place."""

    def export(pairs):
        found = []
        for place, pair in enumerate(pairs):
            said = symbols(pairs, pair)
            found.append(write(names(pairs, 0, pair), names(pairs, 1, pair), said, pair[2], place) + "\n")
        return "".join(found)

    return export


def signs(numbers, between=","):
    return between.join(map(str, numbers))


nellcom = lines(lambda c, s, ids, said, _: f"NAME_{c} VERB_1 NAME_{s}\t{said}")
egg_channel = lines(lambda c, s, ids, *_: f"input: {c} -> message: {signs(ids)} -> output: {c}")
egg_label = lines(lambda c, s, ids, _, place: f"{c} {s} -> {signs(ids, ' ')} -> {c} {s} (label={place})")
egg_objects = lines(lambda c, s, ids, *_: f"{c},{s} -> {c},{s}:9,9 -> {signs(ids)} -> 0 (label=0)")
elcc = lines(lambda c, s, ids, *_: str(ids))
wcs = lines(lambda c, s, ids, said, place: f"1\t{1 + place % 2}\t{c + 1}\t{said.split()[0]}")


def cldf(pairs):
    rows = [{"ID": number, "Language_ID": "a", "Parameter_ID": c, "Form": said, "Segments": said.replace(" ", " + ")}
            for number, (c, _, said) in enumerate(pairs)]  # fmt: skip
    return table(rows)


def chat(pairs):
    lines = []
    for c, s, said in pairs:
        messages = [{"role": "user", "content": f"{c} {s}"}, {"role": "assistant", "content": said}]
        lines.append(json.dumps({"messages": messages}) + "\n")
    return "".join(lines)


def clemcore(pairs):
    turns = []
    for color, shape, said in pairs:
        asked = {"type": "send message", "content": f"name the {color} {shape}"}
        answer = {"type": "get message", "content": said}
        turns.append([{"from": "GM", "to": "Player 1", "action": asked},
                      {"from": "Player 1", "to": "GM", "action": answer}])  # fmt: skip
    return json.dumps({"meta": {"clem_version": "3.7.2"}, "players": {}, "turns": turns})


def lexicon(pairs):
    language = {f"{c} {s}": said for c, s, said in pairs}
    return "".join(json.dumps({"generation": number, "lexicon": language}) + "\n" for number in range(2))


def inspect(pairs):
    samples = [{"id": number, "epoch": 1, "input": f"{c} {s}", "metadata": {"color": c, "shape": s},
                "output": {"model": "none", "completion": said}}
               for number, (c, s, said) in enumerate(pairs, 1)]  # fmt: skip
    log = {"version": 2, "eval": {"eval_id": "e", "task": "naming"}, "samples": samples}
    return json.dumps(log, indent=2)


def packed_inspect(pairs):
    log = json.loads(inspect(pairs))
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for sample in log.pop("samples"):
            archive.writestr(f"samples/{sample['id']}_epoch_1.json", json.dumps(sample))
        archive.writestr("header.json", json.dumps(log))
    return content.getvalue()


def textarena(pairs):
    turns = [item for c, s, said in pairs for item in ([-1, f"name the {c} {s}"], [0, said], [0, said])]
    return json.dumps({"logs": turns, "rewards": {"0": 1}, "game_info": {}})


def csar(pairs):
    return "".join(f"{json.dumps([said.split(), [c, s]])}\n" for c, s, said in pairs)


FORMS = {
    "otree": (otree, "a.csv"), "jspsych": (jspsych, "a.csv"), "psychopy": (psychopy, "a.csv"),
    "qualtrics": (qualtrics, "a.csv"), "gorilla": (gorilla, "a.csv"), "labjs": (labjs, "a.csv"),
    "empirica": (empirica, "playerRounds.csv"), "empirica_chat": (empirica_chat, "rounds.csv"),
    "mongoexport": (mongoexport, "a.json"), "scan": (scan, "a.txt"), "inspect": (inspect, "a.json"),
    "packed inspect": (packed_inspect, "a.eval"), "csar": (csar, "a.jsonl"), "nellcom": (nellcom, "meaning_phrase.txt"),
    "egg_label": (egg_label, "a.txt"), "egg_objects": (egg_objects, "a.txt"), "egg_channel": (egg_channel, "a.txt"),
    "cldf": (cldf, "forms.csv"), "wcs": (wcs, "term.txt"), "lexicon": (lexicon, "a.jsonl"),
    "elcc": (elcc, "corpus.jsonl"), "chat": (chat, "a.jsonl"), "clemcore": (clemcore, "interactions.json"),
    "otree_chat": (otree_chat, "a.csv"), "textarena": (textarena, "a.json"),
}  # fmt: skip


def expected(form, pairs):
    """What is meant and said in each row of a form: values as texts, and the message."""
    if form in ("egg_label", "egg_objects", "egg_channel", "elcc"):
        said = [" ".join(map(str, symbols(pairs, pair))) for pair in pairs]
        meant = [[str(names(pairs, column, pair)) for column in (0, 1)] for pair in pairs]
        meant = [each[: {"egg_channel": 1, "elcc": 0}.get(form, 2)] for each in meant]
        return [(*values, text) for values, text in zip(meant, said, strict=True)]
    if form == "nellcom":
        rows = [(names(pairs, 0, pair), names(pairs, 1, pair), pair[2]) for pair in pairs]
        return [(f"NAME_{agent}", "VERB_1", f"NAME_{patient}", said) for agent, patient, said in rows]
    if form == "cldf":
        return [(color, said) for color, _, said in pairs]
    if form == "wcs":
        return [(str(names(pairs, 0, pair) + 1), pair[2].split()[0]) for pair in pairs]
    if form == "chat":
        return [(text,) for color, shape, said in pairs for text in (f"{color} {shape}", said)]
    if form in ("clemcore", "otree_chat", "textarena"):
        return [(said,) for _, _, said in pairs]
    if form == "empirica_chat":
        return [(color, shape, text) for color, shape, said in pairs for text in (said, "ok")]
    return pairs if form != "lexicon" else [*dict.fromkeys(pairs)] * 2


def meant_and_said(form, corpus):
    texts = [" ".join(map(str, row)) for row in said_in(corpus)]
    if form == "csar":
        concepts = [[corpus.concept_names[each] for each in row] for row in corpus.concepts]
        return [(*row, text) for row, text in zip(concepts, texts, strict=True)]
    if corpus.meanings is None:
        return [(text,) for text in texts]
    return [(*map(str, row), text) for row, text in zip(corpus.meanings.tolist(), texts, strict=True)]


def drawn(rng):
    kinds = (["red", "blue", "grün", "pink"], ["star", "box", "dot", "ring"])
    colors, shapes = (rng.sample(names, rng.randint(2, 4)) for names in kinds)
    words = rng.sample(WORDS, len(WORDS))
    pairs = [(c, s, f"{words[a]} {words[-1 - b]}") for a, c in enumerate(colors) for b, s in enumerate(shapes)]
    rows = [*pairs, *rng.choices(pairs, k=rng.randint(0, 5))]
    return rng.sample(rows, len(rows))


def write(form, pairs, folder):
    make, name = FORMS[form]
    content = make(pairs)
    (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return folder / name


def check_drawn(form, folder, number):
    for seed in range(number):
        pairs = drawn(random.Random(seed))
        corpus, _ = answered(write(form, pairs, folder))
        assert meant_and_said(form, corpus) == expected(form, pairs)
        layout = form.removeprefix("packed ")
        assert corpus.metadata.get("layout") == (layout if layout in shipped_layouts() else None)


def check_damaged(folder, number):
    for seed in range(number):
        rng = random.Random(seed)
        if rng.random() < 0.25:
            export = EXPORTS / rng.choice(list(MADE))
            file, data = folder / export.name, bytearray(export.read_bytes())
        else:
            file = write(rng.choice(list(FORMS)), drawn(rng), folder)
            data = bytearray(file.read_bytes())
        for _ in range(rng.randint(1, 4)):
            start = rng.randrange(len(data))
            signs = [b"", b"\0", b'"', b",", b"\n", b"{", b"]", b"\xff", b"-1", data[: rng.randint(1, 40)]]
            cut = rng.choice(signs)
            data[start : start + rng.randint(0, 30)] = cut
            data = data or bytearray(b" ")
        file.write_bytes(bytes(data))
        try:
            read_corpus(file)
        except (CorpusError, ConfigError) as error:
            assert str(error)


EXPORTS = Path(__file__).with_name("exports")
NAMED = [("red", "star", "ne po"), ("red", "box", "ne ki"), ("blue", "star", "wa po"), ("blue", "box", "wa ki")]
TALK = ["ne po", "wa ki", "[cooperate]", "[defect]", "ne po wa", "wa ki ne"]
MADE = {
    "otree.csv": ("otree", NAMED), "otree_wide.csv": ("otree", NAMED),
    "psychopy.csv": ("psychopy", [*NAMED, *NAMED[1:]]),
    "labjs.csv": ("labjs", NAMED),
    "empirica/playerRounds.csv": ("empirica", NAMED),
    "empirica/rounds.csv": (
        "empirica_chat", [(color, shape, text) for color, shape, said in NAMED[:3] for text in (said, "ok")],
    ),
    "inspect.json": ("inspect", NAMED), "inspect.eval": ("inspect", NAMED),
    "cldf/forms.csv": ("cldf", [("red", "n e p o"), ("blue", "k a"), ("red", "m u")]),
    "clemcore.json": ("clemcore", [(text,) for c, s, said in NAMED for text in (said, f"{c} {s}")]),
    "textarena.json": ("textarena", [(text,) for text in TALK]),
}  # fmt: skip
"""The layout, and what was meant and said, of each file that a script of `benchmarks/exports` made by its program."""


@pytest.mark.parametrize("name", MADE)
def test_exports_of_programs(name):
    layout, rows = MADE[name]
    if name.endswith(".eval"):
        pytest.importorskip("pyarrow")
    corpus, questions = answered(EXPORTS / name)
    assert not questions and corpus.metadata["layout"] == layout
    assert meant_and_said(layout, corpus) == rows


def test_trials_of_labjs_are_asked_about_where_they_end_otherwise(tmp_path):
    text = labjs(drawn(random.Random(1))).replace("form submission", "response")
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(ReadingQuestion) as question:
        read_corpus(tmp_path / "a.csv")
    assert {"where": ("ended_on=response",)} in [dict(words) for words, _ in question.value.readings]


def test_chats_under_other_names_are_asked_about(tmp_path):
    text = (EXPORTS / "empirica" / "rounds.csv").read_text(encoding="utf-8").replace("messages", "chat")
    (tmp_path / "rounds.csv").write_text(text, encoding="utf-8")
    corpus, (question,) = answered(tmp_path / "rounds.csv")
    assert question.readings[0][0] == {"layout": "rows:chat"}
    assert said_in(corpus)[:2] == [["ne", "po"], ["ok"]] and len(corpus.messages) == 6
    columns = {"chat": "message"}  # whose lists are asked about, and are rows then
    with pytest.raises(ReadingQuestion, match="column chat has lists of objects") as caught:
        read_corpus(tmp_path / "rounds.csv", columns=columns)
    again = read_corpus(tmp_path / "rounds.csv", columns=columns, **caught.value.readings[0][0])
    assert said_in(again) == said_in(corpus)


@pytest.mark.parametrize("number", [3, pytest.param(200, marks=pytest.mark.slow)])
@pytest.mark.parametrize("form", FORMS)
def test_exports_are_read_back(form, number, tmp_path):
    check_drawn(form, tmp_path, number)


@pytest.mark.parametrize("number", [200, pytest.param(10_000, marks=pytest.mark.slow)])
def test_damaged_exports_end_in_an_error_or_a_corpus(number, tmp_path):
    check_damaged(tmp_path, number)
