"""Language models as agents: prompts as files, backends, allowed answers, and stored answers."""
