"""Registries of the parts of games. A new part is a class and a line; classes are imported when they are used."""

from ecsuite.parts.registry import Registry

PLAYS = Registry(
    word="play",
    parts={
        "signalling": (
            "ecsuite.games.plays.signalling:Signalling",
            "senders describe objects, receivers answer, and both learn",
        ),
        "naming": (
            "ecsuite.games.plays.naming:NamingGame",
            "agents agree on names by repeated meetings, without training (Steels 1995; Baronchelli et al. 2006)",
        ),
        "talk": (
            "ecsuite.games.plays.talk:Talk",
            "agents with memory, without training: learn-then-talk, repeated reference, transmission chains",
        ),
        "naming_acceptance": (
            "ecsuite.games.plays.acceptance:NamingByAcceptance",
            "agents accept signs by a Metropolis-Hastings rule, without rewards (Taniguchi et al. 2022)",
        ),
        "evolution": (
            "ecsuite.games.plays.evolution:Evolution",
            "signals evolve by reinforcement or replicator dynamics, without networks (Skyrms 2010)",
        ),
        "acting": (
            "ecsuite.games.plays.acting:Acting",
            "agents act and speak in an environment with time steps, and learn",
        ),
    },
    base="ecsuite.games.plays.play:Play",
)

PARTICIPANTS = Registry(
    word="participant",
    parts={
        "collapsing": (
            "ecsuite.games.participants.scripted:Collapsing",
            "inventories of names that collapse when one is understood (Baronchelli et al. 2006)",
        ),
        "committed": (
            "ecsuite.games.participants.scripted:Committed",
            "always says the same name (Xie et al. 2011)",
        ),
        "win_stay": (
            "ecsuite.games.participants.scripted:WinStay",
            "win-stay, lose-shift: a new name after a failure (Nowak & Sigmund 1993)",
        ),
        "bayesian": (
            "ecsuite.games.participants.scripted:Bayesian",
            "infers the frequency of each name (Reali & Griffiths 2009)",
        ),
        "roth_erev": (
            "ecsuite.games.participants.scripted:RothErev",
            "urns of messages and of meanings, to which a success adds a ball (Roth & Erev 1995)",
        ),
        "replicator": (
            "ecsuite.games.participants.scripted:Replicator",
            "probabilities that grow with success, in expectation by replicator dynamics (Börgers & Sarin 1997)",
        ),
        "exemplars": (
            "ecsuite.games.participants.exemplars:Exemplars",
            "memorises messages of meanings, and interprets a message by its nearest neighbour",
        ),
        "phrasebook": (
            "ecsuite.games.participants.scripted:PhrasebookParticipant",
            "speaks and listens by an inventory of forms with meanings (after Boldt & Mortensen 2026)",
        ),
        "trained": (
            "ecsuite.games.runs.run:Trained",
            "the trained sender and receiver of a run",
        ),
        "language_model": (
            "ecsuite.games.participants.language_model:LanguageModelParticipant",
            "a language model, queried with a prompt file; or a person, who reads the prompt",
        ),
    },
    base="ecsuite.games.participants.participant:Participant",
)

ENVIRONMENTS = Registry(
    word="environment",
    parts={
        "speaker_listener": (
            "ecsuite.games.environments.landmarks:SpeakerListener",
            "a speaker knows the goal of a listener, who moves in a plane (mpe2; Lowe et al. 2017)",
        ),
        "reference": (
            "ecsuite.games.environments.landmarks:Reference",
            "two agents move in a plane, and each knows the other's goal (mpe2; Lowe et al. 2017)",
        ),
        "riddle": (
            "ecsuite.games.environments.riddle:Riddle",
            "the switch riddle: prisoners find out when all have been in a room (Foerster et al. 2016)",
        ),
        "guided_grid": (
            "ecsuite.games.environments.guided_grid:GuidedGrid",
            "a guide sees a grid, and directs a walker, who sees nothing, to a goal",
        ),
        "task_and_talk": (
            "ecsuite.games.environments.task_and_talk:TaskAndTalk",
            "a dialogue in which an asker finds out attributes of an object (Kottur et al. 2017)",
        ),
        "guess_who": (
            "ecsuite.games.environments.guess_who:GuessWho",
            "a dialogue in which one or both agents find out which candidate is the target of the other agent",
        ),
        "feedback": (
            "ecsuite.games.environments.guess_who:Feedback",
            "a reference game in which the listener sends feedback before the speaker's next message",
        ),
    },
    base="ecsuite.games.environments.environment:Environment",
)

