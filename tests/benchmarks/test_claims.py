"""What is made of the results of claims is what they say, and criteria are older than results."""

import functools
import subprocess

import claims
import pytest
import yaml

from ecsuite.eval.experiments.claims.arms import read_outcome
from ecsuite.eval.experiments.claims.claim import decided_by, load_claim
from ecsuite.eval.experiments.claims.verdict import all_verdicts

RESULTS = sorted(claims.RESULTS.glob("*.json"))


def test_the_page_the_line_of_the_readme_and_the_shipped_verdicts_are_what_the_results_say():
    for file, text in claims.texts_of(all_verdicts(claims.RESULTS)).items():
        assert file.read_text() == text, "run: python benchmarks/claims.py"


@pytest.mark.parametrize("file", RESULTS, ids=lambda file: file.stem)
def test_results_have_all_runs_that_the_criterion_is_about(file):
    claim, outcome = load_claim(file.stem), read_outcome(file)
    assert not outcome.is_small and outcome.digest == claim.digest
    if claim.is_of_corpora:
        assert [run.seed for run in outcome.runs] == list(range(1, len(outcome.runs) + 1))
        return
    assert {run.seed for run in outcome.runs} == set(claim.seeds)
    cells = {repr(sorted(run.settings.items())) for run in outcome.runs}
    assert len(outcome.runs) == len(cells) * len(claim.seeds)


def git(*arguments):
    return subprocess.run(
        ["git", "-C", claims.ROOT, *arguments], capture_output=True, text=True, check=True
    ).stdout


@functools.cache
def history():
    """The commits of each file of a claim and of its results, the oldest first; none without a whole history."""
    try:
        if git("rev-parse", "--is-shallow-repository").strip() == "true":
            return {}
        folders = ("configs/claims", claims.RESULTS.relative_to(claims.ROOT))
        lines = git("log", "--reverse", "--format=commit %H", "--name-only", "--", *folders).splitlines()
    except (OSError, subprocess.CalledProcessError):
        return {}
    found, commit = {}, ""
    for line in filter(None, lines):
        if line.startswith("commit "):
            commit = line.removeprefix("commit ")
        else:
            found.setdefault(line, []).append(commit)
    return found


@functools.cache
def parents():
    """The commits before each commit."""
    lines = git("log", "--format=%H %P").splitlines()
    return {line.split()[0]: line.split()[1:] for line in lines}


def before(commit):
    """All commits that come before one."""
    found, ahead = set(), [commit]
    while ahead:
        new = set(parents()[ahead.pop()]) - found
        found |= new
        ahead += new
    return found


@functools.cache
def deciders():
    """What decides by the file of each claim at each commit that changed it; one process of git reads them all."""
    asked = [
        (path, commit) for path, commits in history().items() for commit in commits if path.endswith(".yaml")
    ]
    answer = subprocess.run(
        ["git", "-C", claims.ROOT, "cat-file", "--batch"],
        input="".join(f"{commit}:{path}\n" for path, commit in asked).encode(),
        capture_output=True,
        check=True,
    ).stdout
    found = {}
    for each in asked:
        told, _, answer = answer.partition(b"\n")
        if not told.endswith(b"missing"):  # of a commit that took the file away
            size = int(told.split()[-1])
            found[each], answer = decided_by(yaml.safe_load(answer[:size])), answer[size + 1 :]
    return found


@pytest.mark.parametrize("file", RESULTS, ids=lambda file: file.stem)
def test_the_criterion_was_committed_before_the_results(file):
    """By the history: the commit from which on the file decides as it does now is older than that of the results."""
    path = f"configs/claims/{file.stem}.yaml"
    results, commits = (history().get(str(each), []) for each in (file.relative_to(claims.ROOT), path))
    if not results or not commits:
        pytest.skip("no history of git")
    now = load_claim(file.stem).decides
    same = [commit for commit in commits if deciders().get((path, commit)) == now]
    assert same[0] in before(results[0])
    assert not set(commits[commits.index(same[0]) :]) - set(same), (
        "the criterion was changed, and changed back"
    )


def test_a_page_of_a_claim_has_its_verdict_and_all_seeds(tmp_path, monkeypatch):
    from ecsuite.eval.experiments.claims.arms import ClaimOutcome, claim_run
    from ecsuite.eval.experiments.claims.report import claim_page

    claim = load_claim("perkins2021_husendz")
    assert "**Not run: 0.2 hours of one core.**" in claim_page(claim, None, None)
    levels = {"lstm": 1.8, "husendz:dgsend": 1.3}
    runs = tuple(
        claim_run(
            claim.name,
            settings={"model": model, "grammar": "shufdet"},
            seed=seed,
            values={"ratio": level},
            status="done",
        )
        for model, level in levels.items()
        for seed in claim.seeds
    )
    outcome = ClaimOutcome(name=claim.name, digest=claim.digest, is_small=False, runs=runs, hours=1)
    page = claim_page(claim, outcome, "x.svg")
    assert "**Holds: published sign," in page and "![Arms with all seeds](x.svg)" in page
    assert "1.3, 1.3, 1.3" in page and "20 runs with 10 seeds (101 to 110); 0 failed, 0 were capped." in page
    monkeypatch.setattr(claims, "RESULTS", tmp_path)
    assert "perkins2021_husendz" in claims.write_pages(tmp_path / "pages")
