"""Two processes that start at once on one store, scores file or run folder: one result, as that of one process.

    python tests/attack/races.py --starts 1000 --trainings 20

A figure a line: starts tried, and how many ended as they should.
"""

import argparse
import json
import multiprocessing
import os
import shutil
import sys
import tempfile
from pathlib import Path

from crashes import TRAIN, begin, contents, ecsuite, end

from ecsuite.jobs.graph import Runner
from ecsuite.jobs.job import Job

sys.path.append(str(Path(__file__).parents[1]))
from counting_jobs import LOG, square


def compute(barrier, folder, results):
    barrier.wait()
    job = Job(square, number=2)
    try:
        found = Runner(folder=folder, num_workers=1).run([job])[job].value["square"]
    except BaseException as error:
        found = repr(error)
    results.put(found)


def race_jobs(num_starts, print_fault=print):
    context, survived = multiprocessing.get_context("fork"), 0
    for number in range(num_starts):
        with tempfile.TemporaryDirectory() as scratch:
            os.environ[LOG] = str(Path(scratch) / "log")
            barrier, results = context.Barrier(2), context.SimpleQueue()
            store = Path(scratch) / "store"
            both = [context.Process(target=compute, args=(barrier, store, results)) for _ in range(2)]
            for each in both:
                each.start()
            for each in both:
                each.join(120)
            found = [results.get() for each in both if each.exitcode == 0]
            num_computed = len(Path(os.environ[LOG]).read_text().splitlines())
            left = [*store.glob("locks/*"), *store.glob("scratch/*"), *store.rglob(".*")]
            if found == [4, 4] and num_computed == 1 and not left:
                survived += 1
            else:
                print_fault(f"start {number}: {found}, computed {num_computed} times, left {left}")
    return {"race": "jobs", "starts": num_starts, "survived": survived}


def train_and_score(barrier, folder, metric, results):
    barrier.wait()
    for line in ([*TRAIN, "--resume"], ["score", "run", "--metrics", metric]):
        code, said, *_ = ecsuite(folder, line)
        results.put((code, said))


def race_trainings(num_starts, print_fault=print):
    """Starts of two processes that train in one run folder, and score it by two metrics."""
    context, survived = multiprocessing.get_context("fork"), 0
    with tempfile.TemporaryDirectory() as scratch:
        alone, work = Path(scratch) / "alone", Path(scratch) / "work"
        alone.mkdir()
        assert ecsuite(alone, TRAIN)[0] == 0
        for number in range(num_starts):
            shutil.rmtree(work, ignore_errors=True)
            work.mkdir()
            barrier, results = context.Barrier(2), context.SimpleQueue()
            both = [
                context.Process(target=train_and_score, args=(barrier, work, metric, results))
                for metric in ("topsim", "posdis")
            ]
            for each in both:
                each.start()
            told = [results.get() for _ in range(4)]
            for each in both:
                each.join(120)
            scores = json.loads((work / "run" / "scores.json").read_bytes())["scores"]
            names = sorted(score["name"] for score in scores)
            found = {name: each for name, each in contents(work).items() if "scores.json" not in name}
            is_right = all(code == 0 for code, _ in told) and names == ["posdis", "topsim"]
            if is_right and found == contents(alone):
                survived += 1
            else:
                print_fault(f"start {number}: {told}, scores {names}, files {list(found)}")
    return {"race": "trainings", "starts": num_starts, "survived": survived}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--starts", type=int, default=100)
    parser.add_argument("--trainings", type=int, default=2)
    options = begin(parser)
    end((race_jobs(options.starts), race_trainings(options.trainings)), "survived", "starts")


if __name__ == "__main__":
    main()
