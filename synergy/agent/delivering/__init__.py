"""The delivering half of an agent: launched runs are claimed, sent, and their outcomes written."""
