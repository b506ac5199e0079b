"""`python -m ecsuite`: the command line, also for launchers such as torchrun."""

from ecsuite.cli import main

if __name__ == "__main__":
    main()
