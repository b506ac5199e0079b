import sys
from types import SimpleNamespace

import pytest

ARTICLES = {"da": ["Æble\n\nEt æble er en frugt.", "", 'Sne "og" is'], "eu": ["Sagarra", "Elurra", "Izotza"]}


class Hub:
    """Replaces the library `datasets`; rows by config, what was asked for, how many rows were read, and faults."""

    def __init__(self):
        self.rows = {f"20231101.{code}": [{"text": text} for text in texts] for code, texts in ARTICLES.items()}
        self.asked, self.num_read, self.faults = [], 0, {}

    def load_dataset(self, path, name, *, revision, split, streaming):
        assert (split, streaming) == ("train", True)
        self.asked.append((path, name, revision))
        if None in self.faults:
            raise self.faults[None]
        if name not in self.rows:
            raise ValueError(f"BuilderConfig '{name}' not found. Available: {list(range(300))}")
        return self.read(name)

    def read(self, name):
        for number, row in enumerate(self.rows[name]):
            if number in self.faults:
                raise self.faults[number]
            self.num_read += 1
            yield row


@pytest.fixture
def hub(monkeypatch):
    hub = Hub()
    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=hub.load_dataset))
    return hub
