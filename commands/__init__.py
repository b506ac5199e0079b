"""The commands, a file each: parse, call one function, print."""
