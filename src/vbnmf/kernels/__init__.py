"""Kernels: the only O(nnz · K) code, compiled if possible, otherwise in SciPy.

The environment variable ``VBNMF_KERNEL`` forces one of them: ``native`` or ``scipy``.
``VBNMF_SIMD`` forces an instruction set of the compiled kernels: ``baseline``, ``avx2`` or
``avx512``.
"""

import os
import warnings
from types import ModuleType
from typing import TYPE_CHECKING, Union

from vbnmf.callers import callers_level

if TYPE_CHECKING:
    from vbnmf.kernels.compiled import NativeKernel
    from vbnmf.kernels.reference import ReferenceKernel

    AnyKernel = Union[NativeKernel, ReferenceKernel]  # noqa: UP007


def open_kernel(n_threads: int = 1) -> "AnyKernel":
    """Return the kernel in use. Use it as a context manager."""
    if kernel_name() == "native":
        from vbnmf.kernels.compiled import NativeKernel

        return NativeKernel(n_threads)
    from vbnmf.kernels.reference import ReferenceKernel

    return ReferenceKernel()


def kernel_name() -> str:
    """Return the name of the kernel in use, "native" or "scipy"."""
    wanted = os.environ.get("VBNMF_KERNEL", "")
    if wanted not in ("", "native", "scipy"):
        raise ValueError(
            f"VBNMF_KERNEL must be 'native' or 'scipy'; got {wanted!r}. Unset it to choose freely."
        )
    if wanted == "scipy":
        return "scipy"
    if _native_module() is not None:
        return "native"
    if wanted == "native":
        raise ImportError(
            "VBNMF_KERNEL=native asks for the compiled kernels, but this installation has none "
            "that load: most likely no C++ compiler was found when vbnmf was installed. Install "
            "one (GCC or Clang) and reinstall vbnmf, or unset VBNMF_KERNEL to run on the SciPy "
            "kernels."
        )
    return "scipy"


def describe() -> str:
    """Describe the kernel in use in a few words."""
    if kernel_name() == "scipy":
        return "scipy (no compiled kernels)" if _native_module() is None else "scipy (forced)"
    native = _native_module()
    assert native is not None
    return f"native, {native.instruction_set()}"


def _native_module() -> ModuleType | None:
    try:
        import vbnmf.kernels._native as _native
    except ModuleNotFoundError:
        return None
    except ImportError as error:
        warnings.warn(
            f"the compiled kernels are there but cannot be loaded ({error}); vbnmf runs on the "
            "slower SciPy kernels. Reinstall vbnmf.",
            stacklevel=callers_level(),
        )
        return None
    wanted = os.environ.get("VBNMF_SIMD")
    if wanted and wanted != _native.instruction_set():
        _native.use_instruction_set(wanted)
    return _native
