"""Kernels in all the forms in which people have them, as PTX text."""

import contextlib
import json
import os
import pathlib
import re
from typing import Any, Dict, Iterator, Mapping, Optional, Tuple, Union

from ._program import Error, Option, call, folder, shown

#: PTX text, a path (of PTX, or of an object with PTX inside), or a compiled kernel of Triton, Numba or CuPy.
Source = Union[str, bytes, "os.PathLike[str]", Any]


def text(kernel: Source) -> str:
    """The PTX text of a kernel."""
    if isinstance(kernel, bytes):
        return kernel.decode()
    if isinstance(kernel, str):
        return kernel if is_text(kernel) else pathlib.Path(kernel).read_text()
    if isinstance(kernel, os.PathLike):
        return pathlib.Path(kernel).read_text()
    compiled = getattr(kernel, "asm", None)
    if isinstance(compiled, Mapping) and "ptx" in compiled:
        return str(compiled["ptx"])
    if callable(getattr(kernel, "inspect_asm", None)):
        return of_numba(kernel)
    if isinstance(getattr(kernel, "code", None), str) and hasattr(kernel, "options"):
        return of_cupy(kernel)
    if isinstance(getattr(kernel, "file_path", None), str):
        return pathlib.Path(kernel.file_path).read_text()
    raise TypeError(f"PTX, a path or a compiled kernel is expected, not {type(kernel).__name__}; a kernel of Triton is "
                    "what a launch or `triton.compile` returns")


def is_text(kernel: str) -> bool:
    """Whether a string is PTX, and no path."""
    return "\n" in kernel or ".version" in kernel


def of_numba(kernel: Any) -> str:
    """The text of the only specialisation of a kernel."""
    found = kernel.inspect_asm()
    if isinstance(found, str):
        return found
    if len(found) != 1:
        signatures = ", ".join(map(str, found)) or "none"
        raise Error(f"the kernel is compiled for {len(found)} signatures ({signatures}); "
                    "pass `kernel.inspect_asm(signature)`")
    return str(next(iter(found.values())))


def of_cupy(kernel: Any) -> str:
    """CuPy keeps the CUDA source of a raw kernel or module and no PTX: the text that NVRTC makes of it."""
    from cupy.cuda import nvrtc  # type: ignore[import-not-found, import-untyped, unused-ignore]

    options = list(kernel.options)
    if not any(option.startswith(("-arch", "--gpu-architecture")) for option in options):
        options.append("-arch=compute_80")
    compiled = nvrtc.createProgram(kernel.code, "kernel.cu", [], [])
    try:
        nvrtc.compileProgram(compiled, ["-lineinfo", *options])
        made = nvrtc.getPTX(compiled)
    except nvrtc.NVRTCError as error:
        raise Error(f"NVRTC: {error}\n{nvrtc.getProgramLog(compiled)}") from error
    finally:
        nvrtc.destroyProgram(compiled)
    return made.decode() if isinstance(made, bytes) else made


@contextlib.contextmanager
def written(kernel: Source, to_file: bool = False, machine_code: bool = False) -> Iterator[Tuple[str, Optional[bytes]]]:
    """The name by which the program reads a kernel, and what it is given as standard input."""
    if isinstance(kernel, os.PathLike) or (isinstance(kernel, str) and not is_text(kernel)):
        yield os.fspath(kernel), None
        return
    compiled = getattr(kernel, "asm", None)
    if isinstance(kernel, bytes):
        content = kernel
    elif machine_code and isinstance(compiled, Mapping) and "cubin" in compiled:
        content = compiled["cubin"]
    else:
        content = text(kernel).encode()
    if not to_file:
        yield "-", content
        return
    kernels = set(re.findall(rb"\.entry\s+([\w$]+)", content))
    name = kernels.pop().decode()[:200] if len(kernels) == 1 else "kernel"
    with folder() as its_folder:
        path = pathlib.Path(its_folder, f"{name}.ptx")
        path.write_bytes(content)
        yield str(path), None


#: Exit statuses of subcommands that come with a report: 1 for a finding, a difference; 3 for nothing known.
REPORTED = {"lint": (0, 1), "verify": (0, 1, 3), "asm": (0, 3)}


def report(subcommand: str, kernel: Source, options: Mapping[str, Option], *more: str) -> Dict[str, Any]:
    """What a subcommand says of a kernel."""
    with written(kernel, machine_code=subcommand == "asm") as (name, stdin):
        done = call([subcommand, name, *more, "--format", "json"], options, stdin, REPORTED.get(subcommand, (0,)))
    found = json.loads(shown(done.stdout))
    # An object with several texts inside.
    return found if isinstance(found, dict) else {"files": found}
