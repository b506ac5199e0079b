"""Registries of agents and their parts. A new part is a class and a line here; classes are imported when used."""

from ecsuite.parts.registry import Registry

SHORT_OPTIONS = {"hidden": "hidden_size"}
"""Short names of options of agents."""

SENDERS = Registry(
    word="sender",
    parts={
        "recurrent": (
            "ecsuite.agents.senders:RecurrentSender",
            "a recurrent decoder with any cell; CELL, CELL-2l (two layers), CELL-z and CELL-2l-z (input of zeros)",
        ),
        "husenda": (
            "ecsuite.agents.hierarchical:HUSendA",
            "hierarchical HU-RNN, husenda:CELL: a word level and a symbol level, autoregressive",
        ),
        "husendz": (
            "ecsuite.agents.hierarchical:HUSendZ",
            "hierarchical HU-RNN, husendz:CELL: a word level and a symbol level, input of zeros",
        ),
        "fc1l": ("ecsuite.agents.feedforward:FC1LSender", "one linear layer for the whole message"),
        "fc2l": (
            "ecsuite.agents.feedforward:FC2LSender",
            "two linear layers with tanh between them for the whole message",
        ),
        "transformer": (
            "ecsuite.agents.transformer:TransformerSender",
            "a transformer decoder; transformer-2l: two layers; init=copied: equal initial weights",
        ),
        "scripted": (
            "ecsuite.agents.scripted:ScriptedSender",
            "a fixed language; not trained (Kharitonov & Baroni 2020)",
        ),
        "phrasebook": (
            "ecsuite.agents.phrasebook:PhrasebookSender",
            "generates messages from forms of an inventory; not trained (after Boldt & Mortensen 2026)",
        ),
    },
    read_name="ecsuite.agents.spec:agent_section",
    short_options=SHORT_OPTIONS,
    base="ecsuite.agents.senders:Sender",
    options="ecsuite.agents.options:AgentOptions",
)

RECEIVERS = Registry(
    word="receiver",
    parts={
        "recurrent": (
            "ecsuite.agents.receivers:RecurrentReceiver",
            "a recurrent encoder with any cell; CELL, CELL-2l (two layers)",
        ),
        "hier": (
            "ecsuite.agents.hierarchical:HierarchicalReceiver",
            "hierarchical HU-RNN, hier:CELL; stop=first and reset=on as in the published program",
        ),
        "cnn": (
            "ecsuite.agents.feedforward:ConvolutionalReceiver",
            "convolution and pooling down to one position; option blocks=3 for fewer blocks",
        ),
        "bidirectional": (
            "ecsuite.agents.receivers:BidirectionalReceiver",
            "a recurrent encoder in both directions; bidirectional-2l: two layers; network=lstm, rnn",
        ),
        "transformer": (
            "ecsuite.agents.transformer:TransformerReceiver",
            "a causal transformer encoder; transformer-2l: two layers",
        ),
        "fc1l": ("ecsuite.agents.feedforward:FC1LReceiver", "one linear layer for the whole message"),
        "fc2l": (
            "ecsuite.agents.feedforward:FC2LReceiver",
            "two linear layers with tanh between them for the whole message; form=sum as in the published program",
        ),
        "fc3l": (
            "ecsuite.agents.feedforward:FC3LReceiver",
            "three layers with tanh between them: a symbol's embedding, one for the whole message, and the output",
        ),
        "mean_embeddings": (
            "ecsuite.agents.feedforward:MeanEmbeddingsReceiver",
            "tanh of the mean of the symbols' embeddings; the order of symbols has no effect",
        ),
        "lexicon": (
            "ecsuite.agents.scripted:LexiconReceiver",
            "a lexicon of the features that each symbol is true of; not trained",
        ),
        "phrasebook": (
            "ecsuite.agents.phrasebook:PhrasebookReceiver",
            "reads the forms of an inventory in a message; not trained (after Boldt & Mortensen 2026)",
        ),
    },
    read_name="ecsuite.agents.spec:agent_section",
    short_options=SHORT_OPTIONS,
    base="ecsuite.agents.receivers:Receiver",
    options="ecsuite.agents.options:AgentOptions",
)

TABLES = {
    "hashtable": "sender: the stored message of a meaning; receiver: the stored meaning of a message",
    "knn": "receiver: the meaning of the most similar stored message",
}
"""Descriptions of lookup tables, which store a given language: available in ICY, not in games."""

CELLS = Registry(
    word="cell",
    parts={
        "rnn": ("ecsuite.agents.cells:RNNCell", "Elman's simple recurrent network"),
        "gru": ("ecsuite.agents.cells:GRUCell", "gated recurrent units"),
        "lstm": ("ecsuite.agents.cells:LSTMCell", "long short-term memory"),
        "sru": (
            "ecsuite.agents.cells:SRUCell",
            "simple recurrent units; embeddings are as wide as the state",
        ),
        "sru-tanh": (
            "ecsuite.agents.cells:TanhSRUCell",
            "simple recurrent units with tanh of the memory in the output, as in sru-z",
        ),
        "dgsend": ("ecsuite.agents.cells:DgsendCell", "the cell found by architecture search for senders"),
        "dgrecv": ("ecsuite.agents.cells:DgrecvCell", "the cell found by architecture search for receivers"),
    },
)

PERCEPTIONS = Registry(
    word="perception",
    parts={
        "identity": ("ecsuite.agents.perception:IdentityPerception", "the object's features, unchanged"),
        "linear": ("ecsuite.agents.perception:LinearPerception", "one linear layer"),
        "tanh": ("ecsuite.agents.perception:TanhPerception", "one linear layer and tanh"),
        "mlp": ("ecsuite.agents.perception:MLPPerception", "two linear layers with ReLU between them"),
        "recurrent": (
            "ecsuite.agents.perception:RecurrentPerception",
            "a recurrent network that reads the features piece by piece, such as the letters of a string",
        ),
        "conv": (
            "ecsuite.agents.perception:StridedPerception",
            "for images: three strided convolutions with batch normalisation, then a linear layer",
        ),
        "conv_max": (
            "ecsuite.agents.perception:MaximumPerception",
            "for images: two convolutions, half of them on outlines; maximum and sum of each map; no positions",
        ),
        "conv_grid": (
            "ecsuite.agents.perception:GridPerception",
            "for images: two convolutions; maximum of each map and of each cell of a 4 x 4 grid; with positions",
        ),
        "conv4": (
            "ecsuite.agents.perception:Conv4Perception",
            "for images: four convolutions with batch normalisation and pooling (Mu & Goodman 2021); slow on a CPU",
        ),
        "pretrained": (
            "ecsuite.agents.pretrained:PretrainedPerception",
            "for images: a model of timm such as resnet18, with weights from your file, frozen or trained",
        ),
    },
    base="ecsuite.agents.perception:Perception",
    options="ecsuite.agents.options:PerceptionOptions",
)
