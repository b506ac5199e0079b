"""The transformer against torch's layers, which recompute the whole prefix at every step."""

import pytest
import torch
from torch import nn

from ecsuite.agents.factory import make_sender
from ecsuite.agents.message import EOS

SIZE = 8


def torch_layer(ours):
    layer = nn.TransformerDecoderLayer(SIZE, nhead=1, dim_feedforward=4 * SIZE, dropout=0.0, batch_first=True)
    pairs = [
        (layer.self_attn.in_proj_weight, ours.to_said.inward.weight),
        (layer.self_attn.in_proj_bias, ours.to_said.inward.bias),
        (layer.self_attn.out_proj.weight, ours.to_said.outward.weight),
        (layer.self_attn.out_proj.bias, ours.to_said.outward.bias),
        (layer.multihead_attn.in_proj_weight, ours.to_meaning.inward.weight),
        (layer.multihead_attn.in_proj_bias, ours.to_meaning.inward.bias),
        (layer.multihead_attn.out_proj.weight, ours.to_meaning.outward.weight),
        (layer.multihead_attn.out_proj.bias, ours.to_meaning.outward.bias),
        (layer.linear1.weight, ours.widen.weight), (layer.linear1.bias, ours.widen.bias),
        (layer.linear2.weight, ours.narrow.weight), (layer.linear2.bias, ours.narrow.bias),
        *((getattr(layer, f"norm{i + 1}").weight, norm.weight) for i, norm in enumerate(ours.norms)),
        *((getattr(layer, f"norm{i + 1}").bias, norm.bias) for i, norm in enumerate(ours.norms)),
    ]  # fmt: skip
    assert len(pairs) == len(list(layer.parameters())) == len(list(ours.parameters()))
    with torch.no_grad():
        for theirs, our_parameter in pairs:
            theirs.copy_(our_parameter)
    return layer


@pytest.mark.parametrize("name", ["transformer", "transformer-2l", "transformer-3l,init=copied"])
def test_the_cache_equals_the_whole_prefix(soft_message_builder, name):
    torch.manual_seed(0)
    sender = make_sender(name, num_features=6, vocab_size=3, max_len=5, hidden_size=SIZE, style="icy")
    with torch.no_grad():
        for parameter in sender.layers.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.3)
    layers = [torch_layer(layer) for layer in sender.layers]
    meanings = torch.randn(4, 6)
    memory = sender.perceive(meanings)[:, None]
    prefix = sender.embed(torch.full((4, 1), EOS))
    expected = []
    for step in range(5):
        hidden = prefix + sender.positions[: step + 1]
        mask = nn.Transformer.generate_square_subsequent_mask(step + 1)
        for layer in layers:
            hidden = layer(hidden, memory, tgt_mask=mask)
        expected.append(sender.scores(hidden[:, -1]))
        prefix = torch.cat([prefix, sender.embed(expected[-1].softmax(-1))[:, None]], 1)
    logits = sender(meanings, soft_message_builder(5))
    torch.testing.assert_close(logits, torch.stack(expected))

    expected_grads = torch.autograd.grad(torch.stack(expected).square().sum(), [sender.perceive.weight])
    gradients = torch.autograd.grad(logits.square().sum(), [sender.perceive.weight])
    torch.testing.assert_close(gradients, expected_grads, rtol=1e-4, atol=1e-4)


def test_layers_have_different_initial_weights_unless_copied():
    sizes = {"num_features": 6, "vocab_size": 3, "max_len": 5, "hidden_size": SIZE}
    for name, is_copied in (("transformer-2l", False), ("transformer-2l,init=copied", True)):
        first, second = make_sender(name, **sizes).layers
        assert torch.equal(first.widen.weight, second.widen.weight) == is_copied
        assert first.widen.weight is not second.widen.weight
