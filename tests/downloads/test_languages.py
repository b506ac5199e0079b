"""The languages agree with the tasks and the paper."""
