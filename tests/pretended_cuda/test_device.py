import pytest
import torch

pytestmark = pytest.mark.device("pretended", is_open=False)


@pytest.fixture
def open_device():
    from pretended_cuda.device import pretended

    return pretended


def test_tensors_hold_numbers_and_say_where_they_are(open_device):
    with open_device() as log:
        left = torch.arange(6.0, device="cuda").view(2, 3)
        assert left.is_cuda and str(left.device) == "cuda:0"
        product = (left @ left.t()).cpu()
        assert type(product) is torch.Tensor and product.tolist() == [[5.0, 14.0], [14.0, 50.0]]
        assert torch.get_device_module("cuda").is_available()
    assert sum(log.syncs.values()) == 1 and [what for what, _ in log.syncs] == ["copy to the CPU"]
    assert not torch.cuda.is_available()


@pytest.mark.parametrize(
    ("operation", "error"),
    [
        (lambda: torch.zeros(3, device="cuda") + torch.zeros(3), "found at least two devices, cuda:0 and cpu"),
        (lambda: torch.zeros(3, device="cuda").numpy(), "can't convert cuda:0 device type tensor to numpy"),
        (lambda: torch.zeros(3, device="cuda").normal_(generator=torch.Generator()), "but found 'cpu'"),
        (lambda: torch.ones(2, 2, device="cuda").long() @ torch.ones(2, 2, device="cuda").long(), "not implemented"),
    ],
    ids=["two devices", "numpy", "generator", "product of integers"],
)  # fmt: skip
def test_what_cuda_refuses_is_refused(open_device, operation, error):
    with open_device(), pytest.raises((RuntimeError, TypeError), match=error):
        operation()


def test_numbers_and_indices_of_the_processor_are_taken(open_device):
    with open_device() as log:
        vectors = torch.arange(4.0, device="cuda")
        assert (vectors * torch.tensor(2.0))[torch.tensor([1, 3])].sum().item() == 8.0
    assert sorted(what for what, _ in log.syncs) == ["_local_scalar_dense", "copy of indices to the device"]


def test_training_moves_parameters_and_keeps_them_the_same_objects(open_device):
    with open_device() as log:
        model = torch.nn.Linear(3, 1)
        weight, before = model.weight, model.weight.detach().clone()
        model.to("cuda")
        assert model.weight is weight and weight.is_cuda and weight.requires_grad
        optimizer = torch.optim.Adam(model.parameters(), fused=True)
        model(torch.ones(2, 3, device="cuda")).sum().backward()
        optimizer.step()
        assert not torch.equal(weight.detach().cpu(), before)
    assert any(where == "the backward pass" for where in log.launches)


def test_the_device_has_a_stream_of_random_numbers_of_its_own(open_device):
    with open_device() as log:
        torch.manual_seed(1)
        expected = torch.rand(2)
        torch.manual_seed(1)
        drawn = torch.rand(2, device="cuda").cpu()
        assert torch.equal(torch.rand(2), expected)
        torch.cuda.manual_seed(1)
        assert torch.equal(torch.rand(2, device="cuda").cpu(), drawn)
    assert {what for what, _ in log.undeclared} == {"rand"}


def test_deterministic_algorithms_are_refused_where_there_are_none(open_device, monkeypatch):
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(True)
    try:
        with open_device(), pytest.raises(RuntimeError, match="cumsum_cuda does not have a deterministic"):
            torch.ones(3, device="cuda").cumsum(0)
        with open_device():
            index, ones = torch.zeros(2, device="cuda").long(), torch.ones(2, device="cuda")
            torch.zeros(3, device="cuda").index_add_(0, index, ones)
    finally:
        torch.use_deterministic_algorithms(False)


def test_mps_has_no_numbers_of_64_bits_and_lacks_operations(open_device):
    with open_device("mps", missing=("cumsum",)):
        assert torch.backends.mps.is_available() and not torch.cuda.is_available()
        with pytest.raises(TypeError, match="doesn't support float64"):
            torch.zeros(2, device="mps").double()
        with pytest.raises(NotImplementedError, match="'aten::cumsum' is not currently implemented for the"):
            torch.zeros(2, device="mps").cumsum(0)


@pytest.mark.parametrize("name", ["gru", "lstm"])
def test_fused_gates_compute_what_those_of_the_processor_do(open_device, name):
    from ecsuite.agents.message import Message
    from ecsuite.agents.registry import CELLS
    from ecsuite.agents.shared_states import beginnings

    torch.manual_seed(0)
    message = Message(symbols=torch.zeros(5, 2, 6), ends=None, length=torch.full((2,), 5.0))
    cell, inputs, weights = CELLS.load(name)(3, 4), torch.randn(5, 2, 3), torch.randn(5, 2, 4)

    def states_and_gradients(device):
        cell.to(device)
        read = cell.reader(torch.float32)(inputs.to(device))
        states, _ = cell.run(read, torch.float32, beginnings(message, width=4))
        gradients = torch.autograd.grad((states * weights.to(device)).sum(), list(cell.parameters()))
        return [each.detach().cpu() for each in (states, *gradients)]

    expected = states_and_gradients("cpu")
    with open_device():
        for actual, right in zip(states_and_gradients("cuda"), expected, strict=True):
            torch.testing.assert_close(actual, right)
        cell.to("cpu")
