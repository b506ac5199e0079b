"""Files of tensors and values: what is read is what was written, or an error."""

import pytest
import torch

from ecsuite.files.tensor_files import optimizer_tensors, read_tensors, restore_optimizer, write_tensors
from ecsuite.runtime.errors import DamagedError

TENSORS = {"a": torch.arange(6).reshape(2, 3), "b": torch.tensor(0.5), "c": torch.rand(3, 2).T}


def test_what_is_written_is_read(tmp_path):
    write_tensors(tmp_path / "x", TENSORS, {"n": [1, None, "é"]})
    tensors, values = read_tensors(tmp_path / "x")
    assert values == {"n": [1, None, "é"]} and tensors.keys() == TENSORS.keys()
    assert all(torch.equal(tensor, TENSORS[name]) for name, tensor in tensors.items())


def test_equal_content_makes_equal_bytes(tmp_path):
    write_tensors(tmp_path / "x", TENSORS, {"n": 1, "m": 2})
    write_tensors(tmp_path / "y", dict(reversed(TENSORS.items())), {"m": 2, "n": 1})
    assert (tmp_path / "x").read_bytes() == (tmp_path / "y").read_bytes()


def test_every_changed_byte_is_noticed(tmp_path):
    write_tensors(tmp_path / "x", TENSORS, {"n": 1})
    data = (tmp_path / "x").read_bytes()
    for place in range(0, len(data), 5):
        (tmp_path / "x").write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        with pytest.raises(DamagedError):
            read_tensors(tmp_path / "x")


@pytest.mark.parametrize(("old", "new"), [(b"[2,3]", b"[3,2]"), (b'"a":', b'"d":'), (b'"I64"', b'"U64"')])
def test_other_names_shapes_and_types_are_noticed(tmp_path, old, new):
    write_tensors(tmp_path / "x", {"a": TENSORS["a"], "b": TENSORS["b"]}, {})
    data = (tmp_path / "x").read_bytes()
    assert data.count(old) == 1
    (tmp_path / "x").write_bytes(data.replace(old, new))
    with pytest.raises(DamagedError, match="its checksum does not match its content"):
        read_tensors(tmp_path / "x")


def test_a_tensor_by_two_names_is_there_twice(tmp_path):
    write_tensors(tmp_path / "x", {**TENSORS, "d": TENSORS["a"]}, {})
    assert torch.equal(read_tensors(tmp_path / "x")[0]["d"], TENSORS["a"])


def test_an_optimizer_goes_on_where_it_was():
    """Weights in another memory order have moments in that order."""

    def updated(num_updates, restored=None):
        torch.manual_seed(0)
        weight = torch.nn.Parameter(torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last))
        optimizer = torch.optim.AdamW([weight], fused=True)
        if restored is not None:
            saved_weight, state = restored
            with torch.no_grad():
                weight.copy_(saved_weight)
            restore_optimizer(optimizer, state)
        for _ in range(num_updates):
            optimizer.zero_grad()
            (weight.sin().sum() ** 2).backward()
            optimizer.step()
        state = {name: tensor.clone().contiguous() for name, tensor in optimizer_tensors(optimizer).items()}
        return weight.detach().clone(), state

    assert torch.equal(updated(3, restored=updated(2))[0], updated(5)[0])
