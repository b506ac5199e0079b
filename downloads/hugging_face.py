"""Requests to the Hugging Face hub, with errors in one line each.

Messages of the library and the server are replaced by their meaning, since addresses of uploads contain signatures.
"""

import errno
import logging
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ecsuite.runtime.errors import ConfigError, missing_extra

HUB = "huggingface.co"
LOGIN = "log in with `hf auth login`, or set HF_TOKEN"
"""Advice for requests without a login."""
AGAIN = "run the same command again to go on"
"""Advice after an error of the network or the hub."""
MESSAGE_LENGTH = 240
"""Maximum length of an error of the library `datasets`, which lists hundreds of configs if one is missing."""
_MEANINGS = {
    401: f"the hub does not accept the login: {LOGIN}",
    403: "the hub does not allow it with this login: use a token of the owner or a member with this permission",
    409: f"the repository was changed by someone else meanwhile: {AGAIN}",
    412: f"the repository was changed by someone else meanwhile: {AGAIN}",
    413: "it is too large for one commit on the hub",
    429: "the hub has had too many requests of this login: wait some minutes, then run the same command again",
}
"""Meaning of the hub's responses, by status."""


@contextmanager
def asking_hub(what: str, *, revision: str = "main", advice: str = "") -> Iterator[None]:
    """Report errors of the hub, the network, the disk and the cache in one line; warnings are suppressed.

    Args:
        what: The requested item, at the beginning of error messages.
        revision: Revision of the repository.
        advice: Further advice, a sentence at the end of error messages.

    Raises:
        ConfigError: For each such error.
    """
    try:
        import huggingface_hub.errors  # noqa: F401, older ones have none
    except ImportError:
        raise missing_extra("the Hugging Face hub needs a newer `huggingface_hub`", "data") from None
    try:
        with quiet():
            yield
    except ConfigError:
        raise
    except Exception as error:  # of huggingface_hub, of its HTTP library or of its storage, by version
        meaning = _meaning(error, revision)
        if meaning is None:
            raise
        raise ConfigError(f"{what}: {meaning}{advice and '. '}{advice}") from None


def _meaning(error: BaseException | None, revision: str) -> str | None:
    """Explain an error or its cause to users; None if it is not an error of the hub."""
    from huggingface_hub import errors

    if error is None:
        return None
    if isinstance(error, errors.RevisionNotFoundError):
        return f"there is no revision {revision} in it"
    if isinstance(error, errors.GatedRepoError):
        return "access is restricted: request it on its page with this login"
    if isinstance(error, errors.RepositoryNotFoundError):
        return f"there is no such repository, or it is private and this login may not read it: {LOGIN}"
    if isinstance(error, errors.EntryNotFoundError) and not isinstance(error, errors.LocalEntryNotFoundError):
        return f"there is no such file in revision {revision}"
    if isinstance(error, errors.OfflineModeIsEnabled):
        return "HF_HUB_OFFLINE is set, so the hub is not used"
    if isinstance(error, errors.HfHubHTTPError) and (status := _status(error)):
        return _MEANINGS.get(status, f"the hub answered {status}: {AGAIN}")
    cause = _meaning(error.__cause__, revision)
    if cause is not None:
        return cause
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return f"the disk is full ({error.strerror}): free some space, then run the same command again"
    if isinstance(error, OSError) and error.errno in (errno.EACCES, errno.EROFS, errno.EPERM):
        return f"cannot be written here ({error.strerror}): choose another folder"
    module = type(error).__module__.partition(".")[0]
    if isinstance(error, OSError) or module in ("huggingface_hub", "httpx", "httpx2", "requests", "hf_xet"):
        return f"the connection to the hub failed ({type(error).__name__}): {AGAIN}"
    if isinstance(
        error, RuntimeError | ValueError | LookupError | TypeError
    ):  # of faults in uploads and answers
        return f"the hub's answer was not understood ({type(error).__name__}): {AGAIN}"
    return None


def _status(error: Any) -> int | None:
    return getattr(getattr(error, "response", None), "status_code", None)


def summary(error: BaseException) -> str:
    """Type and text of an error, truncated."""
    text = textwrap.shorten(str(error), MESSAGE_LENGTH, placeholder=" …")
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


@contextmanager
def quiet() -> Iterator[None]:
    """Suppress warnings and progress of the library, whose retries end in one error with the same content."""
    from huggingface_hub.utils import (
        are_progress_bars_disabled,
        disable_progress_bars,
        enable_progress_bars,
    )
    from huggingface_hub.utils import logging as verbosity

    level, shows = verbosity.get_verbosity(), not are_progress_bars_disabled()
    verbosity.set_verbosity(logging.ERROR)
    if shows:
        disable_progress_bars()
    try:
        yield
    finally:
        verbosity.set_verbosity(level)
        if shows:
            enable_progress_bars()
