"""Models that learn a corpus, what they read, and how they are trained; they know no benchmark."""
