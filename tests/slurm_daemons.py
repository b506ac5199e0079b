"""A Slurm of two nodes with one CPU each on this machine, for tests: munge, a controller and two node daemons, as root.

    with Slurm(folder): ...     # SLURM_CONF names it meanwhile

Partition `high` takes the nodes of `low`, whose jobs are queued again. Daemons are children of this process and are
ended by their numbers; nothing of a Slurm that the machine may have is touched.
"""

import getpass
import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch")
NODES = ("n1", "n2")
SECONDS_TO_START, SECONDS_TO_END = 60.0, 15.0


def why_not() -> str:
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])
    missing = [name for name in PROGRAMS if shutil.which(name, path=path) is None]
    if missing:
        return f"{', '.join(missing)} not installed: apt-get install slurm-wlm"
    return "" if os.geteuid() == 0 else "Slurm's daemons need root"


class Slurm:
    """Started on entering, and ended on leaving, with all its jobs.

    Args:
        folder: Empty; everything that it writes is there.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.daemons: dict[str, subprocess.Popen[bytes]] = {}
        self.before = os.environ.get("SLURM_CONF")

    def __enter__(self) -> "Slurm":
        self.folder.chmod(0o755)  # munge refuses others
        (self.folder / "slurm.conf").write_text(configuration(self.folder, free_port()))
        (self.folder / "munge.key").write_bytes(secrets.token_bytes(64))
        (self.folder / "munge.key").chmod(0o600)
        os.environ["SLURM_CONF"] = str(self.folder / "slurm.conf")
        try:
            self._start_all()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _start_all(self) -> None:
        endings = ("key", "pid", "log", "seed")
        socket_option = f"--socket={self.folder / 'munge.socket'}"
        options = [f"--{ending}-file={self.folder / f'munge.{ending}'}" for ending in endings]
        self.start("munged", "munged", "--foreground", "--force", socket_option, *options)
        until(lambda: run("munge", "--no-input", socket_option).returncode == 0, "munge")
        self.start("slurmctld", "slurmctld", "-D", "-c")
        for node in NODES:
            (self.folder / f"spool-{node}").mkdir()
            self.start_node(node)

    def start(self, name: str, *command: str) -> None:
        """Start a daemon in a session of its own, with what it says in a file."""
        path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])
        with (self.folder / f"{name}.said").open("ab") as file:
            self.daemons[name] = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, start_new_session=True,
                env=os.environ | {"PATH": path},
            )  # fmt: skip

    def start_node(self, node: str) -> None:
        """Start a node, also one that was killed, and wait until it is idle."""
        self.start(node, "slurmd", "-D", "-N", node)
        asked = ("sinfo", "--noheader", f"--nodes={node}", "--partition=low", "--format=%T")
        until(lambda: run(*asked).stdout.strip() in ("idle", "allocated"), node)

    def kill_node(self, node: str) -> None:
        """Kill a node's daemon at once, as when its power fails; its jobs are other processes."""
        self.daemons[node].kill()
        self.daemons[node].wait()

    def __exit__(self, *_: object) -> None:
        if "slurmctld" in self.daemons:
            run("scancel", f"--user={getpass.getuser()}")
            with_patience(lambda: not run("squeue", "--noheader").stdout)
        for daemon in reversed(self.daemons.values()):
            daemon.terminate()
            try:
                daemon.wait(SECONDS_TO_END)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        if self.before is None:
            del os.environ["SLURM_CONF"]
        else:
            os.environ["SLURM_CONF"] = self.before


def configuration(folder: Path, port: int) -> str:
    host = socket.gethostname().partition(".")[0]
    (folder / "state").mkdir()
    # A job that is queued again waits as long as its credential lasts: 120 s by default. A container has no control
    # groups of its own. Killed nodes come back, and what ran on them is queued again.
    settings = f"""ClusterName=tests SlurmctldHost={host}(127.0.0.1) SlurmctldPort={port} SlurmUser=root
    AuthType=auth/munge AuthInfo=socket={folder / "munge.socket"},cred_expire=15
    StateSaveLocation={folder / "state"} SlurmdSpoolDir={folder}/spool-%n
    SlurmctldPidFile={folder / "slurmctld.pid"} SlurmdPidFile={folder}/slurmd-%n.pid
    ProctrackType=proctrack/linuxproc TaskPlugin=task/none JobAcctGatherType=jobacct_gather/none
    MailProg=/bin/true MpiDefault=none SelectType=select/cons_tres SelectTypeParameters=CR_CPU
    ReturnToService=2 SlurmdTimeout=30 JobRequeue=1 KillWait=5 MinJobAge=3600
    PreemptType=preempt/partition_prio PreemptMode=REQUEUE
    SchedulerParameters=sched_interval=2,bf_interval=2,batch_sched_delay=0"""
    at = f"NodeHostname={host} NodeAddr=127.0.0.1"
    lines = [
        *settings.split(),
        *(f"NodeName={node} {at} Port={port + n} CPUs=1 RealMemory=1000" for n, node in enumerate(NODES, 1)),
        "PartitionName=low Nodes=ALL Default=YES PriorityTier=1 PreemptMode=REQUEUE GraceTime=20 MaxTime=60",
        "PartitionName=high Nodes=ALL PriorityTier=2 PreemptMode=OFF MaxTime=60",
    ]
    return "\n".join(lines) + "\n"


def corpora(folder: Path) -> dict[str, bytes]:
    """The bytes of the corpora of a sweep, by run."""
    return {file.parent.name: file.read_bytes() for file in Path(folder).glob("runs/*/corpus.jsonl")}


def scores(folder: Path) -> list[Any]:
    return [run["scores"] for run in json.loads(Path(folder, "sweep.json").read_bytes())["runs"]]


def program(*arguments: str, folder: Path) -> "subprocess.Popen[str]":
    """`ecsuite` with arguments in a folder, started."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, "-m", "ecsuite.cli", *arguments], cwd=folder, **pipes)


def free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return min(int(bound.getsockname()[1]), 65_000)


def run(*command: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command, capture_output=True, text=True, check=False)


def with_patience(is_done: Callable[[], object], seconds: float = SECONDS_TO_END) -> bool:
    end = time.monotonic() + seconds
    while not is_done():
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


def until(is_done: Callable[[], object], what: str) -> None:
    """Wait until something is the case; `RuntimeError` if it is not for long."""
    if not with_patience(is_done, SECONDS_TO_START):
        raise RuntimeError(f"Slurm: {what} not there after {SECONDS_TO_START:g} s")
