"""Estimation of remaining time for trainings, sweeps, plays of rounds and benchmarks."""

from collections import deque


class TimeLeft:
    """Remaining time of some work, estimated from its recent speed.

    The speed is measured over the last half of the work done, and at most over the last minute: the first steps of a
    training, which include compilation, soon stop counting. Before a minimum share of the work is done, there is no
    estimate.

    Args:
        total: Total work, in any unit.
    """

    LEAST_SHARE = 0.05
    """Share of the initial work below which there is no estimate."""
    WINDOW = 60.0
    """Maximum time window of the speed, in seconds."""
    BETWEEN = 0.5
    """Maximum time between two samples, in seconds."""
    SAMPLES = 400
    """Number of samples taken regardless of their time."""

    def __init__(self, total: float) -> None:
        self.total = total
        self.began = 0.0
        self.samples: deque[tuple[float, float]] = deque()

    def add(self, now: float, done: float) -> None:
        """Record the work done at a time in seconds."""
        samples = self.samples
        if not samples:
            self.began = done
        if (
            not samples
            or now - samples[-1][0] >= self.BETWEEN
            or done - samples[-1][1] >= self.total / self.SAMPLES
        ):
            samples.append((now, done))
        while len(samples) > 2 and now - samples[1][0] >= self.WINDOW:
            samples.popleft()

    def seconds(self, now: float, done: float) -> float | None:
        """Remaining seconds; None before the first estimate."""
        began = self.began
        if not self.samples or done <= began or done - began < self.LEAST_SHARE * (self.total - began):
            return None
        since, before = self.samples[0]
        for time, before_then in self.samples:
            if before_then > began + (done - began) / 2:
                break
            since, before = time, before_then
        if done <= before:
            return None
        return max(0.0, (now - since) * (self.total - done) / (done - before))

    def text(self, now: float, done: float) -> str:
        """Text such as `1:05 left` or `2 h 05 min left`; empty before the first estimate."""
        found = self.seconds(now, done)
        if found is None:
            return ""
        minutes, seconds = divmod(round(found), 60)
        return (
            f"{minutes}:{seconds:02d} left"
            if minutes < 60
            else f"{minutes // 60} h {minutes % 60:02d} min left"
        )


def duration_text(seconds: float) -> str:
    """Format a duration, rounded like an estimate: `10 s`, `3 min`, `2 h 30 min`, `26 h`."""
    if seconds < 55:
        return f"{max(5, round(seconds / 5) * 5)} s"
    if seconds < 5400:
        return f"{max(1, round(seconds / 60))} min"
    hours, minutes = divmod(round(seconds / 300) * 5, 60)
    return f"{hours} h {minutes} min" if minutes and hours < 10 else f"{round(seconds / 3600)} h"
