from pathlib import Path

import pytest
import torch

from ecsuite.files.checksums import require_unchanged, require_unchanged_text, sealed, sealed_text
from ecsuite.files.tensor_files import optimizer_tensors, read_tensors, restore_optimizer, write_tensors
from ecsuite.runtime.errors import DamagedError

FILE = Path("runs/a/config.yaml")
DATA = {"b": (1, 2), "a": {"y": None, "x": 1}}
TENSORS = {"a": torch.arange(6).reshape(2, 3), "b": torch.tensor(0.5), "c": torch.rand(3, 2).T}


def test_other_values_are_noticed_and_another_order_is_not():
    require_unchanged({**dict(reversed(sealed(DATA).items())), "a": {"x": 1, "y": None}}, FILE)
    for change in ({"a": {"y": None, "x": 2}}, {"c": 1}, {"b": [2, 1]}):
        with pytest.raises(DamagedError, match="damaged or edited"):
            require_unchanged({**sealed(DATA), **change}, FILE)


def test_an_edited_text_is_noticed():
    text = sealed_text(b"a: 1\n")
    require_unchanged_text(text, FILE)
    for edited in (text.replace(b"a: 1", b"a: 2"), text + b"b: 2\n", b"b: 2\n" + text):
        with pytest.raises(DamagedError, match="damaged or edited"):
            require_unchanged_text(edited, FILE)
        require_unchanged_text(sealed_text(edited), FILE)


def test_tensors_are_read_as_written_and_every_changed_byte_is_noticed(tmp_path):
    write_tensors(tmp_path / "x", TENSORS, {"n": [1, None, "é"], "m": 2})
    write_tensors(tmp_path / "y", dict(reversed(TENSORS.items())), {"m": 2, "n": [1, None, "é"]})
    tensors, values = read_tensors(tmp_path / "x")
    assert values == {"n": [1, None, "é"], "m": 2} and tensors.keys() == TENSORS.keys()
    assert all(torch.equal(tensor, TENSORS[name]) for name, tensor in tensors.items())
    data = (tmp_path / "x").read_bytes()
    assert data == (tmp_path / "y").read_bytes()
    for place in range(0, len(data), 5):
        (tmp_path / "x").write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        with pytest.raises(DamagedError):
            read_tensors(tmp_path / "x")


def test_an_optimizer_goes_on_where_it_was():
    def updated(num_updates, restored=None):
        torch.manual_seed(0)
        weight = torch.nn.Parameter(torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last))
        optimizer = torch.optim.AdamW([weight], fused=True)
        if restored is not None:
            weight.data.copy_(restored[0])
            restore_optimizer(optimizer, restored[1])
        for _ in range(num_updates):
            optimizer.zero_grad()
            (weight.sin().sum() ** 2).backward()
            optimizer.step()
        state = {name: tensor.clone().contiguous() for name, tensor in optimizer_tensors(optimizer).items()}
        return weight.detach().clone(), state

    assert torch.equal(updated(3, restored=updated(2))[0], updated(5)[0])
