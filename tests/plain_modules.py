"""A sender and receivers as a user would write them, of torch's layers only."""

from torch import nn

from ecsuite.agents.message import embed_symbols
from ecsuite.agents.receivers import Receiver
from ecsuite.agents.senders import Sender, build_message

HIDDEN, EMBEDDING = 16, 8


class PlainSender(Sender):
    """Symbol by symbol."""

    def __init__(self, num_features, num_logits):
        super().__init__()
        self.perceive, self.scores = nn.Linear(num_features, HIDDEN), nn.Linear(HIDDEN, num_logits)
        self.embed, self.cell = nn.Embedding(num_logits, EMBEDDING), nn.GRUCell(EMBEDDING, HIDDEN)

    def forward(self, meanings, builder):
        state, inputs = self.perceive(meanings), meanings.new_zeros(len(meanings), EMBEDDING)
        while not builder.done:
            state = self.cell(inputs, state)
            inputs = embed_symbols(self.embed, builder.step(self.scores(state)))
        return builder.message()


class SenderOfOneCall(Sender):
    """All symbols at once, by a layer over all steps."""

    def __init__(self, num_features, num_logits, max_len):
        super().__init__()
        self.max_len = max_len
        self.encode, self.scores = nn.GRU(num_features, HIDDEN), nn.Linear(HIDDEN, num_logits)

    def forward(self, meanings, builder):
        states, _ = self.encode(meanings.expand(self.max_len, -1, -1))
        return build_message(builder, self.scores(states))


class PlainReceiver(Receiver):
    """The whole message in one call of a layer."""

    def __init__(self, num_symbols):
        super().__init__(state_size=HIDDEN)
        self.embed, self.encode = nn.Embedding(num_symbols, EMBEDDING), nn.GRU(EMBEDDING, HIDDEN)

    def forward(self, message):
        states, _ = self.encode(embed_symbols(self.embed, message.symbols))
        return message.at_ends(states)
