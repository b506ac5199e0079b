"""What is asked of the Hugging Face hub, and its errors in one line each."""

import errno
import logging
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager

from ecsuite.runtime.errors import ConfigError, missing_extra

HUB = "huggingface.co"
MESSAGE_LENGTH = 240
"""Maximum length of an error of the hub, which lists hundreds of configs if one is missing."""


@contextmanager
def asking_hub(what: str, offline_advice: str) -> Iterator[None]:
    """Errors of the hub, of its libraries and of their cache are told in one line; their warnings are not shown.

    Args:
        what: What is asked for, at the beginning of error messages.
        offline_advice: Advice for users without a network, at the end of error messages.

    Raises:
        ConfigError: If the hub cannot be reached and the cache has not everything, or there is no such data set,
            revision or file, or no room for it.
    """
    try:
        from huggingface_hub.errors import (
            EntryNotFoundError,
            LocalEntryNotFoundError,
            RepositoryNotFoundError,
            RevisionNotFoundError,
        )
    except ImportError:
        raise missing_extra("downloading needs a newer `huggingface_hub`", "data") from None
    try:
        with quiet():
            yield
    except LocalEntryNotFoundError as error:  # also is a FileNotFoundError, of the cache
        raise ConfigError(
            f"{what}: {HUB} cannot be reached ({summary(error.__cause__ or error)}). {offline_advice}"
        ) from error
    except (
        EntryNotFoundError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
        ValueError,
        FileNotFoundError,
    ) as error:
        raise ConfigError(f"{HUB} does not have {what}: {summary(error)}") from error
    except Exception as error:  # the type of a network error differs between versions of the libraries
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise ConfigError(
                f"{what}: no room in the cache of {HUB} ({summary(error)}); finished files are kept: make room, or set "
                "HF_HOME to a folder with more, then run the same command again"
            ) from error
        raise ConfigError(f"{what}: {HUB} cannot be reached ({summary(error)}). {offline_advice}") from error


def summary(error: BaseException) -> str:
    """The kind and the text of an error, cut where it is long."""
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
