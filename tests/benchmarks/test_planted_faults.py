import planted_faults


def becomes(text):
    return [fault.becomes for fault in planted_faults.faults("a.py", text)]


def test_each_kind_of_fault():
    assert becomes("é = a < b") == ["é = (a <= b)"]
    assert becomes("x = a and b") == ["x = (a or b)"]
    assert becomes("x = not a") == ["x = (a)"]
    assert sorted(becomes("x = a - 1")) == ["x = (a + 1)", "x = a - (2)"]
    assert becomes("x = True") == ["x = (False)"]
    assert becomes("x = a if b else c") == ["x = (c if b else a)"]
    assert becomes("if a:\n    go()") == ["    pass"]
    assert becomes("x = 'text' * y") == []


def test_a_test_by_the_name_that_pytest_has_for_it():
    name = "tests.benchmarks.test_planted_faults.test_each_kind_of_fault"
    assert planted_faults.node_of(name) == "tests/benchmarks/test_planted_faults.py::test_each_kind_of_fault"
    assert planted_faults.node_of("no.such.test") is None
