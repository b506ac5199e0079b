"""What a task of Ray does on a node that sees the folder of kept results, and on one that does not; without Ray."""

import json
from dataclasses import asdict

import pytest
from counting_jobs import LOG, add_up, count_symbols, fill, misbehave, square, total

from ecsuite.corpus import Corpus, Ragged
from ecsuite.jobs.graph import Runner
from ecsuite.jobs.job import Job
from ecsuite.jobs.ray_tasks import NO_FOLDER, compute_on_node, input_files, keep_files
from ecsuite.jobs.store import Store


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setenv(LOG, str(tmp_path / "log.txt"))
    return Store(tmp_path / "kept")


def told(store, job, names=(), **more):
    sent = {"folder": str(store.folder), "mark": "mark", "stop": "stop", "needs_files": not names} | more
    contents = [(store.folder / name).read_bytes() for name in names]
    return list(compute_on_node(json.dumps(sent | {"jobs": [asdict(store.send(job))]}), names, *contents))


def kinds(events):
    return [event["kind"] for event, _ in events if event["kind"] != "progress"]


def test_a_node_that_sees_the_folder_writes_there(store):
    store.folder.mkdir()
    (store.folder / "mark").touch()
    job = Job(square, number=3)
    events = told(store, job)
    assert kinds(events) == ["started", "kept", "ended"] and not any(files for _, files in events)
    assert store.read(job).value["square"] == 9


def test_a_node_that_does_not_asks_for_the_inputs_and_sends_the_result(store):
    parts = [Job(square, number=number) for number in (1, 2)]
    source = Job(fill, size=4)
    corpus = Corpus(messages=Ragged.from_rows([[1, 2], [3]]))
    Runner(folder=store.folder).run([*parts, source])
    for job, value in (
        (Job(total, parts=parts), 5),
        (Job(add_up, source=source, times=2), 8.0),
        (Job(count_symbols, corpus=corpus), 3),
        (Job(fill, size=2), {"size": 2}),
    ):
        sent = store.send(job)
        if names := input_files(store, [sent]):
            assert [event["text"] for event, _ in told(store, job)] == [NO_FOLDER]
        events = told(store, job, names, needs_files=False)
        assert kinds(events) == ["started", "kept", "ended"] and store.read(job) is None
        (files,) = [files for _, files in events if files]
        assert keep_files(store, sent, files)
        assert store.read(job, needs_arrays=True).value == value
    assert not list(store.folder.glob(".received-*"))


def test_a_result_that_was_changed_on_its_way_is_not_kept(store):
    job = Job(fill, size=2)
    sent = store.send(job)
    ((_, files),) = [each for each in told(store, job, needs_files=False) if each[1]]
    json_name, arrays_name = sorted(files, key=lambda name: not name.endswith(".json"))
    for changed in (
        files | {json_name: files[json_name].replace(b'"size": 2', b'"size": 3')},
        files | {arrays_name: files[arrays_name][:-1] + b"x"},
        {json_name: files[json_name]},
        files | {"results/../../elsewhere.json": b"{}"},
        {},
    ):
        assert not keep_files(store, sent, changed) and store.read(job) is None
    assert keep_files(store, sent, files) and store.read(job) is not None


def test_a_job_is_asked_to_stop_by_a_file(store):
    store.folder.mkdir()
    for name in ("mark", "stop"):
        (store.folder / name).touch()
    job = Job(misbehave, how="wait")
    assert kinds(told(store, job)) == ["started", "stopped"]
    assert (store.scratch(job) / "checkpoint").read_text() == "half"
