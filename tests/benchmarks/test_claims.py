import functools
import itertools
import json
import math
import subprocess
from dataclasses import replace

import claims
import numpy as np
import pytest
import yaml
from scipy import stats

from ecsuite.eval.experiments.claims.arms import read_outcome
from ecsuite.eval.experiments.claims.claim import decided_by, load_claim
from ecsuite.eval.experiments.claims.verdict import all_verdicts, shipped_verdicts

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


def git(*arguments, **options):
    command = ["git", "-C", claims.ROOT, *arguments]
    return subprocess.run(command, capture_output=True, check=True, **{"text": True, **options}).stdout


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
    lines = git("log", "--format=%H %P").splitlines()
    return {line.split()[0]: line.split()[1:] for line in lines}


def before(commit):
    found, ahead = set(), [commit]
    while ahead:
        new = set(parents()[ahead.pop()]) - found
        found |= new
        ahead += new
    return found


@functools.cache
def deciders():
    """What decides by the file of each claim at each commit that changed it; one process of git reads them all."""
    commits = [(path, commit) for path, commits in history().items() for commit in commits]
    asked = [each for each in commits if each[0].endswith(".yaml")]
    lines = "".join(f"{commit}:{path}\n" for path, commit in asked).encode()
    answer = git("cat-file", "--batch", input=lines, text=False)
    found = {}
    for each in asked:
        told, _, answer = answer.partition(b"\n")
        if not told.endswith(b"missing"):  # of a commit that took the file away
            size = int(told.split()[-1])
            found[each], answer = decided_by(yaml.safe_load(answer[:size])), answer[size + 1 :]
    return found


@pytest.mark.parametrize("file", RESULTS, ids=lambda file: file.stem)
def test_the_criterion_was_committed_before_the_results(file):
    path = f"configs/claims/{file.stem}.yaml"
    results, commits = (history().get(str(each), []) for each in (file.relative_to(claims.ROOT), path))
    if not results or not commits:
        pytest.skip("no history of git")
    now = load_claim(file.stem).decides
    same = [commit for commit in commits if deciders().get((path, commit)) == now]
    is_older = bool(same) and same[0] in before(results[0])
    assert is_older == (not load_claim(file.stem).corrections), "a correction after runs says so, and why"
    if not is_older:
        return
    assert not set(commits[commits.index(same[0]) :]) - set(same), "the criterion was changed, and back"


def test_a_page_of_a_claim_has_its_verdict_and_all_seeds(tmp_path, monkeypatch):
    from ecsuite.eval.experiments.claims.arms import ClaimOutcome, claim_run
    from ecsuite.eval.experiments.claims.report import claim_page

    claim = load_claim("perkins2021_husendz")
    assert "**Not run: 12 min of one core.**" in claim_page(claim, None, None)
    levels = {"lstm": 1.8, "husendz:dgsend": 1.3}
    runs = []
    for (model, level), seed in itertools.product(levels.items(), claim.seeds):
        known = {"settings": {"model": model, "grammar": "shufdet"}, "status": "done"}
        values = {"ratio": level, "reached": level < 1.5}
        runs.append(claim_run(claim.name, seed=seed, values=values, **known))
    runs = tuple(runs)
    outcome = ClaimOutcome(name=claim.name, digest=claim.digest, is_small=False, runs=runs, hours=1)
    page = claim_page(claim, outcome, "x.svg")
    assert "**Holds: the 95 % interval excludes 0," in page and "![Arms with all seeds](x.svg)" in page
    told = "20 runs with 10 seeds (101 to 110); 0 failed, 0 were capped."
    assert all(words in page for words in ("≤-0.500", "≥1.8, ≥1.8", "1.3, 1.3, 1.3", told))
    monkeypatch.setattr(claims, "RESULTS", tmp_path)
    assert "perkins2021_husendz" in claims.write_pages(tmp_path / "pages")


def test_what_was_corrected_since_the_runs_stands_with_their_verdict():
    from ecsuite.eval.experiments.claims.arms import read_outcome
    from ecsuite.eval.experiments.claims.report import claim_page
    from ecsuite.eval.experiments.claims.verdict import verdict_row

    claim = replace(load_claim("zaslavsky2018_turned_hues"), outdated="another rule")
    row = verdict_row(claim, RESULTS[0].parent)
    told = f"runs from before a correction: {claim.outdated}"
    assert told in row.sentence and told in row.remark
    page = claim_page(claim, read_outcome(RESULTS[0].parent / f"{claim.name}.json"), None)
    assert f"The {told}." in page
    assert "before a correction" not in verdict_row(replace(claim, outdated=""), RESULTS[0].parent).sentence


# Verdicts once more, from the raw values of each seed, by scipy and nothing of the package.

