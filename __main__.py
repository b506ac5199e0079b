"""`python -m ecsuite`: the command line."""

from ecsuite.cli import main

if __name__ == "__main__":
    main()
