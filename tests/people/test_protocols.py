"""Which objects are held out when, and who can know their codes."""

from ecsuite.people.codes import make_schedule


def test_published_holds_out_the_next_locked_objects():
    schedule = make_schedule("published", "synth", 0)
    assert schedule.order == tuple(range(9)) and schedule.held_out == {29: 0, 39: 1, 49: 2}