CENSORED_AT = (
    "accuracy", "attribute_accuracy", "set_accuracy", "noise_objects", "consensus", "others_share", "recall",
)  # fmt: skip
EVENTS = {"ratio": "reached", "steps": "reached", "consensus_round": "has_consensus"}
"""Times, by the figure that has whether what they are the time of happened."""
SIDES = {">": "<", "<": ">", "": "", "?": "?"}


def side_of(name, values):
    """`>`: the true figure is at least this one, `<` at most, `` neither, as it is exact."""
    if name in EVENTS:
        return ">" if values.get(EVENTS[name]) == 0 else ""
    if name.split(" ")[-1] in CENSORED_AT:
        return ">" if values[name] >= 1 else "<" if values[name] <= 0 else ""
    return ""


def together(sides):
    found = set(sides) - {""}
    return "" if not found else found.pop() if len(found) == 1 else "?"


def figure_of(run, statistic):
    names = [statistic["measure"], *([statistic["minus"]] if "minus" in statistic else [])]
    if run["failure"] or any(run["values"].get(name) is None for name in names):
        return None if statistic.get("undefined") is None else (statistic["undefined"], "")
    first, *others = (run["values"][name] for name in names)
    side, *sides = (side_of(name, run["values"]) for name in names)
    value, side = first - sum(others), together([side, *(SIDES[each] for each in sides)])
    return math.log(value) if statistic.get("log") else value, side


def arm_of(runs, arm, statistic, setting=None):
    found = {}
    for run in runs:
        wanted = {**arm, **(setting or {})}
        if all(run["settings"].get(key, run) == value for key, value in wanted.items()):
            found.setdefault(run["seed"], []).append(figure_of(run, statistic))
    arm = {}
    for seed, each in found.items():
        if defined := [one for one in each if one is not None]:
            arm[seed] = np.mean([value for value, _ in defined]), together(side for _, side in defined)
    return arm


def difference_of(runs, arm, baseline, statistic, setting=None, less=0.0):
    """Mean, interval, p-value, side and number of seeds of a difference less an amount."""
    if statistic.get("correlation"):
        return correlation_of(runs, statistic)
    first = arm_of(runs, arm, statistic, setting)
    other = baseline if isinstance(baseline, dict) else None
    second = arm_of(runs, other, statistic, setting) if other else {seed: (baseline, "") for seed in first}
    both = sorted(first.keys() & second.keys())
    values = np.array([first[seed][0] - second[seed][0] - less for seed in both], float)
    side = together([*(first[seed][1] for seed in both), *(SIDES[second[seed][1]] for seed in both)])
    if len(values) < 2:
        return values.mean() if len(values) else None, None, None, side, len(both)
    if np.ptp(values) < 1e-9:
        return values.mean(), (values.mean(), values.mean()), None, side, len(both)
    test = stats.ttest_1samp(values, 0)
    return values.mean(), tuple(test.confidence_interval()), test.pvalue, side, len(both)


def correlation_of(runs, statistic):
    """A rank correlation within cells, with a bootstrap interval over runs."""
    cells, sides = {}, set()
    for run in runs:
        values = [run["values"][name] for name in statistic["correlation"]]
        sides |= {side_of(name, run["values"]) for name in statistic["correlation"]} - {""}
        cells.setdefault(str([run["settings"][key] for key in statistic["within"]]), []).append(values)
    columns = [stats.zscore(stats.rankdata(np.array(cell).T, axis=1), axis=1) for cell in cells.values()]
    first, second = np.concatenate(columns, axis=1)
    found = stats.bootstrap((first, second), pearson, paired=True, method="percentile", n_resamples=999,
                            random_state=0)  # fmt: skip
    interval = tuple(found.confidence_interval)
    return stats.pearsonr(first, second)[0], interval, None, "?" if sides else "", len(first)


def pearson(first, second, axis=-1):
    return (stats.zscore(first, axis=axis) * stats.zscore(second, axis=axis)).mean(axis)


