"""What the metadata of corpora call those who speak in them."""

from ecsuite.people.study import Study

GRAMMAR = "a grammar"
"""A first language, which nobody typed."""
PARTICIPANTS = ("a participant", "participants")
"""People: one, and several."""


def speaker_of(study: Study, *, are_several: bool = False) -> str:
    """What the participants of a study are called: programs are no people."""
    if not study.simulated:
        return PARTICIPANTS[are_several]
    return "simulated participants" if are_several else "a simulated participant"
