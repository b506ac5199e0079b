"""A small language in tables and records, and what is read of them."""

import json
from itertools import product

import ecsuite as ec
from ecsuite.runtime.errors import ReadingQuestion

COLORS = {"red": ("3", "ne"), "blue": ("1", "lu"), "green": ("4", "ka")}
SHAPES = {"star": ("5", "po"), "dot": ("9", "wa"), "box": ("2", "mi")}
GRID = [(color, shape) for _ in range(2) for color, shape in product(COLORS, SHAPES)]
"""A language of two words a message, one an attribute; each meaning twice."""
IDS = [[int(COLORS[color][0]), int(SHAPES[shape][0])] for color, shape in GRID]
WORDS = [[COLORS[color][1], SHAPES[shape][1]] for color, shape in GRID]
PERFECT = {"topsim": 1, "posdis": 1, "cbm": 1}


def table(messages, header="message,color,shape", separator=","):
    lines = [separator.join([message, *meaning]) for message, meaning in zip(messages, GRID, strict=True)]
    return "\n".join([header.replace(",", separator), *lines]) + "\n"


def quoted(texts):
    return [f'"{text}"' for text in texts]


def records(messages=IDS, **columns):
    rows = []
    for place, (message, (color, shape)) in enumerate(zip(messages, GRID, strict=True)):
        own = {name: make(place) for name, make in columns.items()}
        rows.append({"message": message, "meaning": {"color": color, "shape": shape}, **own})
    return "".join(json.dumps(row) + "\n" for row in rows)


def said(corpus):
    names = corpus.symbol_names
    return [
        [symbol if names is None else names[symbol] for symbol in corpus.messages[row].tolist()]
        for row in range(len(corpus.messages))
    ]


def scores(corpus, names=("topsim", "posdis", "cbm")):
    return {score.name: score.value for score in ec.score(corpus, list(names)).scores if score.name in names}


def answered(source, **words):
    """The corpus of a source, each question being answered by its first reading, and the questions."""
    questions = []
    while True:
        try:
            return ec.read_corpus(source, **words), questions
        except ReadingQuestion as question:
            assert len(str(question).splitlines()) <= 8 and len(questions) < 4
            assert len(question.readings) > 1 or "where" in question.readings[0][0]
            questions.append(question)
            chosen = dict(question.readings[0][0])
            columns = {**words.get("columns", {}), **chosen.pop("columns", {})}
            words |= chosen | ({"columns": columns} if columns else {})
