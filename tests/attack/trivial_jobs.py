"""A job that takes no time, and writes a line to a file each time that it is computed."""

import os

from ecsuite.jobs.job import job_function

LOG = "ECSUITE_TEST_LOG"
"""Variable with the name of the file."""


@job_function(version=1)
def double(*, number: int, context) -> int:
    with open(os.environ[LOG], "a") as file:
        file.write(f"{number}\n")
    return 2 * number
