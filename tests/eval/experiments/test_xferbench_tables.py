"""Tables of the XferBench paper: sources that are drawn, trained, read or missing, and figures from known scores."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from ecsuite.corpus import Corpus
from ecsuite.downloads.languages import XFERBENCH_TARGETS
from ecsuite.eval.experiments.claims.claim import load_claim
from ecsuite.eval.experiments.claims.studies import reproduction_of
from ecsuite.eval.experiments.xferbench import PaperFiles, load_paper
from ecsuite.eval.experiments.xferbench_tables import SMALL_TOKENS_A_SECOND, PaperResult, PaperRow, PaperTables
from ecsuite.eval.metrics import find_metric
from ecsuite.eval.metrics.score import Options
from ecsuite.eval.xferbench.comparison import PAPER_CORRELATIONS, PAPER_CROSS_ENTROPIES, PAPER_SCORES
from ecsuite.eval.xferbench.texts import TextFile
from ecsuite.formats import read_corpus, write_corpus
from ecsuite.runtime.errors import ConfigError

TINY = {"training.num_epochs": 1, "training.num_examples": 64, "evaluation.num_valid": 32}
SOURCES_OF_STUDY = [
    {"name": "Paren, synth", "baseline": "paren_synth"},
    {"name": "Disc, small", "game": "disc_tiny", "set": TINY},
    {"name": "Yao+", "elcc": "corpus-transfer-yao-et-al/cc"},
    {"name": "French", "text": "fr"},
    {"name": "Random", "baseline": "random"},
    {"name": "No pretrain", "baseline": "no_pretrain"},
]
STUDY = {"preset": "nano", "seeds": [1, 2], "sources": SOURCES_OF_STUDY}
ALL = {"preset": "nano", "seeds": [1], "sources": [{"name": name, "text": "xx"} for name in PAPER_SCORES]}


@pytest.fixture(autouse=True)
def no_downloads(tmp_path, monkeypatch):
    monkeypatch.setenv("ECSUITE_DATA", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)


def load(tree=STUDY, files=None, **options):
    options = {"folder": Path("runs"), "device": "cpu", **options}
    return load_paper(tree, files or PaperFiles(), **options)


def as_published():
    """A result whose scores are the cross-entropies that the paper printed."""
    study = load({**ALL, "sources": [*ALL["sources"], {"name": "x", "baseline": "no_pretrain"}]})
    rows = [
        PaperRow(source=replace(source, missing=""), by_seed={1: PAPER_CROSS_ENTROPIES[source.name]})
        for source in study.sources
        if source.name in PAPER_SCORES
    ]
    texts = tuple(TextFile(name, Path(name), digest=name) for name in XFERBENCH_TARGETS)
    return replace(study, texts=texts), PaperResult(rows=tuple(rows), hours=0.0)


def test_a_study_scores_what_it_can_and_names_what_is_missing(ecsuite):
    sources = [source for source in SOURCES_OF_STUDY if source["name"] != "Random"]
    Path("study.yaml").write_text(json.dumps({**STUDY, "sources": sources, "seeds": [2]}))
    command = ["xferbench", "study.yaml", "--workers", "1", "--device", "cpu"]
    code, out, _ = ecsuite(*command, "--out", "rows.json", "--plot", "figure.svg")
    assert code == 0 and Path("figure.svg").stat().st_size > 1000
    rows = {row["name"]: row for row in json.loads(Path("rows.json").read_text())["rows"]}
    assert [*rows] == [source["name"] for source in sources]
    assert {name for name, row in rows.items() if row["score"] is None} == {"Yao+", "French"}
    assert "fr.txt.gz" in rows["French"]["reason"] and "ecsuite data elcc" in rows["Yao+"]["reason"]
    assert "Yao+: missing" in out and "French: missing" in out
    assert rows["Disc, small"]["accuracy"] is not None and rows["Disc, small"]["passes"] > 1
    assert rows["No pretrain"]["passes"] is None and rows["Paren, synth"]["passes"] == 1
    scored = [row for row in rows.values() if row["score"] is not None]
    for rank in ("rank", "published_rank"):
        assert sorted(row[rank] for row in scored) == [1, 2, 3]
    [corpus] = Path("runs/xferbench_main/runs").glob("*/corpus.jsonl")
    alone = find_metric("xferbench,preset=nano")(read_corpus(corpus.parent), Options(seed=2, device="cpu"))
    assert rows["Disc, small"]["by_seed"][0]["value"] == pytest.approx(alone[0].value, abs=1e-12)
    code, *_ = ecsuite(*command, "--figure", "3", "--plot", "figure3.svg")
    assert code == 0 and Path("figure3.svg").stat().st_size > 1000
    again = ecsuite(*command, "--plan")
    assert again[0] == 0 and "0 to compute" in again[1]


def test_published_scores_agree_with_themselves():
    """Ranks are equal but for rounding, and correlations are those that the paper printed."""
    study, finding = as_published()
    assert all(abs(one - other) <= 1 for one, other in finding.ranks().values())
    found = PaperTables(folder=Path("kept")).report(study, finding).data["correlations"]
    spearman = {each["name"]: each["value"] for each in found["Table 5"]["coefficients"]}["Spearman"]
    assert spearman > 0.98  # the printed means are rounded: some are tied
    for setting, printed in PAPER_CORRELATIONS.items():
        by_name = {each["name"]: each["value"] for each in found[f"chrF, {setting}"]["coefficients"]}
        assert by_name["Pearson"] == pytest.approx(printed, abs=0.011)


def test_sources_of_files_unknown_ones_and_the_cost():
    write_corpus(Corpus([[1, 2, 3]] * 50), Path("own"))
    study = load(files=PaperFiles(corpora={"Yao+": Path("own"), "mine": Path("own")}))
    assert [source.name for source in study.sources][-1] == "mine"
    assert not next(source for source in study.sources if source.name == "Yao+").missing
    with pytest.raises(ConfigError) as error:
        load("paper/xferbench_main", names=["Rec"])
    names, told = sorted(PAPER_SCORES), str(error.value)
    assert told.endswith(f"choices: {', '.join(map(repr, names))}") and "'Rec, large'" in told
    study = replace(load(), preset=replace(load().preset, is_reduced=False))
    [note] = [line for line in PaperTables(folder=Path("kept")).notes_on_plan(study) if "GPU" in line]
    assert "8 scores of 2 targets need a GPU" in note and "H100" in note


def test_targets_of_a_folder_are_those_of_the_paper_and_its_texts_are_sources():
    folder = Path("texts")
    folder.mkdir()
    for code in ("fr", "da", "eu", "en"):
        lines = [f"{code} word{number} and more" for number in range(99)]
        (folder / f"{code}.txt").write_text("\n".join(lines))
    study = load(files=PaperFiles(targets=folder))
    assert [text.name for text in study.texts] == ["da", "eu"]
    assert not next(source for source in study.sources if source.name == "French").missing
    (folder / "da.txt").unlink()
    (folder / "eu.txt").unlink()
    with pytest.raises(ConfigError, match=r"--targets texts: expected at least one of da\.txt\.gz"):
        load(files=PaperFiles(targets=folder))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"sources": []}, "expected a list of sources"),
        ({"sources": [{"name": "a"}]}, "a: expected one of game, baseline, text, elcc"),
        ({"sources": [{"name": "a", "text": "fr"}]}, "a: fr.txt.gz"),
        ({"preset": "huge"}, "huge"),
        ({"seeds": [1, 1]}, "seeds"),
        ({"colour": 1}, "colour"),
    ],
)
def test_what_a_study_must_not_be(change, told):
    with pytest.raises(ConfigError, match=told):
        load({**STUDY, **change})


def test_games_have_their_part_of_the_progress():
    """500 steps of a large game take ten minutes of a core, a score one or two; the game had a third of its work."""
    jobs = PaperTables(folder=Path("kept")).plan(load("paper/xferbench_main", names=["Disc, large", "Random"]))
    [game] = [job.work for job in jobs if "game" in job.inputs]
    [score] = {job.work for job in jobs if "source" in job.inputs}
    assert 3 < game / score < 20


def test_a_plan_draws_no_source_and_its_rows_have_their_own_time(tmp_path, monkeypatch):
    """Sources of the paper's size are millions of symbols: a plan knows their jobs without them."""

    def draw(*_, **__):
        raise AssertionError("a source was drawn for a plan")

    monkeypatch.setattr("ecsuite.eval.xferbench.texts._draw", draw)
    monkeypatch.setattr("ecsuite.eval.xferbench.texts.tokens_of", draw)
    (tmp_path / "fr.txt").write_text("une phrase et une autre\n" * 50)
    study = load(files=PaperFiles(texts=tmp_path), seeds=(1, 2))
    jobs = PaperTables(folder=Path("kept")).plan(study)
    drawn = [source for source in study.sources if source.name in ("Paren, synth", "French", "Random")]
    assert [len(source.jobs) for source in drawn] == [2, 2, 2]
    assert len({job.digest for job in jobs}) == len(jobs)
    small = [job for source in drawn for _, job in source.jobs]
    seconds = PaperTables(folder=Path("kept")).seconds_of(study, small)
    [first] = (job for _, job in drawn[0].jobs if job.inputs["seed"] == 1)
    tokens = study.preset.pretrain_tokens * study.preset.pretrain_epochs
    tokens += len(study.texts) * study.preset.tune_tokens * study.preset.tune_epochs
    assert seconds[first] == pytest.approx(tokens / SMALL_TOKENS_A_SECOND) and len(seconds) == len(small)
    full = replace(study, preset=replace(study.preset, is_reduced=False))
    assert PaperTables(folder=Path("kept")).seconds_of(full, jobs) is None  # and no game is begun for it


@pytest.mark.parametrize("name", ["boldt2024_order", "boldt2024_human_alike", "boldt2024_translation"])
def test_claims_of_the_paper_have_its_sources_and_kinds(name):
    claim = load_claim(name)
    found = reproduction_of(claim, folder=Path("claims"), device="cpu", is_small=True)
    assert {cell["kind"] for cell in found.cells()} == {"human", "synthetic or emergent", "random"}
    assert set(claim.seeds) <= set(range(201, 211))