ACTORS = Registry(
    word="actor",
    parts={
        "recurrent": (
            "ecsuite.games.environments.agents:RecurrentAgents",
            "recurrent agents with one head for actions and one for messages",
        ),
    },
    base="ecsuite.games.environments.agents:ActingAgents",
)

LEARNERS = Registry(
    word="learner",
    parts={
        "policy_gradient": (
            "ecsuite.games.environments.learners:PolicyGradient",
            "policy gradient with a learnt baseline",
        ),
        "ppo": (
            "ecsuite.games.environments.ppo:PPO",
            "proximal policy optimisation with the losses of torchrl (Schulman et al. 2017); extra torchrl",
        ),
        "q_learning": (
            "ecsuite.games.environments.learners:QLearning",
            "recurrent Q-learning; with channel dru it is DIAL (Foerster et al. 2016)",
        ),
        "answers": (
            "ecsuite.games.environments.answers:Answers",
            "answers trained by cross-entropy, messages by policy gradient on the answers' log-probabilities",
        ),
    },
    base="ecsuite.games.environments.learners:Learner",
)

WORLDS = Registry(
    word="world",
    parts={
        "attributes": (
            "ecsuite.games.worlds.attributes:AttributeWorld",
            "objects with attribute values, drawn at random; one target per round",
        ),
        "unequal_attributes": (
            "ecsuite.games.worlds.attributes:UnequalAttributesWorld",
            "objects whose attributes differ in numbers and frequencies of values (Dessì et al. 2019)",
        ),
        "letter_strings": (
            "ecsuite.games.worlds.attributes:LetterStringsWorld",
            "strings a^m b^n, half of them with m = n, as in EGG's game summation",
        ),
        "text": (
            "ecsuite.games.worlds.text_files:TextWorld",
            "objects with attribute values, read from your text files in EGG's formats",
        ),
        "objects": (
            "ecsuite.games.worlds.tables:OwnObjectsWorld",
            "objects from a table of yours (CSV, TSV, JSON, Parquet, npz), one object a row, one attribute a column",
        ),
        "images": (
            "ecsuite.games.worlds.images:ImagesWorld",
            "pixels of images from a folder of yours, or from a data set of Hugging Face",
        ),
        "image_features": (
            "ecsuite.games.worlds.images:ImageFeaturesWorld",
            "features of your images, computed by a frozen encoder",
        ),
        "digits": (
            "ecsuite.games.worlds.listed:DigitsWorld",
            "handwritten digits of 8 x 8 pixels, from scikit-learn, without a download",
        ),
        "space": (
            "ecsuite.games.worlds.listed:SpaceWorld",
            "meanings of a semantic space with their need probabilities: colours, or a table of yours",
        ),
        "events": (
            "ecsuite.games.worlds.listed:EventsWorld",
            "events of an agent, a patient and an action (Lian et al. 2023)",
        ),
        "thing": (
            "ecsuite.games.worlds.rules:ThingWorld",
            "sets of objects with attribute values that obey a rule (Carmeli et al. 2024)",
        ),
        "shape": (
            "ecsuite.games.worlds.rules:ShapesWorld",
            "sets of images of one coloured shape at one of nine positions (Carmeli et al. 2024)",
        ),
        "shapeworld": (
            "ecsuite.games.worlds.shapeworld:ShapeWorld",
            "sets of images that obey one of 312 logical concepts (Mu & Goodman 2021)",
        ),
        "features": (
            "ecsuite.games.worlds.features:FeatureWorld",
            "sets of objects from your file of feature vectors (Mu & Goodman 2021; Yao et al. 2022)",
        ),
    },
    base="ecsuite.games.worlds.world:World",
)

