"""Shards: documents that need not be in memory, in a folder or in parts of a matrix.

``shard`` says what a shard is and cuts documents into shards. ``values`` has the one check of X.
``folder`` reads shard folders and ``writing`` writes them. ``work`` computes all that concerns the
documents of one shard, and ``states`` keeps their local states in files. Engines
(``vbnmf.engines``) map this work over shards.
"""

from vbnmf.shards.folder import Shards, ShardsError, is_shards
from vbnmf.shards.writing import ShardWriter, write_shards

__all__ = ["ShardWriter", "Shards", "ShardsError", "is_shards", "write_shards"]
