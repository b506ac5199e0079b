"""A world of colours from a formula, with held-out values and nearest distractors as in all lists of objects."""

import numpy as np

from ecsuite.games.worlds.object_worlds import ObjectListOptions, ObjectListWorld
from ecsuite.games.worlds.objects import ObjectList


class ColourWorld(ObjectListWorld):
    """World of 27 colours; agents see the shares of red, green and blue."""

    Options = ObjectListOptions
    data_files = ()  # no option names a file
    source = "colours"

    def read(self, source, trained):
        """Make the list of objects."""
        levels = np.indices((3, 3, 3)).reshape(3, -1).T  # (27, 3)
        return ObjectList(
            source=source,
            table=(levels / 2).astype(np.float32),
            values_table=levels,
            names=[tuple(f"{hue}={level}" for level in range(3)) for hue in ("red", "green", "blue")],
            rows=np.arange(len(levels)),
        )
