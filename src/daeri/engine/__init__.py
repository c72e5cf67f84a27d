"""The agent loop and the vocabulary of what happens in a run."""
