import json

import pytest

import ecsuite as ec
from ecsuite.runtime.errors import CorpusError, ReadingQuestion
from table_files import COLORS, GRID, IDS, PERFECT, WORDS, answered, said, scores


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


def test_messages_of_several_columns(tmp_path):
    (tmp_path / "a.csv").write_text("w1,second,color\nwa,me,red\nki,,blue\n3,wa,red\n")
    read = ec.read_corpus(tmp_path / "a.csv", columns={"w1": "message", "second": "message"})
    assert said(read) == [["wa", "me"], ["ki"], ["3", "wa"]] and read.attribute_names == ("color",)
    frame = {"symbol_0": [1.0, 2.0], "symbol_1": [3.0, float("nan")], "color": ["red", "blue"]}
    assert ec.read_corpus(frame).messages[0].tolist() == [1, 3]
    frame["symbol_10"] = [1, 2]
    with pytest.raises(CorpusError, match="no column of messages"):
        ec.read_corpus(frame)  # 0, 1, 10: not one after the other
    (tmp_path / "b.csv").write_text("symbol1,symbol2,color\nwa,me,red\n,me,blue\n")
    with pytest.raises(CorpusError, match=r"row 3, column symbol1: expected one symbol .* got an empty cell"):
        ec.read_corpus(tmp_path / "b.csv")


def test_columns_of_messages_are_those_of_one_or_of_several(tmp_path):
    (tmp_path / "a.csv").write_text("participant,word1,word2,word3\np1,tu,ki,ga\np2,tu,tu,ga\n")
    with pytest.raises(ReadingQuestion, match="a row of word1, word2, word3 one message, or one") as caught:
        ec.read_corpus(tmp_path / "a.csv")
    read = [ec.read_corpus(tmp_path / "a.csv", **words, split="spaces") for words, _ in caught.value.readings]
    assert said(read[0]) == [["tu", "ki", "ga"], ["tu", "tu", "ga"]]
    assert said(read[1]) == [[word] for word in "tu ki ga tu tu ga".split()]
    assert read[1].values_of("number") == ["1", "2", "3"]


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
    assert questions[1].asked.endswith("which columns are part of the meaning: target_color, target_shape, or more?")
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


def test_meanings_of_a_second_text_are_words_as_they_stand(tmp_path):
    (tmp_path / "a.txt").write_text("1 2\n2 1\n")
    (tmp_path / "b.txt").write_text("[1] red\n2 blue\n")
    read = ec.read_corpus(tmp_path / "a.txt", meanings=tmp_path / "b.txt")
    assert read.meanings.tolist() == [["[1]", "red"], ["2", "blue"]]


def test_frames_as_pandas_writes_them_in_json(tmp_path):
    rows = [{"message": row, "color": c, "shape": s} for row, (c, s) in zip(IDS, GRID, strict=True)]
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    numbers, data = list(range(len(rows))), [list(row.values()) for row in rows]
    forms = {
        "records": rows, "list": columns, "index": {str(place): row for place, row in enumerate(rows)},
        "columns": {name: dict(zip(map(str, numbers), cells, strict=True)) for name, cells in columns.items()},
        "split": {"columns": list(columns), "index": numbers, "data": data},
        "table": {"schema": {"fields": [{"name": "message"}]}, "data": rows},
        "beside other keys": {"config": {"seed": 1}, "interactions": rows, "notes": ["a"]},
    }  # fmt: skip
    for name, form in forms.items():
        for indent in (None, 1):
            (tmp_path / f"{name}.json").write_text(json.dumps(form, indent=indent))
            corpus = ec.read_corpus(tmp_path / f"{name}.json")
            assert said(corpus) == IDS and corpus.meanings.tolist() == list(map(list, GRID)), name


def test_names_of_which_few_share_a_word_stay_whole():
    items = ["ice cream", "ice bear", "polar bear", "fire truck", "sea horse", "hot dog", "tea pot"]
    rows = {"message": list("abcdefg"), "item": items}
    with pytest.raises(ReadingQuestion, match="column item: is a text one value or several") as caught:
        ec.read_corpus(rows)
    assert [words["columns"]["item"] for words, _ in caught.value.readings] == ["meaning", "attribute"]
    corpus = ec.read_corpus(rows, columns={"item": "attribute"})
    assert corpus.attribute_names == ("item",) and corpus.meanings[0].tolist() == ["ice cream"]


def test_columns_of_values_have_the_longest_name_that_all_share():
    columns = {f"left_color_{color}": [int(each == color) for each in COLORS] for color in COLORS}
    corpus = ec.read_corpus({"message": ["a", "b", "c"], **columns})
    assert corpus.attribute_names == ("left_color",) and corpus.meanings[:, 0].tolist() == list(COLORS)


def test_rows_that_r_writes(tmp_path):
    rows = enumerate(zip(IDS, GRID, strict=True), 1)
    lines = [f'"{place}" "{a} {b}"   "{c}" "{s}"' for place, ((a, b), (c, s)) in rows]
    (tmp_path / "a.txt").write_text("\n".join(['"message" "color" "shape"', *lines]) + "\n")
    corpus = ec.read_corpus(tmp_path / "a.txt")
    assert said(corpus) == IDS and corpus.attribute_names == ("color", "shape")


