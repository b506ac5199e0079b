"""Models that cannot be trained here are refused in one line, before their training begins."""

from ecsuite.eval.models import training

SCORE = "score perm --metrics xferbench,preset=nano --device cpu --workers 1 --cache kept"


def test_too_little_memory(ecsuite, small_files, monkeypatch):
    monkeypatch.setattr(training, "free_memory", lambda: 2048)
    code, out, err = ecsuite(*SCORE.split())
    line = err.splitlines()[-1]
    assert (code, out) == (2, "") and "weights needs at least" in line
    assert line.endswith("2.0 KiB are free: choose a smaller --preset, or fewer processes by --workers")