def answer_at(criterion, runs, num_seeds, setting=None):
    statistic = criterion["statistic"]
    pairs = criterion.get("pairs") or list(itertools.combinations(criterion.get("order", ()), 2))
    pairs = pairs or [(criterion["arm"], criterion["baseline"])]
    found = [difference_of(runs, arm, baseline, statistic, setting) for arm, baseline in pairs]
    controls = criterion.get("controls") or {}
    checks = [difference_of(runs, *pairs[0], {"measure": name}, setting) for name in controls]
    if any(each[1] is None for each in (*found, *checks)):
        return "can't tell", found
    if criterion.get("runs", "all") == "all" and "correlation" not in statistic:
        if any(num_seeds - each[4] > 0.2 * num_seeds for each in (*found, *checks)):
            return "can't tell", found
    if criterion["kind"] == "order":
        return order_answer(criterion, runs, pairs, found), found
    [(mean, (low, high), _, side, _)] = found
    centre = criterion["published"] if "margin" in criterion and "published" in criterion else 0
    if "margin" in criterion:
        margin = criterion["margin"]
        if abs(low - centre) <= margin and abs(high - centre) <= margin:
            return ("holds" if not side else "can't tell"), found
        above = low - centre > margin and side in ("", ">")
        below = high - centre < -margin and side in ("", "<")
        return ("does not hold" if above or below else "can't tell"), found
    least = criterion["threshold"] if "threshold" in criterion else criterion["published"] / 2
    if least < 0:
        mean, low, high, least, side = -mean, -high, -low, -least, SIDES[side]
    if low > 0 and mean >= least and side in ("", ">"):
        is_kept = all(check[1][0] >= -controls[name] for name, check in zip(controls, checks, strict=True))
        return ("holds" if is_kept else "can't tell"), found
    return ("does not hold" if high < least and side in ("", "<") else "can't tell"), found


def order_answer(criterion, runs, pairs, found):
    published = criterion.get("published")
    halves = [0.0] * len(pairs)
    if published:
        between = [a - b for a, b in itertools.combinations(published, 2)]
        halves = [size / 2 for size in (published if "pairs" in criterion else between)]
    less = [difference_of(runs, *pair, criterion["statistic"], less=half)
            for pair, half in zip(pairs, halves, strict=True)]  # fmt: skip
    below = [(each[3], mean) for each, p, mean in holm(less) if p < 0.05 and mean < 0]
    if any(side in ("", "<") for side, _ in below):
        return "does not hold"
    clear = all(p < 0.05 and mean > 0 and each[3] in ("", ">") for each, p, mean in holm(found))
    large = all(each[0] >= half for each, half in zip(found, halves, strict=True))
    return "holds" if clear and large and not below else "can't tell"


def holm(differences):
    """Each difference with its corrected p-value; one without a spread is clear at once."""
    order = sorted(range(len(differences)), key=lambda place: differences[place][2] or 0)
    corrected, least = [0.0] * len(order), 0.0
    for rank, place in enumerate(order):
        least = max(least, min(1, (differences[place][2] or 0) * (len(order) - rank)))
        corrected[place] = least
    return [(each, p, each[0]) for each, p in zip(differences, corrected, strict=True)]


@pytest.mark.parametrize("file", RESULTS, ids=lambda file: file.stem)
def test_scipy_comes_to_the_same_verdict(file):
    tree = yaml.safe_load((claims.ROOT / "configs" / "claims" / f"{file.stem}.yaml").read_text())
    data = json.loads(file.read_text())
    criterion, runs = tree["criterion"], data["runs"]
    num_seeds = len({run["seed"] for run in runs})
    counted = runs
    if criterion.get("runs") == "success":
        rule = tree["success"]
        counted = [run for run in runs if (run["values"].get(rule["measure"]) or 0) >= rule["at_least"]]
    sizes = criterion.get("sizes")
    settings = [{sizes["setting"]: size} for size in sizes["values"]] if sizes else [None]
    answers, found = [], []
    for setting in settings:
        answer, differences = answer_at(criterion, counted, num_seeds, setting)
        answers.append(answer)
        found += differences
    answer = answers[0] if len(set(answers)) == 1 else "can't tell"
    kept = data["criterion"]
    assert (kept["answer"], len(kept["differences"])) == (answer, len(found)), kept["reason"]
    loose = 0.02 if "correlation" in criterion["statistic"] else 1e-9  # another bootstrap
    for (mean, interval, p_value, side, _), each in zip(found, kept["differences"], strict=True):
        if mean is None:
            assert each["difference"] is None
            continue
        assert each["difference"]["mean"] == pytest.approx(mean, abs=1e-9)
        assert each["difference"]["ci95"] == (interval and pytest.approx(interval, abs=5 * loose))
        assert p_value is None or each["difference"]["p_value"] == pytest.approx(p_value, rel=1e-6)
        bounds = {"": None, ">": "lower", "<": "upper", "?": "none"}
        assert each["difference"].get("bound") == bounds[side]
    kinds = {kind for difference in tree["differences"] for kind in difference}
    elsewhere = "in another setting" if kinds - {"part", "counting", "unread", "size"} else ""
    elsewhere = elsewhere or ("at another size" if "size" in kinds else "")
    verdict = answer if answer == "can't tell" or not elsewhere else f"{answer} {elsewhere}"
    assert data["verdict"] == verdict == {row.claim: row.verdict for row in shipped_verdicts()}[file.stem]
