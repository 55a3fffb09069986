"""Ratios against named rivals and limits of the machine, measured in the same run."""

import os

# Rivals work on one thread, as we do where it is not said; read when NumPy and JAX are loaded.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault(
    "XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
)
