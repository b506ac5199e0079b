import json
import re
from pathlib import Path

import pytest

from ecsuite.eval.experiments.claims.claim import load_claim, shipped_claims
from ecsuite.eval.experiments.claims.studies import reproduction_of

MINE = """
about: "more symbols, more topsim"
source: {work: li2019, place: "section 1", read: memory}
claim: "More symbols give more topsim."
effect: "topsim, 20 symbols minus 5"
published: {symbols: 20}
ours: {symbols: 20}
differences: []
study:
  sweep:
    base: disc_tiny
    set: {training.num_examples: 64, training.num_epochs: 1, evaluation.num_valid: 64, evaluation.corpus_size: 40}
    vary: {channel.vocab_size: [5, 20]}
    score: [topsim, elcc]
seeds: [11, 12]
pilots: {seeds: [3], runs: 2}
criterion:
  kind: structure
  statistic: {measure: topsim, undefined: 0}
  arm: {channel.vocab_size: 20}
  baseline: {channel.vocab_size: 5}
  threshold: 0.05
  threshold_from: "no figure is printed"
  controls: {accuracy: 0.05, "Unique Lines": 5}
small: {set: {training.num_examples: 32}, seeds: [1]}
"""


@pytest.fixture(autouse=True)
def mine(ecsuite):
    Path("mine.yaml").write_text(MINE)


def test_the_list_has_all_shipped_claims(printed):
    out = printed("reproduce", "--json")
    assert {row["claim"] for row in json.loads(out)["claims"]} == {*shipped_claims()}
    out = printed("reproduce")
    last = out.splitlines()[-1]
    assert last.startswith(f"Of {len(shipped_claims())} published findings ")
    words = r"(\d+) holds?, (\d+) do(?:es)? not, (\d+) are undecided, (\d+) w.* not run;"
    counts = re.search(words, last)
    assert sum(map(int, counts.groups())) == len(shipped_claims())


