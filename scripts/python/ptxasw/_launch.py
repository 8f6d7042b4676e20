"""Kernels on numpy arrays, executed by the interpreter."""

import json
import pathlib
import tempfile
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from ._memory import Memory, arguments
from ._program import Error, Option, call
from ._report import Run
from ._source import Source, written

#: Threads or blocks along x, y and z; those left out are 1.
Shape = Union[int, Sequence[int]]

#: Exit status of a kernel that faults.
FAULTED = 3


def run(
    ptx: Source, kernel: Optional[str], grid: Shape, block: Optional[Shape], args: Sequence[Any],
    dynamic_shared: Optional[int] = None, **options: Option
) -> Run:
    """Executes a kernel on the CPU, warp by warp, and changes the arrays among ``args``.

    Each access is checked; a kernel that faults (out of bounds, race, deadlock, undetermined value) raises ``Error``, whose
    ``report`` names the place. Without a fault the result has the counters.

    ``kernel`` may be ``None`` where there is one; ``block`` may be ``None`` for a compiled kernel of Triton. ``args`` are numpy
    arrays, numpy scalars, and Python numbers, which get the type of their parameter; ``bytes`` are passed as they are. An
    array that is a view stands for a pointer into the array that it views, so arrays that overlap do in the kernel. Options
    are those of ``ptxasw run``: ``profile=True``, ``no_races=True``, ``uninitialized="ignore"``.
    """
    metadata = getattr(ptx, "metadata", None)
    args = list(args)
    if metadata is not None:
        block = 32 * metadata.num_warps if block is None else block
        kernel = kernel or metadata.name
        dynamic_shared = metadata.shared if dynamic_shared is None else dynamic_shared
        # Pointers that Triton passes behind the arguments; a kernel that needs memory there has a size.
        scratch = ("global_scratch_size", "profile_scratch_size")
        args += [0 for name in scratch if hasattr(metadata, name)]
    if block is None:
        raise TypeError("`block` is expected: threads along x, y and z")
    with written(ptx, to_file=True) as (name, _), tempfile.TemporaryDirectory() as folder:
        parameters = parameters_of(name, kernel)
        memory = Memory()
        launch = {
            "kernel": kernel, "grid": shape(grid), "block": shape(block), "dynamic_shared": dynamic_shared or 0,
            "args": arguments(memory, args, parameters),
            "buffers": memory.buffers()}
        path = pathlib.Path(folder, "launch.json")
        path.write_text(json.dumps(launch))
        done = call(["run", name, "--launch", str(path), "--format", "json"], options, good=(0, FAULTED))
        found = json.loads(done.stdout)
        if done.returncode == FAULTED:
            raise Error(done.stderr.decode(errors="replace").strip(), FAULTED, found)
        memory.changed(found.pop("buffers"))
    return Run(found)


def shape(given: Shape) -> List[int]:
    """A shape as a launch file has it."""
    return [given] if isinstance(given, int) else [int(extent) for extent in given]


def parameters_of(name: str, kernel: Optional[str]) -> List[Mapping[str, Any]]:
    """The parameters of a kernel: name, type, bytes."""
    kernels: List[Dict[str, Any]] = json.loads(call(["parse", name, "--format", "json"], {}).stdout)["kernels"]
    found = [one for one in kernels if kernel in (None, one["name"])]
    if len(found) == 1:
        return list(found[0]["parameters"])
    names = ", ".join(one["name"] for one in kernels)
    raise Error(f"which kernel? There are {names}" if kernel is None else f"there is no kernel {kernel} among {names}")
