"""Defects of published programs, measured: both ways on the same data; `docs/evidence/peers.md` has the table."""
