"""The public interface of huggingface_hub, and its errors in one line.

The login is the library's own (`hf auth login`, or HF_TOKEN): nothing here takes a token, keeps one or shows one. What
the library and the server say is not passed on, since addresses of uploads hold signatures; only what it means is.
"""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ecsuite.downloads.hugging_face import quiet
from ecsuite.runtime.errors import ConfigError, missing_extra

if TYPE_CHECKING:
    from huggingface_hub import HfApi

    from ecsuite.hub.address import Address

LOGIN = "log in with `hf auth login`, or set HF_TOKEN"
"""What to do where the hub does not know who asks."""
AGAIN = "run the same command again to go on"
"""What to do where the network or the hub failed."""
_MEANINGS = {
    401: f"the hub does not accept the login: {LOGIN}",
    403: "the hub does not allow that to this login: expected a token that may, of the owner or a member",
    409: f"the repository was changed by someone else meanwhile: {AGAIN}",
    412: f"the repository was changed by someone else meanwhile: {AGAIN}",
    413: "the hub says that it is too large for one commit",
    429: "the hub has had too many requests of this login: wait some minutes, then run the same command again",
}
"""What the hub's answers mean, by their status."""


def hub() -> "HfApi":
    """The client of the hub that HF_ENDPOINT names, huggingface.co without it.

    Raises:
        ConfigError: If huggingface_hub is not installed.
    """
    try:
        from huggingface_hub import HfApi
    except ImportError:
        raise missing_extra("the Hugging Face hub needs huggingface_hub", "hub") from None
    return HfApi(library_name="ecsuite")


def require_login() -> None:
    """Refuse what needs a login before anything is sent.

    Raises:
        ConfigError: If there is none.
    """
    from huggingface_hub import get_token

    if get_token() is None:
        raise ConfigError(f"no login on the Hugging Face hub: {LOGIN}")


@contextmanager
def asking(address: "Address", what: str) -> Iterator[None]:
    """Tell errors of the hub, of the network and of the disk in one line.

    Args:
        address: What is asked for.
        what: What is done, such as `can't be read`.

    Raises:
        ConfigError: For each of them.
    """
    try:
        with quiet():
            yield
    except ConfigError:
        raise
    except Exception as error:  # of huggingface_hub, of its HTTP library or of its storage, by version
        meaning = _meaning(error, address)
        if meaning is None:
            raise
        raise ConfigError(f"{address} {what}: {meaning}") from None


def _meaning(error: BaseException | None, address: "Address") -> str | None:
    """What an error means for users, found in it or in what caused it; None if it is none of the hub's."""
    from huggingface_hub import errors

    if error is None:
        return None
    if isinstance(error, errors.RevisionNotFoundError):
        return f"there is no revision {address.revision or 'main'} in it"
    if isinstance(error, errors.GatedRepoError):
        return "access to it is granted on its page, where this login has to ask for it"
    if isinstance(error, errors.RepositoryNotFoundError):
        return f"there is no such repository, or it is private and this login may not read it: {LOGIN}"
    if isinstance(error, errors.OfflineModeIsEnabled):
        return "HF_HUB_OFFLINE is set, so nothing is asked from the hub"
    if isinstance(error, errors.HfHubHTTPError) and (status := _status(error)):
        return _MEANINGS.get(status, f"the hub answered {status}: {AGAIN}")
    cause = _meaning(error.__cause__, address)
    if cause is not None:
        return cause
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return f"no room on the disk ({error.strerror}): make room, then run the same command again"
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
    """The status of the answer that an error is about."""
    return getattr(getattr(error, "response", None), "status_code", None)
