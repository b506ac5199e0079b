"""The commands, one module each: parse, call one function, print."""
