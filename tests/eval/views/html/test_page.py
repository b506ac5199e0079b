"""The page as a file: what is in it, what it must not do, and its size."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from compared_sources import run

import ecsuite as ec
from ecsuite.eval.results.results import Results
from ecsuite.eval.views.comparison import differences
from ecsuite.eval.views.html import galleries
from ecsuite.eval.views.html.galleries import SystemScore, systems
from ecsuite.runtime.errors import ConfigError

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"


def test_all_parts_are_there(study_page):
    text = study_page.decode()
    for part in ("runs", "scores", "differences", "pictures", "messages", "works"):
        assert f'<section id="{part}"' in text
    assert "18 runs of 6 settings, 3 seeds" in text and "gumbel, reinforce" in text
    assert "topsim|eos:strip|v:1" in text and "@article{brighton2006" in text and "not recorded" in text
    part = text[text.index('<section id="pictures"') : text.index('<section id="messages"')]
    for kind, names in (
        ("curves", ["accuracy", "loss"]),
        ("settings", ["accuracy", "topsim"]),
        ("of-differences", ["topsim"]),
        ("scores-against", ["topsim against accuracy"]),
    ):
        gallery = part[part.index(f'<div id="{kind}"') :].partition('<p class="caption">')[0]
        assert re.findall("<option>(.*?)</option>", gallery) == (names if len(names) > 1 else [])
        assert gallery.count("<svg") == gallery.count('role="img"') == len(names)
    assert "<title>Learning curves: accuracy</title>" in part and "channel.kind=gumbel" in part
    assert "Spearman's rank correlation over 18 runs" in part
    assert 'fill="var(--ink)"' in part and "style=" not in part


def test_it_loads_nothing_and_allows_only_its_own_script(study_page):
    text = study_page.decode()
    assert not re.search(r"(src|href)=[\"'](?!#|data:)", text)
    assert "@import" not in text and not re.search(r"url\((?!#)", text)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
    assert policy.startswith("default-src 'none'; script-src 'sha256-") and "unsafe" not in policy
    assert len(text) < 500_000


@pytest.mark.usefixtures("no_galleries")
def test_messages_with_their_meanings_and_translations(study, page_of):
    _, data = page_of(study / "runs" / "gumbel-5-1")
    [corpus] = data["corpora"]
    first = corpus["rows"][0]
    assert corpus["messages"][first[0]] == [1, 2] and first[2] == 2 and corpus["uses"][first[0]] == 2
    assert [corpus["concepts"][each] for each in corpus["meanings"][first[1]]] == ["color=red"]
    assert corpus["num_messages"] == 4 and len(corpus["rows"]) == 3
    assert {word[0] for word in corpus["translations"].values()} == {"color=red", "shape=star"}
    assert corpus["symbols"]["1"][1:] == ["#0072B2", "white"]


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


def test_what_data_say_is_never_markup(tmp_path, write_run, page_of):
    folder = tmp_path / "runs" / "a"
    write_run(folder, HOSTILE, 5, 1, concepts=(f"color={HOSTILE}", "shape=star"))
    write_run(tmp_path / "runs" / "b", "gumbel", 5, 1)
    text, data = page_of(tmp_path, title=HOSTILE)
    assert text.count("<script") == 2 and "<img" not in text
    assert any(HOSTILE in concept for corpus in data["corpora"] for concept in corpus["concepts"])


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
    assert (
        "Differences to channel.kind=gumbel" in part
        and "Holm&#39;s correction for 3 comparisons of topsim" in part
    )
    # Only the settings without the base's value, each against the gumbel with its own size of vocabulary.
    assert re.findall(r'<th scope="row">(.*?)</th>', part) == [
        f"channel.kind=reinforce, channel.vocab_size={size}" for size in (5, 20, 80)
    ]
    by_path, _ = page_of(study, base=str(study / "runs" / "reinforce-20-2"), metrics=["topsim"])
    assert (
        "Differences to channel.kind=reinforce, channel.vocab_size=20" in by_path
        and "for 5 comparisons" in by_path
    )


@pytest.mark.usefixtures("no_galleries")
def test_several_runs_of_a_seed_in_a_row_are_one_value_and_none_is_lost():
    """Rows over vocabularies, too: the effect is the mean over these."""
    scores = {
        ("a", 5): (0.5, 0.6, 0.7),
        ("a", 9): (0.3, 0.2, 0.1),
        ("b", 5): (0.4, 0.4, 0.9),
        ("b", 9): (0.2, 0.1, 0.1),
    }
    runs = [
        run(f"{kind}-{size}-{seed}", {"kind": kind, "size": size}, seed, {}, {"topsim": value})
        for (kind, size), values in scores.items()
        for seed, value in enumerate(values, 1)
    ]
    found = differences(Results(runs).means(by=["kind"]), runs, None)
    [(row, name, difference)] = found.rows
    one, other = (np.mean([scores[kind, 5], scores[kind, 9]], 0) for kind in "ab")
    assert (row, name, difference.basis) == ("kind=b", "topsim", "mean over 2 combinations of other settings")
    assert difference.mean == pytest.approx(np.mean(other - one)) and difference.ci95 is not None


def test_a_base_may_have_commas_in_its_value():
    kinds = ("reinforce,baseline=mean", "reinforce", "gumbel,temperature=2")
    runs = [
        run(
            f"{kind}-{size}-{seed}",
            {"kind": kind, "size": size},
            seed,
            {},
            {"topsim": seed / 10 + size / 100},
        )
        for kind in kinds
        for size in (1, 2)
        for seed in (1, 2)
    ]
    table = Results(runs).means(by=["kind", "size"])
    for base in (
        "kind=reinforce,baseline=mean",
        "kind=reinforce,baseline=mean,size=2",
        "size=2,kind=reinforce",
    ):
        found = differences(table, runs, base)
        assert found.rows and found.base == ", ".join(re.split(",(?=size|kind)", base))
    assert differences(table, runs, "kind=reinforce").base == "kind=reinforce"
    with pytest.raises(ConfigError, match="--base: value of kind 'reinforce,baseline=median'"):
        differences(table, runs, "kind=reinforce,baseline=median")
    with pytest.raises(ConfigError, match="--base: setting 'sise'"):
        differences(table, runs, "size=2,sise=1")


def test_the_correlation_of_a_picture_is_of_the_runs_that_are_drawn():
    runs = [
        run(f"{seed}", {"a": seed}, seed, {"accuracy": seed / 10}, {"topsim": seed / 10}) for seed in range(4)
    ]
    capped = replace(runs[0], name="capped", folder=Path("capped"), stopped="minutes", status="capped")
    [shown] = galleries._pairs(
        Results([*runs, capped]).means(figures=["accuracy", "topsim"]), [*runs, capped]
    )
    assert "over 4 runs: 1.00" in shown.svg


def test_mixed_versions_are_said(tmp_path, write_run, page_of):
    write_run(tmp_path / "a", "gumbel", 5, 1)
    write_run(tmp_path / "b", "gumbel", 20, 1, version="0.2.0")
    text, _ = page_of(tmp_path / "a", tmp_path / "b")
    assert '0.1.0 (1), 0.2.0 (1) <strong class="warn">mixed' in text


@pytest.mark.usefixtures("no_galleries")
def test_a_run_without_scores_says_what_to_type(tmp_path, write_run, page_of):
    write_run(tmp_path / "a", "gumbel", 5, 1)
    (tmp_path / "a" / "scores.json").unlink()
    text, _ = page_of(tmp_path / "a")
    assert f"<code>ecsuite score {tmp_path / 'a'}</code>" in text


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


def written_scores(file, **values):
    """A file of scores, each of an interval of ± 0.1, with a chance level of 0.1 that lies in 0 to 0.2."""
    chance = {"level": 0.1, "low": 0.0, "high": 0.2}
    scores = [
        {"name": name, "value": value, "ci95": value and [value - 0.1, value + 0.1], "chance": chance,
         "reason": None if value else "too few", "signature": name, "details": {}}
        for name, value in values.items()
    ]  # fmt: skip
    file.write_text(json.dumps({"format": 1, "corpus": {}, "scores": scores}))


def test_systems_have_intervals_chance_levels_and_reasons(tmp_path):
    written_scores(tmp_path / "far.json", topsim=0.5, posdis=0.4, has=None)
    written_scores(tmp_path / "near.json", topsim=0.15, has=None)
    found = systems(Results.read([tmp_path / "far.json", tmp_path / "near.json"]), {"near": 3}, None)
    assert [score.name for score in found.about] == ["topsim", "posdis"]  # nobody has `has`
    far, near = found.rows
    assert far.cells[0] == SystemScore(value=0.5, low=0.4, high=0.6, chance=0.1)
    assert near.cells[0].is_faint and near.cells[1] == SystemScore(value=None, reason="not measured")
    assert (far.corpus, near.corpus, found.num_more) == (None, 3, 0)
    chosen = systems(Results.read([tmp_path / "far.json"]), {}, ["posdis"])
    assert [score.name for score in chosen.about] == ["posdis"] and chosen.num_more == 1


@pytest.mark.usefixtures("no_galleries")
def test_systems_that_did_not_end_as_planned_are_told(tmp_path, write_run, page_of):
    write_run(tmp_path / "a", "gumbel", 5, 1)
    metadata = json.loads((tmp_path / "a" / "metadata.json").read_text())
    metadata["training"]["stopped"] = "minutes"
    (tmp_path / "a" / "metadata.json").write_text(json.dumps(metadata))
    written_scores(tmp_path / "other.json", topsim=0.5)
    text, _ = page_of(tmp_path / "a", tmp_path / "other.json")
    assert '<span class="warn">ended by minutes</span>' in text
    assert "only the 1 that did not end as planned" in text


@pytest.mark.usefixtures("no_galleries")
def test_scores_of_different_signatures_are_not_compared(tmp_path, write_run, page_of):
    for kind in ("gumbel", "reinforce"):
        for seed in (1, 2):
            write_run(tmp_path / f"{kind}{seed}", kind, 5, seed)
    for seed in (1, 2):
        file = tmp_path / f"reinforce{seed}" / "scores.json"
        file.write_text(file.read_text().replace("|v:1", "|v:2"))
    text, _ = page_of(tmp_path)
    assert "Not compared: topsim" in text and "2 signatures" in text


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


def test_bad_paths(ecsuite, tmp_path, study):
    (tmp_path / "empty").mkdir()
    for arguments, said in (
        (["empty"], "empty: no run, corpus or scores"),
        (["nowhere"], "nowhere: no such file or folder"),
        ([str(study), "--out", "empty"], "expected a file such as empty/report.html"),
        ([str(study), "--out", "page.pdf"], "ending in .html"),
    ):
        code, out, err = ecsuite("report", *arguments)
        assert (code, out) == (2, "") and said in err and err.count("\n") == 1


@pytest.mark.usefixtures("no_galleries")
def test_the_command_says_what_it_wrote(ecsuite, tmp_path, study):
    code, out, err = ecsuite("report", str(study), "--by", "channel.kind")
    assert (code, err) == (0, "")
    assert re.fullmatch(r"18 runs and the messages of 18 corpora in report.html \(0.\d MB\)\n", out)
    assert json.loads(re.search(r'id="data">(.*?)</script>', (tmp_path / "report.html").read_text())[1])


@pytest.mark.usefixtures("no_galleries")
def test_what_cannot_be_shown_is_told(study, ecsuite, tmp_path):
    shutil.copytree(study / "runs" / "gumbel-5-1", tmp_path / "run")
    (tmp_path / "run" / "corpus.jsonl").write_text("[1, 2]\n[1,\n")
    code, out, err = ecsuite("report", "run")
    assert code == 0 and out.startswith("1 run and the messages of 0 corpora")
    assert err.startswith("note: run: run/corpus.jsonl:2: expected ") and err.count("\n") == 1


def test_a_file_of_a_study_is_no_empty_page(tmp_path):
    file, page = tmp_path / "cbm.json", tmp_path / "report.html"
    file.write_text(json.dumps({"study": {"name": "cbm_table1"}, "rows": [], "findings": []}))
    with pytest.raises(ConfigError, match="nothing to show: expected runs, sweeps, corpora or scores files"):
        ec.report(file, out=page)
    assert not page.exists()


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
    assert "with the exact 95 % interval of their share: 2 of 3 [9%, 99%]." in ec.methods(*folders).text(
        "text"
    )
