"""The page as a file: what is in it, what it must not do, and its size."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import yaml

import ecsuite as ec
from ecsuite.eval.metrics.score import Score
from ecsuite.eval.results.results import Results
from ecsuite.eval.results.sources import Source
from ecsuite.eval.statistics.chance import Chance
from ecsuite.eval.views.html import corpora
from ecsuite.eval.views.html.galleries import cells_of
from ecsuite.runtime.errors import ConfigError


def test_morphemes_and_messages_cut_into_them(tmp_path, page_of):
    """At most 30 rows; the rest are counted."""
    meanings = [[a, b] for a in range(20) for b in range(20)]
    corpus = ec.Corpus([[a, 50 + (a + b) % 3, 20 + b] for a, b in meanings], meanings=meanings)
    ec.write_corpus(corpus, tmp_path / "words")
    card = ec.score(corpus, "morphemes")
    (tmp_path / "words" / "scores.json").write_text(json.dumps(card.to_json()))
    text, _ = page_of(tmp_path / "words")
    part = text[text.index('<section id="morphemes"') : text.index('<section id="messages"')]
    assert "words: 1.000, 40 morphemes" in part and "and 10 more" in part
    assert part.count('<th scope="row">') == 30
    assert '<span class="morpheme"><code>0</code><small>attribute0=0</small></span>' in part
    assert "<span><code>50</code><small></small></span>" in part
    assert 'href="#morphemes"' in text


@pytest.mark.slow
def test_a_large_corpus_fits(tmp_path, page_of):
    rng = np.random.default_rng(0)
    lines = [[*row, 0] for row in rng.integers(1, 1000, (100_000, 10)).tolist()]
    (tmp_path / "large.jsonl").write_text("\n".join(map(str, lines)))
    text, data = page_of(tmp_path / "large.jsonl")
    assert len(text) < 5_000_000
    [corpus] = data["corpora"]
    assert corpus["num_pairs"] == 100_000 and 1000 < len(corpus["rows"]) <= 20_000


@pytest.mark.usefixtures("no_galleries")
def test_differences_to_a_base_have_one_correction(study, page_of):
    text, _ = page_of(study, base="channel.kind=gumbel", metrics=["topsim"])
    part = text[text.index('id="differences"') : text.index('id="messages"')]
    assert "Differences to channel.kind=gumbel" in part
    assert "Holm&#39;s correction for 3 comparisons of topsim" in part
    # Only the settings without the base's value, each against the gumbel with its own size of vocabulary.
    expected = [f"channel.kind=reinforce, channel.vocab_size={size}" for size in (5, 20, 80)]
    assert re.findall(r'<th scope="row">(.*?)</th>', part) == expected
    by_path, _ = page_of(study, base=str(study / "runs" / "reinforce-20-2"), metrics=["topsim"])
    assert "Differences to channel.kind=reinforce, channel.vocab_size=20" in by_path
    assert "for 5 comparisons" in by_path


@pytest.mark.usefixtures("no_galleries")
def test_corpora_and_files_of_scores_stand_beside_runs(tmp_path, write_run, page_of):
    write_run(tmp_path / "a", "gumbel", 5, 1)
    (tmp_path / "plain.jsonl").write_text("[1,2]\n[3]\n")
    (tmp_path / "other.json").write_text((tmp_path / "a" / "scores.json").read_text())
    text, data = page_of(tmp_path / "a", tmp_path / "plain.jsonl", tmp_path / "other.json")
    part = text[text.index('<section id="systems"') : text.index('<section id="works"')]
    names = re.findall(r'<th scope="row">(?:<a href="#messages" data-corpus="(\d+)">)?([^<]+)<', part)
    assert names == [("0", "a"), ("1", "plain.jsonl"), ("", "other")]
    assert [corpus["title"] for corpus in data["corpora"]] == ["a", "plain.jsonl"]


@pytest.mark.slow
def test_the_same_input_gives_the_same_bytes(study, tmp_path):
    runs = [study / "runs" / name for name in ("gumbel-5-1", "gumbel-20-1")]
    first, second = (ec.report(*runs, out=tmp_path / name).read_bytes() for name in ("a.html", "b.html"))
    assert first == second


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"base": "channel.knd=gumbel"}, "did you mean 'channel.kind'"),
        ({"base": "channel.kind=gumble"}, "did you mean 'gumbel'"),
        ({"base": "nowhere"}, "not one of the runs"),
        ({"metrics": ["topsin"]}, "did you mean 'topsim'"),
        ({"by": ["channel.size"]}, "channel.size"),
    ],
)
def test_unknown_names_are_refused_before_anything_is_written(study, tmp_path, options, message):
    with pytest.raises(ConfigError, match=re.escape(message)):
        ec.report(study, out=tmp_path / "new" / "r.html", **options)
    assert not (tmp_path / "new").exists()


HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"


def test_what_data_say_is_never_markup_and_nothing_is_loaded(tmp_path, write_run, page_of):
    write_run(tmp_path / "runs" / "a", HOSTILE, 5, 1, concepts=(f"color={HOSTILE}", "shape=star"))
    write_run(tmp_path / "runs" / "b", "gumbel", 5, 1)
    text, data = page_of(tmp_path, title=HOSTILE)
    assert text.count("<script") == 2 and "<img" not in text
    assert any(HOSTILE in concept for corpus in data["corpora"] for concept in corpus["concepts"])
    assert not re.search(r"(src|href)=[\"'](?!#|data:)", text) and not re.search(r"@import|url\((?!#)", text)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
    assert policy.startswith("default-src 'none'; script-src 'sha256-") and "unsafe" not in policy


def test_pictures_of_objects_that_do_not_fit_are_left_out(tmp_path, write_run, page_of, monkeypatch):
    """A run of a world of images; every other row of its corpus has the same picture."""
    write_run(tmp_path / "runs" / "a", "gumbel", 5, 1)
    config = tmp_path / "runs" / "a" / "config.yaml"
    config.write_text(config.read_text().replace("kind: attributes", "kind: shape"))

    def pictures(folder, corpus, rows):
        shades = {row: np.full((8, 24, 3), 40 * (row % 2), dtype=np.uint8) for row in rows}
        return {row: (shade, f"shade {row % 2}") for row, shade in shades.items()}

    monkeypatch.setattr(corpora, "corpus_pictures", pictures)
    [corpus] = page_of(tmp_path / "runs" / "a")[1]["corpora"]
    assert [words for _, words in corpus["pictures"]] == ["shade 0", "shade 1"]
    assert corpus["picture_of_row"] == [0, 1, 1] and len(corpus["rows"]) == 3
    monkeypatch.setattr(corpora, "PICTURES", 150)
    [corpus] = page_of(tmp_path / "runs" / "a")[1]["corpora"]
    assert corpus["picture_of_row"] == [0] and len(corpus["pictures"]) == 1


def test_bad_paths_and_files_without_runs(ecsuite, tmp_path, study):
    (tmp_path / "empty").mkdir()
    for arguments, said in (
        (["empty"], "empty: no run, corpus or scores"),
        (["nowhere"], "nowhere: no such file or folder"),
        ([str(study), "--out", "empty"], "expected a file such as empty/report.html"),
        ([str(study), "--out", "page.pdf"], "ending in .html"),
    ):
        code, out, err = ecsuite("report", *arguments)
        assert (code, out) == (2, "") and said in err and err.count("\n") == 1
    file, page = tmp_path / "cbm.json", tmp_path / "report.html"
    file.write_text(json.dumps({"study": {"name": "cbm_table1"}, "rows": [], "findings": []}))
    with pytest.raises(ConfigError, match="nothing to show: expected runs, sweeps, corpora or scores files"):
        ec.report(file, out=page)
    assert not page.exists()


@pytest.mark.usefixtures("no_galleries")
def test_what_is_written_and_what_cannot_be_shown_is_told(ecsuite, tmp_path, study):
    code, out, err = ecsuite("report", str(study), "--by", "channel.kind")
    assert (code, err) == (0, "")
    assert re.fullmatch(r"18 runs and the messages of 18 corpora in report.html \(0.\d MB\)\n", out)
    assert json.loads(re.search(r'id="data">(.*?)</script>', (tmp_path / "report.html").read_text())[1])
    shutil.copytree(study / "runs" / "gumbel-5-1", tmp_path / "run")
    (tmp_path / "run" / "corpus.jsonl").write_text("[1, 2]\n[1,\n")
    code, out, err = ecsuite("report", "run")
    assert code == 0 and out.startswith("1 run and the messages of 0 corpora")
    assert err.startswith("note: run: run/corpus.jsonl:2: expected ") and err.count("\n") == 1


def test_seeds_that_formed_a_protocol_are_a_column_and_in_the_methods(tmp_path, write_run, page_of):
    """Of 100 rounds with chance .25; the exact interval of two of three is .0943 to .9916."""
    for seed, accuracy in enumerate((0.9, 0.25, 0.95), 1):
        folder = tmp_path / f"run{seed}"
        write_run(folder, "gumbel", 5, seed)
        metadata = json.loads((folder / "metadata.json").read_text())
        metadata["config"]["evaluation"] = {"num_valid": 100}
        metadata |= {"chance": {"accuracy": 0.25}, "training": {**metadata["training"], "accuracy": accuracy}}
        (folder / "metadata.json").write_text(json.dumps(metadata))
        (folder / "config.yaml").write_text(yaml.safe_dump({"format": 1, **metadata["config"]}))
    folders = [tmp_path / f"run{seed}" for seed in (1, 2, 3)]
    text, _ = page_of(*folders)
    assert "2 of 3 [9%, 99%]</td>" in text and "the mean may be far from all seeds" in text
    told = "with the 95 % interval of their share: 2 of 3 [9%, 99%]."
    assert told in ec.methods(*folders).text("text")


def test_grey_scores_are_those_without_a_conclusion_of_the_command(tmp_path):
    """A compositional language, and noise; files with the permutations and without."""
    rng = np.random.default_rng(0)
    meanings = rng.integers(0, 3, (60, 2))
    corpus = ec.Corpus((meanings + 1 + [0, 3]).tolist(), meanings=meanings)
    noise = ec.Corpus(rng.integers(1, 9, (60, 2)).tolist(), meanings=meanings)
    for name, each in (("clear", corpus), ("noise", noise)):
        card = ec.score(each, ["topsim", "posdis", "ami"])
        for is_kept in (True, False):
            folder = tmp_path / f"{name}{is_kept}"
            ec.write_corpus(each, folder)
            (folder / "scores.json").write_text(json.dumps(card.to_json(is_kept=is_kept)))
            [source] = Results.read([folder])
            grey = [cell.is_faint for cell in cells_of(source, list(card))]
            assert grey == [each.relation not in ("above", "below", None) for each in card.conclusions]
            assert any(grey) == (name == "noise")


def test_grey_scores_are_corrected_for_all_scores_of_the_source():
    """Of 100 shuffles two are as far as .24: p = 3 / 101, times three scores is .089."""
    draws = [*np.linspace(-0.15, 0.15, 98), -0.25, 0.25]
    chance = Chance.from_permutations(draws, seed=0, bounds=(-1, 1))
    records = [Score(name=name, value=0.24, chance=chance) for name in ("topsim", "posdis", "ami")]
    for number, is_grey in ((3, True), (1, False)):
        source = Source(name="a", file=Path("a"), records=tuple(records[:number]), sizes={"num_messages": 500})
        assert [each.is_faint for each in cells_of(source, ["topsim"])] == [is_grey]
