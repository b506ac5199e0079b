"""Time that is left of some work, estimated in one way for trainings, sweeps, plays of rounds and benchmarks."""

from collections import deque


class TimeLeft:
    """Time that is left of some work, from its speed of late.

    The speed is that of the last half of what was done, and of the last minute at most: the first steps of a training,
    which also compile, count no more as soon as twice as much was done. Before a share of the work was done, nothing
    is known.

    Args:
        total: The whole work, in any unit.
    """

    LEAST_SHARE = 0.05
    """Share of the work that was to be done at first, before which nothing is said."""
    WINDOW = 60.0
    """Seconds of which the speed is taken at most."""
    BETWEEN = 0.5
    """Most seconds between two samples, if there is something to take."""
    SAMPLES = 400
    """Samples that are taken even of work of a moment."""

    def __init__(self, total: float) -> None:
        self.total = total
        self.began = 0.0
        self.samples: deque[tuple[float, float]] = deque()

    def add(self, now: float, done: float) -> None:
        """Take how much is done at a time in seconds."""
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
        """Seconds until all is done; None as long as too little was."""
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
        """Text such as `1:05 left` or `2 h 05 min left`; empty as long as too little was done."""
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
    """A duration, rounded as an estimate is: `10 s`, `3 min`, `2.5 h`."""
    if seconds < 55:
        return f"{max(5, round(seconds / 5) * 5)} s"
    return f"{max(1, round(seconds / 60))} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
