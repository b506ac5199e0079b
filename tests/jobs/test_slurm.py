from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from counting_jobs import LOG, square
from ecsuite.jobs import graph, launchers, slurm
from ecsuite.jobs.graph import Runner
from ecsuite.jobs.groups import GroupFolder
from ecsuite.jobs.job import Job, Resources
from ecsuite.jobs.slurm import Slurm, slurm_options
from ecsuite.jobs.store import Store
from ecsuite.runtime.errors import ConfigError


class Cluster:
    """What submitit and Slurm do, in this process: tasks wait until `run` computes them."""

    def __init__(self, monkeypatch):
        self.monkeypatch = monkeypatch
        self.waiting, self.num_submitted, self.refuses, self.cancelled = {}, 0, False, []

    def executor(self, folder, options, resources, name):
        self.name, self.resources = name, resources
        return self

    def batch(self):
        return nullcontext(self)

    def submit(self, function, *arguments):
        if self.refuses:
            raise RuntimeError("sbatch: error: invalid partition\nspecified: nowhere")
        self.waiting[f"7_{self.num_submitted}"] = (self.name, function, arguments)
        self.num_submitted += 1

    def run(self, most=1000):
        for name in list(self.waiting)[:most]:
            _, function, arguments = self.waiting.pop(name)
            self.monkeypatch.setenv("SLURM_JOB_ID", name)
            function(*arguments)

    def answer(self, *command):
        if command[0] == "squeue":
            return "".join(f"{task}|PENDING|{name}\n" for task, (name, *_) in self.waiting.items())
        if command[0] == "scancel":
            self.cancelled += [task for task in command[1:] if self.waiting.pop(task, None)]
        return "JobId=7 JobState=OUT_OF_MEMORY Reason=None" if command[0] == "scontrol" else ""


@pytest.fixture
def cluster(monkeypatch, tmp_path_factory):
    cluster = Cluster(monkeypatch)
    monkeypatch.setenv(LOG, str(tmp_path_factory.mktemp("log") / "log.txt"))
    monkeypatch.setattr(slurm, "_executor", cluster.executor)
    monkeypatch.setattr(slurm, "_run", cluster.answer)
    monkeypatch.setattr(slurm, "SECONDS_BETWEEN_CHECKS", 0.0)
    monkeypatch.setattr(graph, "SECONDS_BETWEEN_LOOKS", 0.02)
    monkeypatch.setattr(launchers, "SECONDS_TO_CANCEL", 0.0)
    return cluster


def launcher(before_poll=lambda: None):
    def made(folder):
        place = Slurm(folder, slurm_options(None))
        start = place.start
        place.start = lambda groups: (start(groups), before_poll())
        return place

    return made


def left(folder):
    return list((folder / "groups").glob("*.*"))


def take_all(folder, worker):
    taken = GroupFolder(Store(folder))
    pools = {file.name.partition(".")[0] for file in (folder / "groups").glob("*.json")}
    while (group := taken.take(pools, worker)) is not None:
        group._lock.release()


