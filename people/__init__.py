"""Studies with people, as web pages: how fast they learn the languages of `grammars`, and those that agents invented.

Perkins (2021), "Neural networks can understand compositional functions that humans do not, in the context of
emergent communication", section 4.3 and appendix K.
"""
