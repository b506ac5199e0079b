"""Output of commands: progress with the remaining time, JSON, output files."""

from ecsuite.eval.views import console as reporting
from ecsuite.eval.views.console import Reporter


def test_progress_estimates_from_where_the_work_began(monkeypatch, capsys):
    """The remaining time of a resumed run is estimated from its own steps only, after 5 % of these."""
    clock = iter(range(0, 1000, 20))
    monkeypatch.setattr(reporting.time, "monotonic", lambda: next(clock))
    with Reporter() as reporter:
        for done in (900, 902, 910):
            reporter.progress("epoch 10/10", done, 1000)
        reporter.progress("other work", 1, 4)
        reporter.progress("other work", 2, 4)
        reporter.note("a note")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == [
        " 90%  epoch 10/10",
        " 91%  3:45 left  epoch 10/10",
        " 50%  0:40 left  other work",
        "a note",
    ]
