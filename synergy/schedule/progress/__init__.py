"""The state of a schedule between two decisions, and the transitions that make its runs."""
