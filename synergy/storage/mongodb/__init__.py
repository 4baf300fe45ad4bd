"""The store in a MongoDB database, for many boxes; see `engine`."""

from synergy.storage.mongodb.engine import MongoStore

__all__ = ["MongoStore"]
