"""The places that `--on` names, and their options."""

import pytest

from ecsuite.jobs.engines import place_of
from ecsuite.jobs.ray import RayOptions
from ecsuite.runtime.errors import ConfigError


def test_places():
    assert place_of("here").num_workers == 1 and place_of("local:3").num_workers == 3
    assert place_of("local").num_workers is None and place_of("slurm", "partition=low").launcher is not None
    assert place_of("local:2,silent=5").seconds_silent == 300 and place_of("slurm").seconds_silent == 1800
    ray = place_of("ray,address=head:6379,cpus=2,gpus=0.5,silent=60")
    assert ray.launcher.keywords["cluster"].options == RayOptions(address="head:6379", cpus=2, gpus=0.5)
    assert ray.seconds_silent == 3600


@pytest.mark.parametrize(
    ("on", "said"),
    [
        *(
            (on, f"--on {on}: expected here, local, local:N")
            for on in ("local:0", "local:x", "moon", "here:2")
        ),
        ("local,slow=1", "unknown option of --on local 'slow'"),
        ("here,silent=3", "unknown option of --on here 'silent'"),
        ("local,silent=0", "silent=0: expected a number of at least 1"),
        ("local,silent=long", "silent=long: expected a number"),
        ("ray,cpu=2", "unknown option of --on ray 'cpu'; did you mean 'cpus'"),
        ("ray,cpus=many", "cpus=many: expected a number of at least 0"),
        ("ray,local", "expected KEY=VALUE, such as partition=low, got local"),
    ],
)
def test_wrong_places_are_told(on, said):
    with pytest.raises(ConfigError, match=said.replace("(", r"\(")):
        place_of(on)


def test_options_of_slurm_are_read_by_slurm_alone():
    with pytest.raises(ConfigError, match="--slurm: not read by --on local; read by --on slurm"):
        place_of("local", "partition=low")
