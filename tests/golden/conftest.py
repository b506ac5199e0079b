"""The golden tests and the scripts beside them import the same files by the same names."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
