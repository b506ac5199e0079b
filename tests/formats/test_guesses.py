"""What is guessed of files: what stands between symbols, what a column is, one-hot values; and what is said."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from table_files import COLORS, GRID, IDS, PERFECT, SHAPES, WORDS, answered, records, said, scores

import ecsuite as ec
from ecsuite.formats.meant import one_hot_values
from ecsuite.runtime.errors import ConfigError, CorpusError, ReadingQuestion


@pytest.mark.parametrize(
    ("texts", "split", "first"),
    [
        (["well-known_thing", "un-known_one"], "_", ["well-known", "thing"]),
        (["wa | me", "ki | tu"], "auto", ["wa", "me"]),
        ([". - .", ". -"], "auto", [".", "-", "."]),
        (["wa_me", "wa_me"], "auto", ["wa_me"]),
        (["w_1", "w_2"], "_", ["w", "1"]),
        (["big_dog", "cat"], "spaces", ["big_dog"]),
        (["big_dog", "cat"], "_", ["big", "dog"]),
        (["3_5", "4"], "auto", ["3", "5"]),
        (["well, yes I do", "no, never"], "auto", ["well,", "yes", "I", "do"]),
        (["wa::me", "ki::me"], "::", ["wa", "me"]),
        (["wa~me", "ki~me"], "~", ["wa", "me"]),
        (["a,b", "c"], "auto", ["a", "b"]),
    ],
)
def test_signs_between_symbols(texts, split, first):
    corpus = ec.read_corpus({"message": texts, "color": ["red", "blue"]}, split=split)
    assert list(map(str, said(corpus)[0])) == first


@pytest.mark.parametrize(
    ("texts", "splits"),
    [
        (["a|b", "c"], ["|", "letters", "spaces"]),
        (["wa.me", "ki.tu"], [".", "letters", "spaces"]),
        (["t-shirt", "x-ray"], ["-", "letters", "spaces"]),
        (["0.25", "0.5"], [".", "letters", "spaces"]),
        (["w_1", "w_2"], ["_", "letters", "spaces"]),
        (["big_dog", "cat"], ["_", "letters", "spaces"]),
        ([".-.", ".-.-."], ["-", "letters", "spaces"]),
        (["wame", "kime"], ["letters", "spaces"]),
        (["wa~me", "ki~me"], ["letters", "spaces"]),
    ],
)
def test_a_text_that_is_one_symbol_or_several_is_asked_about(texts, splits):
    with pytest.raises(ReadingQuestion, match="is a message one symbol, or several") as caught:
        ec.read_corpus({"message": texts, "color": ["red", "blue"]})
    assert [words for words, _ in caught.value.readings] == [{"split": split} for split in splits]
    for split in splits:
        assert len(ec.read_corpus({"message": texts}, split=split).messages) == 2


@pytest.mark.parametrize("texts", [["a", "b", "c"], ["12", "7"], ["wame", "wame"], ["", "wame"]])
def test_nothing_is_asked_where_a_text_is_plainly_one_symbol(texts):
    assert len(ec.read_corpus({"message": texts}).messages) == len(texts)


def test_messages_of_several_columns(tmp_path):
    (tmp_path / "a.csv").write_text("w1,second,color\nwa,me,red\nki,,blue\n3,wa,red\n")
    read = ec.read_corpus(tmp_path / "a.csv", columns={"w1": "message", "second": "message"})
    assert said(read) == [["wa", "me"], ["ki"], ["3", "wa"]] and read.attribute_names == ("color",)
    frame = {
        "symbol_0": [1.0, 2.0],
        "symbol_1": [3.0, float("nan")],
        "symbol_10": [1, 2],
        "color": ["red", "blue"],
    }
    assert ec.read_corpus({name: frame[name] for name in ("symbol_0", "symbol_1", "color")}).messages[
        0
    ].tolist() == [1, 3]
    with pytest.raises(CorpusError, match="no column of messages"):
        ec.read_corpus(frame)  # 0, 1, 10: not one after the other
    (tmp_path / "b.csv").write_text("symbol1,symbol2,color\nwa,me,red\n,me,blue\n")
    with pytest.raises(
        CorpusError, match=r"row 3, column symbol1: expected one symbol .* got an empty cell before"
    ):
        ec.read_corpus(tmp_path / "b.csv")


def test_columns_of_messages_are_those_of_one_or_of_several(tmp_path):
    (tmp_path / "a.csv").write_text("participant,word1,word2,word3\np1,tu,ki,ga\np2,tu,tu,ga\n")
    with pytest.raises(
        ReadingQuestion, match="a row of word1, word2, word3 one message, or one message per column"
    ) as caught:
        ec.read_corpus(tmp_path / "a.csv")
    one, each = (
        ec.read_corpus(tmp_path / "a.csv", **words, split="spaces") for words, _ in caught.value.readings
    )
    assert said(one) == [["tu", "ki", "ga"], ["tu", "tu", "ga"]]
    assert said(each) == [[word] for word in "tu ki ga tu tu ga".split()] and each.values_of("number") == [
        "1",
        "2",
        "3",
    ]


def test_columns_beside_an_object_are_asked_about():
    states = [{"color": color, "shape": shape} for color, shape in GRID]
    rows = {"message": [" ".join(row) for row in WORDS], "state": states, "agent": list("AB") * 9}
    with pytest.raises(
        ReadingQuestion, match=r"which columns are part of the meaning: state.color, state.shape, or more"
    ):
        ec.read_corpus(rows)


@pytest.mark.parametrize(
    ("name", "header", "row"),
    [
        ("a.jsonl", None, {"message": "{m}", "meaning": {"color": "{c}", "shape": "{s}", "uid": "u{n}"}}),
        ("a.jsonl", None, {"message": "{m}", "thing": ["{c}", "{s}"], "agent": "{a}"}),
        ("a.jsonl", None, {"message": "{m}", "thing": "{{'color': '{c}', 'shape': '{s}'}}", "agent": "{a}"}),
        ("a.csv", "message,meaning", '{m},"color={c}, shape={s}, uid=u{n}"'),
        ("a.csv", "message,thing,agent", "{m},\"('{c}', '{s}')\",{a}"),
        ("a.csv", "message,color_red,color_blue,color_dark,shape,uid", "{m},{bits},{s},u{n}"),
    ],
)
def test_parts_that_are_asked_about_can_be_named(tmp_path, ecsuite, name, header, row):
    lines = [] if header is None else [header]
    for number, ((a, b), (color, shape)) in enumerate(zip(IDS * 2, GRID * 2, strict=True)):
        bits = ",".join(str(int(color == each)) for each in COLORS)
        values = {"m": f"{a} {b}", "c": color, "s": shape, "n": number, "a": "AB"[number % 2], "bits": bits}

        def written(cell, values=values):
            if isinstance(cell, dict):
                return {key: written(each) for key, each in cell.items()}
            return list(map(written, cell)) if isinstance(cell, list) else cell.format(**values)

        lines.append(written(row) if isinstance(row, str) else json.dumps(written(row)))
    (tmp_path / name).write_text("\n".join(lines) + "\n")
    with pytest.raises(ReadingQuestion, match="which columns are part of the meaning") as caught:
        ec.read_corpus(tmp_path / name)
    for (words, _), number in zip(caught.value.readings, (2, 3), strict=True):
        corpus = ec.read_corpus(tmp_path / name, **words)
        assert len(corpus.attribute_names) == number
        if number == 2:
            assert scores(corpus) == pytest.approx(PERFECT) and len(corpus.columns) == 1
            [options, _] = caught.value.options()
            assert ecsuite("show", name, "--write-layout", *options)[0] == 0
            assert ec.read_corpus(tmp_path / name).attribute_names == corpus.attribute_names


def test_answers_of_listeners_are_no_messages(tmp_path):
    (tmp_path / "a.csv").write_text(
        "director_text,color,response\nthe red one,red,left\na blue one,blue,right\n"
    )
    with pytest.raises(ReadingQuestion, match="no column of messages among director_text, color, response"):
        ec.read_corpus(tmp_path / "a.csv")


def test_chats_have_speakers_and_pairs_without_a_header_have_numbers(tmp_path):
    (tmp_path / "a.csv").write_text(
        "timestamp,user,message\n1,ann,hello there\n2,bob,the red one\n3,ann,yes\n"
    )
    corpus = ec.read_corpus(tmp_path / "a.csv")
    assert corpus.values_of("speaker") == ["ann", "bob"] and corpus.meanings is None
    (tmp_path / "b.tsv").write_text("red star\tne po\nred box\tne ki\nblue star\twa po\n")
    with pytest.raises(ReadingQuestion, match=r"no column of messages among .?red star, ne po") as caught:
        ec.read_corpus(tmp_path / "b.tsv")
    (without, _) = caught.value.readings[-1]
    corpus = ec.read_corpus(tmp_path / "b.tsv", **without)
    assert said(corpus)[0] == ["ne", "po"] and corpus.meanings.tolist()[0] == ["red", "star"]


def test_parts_of_objects_in_a_table_are_offered(tmp_path):
    (tmp_path / "a.csv").write_text(
        'id,reply,color\n1,"{""Q0"": ""ba du""}",red\n2,"{""Q0"": ""ki""}",blue\n'
    )
    corpus, questions = answered(tmp_path / "a.csv")
    assert questions[0].readings[0][0] == {"columns": {"reply.Q0": "message"}} and said(corpus)[0] == [
        "ba",
        "du",
    ]


def test_lines_with_one_colon_are_two_columns_or_one(tmp_path):
    (tmp_path / "a.txt").write_text("red,star: ne po\nred,box: ne ki\nblue,star: wa po\n")
    corpus, questions = answered(tmp_path / "a.txt")
    assert (
        said(corpus)[0] == ["ne", "po"]
        and corpus.meanings[0].tolist() == ["red", "star"]
        and len(questions) == 1
        and "2 columns with colons: which has the messages?" in str(questions[0])
    )
    (whole, _) = questions[0].readings[-1]
    assert said(ec.read_corpus(tmp_path / "a.txt", **whole))[0] == ["red,star:", "ne", "po"]


def test_a_column_for_each_value(tmp_path):
    names = [f"color_{each}" for each in COLORS] + [f"shape_{each}" for each in SHAPES]
    for write in (int, bool):
        cells = [[write(name.rpartition("_")[2] in meaning) for name in names] for meaning in GRID]
        lines = [",".join(map(str, [f"{a} {b}", *row])) for (a, b), row in zip(IDS, cells, strict=True)]
        (tmp_path / "a.csv").write_text("\n".join([",".join(["message", *names]), *lines]) + "\n")
        corpus = ec.read_corpus(tmp_path / "a.csv")
        assert corpus.attribute_names == ("color", "shape") and corpus.meanings.tolist() == list(
            map(list, GRID)
        )
        assert scores(corpus) == pytest.approx(PERFECT)
        assert "color, shape: a column for each value, taken as one attribute" in corpus.metadata["notes"][1]
    other = {"message": IDS[:3], "size_a": [1, 0, 1], "size_b": [0, 1, 1], "x_1": [0, 0, 1]}
    assert ec.read_corpus(other).attribute_names == ("size_a", "size_b", "x_1")  # both in the last row


def test_whole_numbers_with_decimals_are_features_which_is_said():
    told = "whole numbers with decimals, such as 1.0, and are read as features"
    for rows, is_said in (([[0.0, 1.0], [1.0, 1.0]] * 2, True), ([[0.0, 1.5], [1.0, 1.0]] * 2, False),
                          ([[100.0, 7.0], [107.0, 8.0]], False), ([[0, 1], [1, 1]] * 2, False)):  # fmt: skip
        corpus = ec.read_corpus({"message": [[1, 2], [2, 1]] * (len(rows) // 2), "meaning": rows})
        assert any(told in note for note in corpus.metadata.get("notes", [])) == is_said


def test_trials_as_jspsych_writes_them(tmp_path):
    trials = [{"trial_type": "instructions", "stimulus": "<p>Welcome</p>", "rt": 1}]
    for place, ((color, shape), words) in enumerate(zip(GRID, WORDS, strict=True)):
        answer = {"response": {"Q0": " ".join(words)}, "target_color": color, "target_shape": shape}
        about = {"trial_type": "survey-text", "trial_index": place, "stimulus": f"img/{color}_{shape}.png"}
        trials.append({**about, **answer})
    (tmp_path / "a.json").write_text(json.dumps(trials))
    corpus, questions = answered(tmp_path / "a.json", missing="leave", where="trial_type=survey-text")
    assert "no column of messages" in questions[0].asked
    assert questions[1].asked.endswith(
        "which columns are part of the meaning: target_color, target_shape, or more?"
    )
    assert said(corpus) == WORDS and corpus.attribute_names == ("target_color", "target_shape")
    assert corpus.column("stimulus")[0] == "img/red_star.png"  # the name of an object is no attribute of it
    assert scores(corpus) == pytest.approx(PERFECT)


def test_classes_of_data_sets_have_their_names(tmp_path):
    datasets = pytest.importorskip("datasets")
    datasets.disable_progress_bars()
    kinds = {"message": datasets.Value("string"), "shape": datasets.ClassLabel(names=["cup", "box"])}
    rows = {"message": ["1 2", "2 1", "2 2"], "shape": [0, 1, -1]}
    data = datasets.Dataset.from_dict(rows, features=datasets.Features(kinds))
    data.save_to_disk(tmp_path / "saved")
    data.to_parquet(tmp_path / "a.parquet")
    for source in (data, tmp_path / "saved", tmp_path / "a.parquet"):
        assert ec.read_corpus(source).concept_names == ("shape=cup", "shape=box")


def test_arrays_of_messages_are_found_or_chosen(tmp_path):
    one, other = np.array([[1, 2], [2, 1]]), np.array([[3, 3], [4, 4]])
    np.savez(tmp_path / "a.npz", a=one, b=np.array([1.5, 2.5]), c=np.array([1, 2]))
    assert said(ec.read_corpus(tmp_path / "a.npz")) == one.tolist()  # the one array of rows of whole numbers
    np.savez(tmp_path / "b.npz", a=one, b=other)
    with pytest.raises(CorpusError, match=r"with arrays a \(2, 2\), b \(2, 2\): name the messages"):
        ec.read_corpus(tmp_path / "b.npz")
    chosen = ec.read_corpus(tmp_path / "b.npz", columns={"a": "kept", "b": "message"})
    assert said(chosen) == other.tolist()


def test_meanings_of_a_second_text_are_words_as_they_stand(tmp_path):
    (tmp_path / "a.txt").write_text("1 2\n2 1\n")
    (tmp_path / "b.txt").write_text("[1] red\n2 blue\n")
    read = ec.read_corpus(tmp_path / "a.txt", meanings=tmp_path / "b.txt")
    assert read.meanings.tolist() == [["[1]", "red"], ["2", "blue"]]


def test_numbers_of_notes(tmp_path):
    rows = {"message": ["1 2", "2 1", "2 2"], "color": ["red", "blue", "red"], "speaker": ["a", None, "b"]}
    notes = ec.read_corpus(rows).metadata["notes"]
    assert "the frame: row 1 lacks a speaker: scores of several speakers are without them" in notes
    rows |= {"speaker": ["a", None, None], "x": [1.5, 2.5, 1.5]}
    notes = "\n".join(ec.read_corpus(rows).metadata["notes"])
    assert (
        "row 1 lacks a speaker, and 1 more rows" in notes
        and "a comma" not in notes
        and "several ways" not in notes
    )


def test_what_somebody_says_is_taken_as_it_stands():
    bits = {"message": IDS[:3], "color_red": [1, 0, 1], "color_blue": [0, 1, 0]}
    assert ec.read_corpus(bits).attribute_names == ("color",)
    assert len(ec.read_corpus(bits, columns={"color_red": "attribute"}).attribute_names) == 2
    texts = {"message": IDS[:4], "picture": ["red cup", "red box", "blue cup", "blue box"]}
    assert ec.read_corpus(texts).meanings.shape == (4, 2)
    assert ec.read_corpus(texts, columns={"picture": "attribute"}).meanings.shape == (4, 1)


@pytest.mark.parametrize(
    ("rows", "values"),
    [
        (np.eye(4), [[0], [1], [2], [3]]),
        ([[1, 0, 1, 0, 0], [0, 1, 0, 0, 1], None, [1, 0, 0, 1, 0]], [[0, 0], [1, 2], None, [0, 1]]),
        ([[0, 1, 0, 1], [1, 0, 0, 1]], [[1], [0]]),  # one is 0, one 1 in all rows
        ([[1, 0], [0, 1]], None),
        ([[1, 1, 0], [0, 0, 1]], None),
        ([[0.5, 0.5, 1], [1, 0, 1]], None),
        ([[1, 1, 1]], None),
        ([], None),
    ],
)
def test_one_hot_values(rows, values):
    assert one_hot_values([row if row is None else list(row) for row in rows]) == values


def test_names_of_columns_of_other_programs(tmp_path):
    header = "PROLIFIC_PID,TrialIndex,RT_ms,reactionTime,message,color,round"
    (tmp_path / "a.csv").write_text(f"{header}\na,1,530,0.5,1 2,red,yes\nb,2,512,0.7,2 1,blue,no\n")
    corpus = ec.read_corpus(tmp_path / "a.csv")
    assert corpus.attribute_names == ("color", "round")  # words are no time
    roles = corpus.metadata["roles"]
    assert roles["PROLIFIC_PID"] == "group" and {
        roles["TrialIndex"],
        roles["RT_ms"],
        roles["reactionTime"],
    } == {"kept"}


def test_frames_as_pandas_writes_them_in_json(tmp_path):
    rows = [
        {"message": row, "color": color, "shape": shape}
        for row, (color, shape) in zip(IDS, GRID, strict=True)
    ]
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    forms = {
        "records": rows,
        "list": columns,
        "columns": {
            name: {str(place): cell for place, cell in enumerate(cells)} for name, cells in columns.items()
        },
        "index": {str(place): row for place, row in enumerate(rows)},
        "split": {
            "columns": list(columns),
            "index": list(range(len(rows))),
            "data": [list(row.values()) for row in rows],
        },
        "table": {"schema": {"fields": [{"name": "message"}]}, "data": rows},
        "beside other keys": {"config": {"seed": 1}, "interactions": rows, "notes": ["a"]},
    }
    for name, form in forms.items():
        for indent in (None, 1):
            (tmp_path / f"{name}.json").write_text(json.dumps(form, indent=indent))
            corpus = ec.read_corpus(tmp_path / f"{name}.json")
            assert said(corpus) == IDS and corpus.meanings.tolist() == list(map(list, GRID)), name


def test_documents_of_splits_and_of_languages(tmp_path):
    rows = [json.loads(line) for line in records().splitlines()]
    (tmp_path / "a.json").write_text(json.dumps({"train": rows[:12], "test": rows[12:]}))
    assert ec.read_corpus(tmp_path / "a.json").column("split").tolist() == ["train"] * 12 + ["test"] * 6
    language = {" ".join(meaning): " ".join(words) for meaning, words in zip(GRID, WORDS, strict=True)}
    ids = {f"{color}, {shape}": row for (color, shape), row in zip(GRID, IDS, strict=True)}
    for told, expected in ((language, WORDS), (ids, IDS)):
        (tmp_path / "b.json").write_text(json.dumps(told))
        with pytest.raises(ReadingQuestion, match=r"no column of messages among .?red") as caught:
            ec.read_corpus(tmp_path / "b.json")
        assert caught.value.readings[0][0] == {"layout": "rows:*"}
        corpus = ec.read_corpus(tmp_path / "b.json", layout="rows:*")
        assert said(corpus) == expected[:9] and corpus.meanings.tolist() == list(map(list, GRID[:9]))
        assert "message: value; meaning: key" in corpus.metadata["notes"][0]


@pytest.mark.parametrize("key", ["words", "dict"])
def test_languages_under_a_key_are_asked_about(tmp_path, key):
    language = {" ".join(meaning): " ".join(words) for meaning, words in zip(GRID, WORDS, strict=True)}
    lines = [json.dumps({"generation": number, key: language}) for number in range(2)]
    (tmp_path / "a.jsonl").write_text("\n".join(lines) + "\n")
    corpus, (question,) = answered(tmp_path / "a.jsonl")
    assert question.readings[0][0] == {"layout": f"rows:{key}"}
    assert said(corpus)[9:] == WORDS[:9] and corpus.values_of("generation") == [0, 1]
    assert scores(corpus.where("generation", 1)) == pytest.approx(PERFECT)
    with pytest.raises(ConfigError, match="unknown column 'none'"):
        ec.read_corpus(tmp_path / "a.jsonl", layout="rows:none")


def test_the_page_of_rules_names_tests_that_are_there():
    page = (Path(__file__).parents[2] / "docs" / "own_data.md").read_text(encoding="utf-8")
    table = page.partition("| rule | test |")[2].partition("\n## ")[0]
    named = re.findall(r"`(test_\w+\.py)::(test_\w+)`", table)
    rows = [row for row in table.splitlines() if row.startswith("| ")]
    assert len(named) > 30 and all("::test_" in row for row in rows)
    for file, test in named:
        assert f"def {test}(" in Path(__file__).with_name(file).read_text(encoding="utf-8"), (file, test)


@pytest.mark.parametrize(
    ("header", "write"),
    [
        ("meaning", "{}_{}"),
        ("meaning", '"{},{}"'),
        ("meaning", "{} {}"),
        ("meaning", "color={};shape={}"),
        ("meaning", '"color: {}, shape: {}"'),
        ("meaning", "color={} shape={}"),
        ("stimulus", "{} {}"),
        ("picture", "{}-{}"),
        ("target", "color={}&shape={}"),
        ("target_color,target_shape,distractor_color", "{},{},red"),
        ('"color" "shape"', '"{}" "{}"'),
    ],
)
def test_meanings_that_are_one_text(tmp_path, header, write):
    separator = " " if '" ' in header else ","
    lines = [
        f'"{a} {b}"{separator}{write.format(*meaning)}' for (a, b), meaning in zip(IDS, GRID, strict=True)
    ]
    (tmp_path / "a.txt").write_text("\n".join([f"message{separator}{header}", *lines]) + "\n")
    corpus = ec.read_corpus(tmp_path / "a.txt")
    assert said(corpus) == IDS and corpus.meanings.tolist() == list(map(list, GRID))
    assert scores(corpus) == pytest.approx(PERFECT)
    assert set(corpus.attribute_names) <= {"color", "shape", "target_color", "target_shape"}


@pytest.mark.parametrize(
    "values", [["img_01", "img_02", "img_03"], ["new york", "los angeles", "san jose"], ["a", "b", "c"]]
)
def test_names_of_several_words_are_values(values):
    corpus = ec.read_corpus({"message": ["1 2", "2 3", "3 1"] * 3, "picture": values * 3})
    assert corpus.attribute_names == ("picture",) and corpus.meanings[:3].ravel().tolist() == values


def test_rows_that_r_writes(tmp_path):
    lines = [
        f'"{place}" "{a} {b}"   "{c}" "{s}"'
        for place, ((a, b), (c, s)) in enumerate(zip(IDS, GRID, strict=True), 1)
    ]
    (tmp_path / "a.txt").write_text("\n".join(['"message" "color" "shape"', *lines]) + "\n")
    corpus = ec.read_corpus(tmp_path / "a.txt")
    assert said(corpus) == IDS and corpus.attribute_names == ("color", "shape")
    (tmp_path / "b.txt").write_text("a word here\nsome other text\na word here\nyet more words\n")
    assert len(ec.read_corpus(tmp_path / "b.txt").messages) == 4  # words come again: no header
    (tmp_path / "c.txt").write_text('"message" "color"\n"1" "a b"\n"2" "a b" "red"\n')
    with pytest.raises(CorpusError, match=r"c.txt:3: expected 2 cells, as in the header, got 3"):
        ec.read_corpus(tmp_path / "c.txt")


def test_what_programs_write_for_none_and_capitals_are_said():
    rows = {"message": ["1 2", "NA", "3"], "color": ["red", "Red", "nan"]}
    notes = "\n".join(ec.read_corpus(rows).metadata["notes"])
    assert "row 1, column message: NA counts as a message" in notes
    assert "row 2, column color: nan counts as a value; leave cells empty for missing values" in notes
    assert "color=red and color=Red are two values" in notes


def test_texts_of_other_kinds_are_named(tmp_path):
    (tmp_path / "a.yaml").write_text("- message: [1, 2]\n")
    with pytest.raises(CorpusError, match=r"a.yaml: YAML; expected messages"):
        ec.read_corpus(tmp_path / "a.yaml")


def test_empty_lines_at_the_end_of_json_are_none(tmp_path):
    for text in ("[3, 5]\n[1, 9]\n\n \n", records() + "\n"):
        (tmp_path / "a.jsonl").write_text(text)
        assert said(ec.read_corpus(tmp_path / "a.jsonl"))[:1] == IDS[:1]


def test_names_of_which_few_share_a_word_stay_whole():
    items = ["ice cream", "ice bear", "polar bear", "fire truck", "sea horse", "hot dog", "tea pot"]
    rows = {"message": list("abcdefg"), "item": items}
    with pytest.raises(ReadingQuestion, match="column item: is a text one value or several") as caught:
        ec.read_corpus(rows)
    assert [words["columns"]["item"] for words, _ in caught.value.readings] == ["meaning", "attribute"]
    corpus = ec.read_corpus(rows, columns={"item": "attribute"})
    assert corpus.attribute_names == ("item",) and corpus.meanings[0].tolist() == ["ice cream"]


def test_meanings_with_zeros_in_front_are_texts():
    corpus = ec.read_corpus({"signal": ["a x", "a y", "b x", "b y"], "meaning": ["00", "01", "10", "11"]})
    assert corpus.meanings.tolist() == [["00"], ["01"], ["10"], ["11"]]


@pytest.mark.parametrize("sign", "_=.")
def test_columns_of_values_with_signs_in_them(sign):
    columns = {"size_small": [1, 0, 1], "size_very_big": [0, 1, 0]}
    corpus = ec.read_corpus(
        {"message": ["a", "b", "a"], **{name.replace("_", sign, 1): cells for name, cells in columns.items()}}
    )
    assert corpus.attribute_names == ("size",)
    assert corpus.meanings.tolist() == [["small"], ["very_big"], ["small"]]


def test_an_attribute_of_few_objects_is_no_name_of_them():
    objects = [
        ("red", "cup", "big"),
        ("blue", "ball", "big"),
        ("green", "cup", "small"),
        ("pink", "ball", "small"),
    ]
    columns = dict(zip(("color", "shape", "size"), zip(*objects, strict=True), strict=True))
    rows = {"message": list("abcd"), **columns}
    with pytest.raises(
        ReadingQuestion, match="which columns are part of the meaning: shape, size, or more"
    ) as caught:
        ec.read_corpus(rows)
    assert caught.value.seen == ["color: a different value in each row"]
    (few, _), (every, _) = caught.value.readings
    assert ec.read_corpus(rows, **few).attribute_names == ("shape", "size")
    assert ec.read_corpus(rows, **every).attribute_names == ("color", "shape", "size")
    names = [f"{shape}_{size}" for _, shape, size in objects]
    with pytest.raises(ReadingQuestion) as caught:  # though it has the values in it
        ec.read_corpus({**rows, "color": names})
    assert caught.value.readings[0][0] == {"attributes": ("shape", "size")}


def test_sentences_with_numbers_are_not_symbols_of_one_message():
    with pytest.raises(CorpusError, match="no column of messages among sentence1, sentence2"):
        ec.read_corpus(
            {"sentence1": ["a cup", "a ball"], "sentence2": ["the cup", "balls"], "shape": ["x", "y"]}
        )


def test_columns_of_gorilla_are_kept():
    own = {
        "Event Index": [1, 2],
        "UTC Timestamp": [5, 9],
        "Participant Private ID": [7, 8],
        "Zone Type": ["a", "b"],
    }
    corpus = ec.read_corpus({**own, "game_id": [1, 2], "Response": ["a", "b"], "color": ["red", "blue"]})
    assert corpus.attribute_names == ("color",)


def test_columns_of_values_have_the_longest_name_that_all_share():
    columns = {f"left_color_{color}": [int(each == color) for each in COLORS] for color in COLORS}
    corpus = ec.read_corpus({"message": ["a", "b", "c"], **columns})
    assert corpus.attribute_names == ("left_color",) and corpus.meanings[:, 0].tolist() == list(COLORS)


@pytest.mark.parametrize("form", ["img/{}_{}.png", r"C:\stim\{}-{}.jpg", "https://a.org/{}_{}.png"])
def test_names_of_files_are_meanings_without_their_place(form):
    corpus = ec.read_corpus(
        {"message": [" ".join(row) for row in WORDS], "stimulus": [form.format(*g) for g in GRID]}
    )
    assert corpus.meanings.tolist() == list(map(list, GRID))


def test_subjects_of_sentences_may_be_participants():
    rows = {
        "message": ["a x", "b y", "a y", "b x"],
        "subject": ["dog", "cat"] * 2,
        "verb": ["see", "hit", "hit", "see"],
    }
    with pytest.raises(
        ReadingQuestion, match="which columns are part of the meaning: verb, or more"
    ) as caught:
        ec.read_corpus(rows)
    assert caught.value.seen == ["subject: its name is usual for the role group"]
    assert ec.read_corpus(rows, attributes=["subject", "verb"]).attribute_names == ("subject", "verb")
    assert ec.read_corpus({**rows, "subject": ["p1", "p2"] * 2}).attribute_names == ("verb",)


def test_settings_are_no_language(tmp_path):
    (tmp_path / "a.json").write_text('{"seed": "1", "name": "my experiment", "lr": "0.1"}')
    with pytest.raises(CorpusError, match="no column of messages among seed, name, lr"):
        ec.read_corpus(tmp_path / "a.json")
    (tmp_path / "a.json").write_text('{"red": "wa", "blue": "ki", "green": "lo"}')
    assert said(ec.read_corpus(tmp_path / "a.json", layout="rows:*", split="spaces")) == [
        ["wa"],
        ["ki"],
        ["lo"],
    ]


@pytest.mark.parametrize(("name", "sign"), [("a.txt", " "), ("a.csv", ","), ("a.tsv", "\t"), ("b.csv", ";")])
def test_na_of_r_is_missing_and_in_quotes_a_word(tmp_path, name, sign):
    """`write.table` and `write.csv` quote texts: "NA" is one, as the yellow term of Chinantec, and NA is none."""
    rows = [["message", "color"], ["na po", "NA"], ["NA", "red"], ["NA wa", None], ["wa po", "red"]]
    cells = [[""] * (sign != " ") + rows[0], *([str(place), *row] for place, row in enumerate(rows[1:], 1))]
    lines = [sign.join("NA" if cell is None else f'"{cell}"' for cell in row) for row in cells]
    (tmp_path / name).write_text("\n".join(lines) + "\n")
    with pytest.raises(
        ReadingQuestion, match="1 of 4 rows have NA without quotes, for example in column color"
    ):
        ec.read_corpus(tmp_path / name)
    corpus = ec.read_corpus(tmp_path / name, missing="keep")
    assert corpus.concept_names == ("color=NA", "color=red")
    assert [corpus.concepts_of(row) for row in range(4)] == [["color=NA"], ["color=red"], [], ["color=red"]]
    assert [corpus.symbol_names[each] for each in corpus.messages[1]] == ["NA"]
    assert corpus.meanings is None and "lacks a value of color" in corpus.metadata["missing"]


def test_na_of_other_tables_is_a_value(tmp_path):
    (tmp_path / "a.csv").write_text("message,color\n1 2,NA\n3 4,red\n")
    assert ec.read_corpus(tmp_path / "a.csv").concept_names == ("color=NA", "color=red")
