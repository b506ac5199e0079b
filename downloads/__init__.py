"""Data sets from the network: streamed, whole or not there, recorded, never made twice."""
