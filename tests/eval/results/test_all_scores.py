"""Several sources in every score: what is compared, what is corrected, and what is left out."""

import json
from pathlib import Path

import pytest

from ecsuite.corpus import Corpus
from ecsuite.eval.results.files import sources_of
from ecsuite.eval.results.results import Results
from ecsuite.eval.views.comparison import report, report_one
from ecsuite.formats import write_corpus
from ecsuite.runtime.errors import ConfigError


def document(name, **values):
    """A file of scores, each `(value, low, high)` or a reason."""
    scores = [
        {
            "name": key,
            "value": None if isinstance(value, str) else value[0],
            "ci95": None if isinstance(value, str) else list(value[1:]),
            "reason": value if isinstance(value, str) else None,
            "signature": f"{key}|v:1",
        }
        for key, value in values.items()
    ]
    corpus = {"source_path": f"runs/{name}/corpus.jsonl", "sha256": {"corpus.jsonl": name}}
    return Path(f"runs/{name}/scores.json"), {"corpus": corpus, "scores": scores}


def sources(documents):
    return [source for file, data in documents for source in sources_of(file, data)]


def compared(documents, **options):
    return Results(sources(documents)).compare(**options)


FIRST = document("a", topsim=(0.5, 0.4, 0.6), cbm=(0.3, 0.2, 0.4), ami="no meaning occurs twice")
SECOND = document("b", cbm=(0.8, 0.7, 0.9), topsim=(0.52, 0.42, 0.62), ami=(0.1, 0.0, 0.2))


def test_scores_that_two_have_are_compared_and_corrected_together():
    found = compared([FIRST, SECOND])
    assert (
        [score.name for score in found.scores]
        == ["topsim", "cbm"]
        == Results(sources([FIRST, SECOND])).common_scores()[0]
    )
    assert found.sources == ("a", "b")
    assert found.left_out == {"ami": "no meaning occurs twice"}
    similar, different = (score.differences[0] for score in found.scores)
    assert similar.conclusion == "not significant" and different.conclusion == "higher"
    assert different.p_holm == pytest.approx(2 * different.p_value)
    assert found.num_comparisons == 2
    assert json.loads(json.dumps(found.to_json()))["correction"] == {"method": "Holm", "comparisons": 2}


def test_a_score_of_two_among_three_is_compared():
    third = document("c", topsim=(0.9, 0.8, 0.95))
    found = compared([FIRST, SECOND, third])
    assert [len(score.samples) for score in found.scores] == [3, 2]
    assert [len(score.differences) for score in found.scores] == [3, 1]
    shown = report(found)
    assert "3 of 4 differences are outside the noise." in shown.notes
    rows = [[cell.text for cell in row.cells] for row in shown.tables[1].rows]
    assert [row[:3] for row in rows] == [["topsim", "c", "b"], ["topsim", "c", "a"], ["cbm", "b", "a"]]
    assert rows[2][4:] == ["<.001", "higher"] and "cbm" in shown.tables[1].csv()


def test_other_settings_are_shown_and_not_compared():
    other = document("b", topsim=(0.52, 0.42, 0.62))
    other[1]["scores"][0]["signature"] = "topsim|n:3|v:1"
    [score] = compared([FIRST, other]).scores
    assert not score.differences and score.reason == (
        "a cannot be compared at 3 messages: its signature has no number of messages: score it again"
    )
    assert {name: result.score for name, result in score.samples.items()} == {"a": 0.5, "b": 0.52}


def run(folder, seed, value, kind="gumbel", **more):
    """A run folder with a score."""
    folder.mkdir()
    config = {"name": "game", "channel": {"kind": kind, **more}, "training": {"seed": seed}}
    (folder / "config.yaml").write_text(json.dumps(config))
    (folder / "metadata.json").write_text(json.dumps({"config": config}))
    _, data = document(folder.name, cbm=(value, value - 0.1, value + 0.1))
    (folder / "scores.json").write_text(json.dumps(data))
    return folder


def test_runs_that_differ_only_in_their_seed_are_one_source_if_there_is_another(tmp_path):
    runs = [run(tmp_path / "a1", 1, 0.2), run(tmp_path / "a2", 2, 0.3)]
    assert Results.read(runs).compare().sources == ("a1", "a2")
    runs += [run(tmp_path / "b1", 1, 0.6, "soft"), run(tmp_path / "b2", 2, 0.8, "soft")]
    found = Results.read(runs).compare()
    assert len(found.sources) == 2
    assert found.scores[0].differences[0].basis == "2 and 2 seeds, Welch's t test"
    assert len(Results.read(runs).compare(distinct=True).sources) == 4


def test_a_mean_over_seeds_has_the_name_of_its_settings_and_not_of_the_folder_of_one_seed(tmp_path):
    runs = [
        run(tmp_path / f"{kind}{seed}", seed, 0.1 * seed, kind, **dict.fromkeys("abcd", value))
        for value, kind in ((1, "soft"), (2, "gumbel"))
        for seed in (1, 2)
    ]
    found = Results.read(runs).compare()
    assert found.sources == ("kind=gumbel", "kind=soft")  # the others follow from it
    assert Results.read(runs[1:3]).compare().sources == ("kind=gumbel", "kind=soft")


