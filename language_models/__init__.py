"""Language models that are asked: prompts as files, backends, what may be answered, and answers that are kept."""
