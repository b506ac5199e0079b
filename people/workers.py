"""The IDs that platforms give those who take part."""

import hmac
from collections.abc import Callable, Mapping

from ecsuite.people.errors import RefusedError
from ecsuite.people.study import Study

CASES: Mapping[str, Callable[[str], str]] = {"none": str, "prolific": str.lower, "mturk": str.upper}
"""By platform, how it writes its IDs."""


def stored_worker(study: Study, secret: bytes, worker: str) -> str | None:
    """An ID as it is stored: without spaces around it, in the case in which its platform writes it.

    Args:
        study: The study.
        secret: The study's secret, with which IDs are hashed.
        worker: The ID of a link.

    Returns:
        None where none is given or stored.

    Raises:
        RefusedError: If the study is for workers of a platform, none of whose IDs this can be.
    """
    worker = CASES[study.platform](worker.strip())
    if study.platform != "none" and not (worker.isascii() and worker.isalnum()):
        raise RefusedError("This link does not say who you are. Open the study from the platform.")
    if not worker or study.worker_ids == "none":
        return None
    if study.worker_ids == "plain":
        return worker
    return hmac.new(secret, b"worker" + worker.encode(), "sha256").hexdigest()