@pytest.mark.parametrize(
    ("values", "role", "names"),
    [
        ("0 1 2", "group", "seed run_id rep Subj VPN game_num"),
        ("0 1 2", "time", "gen generation_no epoch"),
        ("410 399 402", "kept", "latency reactiontime trial_no guess_of choice response log_probs thisN"),
        ("A B C", "speaker", "sender_name director"),
        ("0 1 2", "asked", "order target_position model item_id listener_choice gender2 n_attempts"),
        ("A B C", "asked", "model agent role speaker_view raw_answer"),
        ("left right", "attribute", "order position direction"),
        ("yes no", "asked", "fine"),
        ("1.0 0.0", "asked", "fine"),
        ("12:30 12:31 12:32", "asked", "begin"),
        ("2024-01-02 2024-01-03", "asked", "begin"),
        ("red blue green", "asked", "direct_answer"),
    ],
)
def test_columns_about_the_trial_are_not_meant_silently(values, role, names):
    texts = values.split()
    for name in names.split():
        more = [texts[(place * 2 + place // 4) % len(texts)] for place in range(len(GRID))]
        rows = {"message": IDS, "color": [c for c, _ in GRID], "shape": [s for _, s in GRID], name: more}
        if role == "asked":
            with pytest.raises(ReadingQuestion, match="which columns are part of the meaning: color, shape, or"):
                ec.read_corpus(rows)
        else:
            corpus = ec.read_corpus(rows)
            assert corpus.metadata["roles"][name] == role, name
            assert corpus.attribute_names == ("color", "shape", name)[: 2 + (role == "attribute")], name


def test_a_column_that_says_an_attribute_again_is_asked_about():
    colors = {"red": "rot", "blue": "blau", "green": "gruen"}
    columns = {"color": [c for c, _ in GRID], "shape": [s for _, s in GRID]}
    rows = {"message": IDS, **columns, "farbe": [colors[c] for c, _ in GRID]}
    with pytest.raises(ReadingQuestion) as caught:
        ec.read_corpus(rows)
    assert caught.value.seen == ["farbe: one value for each value of color"]


@pytest.mark.parametrize("names", [("red", "blue", "green", "star", "dot", "box"), [f"f{place}" for place in range(6)]])
def test_one_hot_columns_without_a_common_name_are_values(tmp_path, names):
    bits = [[int(value in row) for value in (*COLORS, "star", "dot", "box")] for row in GRID]
    for kind in (int, float, bool):
        columns = {name: [kind(row[place]) for row in bits] for place, name in enumerate(names)}
        corpus = ec.read_corpus({"message": IDS, **columns})
        assert corpus.attribute_names == ("attribute0", "attribute1") and scores(corpus) == pytest.approx(PERFECT)
    assert "attribute0 (" in " ".join(corpus.metadata["notes"])
    columns["fine"] = [place % 2 for place in range(len(GRID))]
    with pytest.raises(ReadingQuestion, match="attribute0, attribute1, or more"):
        ec.read_corpus({"message": IDS, **columns})


@pytest.mark.parametrize(
    ("header", "row", "layout"),
    [
        ("trial{n}_message,trial{n}_color", "{m},{c}", r"wide:trial(?P<trial>\d+)_(?P<column>.+)"),
        ("message_{n},color_{n}", "{m},{c}", r"wide:(?P<column>.+?)_(?P<trial>\d+)"),
        ("message.{n}", "{m}", r"wide:(?P<column>.+?)\.(?P<number>\d+)"),
        ("{c}_{s}", "{m}", r"wide:(?P<meaning>[^_]+_[^_]+)"),
    ],
)
def test_a_column_for_each_trial_or_meaning(tmp_path, header, row, layout):
    trials = [(" ".join(words), color, shape) for words, (color, shape) in zip(WORDS[:9], GRID[:9], strict=True)]
    table = [
        ",".join(["participant", *(each.format(n=n, m=m, c=c, s=s) for n, (m, c, s) in enumerate(trials))])
        for each in (header, row, row)
    ]
    (tmp_path / "a.csv").write_text("\n".join(table) + "\n")
    with pytest.raises(ReadingQuestion, match="no column of messages") as caught:
        ec.read_corpus(tmp_path / "a.csv")
    assert caught.value.readings[0][0] == {"layout": layout}
    corpus = ec.read_corpus(tmp_path / "a.csv", layout=layout)
    assert said(corpus) == WORDS[:9] * 2 and "trial" not in corpus.attribute_names


def test_numbers_with_one_length_are_one_symbol_or_several(tmp_path):
    (tmp_path / "a.csv").write_text("message,color\n142,red\n153,blue\n242,red\n")
    with pytest.raises(ReadingQuestion, match="is a message one symbol, or several"):
        ec.read_corpus(tmp_path / "a.csv")
    assert said(ec.read_corpus(tmp_path / "a.csv", split="letters"))[0] == [1, 4, 2]
    (tmp_path / "b.csv").write_text("message,color\n9,red\n10,blue\n")
    assert said(ec.read_corpus(tmp_path / "b.csv")) == [[9], [10]]
