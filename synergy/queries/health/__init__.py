"""The verdict on a deployment: the situation is read once, then judged by pure functions."""
