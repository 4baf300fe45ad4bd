"""What a worker author inherits: claim, run, conclude."""
