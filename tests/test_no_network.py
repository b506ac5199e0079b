import errno
import socket
from pathlib import Path

import pytest

COMMANDS = (
    "list", "train-game game.yaml --device cpu --epochs 1 --out run",
    "train-game naming --set training.num_examples=40 --set play.participant=language_model --out rounds",
    "score finished --metrics topsim,cbm", "score finished --metrics xferbench,preset=nano --device cpu --plan",
    "icy icy_study.yaml --seeds 1 --workers 1", "sweep sweep.yaml --on here --device cpu --out sweep",
    "translate finished --pairs inputs/pairs.tsv --preset nano --device cpu --plan",
    "xtreme finished --tasks udpos --data inputs/tasks --languages de --preset nano --device cpu --plan",
    "report finished --out page.html", "show finished",
)  # fmt: skip
SWEEP = "base: game.yaml\nvary: {channel.vocab_size: [4]}\nseeds: 1\nset: {training.num_epochs: 1}\nscore: [topsim]\n"


@pytest.fixture
def asked(monkeypatch):
    """What was asked of the network, all of which is refused; other processes of this machine may be spoken to."""
    found = []
    connect = socket.socket.connect

    def refused(self, address):
        if self.family == getattr(socket, "AF_UNIX", None):
            return connect(self, address)
        found.append(address)
        raise OSError(errno.ENETUNREACH, "the test refuses it")

    def unknown(host, *rest, **options):
        found.append(host)
        raise socket.gaierror(socket.EAI_AGAIN, "the test refuses it")

    monkeypatch.setattr(socket.socket, "connect", refused)
    monkeypatch.setattr(socket.socket, "connect_ex", refused)
    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    return found


@pytest.mark.sample(6)
@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_is_asked_unasked(ecsuite, small_files, asked, command):
    Path("sweep.yaml").write_text(SWEEP)
    code, _, err = ecsuite(*command.split())
    assert (code, asked) == (0, []), err


def test_a_download_asks(ecsuite, asked):
    code, _, err = ecsuite("data", "xtreme", "--tasks", "udpos", "--out", "here")
    assert code == 2 and asked and err.count("\n") <= 3
