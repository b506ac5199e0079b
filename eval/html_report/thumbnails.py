"""Small pictures of objects for the message browser, embedded into the page."""

import base64
from collections.abc import Sequence
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecsuite.corpus import Corpus
from ecsuite.eval.results.sources import Source
from ecsuite.games.corpus_pictures import DRAWN, LISTED, corpus_pictures
from ecsuite.runtime.errors import ConfigError, missing_extra

BUDGET = 1_200_000
"""Most characters of all pictures of a page."""
MOST = 1_000
"""Most pictures of a corpus that are made."""
QUALITY = 80
"""Of WebP, up to 100."""


def has_pictures(source: Source) -> bool:
    """Whether what it is about can be shown as pictures."""
    return (
        source.is_run and source.folder is not None and source.config.get("world.kind") in (*LISTED, *DRAWN)
    )


def thumbnails(
    source: Source, corpus: Corpus, rows: Sequence[int], budget: int
) -> tuple[list[list[str]], list[int]]:
    """Pictures of some rows of a corpus, most important first, within so many characters.

    Returns:
        The different pictures, each as an address that holds it and as words; and that of each row by its place among
        them, for as many rows as fit, -1 where there is none.

    Raises:
        ConfigError: If Pillow is not installed, or the pictures can't be made.
    """
    assert source.folder is not None
    found = corpus_pictures(source.folder, corpus, rows[:MOST])
    places: dict[tuple[str, str], int] = {}
    of_row: list[int] = []
    size = 0
    for row in rows[:MOST]:
        if row not in found:
            of_row.append(-1)
            continue
        pixels, about = found[row]
        picture = (_address(pixels), about)
        if picture not in places:
            size += sum(map(len, picture)) + 8
            if size > budget:
                break
        of_row.append(places.setdefault(picture, len(places)))
    return [list(picture) for picture in places], of_row


def _address(pixels: NDArray[np.uint8]) -> str:
    """Pixels, (height, width, 3), as WebP in a `data:` address."""
    try:
        from PIL import Image
    except ImportError:
        raise missing_extra("pictures of objects need pillow", "images") from None
    buffer = BytesIO()
    Image.fromarray(pixels).save(buffer, format="WEBP", quality=QUALITY, method=4)
    return f"data:image/webp;base64,{base64.b64encode(buffer.getvalue()).decode()}"


def add_thumbnails(
    data: dict[str, Any], source: Source, corpus: Corpus, rows: Sequence[int], budget: int
) -> str | None:
    """Add pictures of rows to the data of a corpus; a note if there are none, though its world has images."""
    data["pictures"], data["picture_of_row"] = [], []
    if not has_pictures(source):
        return None
    try:
        data["pictures"], data["picture_of_row"] = thumbnails(source, corpus, rows, budget)
    except (ConfigError, OSError) as error:
        return f"{source.title}: no pictures of its objects: {error}"
    return None
