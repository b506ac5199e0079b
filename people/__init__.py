"""Web-based studies of how fast people learn languages of `grammars` or of trained agents.

Perkins (2021), "Neural networks can understand compositional functions that humans do not, in the context of
emergent communication", section 4.3 and appendix K.
"""
