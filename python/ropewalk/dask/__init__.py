r"""Encodings, rotation and attention of Dask arrays: of more keys than one machine holds.

Attention to all keys is the merge of attention to each chunk of them, weighted by ``exp(lse)``. A
task attends from one chunk of queries to one chunk of keys on one thread; partial results are
merged in a tree. What a causal mask, a window or key lengths hide as a whole is in no task.

Nothing is computed before Dask is asked to. The same chunks give the same bits, on any scheduler
and any number of workers; the projections of `multi_head_attention` do so on one kind of processor.
Other chunks may change the last bits of attention and of projections, and those of nothing else.
"""

try:
    import dask.array  # noqa: F401 - what follows needs it
except ModuleNotFoundError as error:
    msg = "ropewalk.dask needs Dask: pip install 'ropewalk[dask]'"
    raise ImportError(msg) from error

from ropewalk.dask._attention import attention
from ropewalk.dask._multi_head import multi_head_attention
from ropewalk.dask._positions import rotate, sinusoidal_encoding

__all__ = ["attention", "multi_head_attention", "rotate", "sinusoidal_encoding"]