def test_a_check_of_minutes_says_so_and_decides_nothing(ecsuite, succeeded):
    code, out, err = ecsuite("reproduce", "mine.yaml", "--small", "--workers", "1")
    assert code == 0 and "2 runs with one seed (1)" in out
    assert "mine: can't tell: a small check is no evidence; its answer: can't tell, since " in out
    assert err.startswith("small check: it only tests that the claim runs")
    assert not Path("runs/claims/mine").exists()
    rule = 'success: {measure: accuracy, at_least: 0, about: "all are counted"}\n'
    Path("mine.yaml").write_text(MINE + rule)
    assert "By the paper's rule (all are counted) 2 of 2 runs count.\n" in succeeded(
        "reproduce", "mine.yaml", "--small", "--workers", "1"
    )


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("undefined: 0", "undefind: 0", "mine.yaml:19: criterion.statistic.undefind: unknown key 'undefind'; did"),
        ("differences: []", "differences: [size: 5, agnts: x]", "mine.yaml:8: differences: "),
        ("seeds: [11, 12]", "seeds: [3]", "mine.yaml:16: pilots: seed 3 is a seed of the claim; pilots need"),
        ("kind: structure", "kind: effect", "mine.yaml:24: criterion.controls: not read by kind: effect; read by"),
        ("arm: {channel.vocab_size: 20}", "arm: {channel.vocab_size: 7}", "claim mine: criterion: no run has channel."),
        ("measure: topsim", "measure: posdis", "claim mine: criterion: no run has posdis: add posdis to score"),
        ("seeds: [1]}", "seeds: [11]}", "mine.yaml:25: small: seed 11 is a seed of the claim: set other"),
        ("threshold: 0.05", "threshold: 0", "mine.yaml:17: criterion: threshold: expected a number other than 0"),
        ("  controls:", "  # controls:", "mine.yaml:17: criterion: kind: structure: expected the key controls"),
        ("base: disc_tiny", "base: disc_tinny", "claim mine: study: "),
        ("study:", "studies:", "mine.yaml:9: studies: unknown key 'studies'; did you mean 'study'?"),
        ("claim: \"M", "# \"M", "mine.yaml: expected the key claim"),
        ("threshold: 0.05", "published: 0.1\n  threshold: 0.05", "mine.yaml:17: criterion: expected either published"),
        ("  threshold_from", "  published_from", "mine.yaml:17: criterion: threshold: expected the key threshold_from"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_in_a_line_with_its_place(refused, before, after, said):
    assert MINE.count(before) >= 1
    Path("mine.yaml").write_text(MINE.replace(before, after, 1))
    assert refused("reproduce", "mine.yaml", "--plan").startswith(said)


def survey_of_few_colours(folder, monkeypatch):
    """What claims about colours need of the World Color Survey: some chips, and a language."""
    corpus = Path(folder, "wcs", "languages", "one", "corpus.jsonl")
    corpus.parent.mkdir(parents=True)
    corpus.write_text("[1]\n")
    chips = [f"{number},B,{number},B{number},50,{8 * number},0" for number in range(1, 9)]
    Path(folder, "wcs", "chips.csv").write_text("\n".join(["chip,row,column,grid,L,a,b", *chips, ""]))
    needs = [f"{number},0.125" for number in range(1, 9)]
    Path(folder, "wcs", "need.csv").write_text("\n".join(["chip,need", *needs, ""]))
    monkeypatch.setenv("ECSUITE_DATA", str(folder))


@pytest.mark.sample(5)
@pytest.mark.parametrize("name", shipped_claims())
def test_each_shipped_claim_can_be_run_as_a_check_of_minutes(name, tmp_path, monkeypatch):
    claim = load_claim(name)
    survey_of_few_colours(tmp_path, monkeypatch)
    for is_small in (False, True):
        reproduction = reproduction_of(claim, folder=tmp_path, device="cpu", is_small=is_small)
        assert len(reproduction.plan(claim)) > 0
    least = 1 if "correlation" in str(claim.decides) else 10  # a correlation over sources
    assert set(claim.seeds) <= set(range(101, 1000)) and len(claim.seeds) >= least


@pytest.mark.slow
@pytest.mark.parametrize("name", shipped_claims())
def test_the_check_of_minutes_of_each_claim_runs(succeeded, name, tmp_path, monkeypatch):
    if load_claim(name).is_of_corpora or name in ("boldt2024_human_alike", "boldt2024_order"):
        pytest.skip("it needs corpora, or texts of human languages")
    survey_of_few_colours(tmp_path / "data", monkeypatch)
    out = succeeded("reproduce", name, "--small", "--workers", "2", "--json")
    data = json.loads(out)
    assert data["verdict"] == "can't tell"
    if "score" in load_claim(name).small:  # the check leaves out what takes hours
        return
    compared = zip(data["criterion"]["differences"], data["other_runs"]["differences"], strict=True)
    assert all(one["num_seeds"] + other["num_seeds"] > 0 for one, other in compared), data["criterion"]


def test_a_claim_about_corpora_that_are_there(ecsuite, refused, succeeded):
    for number, words in enumerate(["[1]\n[2]\n", "[1]\n[1]\n", "[1]\n[2]\n"]):
        Path(f"c{number}").mkdir()
        Path(f"c{number}", "corpus.jsonl").write_text(words)
    study = 'study:\n  collection: {corpora: "c*/corpus.jsonl", score: [elcc]}\n'
    criterion = "criterion: {kind: effect, statistic: {measure: Unique Lines}, arm: {}, baseline: 1, published: 0.5, "
    criterion += "published_from: made up}\n"
    head, tail = MINE.partition("study:")[0], "pilots: {seeds: [], runs: 0}\n"
    Path("mine.yaml").write_text(head + study + tail + criterion)
    out = succeeded("reproduce", "mine.yaml", "--workers", "1", "--json")
    found = json.loads(out)
    assert found["criterion"]["differences"][0]["difference"]["mean"] == pytest.approx(2 / 3)
    assert [run["settings"] for run in found["runs"]] == [{"corpus": f"c{number}"} for number in range(3)]
    for number, family in enumerate(["east", "west", "east"]):
        Path(f"c{number}", "metadata.json").write_text(json.dumps({"family": family}))
    of_families = study.replace("score:", "related: family, score:")
    Path("mine.yaml").write_text(head + of_families + tail + criterion)
    found = json.loads(ecsuite("reproduce", "mine.yaml", "--workers", "1", "--json")[1])
    assert [run["seed"] for run in found["runs"]] == [1, 2, 1]
    difference = found["criterion"]["differences"][0]["difference"]
    assert (difference["mean"], difference["basis"]) == (0.5, "2 groups of related corpora")
    Path("c1", "metadata.json").write_text("{}")
    assert refused("reproduce", "mine.yaml", "--plan").endswith("lacks the key family of c1\n")
    Path("mine.yaml").write_text(head + study + "seeds: [1]\n" + tail + criterion)
    assert "seeds: not allowed in a study of corpora" in refused("reproduce", "mine.yaml", "--plan")
