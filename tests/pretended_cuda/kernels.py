"""What kernels compute that CUDA has and the CPU has not: torch's fused gates of GRU and LSTM, by their definition."""

import torch


def gru_cell(inputs, hidden, state, input_bias=None, hidden_bias=None):
    """`_thnn_fused_gru_cell`: the next state, and what its backward kernel needs."""
    assert inputs.dim() == hidden.dim() == state.dim() == 2 and input_bias is None and hidden_bias is None
    (reset, update, new), (of_reset, of_update, of_new) = inputs.chunk(3, 1), hidden.chunk(3, 1)
    reset, update = (reset + of_reset).sigmoid(), (update + of_update).sigmoid()
    new = (new + reset * of_new).tanh()
    return new + update * (state - new), torch.cat([reset, update, new, state, of_new], 1)


def gru_cell_backward(gradient, workspace, has_bias):
    """`_thnn_fused_gru_cell_backward`: the gradients of inputs, hidden and state; and of the biases."""
    assert not has_bias
    reset, update, new, state, of_new = workspace.chunk(5, 1)
    through = gradient * (1 - update) * (1 - new * new)
    to_update = gradient * (state - new) * update * (1 - update)
    to_reset = through * of_new * reset * (1 - reset)
    inputs = torch.cat([to_reset, to_update, through], 1)
    return inputs, torch.cat([to_reset, to_update, through * reset], 1), gradient * update, None, None


def lstm_cell(inputs, hidden, memory, input_bias=None, hidden_bias=None):
    """`_thnn_fused_lstm_cell`: output and memory, and what its backward kernel needs."""
    assert inputs.dim() == hidden.dim() == memory.dim() == 2 and input_bias is None and hidden_bias is None
    into, forget, new, output = (inputs + hidden).chunk(4, 1)
    into, forget, new, output = into.sigmoid(), forget.sigmoid(), new.tanh(), output.sigmoid()
    memory = forget * memory + into * new
    return output * memory.tanh(), memory, torch.cat([into, forget, new, output], 1)


def lstm_cell_backward(of_output, of_memory, memory, next_memory, workspace, has_bias):
    """`_thnn_fused_lstm_cell_backward_impl`: the gradients of the gates and of the memory; and of the bias."""
    assert not has_bias
    into, forget, new, output = workspace.chunk(4, 1)
    shown = next_memory.tanh()
    through = of_output * output * (1 - shown * shown) + (0 if of_memory is None else of_memory)
    gates = [
        through * new * into * (1 - into),
        through * memory * forget * (1 - forget),
        through * into * (1 - new * new),
        of_output * shown * output * (1 - output),
    ]
    return torch.cat(gates, 1), through * forget, None


KERNELS = {
    "_thnn_fused_gru_cell": gru_cell, "_thnn_fused_gru_cell_backward": gru_cell_backward,
    "_thnn_fused_lstm_cell": lstm_cell, "_thnn_fused_lstm_cell_backward_impl": lstm_cell_backward,
}  # fmt: skip
"""By the name of the operation."""
