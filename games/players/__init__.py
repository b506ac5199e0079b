"""Speakers, listeners and pairs: schedules of meetings, learning of messages, and replacement of agents."""
