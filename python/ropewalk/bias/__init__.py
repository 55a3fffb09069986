r"""Biases that attention adds to its scores, and masks that hide keys from queries.

Query ``i`` stands at position ``i + offset``, key ``j`` at ``j``: `offset` is the position of the
first query minus that of the first key, as in `ropewalk.attention`. It is 0 where there are as many
queries as keys, and must be given elsewhere: 0 for queries that begin with the keys (upper left),
``key_length - query_length`` for queries that end with them (lower right), as with a cache of keys.
An array of offsets, one for each sequence of a batch, puts its axes first.

Masks are boolean, True where a query attends to a key, and are combined with ``&``; biases are
numbers, and are combined with ``+``. Both end with the axes of queries and keys. Where heads stand
between the batch and these, a mask of a batch is ``mask[:, None]``.
"""

from ropewalk.bias._alibi import alibi, alibi_slopes
from ropewalk.bias._masks import causal_mask, key_length_mask, packed_mask, window_mask
from ropewalk.bias._relative import relative, t5, t5_buckets

__all__ = [
    "alibi",
    "alibi_slopes",
    "causal_mask",
    "key_length_mask",
    "packed_mask",
    "relative",
    "t5",
    "t5_buckets",
    "window_mask",
]