TASKS = Registry(
    word="task",
    parts={
        "discrimination": (
            "ecsuite.games.tasks.tasks:Discrimination",
            "identify the sender's object among candidates",
        ),
        "in_batch": (
            "ecsuite.games.tasks.tasks:InBatch",
            "identify the sender's object among all objects of the batch (NT-Xent; Dessì et al. 2021)",
        ),
        "reconstruction": (
            "ecsuite.games.tasks.tasks:Reconstruction",
            "predict every attribute of the sender's object",
        ),
        "autoencoding": (
            "ecsuite.games.tasks.tasks:Autoencoding",
            "reconstruct every pixel or feature of the sender's object",
        ),
        "concept": (
            "ecsuite.games.tasks.tasks:Concept",
            "classify which candidates satisfy the rule that the sender's targets satisfy",
        ),
    },
    base="ecsuite.games.tasks.tasks:Task",
)

CHANNELS = Registry(
    word="channel",
    parts={
        "soft": (
            "ecsuite.games.channels.channels:SoftChannel",
            "softmax weights instead of symbols in training, the most likely symbols in evaluation",
        ),
        "gumbel": (
            "ecsuite.games.channels.channels:GumbelChannel",
            "Gumbel-softmax (Jang et al. 2017, arXiv 1611.01144; Maddison et al. 2017, arXiv 1611.00712)",
        ),
        "reinforce": (
            "ecsuite.games.channels.channels:ReinforceChannel",
            "sampled symbols, trained by REINFORCE, the score-function gradient (Williams 1992)",
        ),
        "quantized": (
            "ecsuite.games.channels.value_channels:QuantizedChannel",
            "words of values, each rounded to one of `num_levels` levels (Carmeli et al. 2023, arXiv 2211.02412)",
        ),
        "continuous": (
            "ecsuite.games.channels.value_channels:ContinuousChannel",
            "words of real values, a baseline without symbols; values are rounded to levels only in the corpus",
        ),
        "variational": (
            "ecsuite.games.channels.value_channels:VariationalChannel",
            "words of real values from normal distributions, with a KL cost (Kingma & Welling 2014)",
        ),
        "dru": (
            "ecsuite.games.channels.value_channels:RegularisedChannel",
            "noisy values in training, bits in evaluation: the channel of DIAL (Foerster et al. 2016)",
        ),
        "vqvib": (
            "ecsuite.games.channels.value_channels:VqvibChannel",
            "words of a learnt codebook, with a variational bound on complexity (Tucker et al. 2022)",
        ),
    },
    base="ecsuite.games.channels.channels:Channel",
)

NOISES = Registry(
    word="noise",
    parts={
        "none": ("ecsuite.games.channels.noise:NoNoise", "the receiver gets the sender's message"),
        "erasure": (
            "ecsuite.games.channels.noise:Erasure",
            "some symbols are replaced by a mark of an erased symbol",
        ),
        "confusion": (
            "ecsuite.games.channels.noise:Confusion",
            "some symbols are replaced by another symbol, drawn uniformly (the symmetric channel)",
        ),
        "deletion": (
            "ecsuite.games.channels.noise:Deletion",
            "some symbols are deleted, and later symbols move forward",
        ),
        "insertion": (
            "ecsuite.games.channels.noise:Insertion",
            "random symbols are inserted; symbols beyond the maximum length are cut off",
        ),
        "several": ("ecsuite.games.channels.noise:Several", "several kinds of noise, applied in order"),
    },
    base="ecsuite.games.channels.noise:MessageNoise",
    of_lists="several",
)

LOSSES = Registry(
    word="loss",
    parts={
        "task": ("ecsuite.games.tasks.losses:TaskLoss", "the task's loss, and a cost per symbol"),
        "reward": (
            "ecsuite.games.tasks.losses:RewardLoss",
            "the receiver's answers are sampled, and the reward trains both agents by REINFORCE (Williams 1992)",
        ),
        "elbo": (
            "ecsuite.games.tasks.losses:ElboLoss",
            "the task's loss, and the divergence of messages from a prior (beta-VAE; Ueda & Taniguchi 2024)",
        ),
    },
    base="ecsuite.games.tasks.losses:Loss",
)

REWARDS = Registry(
    word="reward",
    parts={
        "accuracy": (
            "ecsuite.games.tasks.losses:Correct",
            "1 for an answer that is right in every part, else 0",
        ),
        "share": (
            "ecsuite.games.tasks.losses:ShareCorrect",
            "the share of attributes, or of a concept's candidates, answered correctly",
        ),
    },
    base="builtins:object",
    needs=("__call__",),
)

