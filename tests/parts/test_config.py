from ecsuite.runtime.errors import look_up, unknown_name


def test_unknown_names_far_from_any_get_no_suggestion():
    assert str(unknown_name("colour", "xyz", ["red", "blue"])) == "unknown colour 'xyz'; choices: red, blue"
    assert look_up("colour", "red", {"red": 1}) == 1
