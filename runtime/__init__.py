"""The machine: devices, memory, random numbers, where results come from, and the errors that users see."""
