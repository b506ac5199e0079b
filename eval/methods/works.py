"""The works behind what is at a path, by the names that rest on them."""

from collections.abc import Iterator
from pathlib import Path

from ecsuite.eval.methods.prose import cited
from ecsuite.eval.methods.studies import study_paragraphs
from ecsuite.eval.results.reading import sources_at
from ecsuite.eval.results.sources import CONFIG, METADATA
from ecsuite.eval.views.citations import names_in_run

PARTS = (".kind", ".cell", ".prompt")
"""How the settings end whose values are names of parts."""


def names_at(place: Path) -> Iterator[str]:
    """What runs, sweeps, corpora and files of scores rest on: names of games, parts and metrics; of studies, works.

    Raises:
        ConfigError: If there are none, or a file can't be read.
        DamagedError: If a kept file was changed.
    """
    if (of_study := study_paragraphs(place)) is not None:
        yield from cited(of_study)
        return
    if place.is_dir() and any((place / name).is_file() for name in (CONFIG, METADATA)):
        yield from names_in_run(place)
        return
    for source in sources_at(place):
        folder = source.folder
        if folder is not None and any((folder / name).is_file() for name in (CONFIG, METADATA)):
            yield from names_in_run(folder)
        if source.game is not None:
            yield source.game
        yield from (str(value) for key, value in source.settings.items() if key.endswith(PARTS))
        yield from (record.score for record in source.records if not record.is_measure)
