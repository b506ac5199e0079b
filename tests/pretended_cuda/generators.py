"""Generators of the pretended device, which know their device and have streams of their own."""

from contextlib import contextmanager
from typing import ClassVar

import torch

CPUGenerator = torch._C.Generator


class _Generators(type(CPUGenerator)):
    def __instancecheck__(cls, instance):
        return isinstance(instance, CPUGenerator)


class Generator(CPUGenerator, metaclass=_Generators):
    """Takes the place of `torch.Generator`."""

    places: ClassVar[dict[int, torch.device]] = {}
    """Devices by the address of the generator, since operations are given another Python object for it."""

    def __new__(cls, device="cpu"):
        place = torch.device(device)
        made = CPUGenerator.__new__(cls) if place.type != "cpu" else CPUGenerator(place)
        if place.type != "cpu":
            cls.places[made._cdata] = torch.device(place.type, 0)
        return made

    def __init__(self, device="cpu"): ...

    def __del__(self):
        Generator.places.pop(self._cdata, None)

    @property
    def device(self):
        return Generator.places[self._cdata]

    def clone_state(self):
        clone = type(self)(self.device)
        clone.set_state(self.get_state())
        return clone

    def graphsafe_set_state(self, other):
        self.set_state(other.get_state())


def place_of(generator):
    return Generator.places.get(generator._cdata, torch.device("cpu"))


@contextmanager
def drawing_from(generator):
    """Let draws of torch's global generator on the CPU come from another one."""
    before = torch.default_generator.get_state()
    torch.default_generator.set_state(generator.get_state())
    try:
        yield
    finally:
        generator.set_state(torch.default_generator.get_state())
        torch.default_generator.set_state(before)