OPTIMIZERS = Registry(
    word="optimizer",
    parts={
        "adam": ("ecsuite.games.engine.optimizers:Adam", "Adam (Kingma & Ba 2015, arXiv 1412.6980)"),
        "adamw": (
            "ecsuite.games.engine.optimizers:AdamW",
            "Adam with decoupled weight decay (Loshchilov & Hutter 2019, arXiv 1711.05101)",
        ),
        "sgd": (
            "ecsuite.games.engine.optimizers:SGD",
            "stochastic gradient descent, optionally with momentum",
        ),
        "adagrad": ("ecsuite.games.engine.optimizers:Adagrad", "Adagrad (Duchi et al. 2011)"),
    },
    base="ecsuite.games.engine.optimizers:Optimizer",
    options="ecsuite.games.engine.optimizers:OptimizerOptions",
)

SCHEDULES = Registry(
    word="schedule",
    parts={
        "constant": ("ecsuite.games.engine.optimizers:Constant", "the same learning rate at every step"),
        "linear": (
            "ecsuite.games.engine.optimizers:LinearDecay",
            "the learning rate decreases linearly to 0",
        ),
        "cosine": (
            "ecsuite.games.engine.optimizers:Cosine",
            "the learning rate follows half a cosine, optionally after a warm-up (Loshchilov & Hutter 2017)",
        ),
        "steps": (
            "ecsuite.games.engine.optimizers:StepDecay",
            "the learning rate is multiplied by a factor after every given number of epochs",
        ),
    },
    base="builtins:object",
    needs=("factor", "horizon"),
)

MEETINGS = Registry(
    word="meeting",
    parts={
        "all": ("ecsuite.games.players.schedule:All", "every sender with every receiver"),
        "ring": ("ecsuite.games.players.schedule:Ring", "neighbours in a ring"),
        "random": (
            "ecsuite.games.players.schedule:Random",
            "each sender with some receivers, drawn once for the run",
        ),
        "groups": (
            "ecsuite.games.players.schedule:Groups",
            "groups whose members meet each other, and seldom or never members of other groups",
        ),
        "list": ("ecsuite.games.players.schedule:ListedPairs", "the pairs of a list, with weights"),
        "file": (
            "ecsuite.games.players.schedule:FromFile",
            "the pairs of a CSV file: sender, receiver, weight",
        ),
        "phases": (
            "ecsuite.games.players.schedule:Phases",
            "several kinds of meetings in order, each for a number of epochs: apart, over bridges, together",
        ),
    },
    base="builtins:object",
    needs=("pairs",),
    of_lists="phases",
)

REASONINGS = Registry(
    word="reasoning",
    parts={
        "literal": (
            "ecsuite.games.players.reasoning:LiteralListener",
            "the receiver's network alone interprets a message",
        ),
        "rsa": (
            "ecsuite.games.players.reasoning:RationalSpeechActs",
            "the receiver considers the sender's alternative messages (Frank & Goodman 2012)",
        ),
        "obverter": (
            "ecsuite.games.players.reasoning:Obverter",
            "the sender chooses the message its own receiver understands best (Choi et al. 2018), or is the S1 of rsa",
        ),
    },
    base="ecsuite.games.players.reasoning:Reasoning",
)

LOGGERS = Registry(
    word="logger",
    parts={
        "csv": (
            "ecsuite.games.training.loggers:CsvLogger",
            "log.csv in the run folder, a row per evaluation",
        ),
        "tensorboard": (
            "ecsuite.games.training.loggers:TensorboardLogger",
            "event files for TensorBoard in the run folder",
        ),
        "wandb": (
            "ecsuite.games.training.loggers:WandbLogger",
            "a run of Weights & Biases; mode=offline needs no network",
        ),
        "trackio": (
            "ecsuite.games.training.loggers:TrackioLogger",
            "a run of Trackio on this machine, plotted by `trackio show`",
        ),
        "mlflow": ("ecsuite.games.training.loggers:MlflowLogger", "a run of MLflow, with its settings"),
    },
    base="builtins:object",
    needs=("start", "log", "close"),
)
