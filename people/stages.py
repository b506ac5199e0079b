"""How far a participant is: the stages in their order, and those that end early.

The page of consent comes before, when nothing is stored.
"""

INSTRUCTIONS, QUIZ_STAGE, WAITING, GAME, QUESTIONS_STAGE, FINISHED = (
    "instructions",
    "quiz",
    "waiting",
    "game",
    "questions",
    "finished",
)
"""In their order; only who plays with another participant waits."""
LEFT, AWAY = "left", "away"
"""Of pairs that ended early: the partner of this participant has left; this one was away."""
