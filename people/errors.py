"""What a participant is told where an action is not done."""


class RefusedError(Exception):
    """An action that is not done; the message is for the participant."""
