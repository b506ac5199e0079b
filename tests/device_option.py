"""`pytest --device cpu|pretended|cuda`: the device of the tests that are marked with it.

`@pytest.mark.device`: the test runs on that device, which is what `--device auto` chooses there. It gets the log of the
pretended device, None on others, from the fixture `device_log`.
`@pytest.mark.device("pretended", "cuda")`: it runs only there.
`@pytest.mark.device("pretended", is_open=False)`: it opens the pretended device by itself, with settings of its own.
"""

import pytest

from pretended_cuda.chosen import DEVICE, MISSING


def pytest_addoption(parser):
    choices, purpose = ("cpu", "pretended", "cuda"), "device of the tests that are marked with `device`"
    parser.addoption("--device", choices=choices, default="cpu", help=purpose)
    parser.addoption("--everywhere", action="store_true", help="every test is marked with `device`")


def pytest_collection_modifyitems(config, items):
    """Tests that cannot run on the chosen device are skipped, and say why."""
    for item in items:
        marker = item.get_closest_marker("device")
        if marker is None and config.option.everywhere:
            item.add_marker("device")
        if marker is not None and marker.args and DEVICE not in marker.args:
            item.add_marker(pytest.mark.skip(reason=f"run by `pytest --device {marker.args[0]} -m device`"))
        elif MISSING is not None and item.get_closest_marker("device") is not None:
            item.add_marker(pytest.mark.skip(reason=MISSING))


@pytest.fixture(autouse=True)
def device_log(request):
    """The log of the pretended device on which the test runs; None on another device."""
    marker = request.node.get_closest_marker("device")
    if marker is None or not marker.kwargs.get("is_open", True) or DEVICE != "pretended":
        yield None
        return
    from pretended_cuda.device import pretended

    with pretended() as log:
        yield log
