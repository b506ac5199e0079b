"""The places that `--on` names, and their options."""

import pytest

from ecsuite.jobs.engines import place_of
from ecsuite.runtime.errors import ConfigError


@pytest.mark.parametrize(
    ("on", "said"),
    [
        *((on, f"--on {on}: expected here, local, local:N") for on in ("local:0", "local:x", "moon", "here:2")),
        ("local,slow=1", "unknown option of --on local 'slow'"),
        ("here,silent=3", "unknown option of --on here 'silent'"),
        ("local,silent=0", "silent=0: expected a number of at least 1"),
        ("local,silent=long", "silent=long: expected a number"),
        ("ray,cpu=2", "unknown option of --on ray 'cpu'; did you mean 'cpus'"),
        ("ray,cpus=many", "cpus=many: expected a number of at least 0"),
        ("ray,local", "expected KEY=VALUE, such as partition=low, got local"),
    ],
)  # fmt: skip
def test_wrong_places_are_told(on, said):
    with pytest.raises(ConfigError, match=said.replace("(", r"\(")):
        place_of(on)
