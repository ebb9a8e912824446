"""One thread for NumPy's matrix products."""

from __future__ import annotations

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]


def single_threaded_blas() -> None:
    """Limits BLAS to one thread for the whole process, whenever NumPy was imported.

    The products here are small and live calls run side by side: OpenBLAS' own threads wait for each other by spinning, which
    on two busy cores made the slowest twentieth of the searches seven times slower. (OPENBLAS_NUM_THREADS=1 is read when
    NumPy is imported, which is no help to code that is not the first to import it.)
    """
    threadpool_limits(limits=1, user_api="blas")