def test_only_of_runs_are_seeds_advised(tmp_path):
    def line(found):
        [line] = [each for each in report(found).notes if each.startswith("Noise between")]
        return line

    of_people = compared([FIRST, SECOND])
    of_one = Results(sources([FIRST, SECOND])).compare(["cbm"])
    expected = "Noise between repetitions, such as other seeds or other people, is not in these intervals."
    assert line(of_people) == expected == report_one(of_one).notes[-1]
    runs = [run(tmp_path / "a", 1, 0.2), run(tmp_path / "b", 1, 0.9, "soft")]
    expected = "Noise between seeds is not in these intervals: train each source with several seeds."
    assert line(Results.read(runs).compare()) == expected
    parts = [
        document(f"split={name}", topsim=(value, 0, 1)) for name, value in (("train", 0.5), ("held_out", 0.4))
    ]
    for _, data in parts:
        data["corpus"]["training"] = {"step": 8, "num_steps": 8}  # as of each part of the corpus of a run
    assert line(compared(parts)) == expected
    in_one_file = sources_of(Path("by.json"), {"corpora": [data for _, data in parts]})
    assert line(Results(in_one_file).compare()) == expected


def test_nothing_in_common_is_told():
    with pytest.raises(
        ConfigError, match=r"no score occurs in two of the sources: ami: no meaning occurs twice$"
    ):
        compared([document("a", ami="no meaning occurs twice"), document("b", ami="the same")])
    with pytest.raises(ConfigError, match="unknown baseline 'x'"):
        compared([FIRST, SECOND], baseline="x")


def test_the_table_names_the_better_one():
    [table] = report(compared([FIRST, SECOND])).tables
    conclusions = table.to_frame()["conclusion"].tolist()
    assert conclusions == ["not significant", "b better"]
    assert str(table).count("↑") == 2 and "b better" in str(table)


def test_games_are_not_ranked_by_mini():
    found = [document("a", xferbench=(5.0, 4.9, 5.1)), document("b", xferbench=(5.2, 5.1, 5.3))]
    for _, data in found:
        data["scores"][0]["details"] = {"by_target": {"one": 5.0, "two": 5.1}}
        data["scores"][0]["signature"] = "xferbench|preset:mini|protocol:strict|seeds:0|v:3"
    shown = report(compared(found))
    [line] = [line for line in shown.notes if "mini" in line]
    assert line == "xferbench: mini ranks classes of corpora; for games: mini-3m, danish (39 PFLOP, GPU)."
    assert line in shown.data["notes"]
    assert not any("mini" in line for line in report(compared([FIRST, SECOND])).notes)


def test_corpora_that_mini_reads_unequally_often_are_not_ranked():
    found = [document("a", xferbench=(5.0, 4.9, 5.1)), document("b", xferbench=(5.2, 5.1, 5.3))]
    for (_, data), passes in zip(found, ("2.27", "1"), strict=True):
        data["scores"][0]["details"] = {"by_target": {"one": 5.0, "two": 5.1}}
        data["scores"][0]["signature"] = f"xferbench|preset:mini|passes:{passes}|seeds:0|v:4"
    shown = report(compared(found))
    [line] = [line for line in shown.notes if "passes" in line]
    assert line.startswith(
        "xferbench: passes per epoch differ: a 2.27, b 1; compare corpora with equal numbers of symbols"
    )
    assert shown.tables[0].to_frame()["conclusion"].tolist() == ["unknown"]


def test_commands(ecsuite, tmp_path):
    for name, grammar in (("one", "concat"), ("two", "hol")):
        arguments = ("--num-attributes", "2", "--num-values", "4", "--out", name)
        assert ecsuite("grammar", grammar, *arguments)[0] == 0
    code, out, err = ecsuite("score", "one", "two", "--metrics", "topsim,cbm,elcc", "--json")
    assert code == 0, err
    data = json.loads(out)
    assert len(data["corpora"]) == 2
    assert [score["name"] for score in data["comparison"]["scores"]] == ["topsim", "cbm"]
    assert (tmp_path / "one" / "scores.json").is_file()
    code, out, err = ecsuite("compare", "one", "two")
    assert (code, err) == (0, "") and "topsim" in out and "conclusion" in out and "Token Count" not in out
    (tmp_path / "two" / "scores.json").unlink()
    code, out, err = ecsuite("compare", "one", "two", "--json")
    assert (code, err) == (0, "two has no scores yet: scoring it\n")
    assert (tmp_path / "two" / "scores.json").is_file()
    assert json.loads(out)["sources"] == ["one", "two"]


