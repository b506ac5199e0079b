"""Defects of published programs, measured: both ways on the same data; `docs/peers.md` has the table."""
