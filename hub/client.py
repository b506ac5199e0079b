"""The public interface of huggingface_hub.

The login is the library's own (`hf auth login`, or HF_TOKEN): nothing here takes a token, keeps one or shows one.
"""

from typing import TYPE_CHECKING

from ecsuite.downloads.hugging_face import LOGIN
from ecsuite.runtime.errors import ConfigError, missing_extra

if TYPE_CHECKING:
    from huggingface_hub import HfApi


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