def test_a_run_without_scores_has_the_name_that_it_has_with_scores(ecsuite, tmp_path):
    """The first time, two runs of one game were called `name=game` and `game`."""
    for folder in (run(tmp_path / "a", 1, 0.2), run(tmp_path / "b", 1, 0.9, "soft")):
        config = (folder / "config.yaml").read_text()
        metadata = {"config": json.loads(config)}
        write_corpus(Corpus([[1, 2], [2, 1]] * 3, meanings=[[0, 1], [1, 0]] * 3, metadata=metadata), folder)
    kept = (tmp_path / "a" / "scores.json").read_text()
    (tmp_path / "a" / "scores.json").write_text(kept.replace("cbm", "topsim"))
    (tmp_path / "b" / "scores.json").unlink()
    names = [json.loads(ecsuite("compare", "a", "b", "--json")[1])["sources"] for _ in range(2)]
    assert names[0] == names[1] == ["kind=gumbel", "kind=soft"]


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (("cbm",), "p: intervals of the scores."),
        (("cbm", "topsim"), "Holm's correction for 2 comparisons of 2 scores (cbm"),
    ],
)
def test_a_correction_is_told_where_there_is_one(names, told):
    found = report(compared([FIRST, SECOND], metrics=names))
    assert any(told in note for note in found.notes)


def with_signature(made, name, signature):
    """A file of scores in which one has another signature."""
    file, data = made
    scores = [
        {**each, **({"signature": signature} if each["name"] == name else {})} for each in data["scores"]
    ]
    return file, {**data, "scores": scores}


def test_another_signature_leaves_out_only_the_pairs_in_which_it_stands():
    values = {"a": (0.5, 0.4, 0.6), "b": (0.8, 0.7, 0.9), "c": (0.1, 0.0, 0.2), "d": (0.3, 0.2, 0.4)}
    made = [document(name, topsim=value) for name, value in values.items()]
    made[2] = with_signature(made[2], "topsim", "topsim|v:2")
    [score] = compared(made).scores
    assert {(each.source, each.baseline) for each in score.differences} == {
        ("b", "a"),
        ("b", "d"),
        ("a", "d"),
    }
    assert score.reason == "c cannot be compared with a: version 2, not 1" and list(score.samples) == [
        *"abcd"
    ]
    [score] = compared(made, baseline="c").scores
    assert not score.differences and score.baseline.name == "c"
    [alone] = compared(made, baseline="a").scores
    assert [(each.source, each.baseline) for each in alone.differences] == [("b", "a"), ("d", "a")]
    assert "c cannot be compared with a" in str(report(compared(made)).notes)


def test_unreliable_intervals_are_a_trait_of_the_score():
    made = [document("a", has=(0.5, 0.4, 0.6)), document("b", has=(0.8, 0.79, 0.81))]
    [score] = compared(made).scores
    assert [each.basis for each in score.differences] == ["the intervals of this score are too wide"]


def test_a_corpus_and_its_file_of_scores_are_one_source(ecsuite, tmp_path):
    write_corpus(
        Corpus([[1, 2], [3, 4], [1, 4], [3, 2]], meanings=[[0, 0], [1, 1], [0, 1], [1, 0]]), tmp_path / "one"
    )
    assert ecsuite("score", "one", "--metrics", "topsim", "--out", "file.json")[0] == 0
    for paths in (("one", "file.json"), ("file.json", "one"), ("one/scores.json", "one", "file.json")):
        code, out, _ = ecsuite("compare", *paths, "--metric", "topsim")
        assert code == 0 and "One source only: no comparison." in out


def test_a_repeated_option_is_refused(ecsuite):
    lines = {
        "compare a b --metric topsim --metric cbm": "--metric is given 2 times: expected once, a list with commas\n",
        "compare table a --by x --by y": "--by is given 2 times: expected once",
        "score a --seed 1 --seed 2": "--seed is given 2 times: expected once\n",
    }
    for line, message in lines.items():
        code, out, err = ecsuite(*line.split())
        assert (code, out) == (2, "") and err.startswith(message)


def test_a_mistyped_measure_has_the_nearest_name(ecsuite, tmp_path):
    for name in "ab":
        _, data = document(name, topsim=(0.5, 0.4, 0.6))
        (tmp_path / f"{name}.json").write_text(json.dumps(data))
    code, _, err = ecsuite("compare", "a.json", "b.json", "--metric", "topsym")
    assert code == 2 and err == "a.json: no score topsym; did you mean 'topsim'? It has topsim\n"
    code, _, err = ecsuite("compare", "a.json", "b.json", "--metric", "cbm")
    assert code == 2 and err == "a.json: no score cbm; it has topsim\n"


def test_a_corpus_that_is_named_twice_is_scored_once(ecsuite, tmp_path):
    write_corpus(
        Corpus([[1, 2], [3, 4], [1, 4], [3, 2]], meanings=[[0, 0], [1, 1], [0, 1], [1, 0]]), tmp_path / "one"
    )
    for again in ("one", "one/corpus.jsonl"):
        code, out, err = ecsuite("score", "one", again, "--metrics", "topsim", "--json")
        assert code == 0 and json.loads(out)["corpus"]["num_messages"] == 4
        assert err == f"{again}: given twice, scored once\n"
