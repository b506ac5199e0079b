"""Metrics of a run, `(run, options) -> list[Score]`, which use its agents instead of a corpus of messages.

They are in the registry of metrics, and computed if named: `ecsuite score runs/a --metrics rsa`.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ecsuite.eval.metrics import find_metric
from ecsuite.games.runs.run_folder import RunFolder
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.printable import note

if TYPE_CHECKING:
    from ecsuite.games.runs.run import Run


def load_run_if_needed(
    path: Path, names: Sequence[str], *, trust_code: bool, is_whole: bool = True
) -> "Run | None":
    """Load the run of a corpus if a metric needs its agents.

    Metrics that can use agents or messages use the agents if `path` is a run folder, but not if it is a corpus file.

    Args:
        path: Path of the corpus.
        names: Names of metrics.
        trust_code: Whether foreign parts are imported.
        is_whole: Whether all messages are scored.

    Raises:
        ConfigError: If it does not belong to a run, or its run has no checkpoint.
        UntrustedError: If its config names foreign parts that are not trusted.
    """
    traits = {name: find_metric(name).shared for name in names}
    asking = [name for name, each in traits.items() if each.needs_agents]
    folder = path if path.is_dir() else path.parent
    if not asking:
        may_ask = is_whole and path.is_dir() and RunFolder(folder).is_run
        if not may_ask or not any(each.asks_agents for each in traits.values()):
            return None
    from ecsuite.games.runs.run import load_run

    if not RunFolder(folder).is_run:
        raise ConfigError(f"{path}: metric {asking[0]} needs the agents of a run: expected a run folder")
    run = load_run(folder, trust_code=trust_code, note=note)
    if not asking and not run.has_agents:
        return None
    run.pair  # noqa: B018 - loads the agents now, so that damaged files fail early
    return run
