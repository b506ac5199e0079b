"""The quiz before the game and the questions after it, of the protocol `balanced`."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """A question with choices, of which one is right; without choices, one with a free reply."""

    text: str
    """The question."""
    choices: tuple[str, ...] = ()
    """What can be chosen."""
    right: str = ""
    """The right choice, where there is one."""


QUIZ = {
    "what_matters": Question(
        text="What decides the code of a picture?",
        choices=("its colour and its shape", "its size", "how it is turned"),
        right="its colour and its shape",
    ),
    "where_codes": Question(
        text="Where can you look up the codes of objects that you have unlocked?",
        choices=("under Training", "nowhere", "in the debriefing"),
        right="under Training",
    ),
    "points": Question(
        text="You have five objects. How many points does a right answer give?",
        choices=("one", "four", "ten"),
        right="four",
    ),
}
"""By name."""
CHAIN_QUIZ = {
    "what_matters": QUIZ["what_matters"],
    "where_codes": Question(
        text="Where can you look up codes at the beginning?",
        choices=("under Training", "nowhere", "in the debriefing"),
        right="under Training",
    ),
    "test": Question(
        text="What will you do in the test?",
        choices=(
            "choose pictures",
            "type a code for every picture, also for new ones",
            "type only codes I have seen",
        ),
        right="type a code for every picture, also for new ones",
    ),
}
"""Of chains, by name."""
PAIR_QUIZ = {
    "what_matters": Question(
        text="By what do the objects differ?",
        choices=("their colour and their shape", "their size", "how they are turned"),
        right="their colour and their shape",
    ),
    "who_sees": Question(
        text="Who sees which object is meant?",
        choices=("the one who types", "the one who chooses", "both"),
        right="the one who types",
    ),
    "points": Question(
        text="When do you both get a point?",
        choices=("when the right object is chosen", "when a message is long", "after every round"),
        right="when the right object is chosen",
    ),
}
"""Of pairs, by name."""
QUESTIONS = {
    "strategy": Question(text="How did you work out codes that were not under Training?"),
    "rule": Question(text="If you found a rule in the codes, what is it?"),
    "notes": Question(text="Did you take notes?", choices=("no", "yes, a few", "yes, all codes")),
}
"""By name."""