def test_a_task_of_some_age_takes_no_further_group(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr(slurm, "SHARE_FOR_MORE", 0.0)
    jobs = [Job(square, number=number) for number in range(3)]
    Runner(folder=tmp_path, launcher=launcher(lambda: cluster.run(1))).run(jobs)
    assert not cluster.cancelled


def test_a_group_whose_task_was_lost_is_tried_once_more(cluster, tmp_path):
    told, lost = [], []

    def lose_the_first():
        if lost:
            cluster.run()
        elif cluster.waiting:
            lost.append(cluster.waiting.pop("7_0"))
            take_all(tmp_path, "7_0")

    job = Job(square, number=4)
    found = Runner(folder=tmp_path, launcher=launcher(lose_the_first), note=told.append).run([job])
    assert found[job].value["square"] == 16 and cluster.num_submitted == 2
    assert "its task 7_0 in Slurm ended without a result (out of memory)" in told[0]
    assert told[0].endswith("tried once more") and not left(tmp_path)


@pytest.mark.parametrize("is_taken", [True, False], ids=["taken", "free"])
@pytest.mark.parametrize(("said", "times"), [("", 1), (None, 5)], ids=["late", "silent"])
def test_a_task_that_slurm_does_not_name_for_a_while_is_not_lost(cluster, tmp_path, is_taken, said, times):
    told, asked, answer = [], [], cluster.answer

    def late(*command):
        if command[0] == "squeue" and cluster.waiting:
            asked.append(command)
            if len(asked) <= times:
                return said
        return answer(*command)

    def work():
        if is_taken:
            take_all(tmp_path, "7_0")
        if len(asked) > times + 1:
            cluster.run()

    cluster.monkeypatch.setattr(slurm, "_run", late)
    job = Job(square, number=4)
    found = Runner(folder=tmp_path, launcher=launcher(work), note=told.append).run([job])
    assert found[job].value["square"] == 16 and (cluster.num_submitted, told) == (1, [])


def test_a_hanging_task_is_cancelled(cluster, tmp_path):
    told, job = [], Job(square, number=4)
    commands = []

    def answer(*command):
        commands.append(command)
        return f"7_0|RUNNING|{getattr(cluster, 'name', '')}\n" if command[0] == "squeue" else ""

    cluster.monkeypatch.setattr(slurm, "_run", answer)
    runner = Runner(
        folder=tmp_path,
        launcher=launcher(lambda: take_all(tmp_path, "7_0")),
        note=told.append, seconds_silent=0.3,
    )  # fmt: skip
    assert runner.run([job])[job].failure.startswith("it hung: no progress")
    assert ("scancel", "7_0") in commands and len(told) == 2


def test_results_of_tasks_are_taken_while_slurm_does_not_answer(cluster, tmp_path):
    jobs, asked = [Job(square, number=number) for number in range(3)], iter([None, "interrupt"])
    with pytest.raises(KeyboardInterrupt):
        Runner(folder=tmp_path, launcher=launcher(), should_stop=lambda: next(asked)).run(jobs)
    cluster.monkeypatch.setattr(slurm, "_run", lambda *command: None)
    results = Runner(folder=tmp_path, launcher=launcher(cluster.run)).run(jobs)
    assert [results[job].value["square"] for job in jobs] == [0, 1, 4]


@pytest.mark.parametrize(
    ("options", "gpus"),
    [("", {"gres": "gpu:1"}), ("gres=gpu:a100:2", {"gres": "gpu:a100:2"}), ("gpus=4", {"gpus": "4"})],
)
def test_gpus_that_the_user_asks_for_are_those_of_the_task(monkeypatch, tmp_path, options, gpus):
    given = {}
    executor = SimpleNamespace(update_parameters=lambda **parameters: given.update(parameters))
    submitit = SimpleNamespace(SlurmExecutor=lambda **_: executor)
    monkeypatch.setattr(slurm, "import_module", lambda _: submitit)
    needs = Resources(num_threads=1, num_gpus=1)
    slurm._executor(tmp_path, slurm_options(options), needs, "name")
    assert given["additional_parameters"] == gpus and given["time"] == 60


def test_a_second_ctrl_c_cancels_what_has_not_begun(cluster, tmp_path, monkeypatch):
    class Interrupt(float):
        """Ctrl-C as soon as somebody sleeps so long."""

    def sleep(seconds):
        if isinstance(seconds, Interrupt):
            raise KeyboardInterrupt

    monkeypatch.setattr(launchers, "SECONDS_TO_CANCEL", Interrupt())
    monkeypatch.setattr(launchers.time, "sleep", sleep)
    told, asked = [], iter([None, "interrupt"])
    with pytest.raises(KeyboardInterrupt):
        Runner(folder=tmp_path, launcher=launcher(), note=told.append, should_stop=lambda: next(asked)).run(
            [Job(square, number=1), Job(square, number=2)]
        )
    assert told[-1] == "2 groups cancelled" and len(cluster.cancelled) == 2 and not left(tmp_path)


def test_what_sbatch_refuses_is_one_line(cluster, tmp_path):
    cluster.refuses = True
    with pytest.raises(ConfigError, match="sbatch refused the jobs: invalid partition; specified: nowhere"):
        Runner(folder=tmp_path, launcher=launcher()).run([Job(square, number=1)])
    assert not left(tmp_path)
