"""Kernels on numpy arrays, executed by the interpreter."""

import json
import pathlib
import re
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

from ._memory import Memory, arguments
from ._program import Error, Fault, Option, call, folder, shown
from ._report import Run
from ._source import Source, written

if TYPE_CHECKING:
    import numpy

#: Threads or blocks along x, y and z; those left out are 1.
Shape = Union[int, Sequence[int]]

#: Exit status of a kernel that faults.
FAULTED = 3


#: Triton lets all lanes store a sum that it believes to be the same in all; contraction makes the last bits differ.
OF_TRITON: Dict[str, Any] = {"store_conflicts": "ignore"}


class Settings:
    """Options of all launches, and what was executed."""

    def __init__(self) -> None:
        #: Options of ``ptxasw run`` that apply where a launch has none of its own.
        self.options: Dict[str, Option] = {}
        self.launches = self.lane_instructions = self.faults = 0


#: Those of this process.
SETTINGS = Settings()


def run(
    ptx: Source, kernel: Optional[str], grid: Shape, block: Optional[Shape], args: Sequence[Any],
    dynamic_shared: Optional[int] = None, **options: Option
) -> Run:
    """Executes a kernel on the CPU, warp by warp, and changes the arrays among ``args``.

    Each access is checked; a kernel that faults (out of bounds, race, deadlock, undetermined value) raises ``Fault``, whose
    ``report`` names the place. Without a fault the result has the counters.

    ``kernel`` may be ``None`` where there is one; ``block`` may be ``None`` for a compiled kernel of Triton. ``args`` are
    arrays of numpy, CPU tensors of torch, numpy scalars, and Python numbers, which get the type of their parameter; ``bytes``
    are passed as they are, a tuple is a struct, a list of arrays an array of pointers. An array that is a view stands for a pointer into the array that it views, so arrays that overlap
    do in the kernel. Options are those of ``ptxasw run``: ``profile=True``, ``no_races=True``, ``uninitialized="ignore"``; ``limit`` is the number of warp instructions after which
    a launch is given up.
    """
    given, args = with_metadata(ptx, grid, args)
    if block is not None or dynamic_shared is not None:
        given = (grid, block or given[1], given[2] if dynamic_shared is None else dynamic_shared)
    if given[1] is None:
        raise TypeError("`block` is expected: threads along x, y and z")
    kernel = kernel or getattr(ptx, "kernel_name", None)
    return execute(ptx, kernel, given, args, options, **(OF_TRITON if is_of_triton(ptx) else {}))


def is_of_triton(kernel: Any) -> bool:
    """Whether it is a compiled kernel of Triton."""
    return hasattr(getattr(kernel, "metadata", None), "num_warps")


def with_metadata(ptx: Source, grid: Shape, args: Sequence[Any]) -> Tuple[Tuple[Any, ...], List[Any]]:
    """Grid, block and shared memory, and the arguments, of a kernel that may be a compiled one of Triton, which knows its
    block and has pointers behind the arguments; a kernel that needs memory there has a size."""
    if not is_of_triton(ptx):
        return (grid, None, 0), list(args)
    metadata: Any = getattr(ptx, "metadata")
    scratch = [name for name in ("global_scratch_size", "profile_scratch_size") if hasattr(metadata, name)]
    return (grid, 32 * metadata.num_warps, metadata.shared), [*args, *(0 for _ in scratch)]


def execute(
    ptx: Source, kernel: Optional[str], given: Tuple[Any, ...], args: Sequence[Any], options: Mapping[str, Option],
    variables: Optional[Dict[str, "numpy.ndarray"]] = None, names: Sequence[str] = (), **more: Any
) -> Run:
    """Executes a kernel; the module's variables are those of ``variables``, and left there. ``names`` are what messages call
    the arguments, ``more`` goes into the launch file."""
    __tracebackhide__ = True
    grid, block, shared = (*given, 0)[:3]
    options = {**SETTINGS.options, **options}
    limit = options.pop("limit", None)
    with written(ptx, to_file=True) as (name, _), folder() as its_folder:
        found = kernel_of(name, kernel)
        memory = Memory()
        launch = {
            "kernel": found["name"], "grid": shape(grid), "block": shape(block), "dynamic_shared": shared or 0,
            "args": arguments(memory, args, named(found, names)), "buffers": memory.buffers(), **more}
        if limit is not None:
            launch["limit"] = limit
        if variables is not None:
            launch["variables"] = {name: {"type": "u8", "bytes": content.data.hex()} for name, content in variables.items()}
        path = pathlib.Path(its_folder, "launch.json")
        path.write_text(json.dumps(launch))
        SETTINGS.launches += 1
        command = ["run", name, "--kernel", found["name"], "--launch", str(path), "--format", "json", "--bytes"]
        done = call(command, options, good=(0, FAULTED))
        if done.returncode == FAULTED:
            SETTINGS.faults += 1
            raise Fault(shown(done.stderr).strip(), FAULTED, json.loads(shown(done.stdout)))
        outcome = json.loads(done.stdout)
        SETTINGS.lane_instructions += outcome["counters"]["lane_instructions"]
        memory.changed(outcome.pop("buffers"))
        for name, content in outcome.pop("variables", {}).items():
            if variables is not None:
                after = bytearray.fromhex(content["bytes"])
                variables.setdefault(name, new_bytes(len(after))).data[:] = after
        print(outcome.get("printed", ""), end="")
    return Run(outcome)


def named(kernel: Mapping[str, Any], names: Sequence[str]) -> List[Mapping[str, Any]]:
    """The parameters of a kernel, the first ones under other names."""
    known: List[Mapping[str, Any]] = with_types(kernel)
    return [{**one, "name": name} for one, name in zip(known, names)] + known[len(names):]


def with_types(kernel: Mapping[str, Any]) -> List[Mapping[str, Any]]:
    """The parameters of a kernel, with the types that its name in C++ declares."""
    parameters: List[Mapping[str, Any]] = kernel["parameters"]
    for name in kernel["names"]:
        found = re.search(r"\(((?:[^()]|\([^()]*\))*)\)$", name)
        types = re.split(r",\s*(?![^<(]*[>)])", found[1]) if found else []
        if len(types) == len(parameters):
            return [{**one, "declared": declared} for one, declared in zip(parameters, types)]
    return parameters


def new_bytes(count: int) -> "numpy.ndarray":
    """Bytes of a variable."""
    import numpy

    return numpy.zeros(count, numpy.uint8)


def shape(given: Shape) -> List[int]:
    """A shape as a launch file has it."""
    return [int(extent) for extent in given] if isinstance(given, Iterable) else [int(given)]


def kernel_of(path: str, kernel: Optional[str]) -> Mapping[str, Any]:
    """A kernel by its name in the PTX or in the source: its name and its parameters (name, type, bytes)."""
    return chosen(json.loads(call(["parse", path, "--format", "json"], {}).stdout)["kernels"], kernel)


def chosen(kernels: Sequence[Mapping[str, Any]], kernel: Optional[str]) -> Mapping[str, Any]:
    """The kernel of a name, or the only one."""
    # (A kernel may be declared before it is defined.)
    kernels = list({one["name"]: one for one in kernels}.values())
    found = [one for one in kernels if kernel is None or kernel in one["names"]]
    if len(found) == 1:
        return found[0]
    names = ", ".join(one["names"][0] for one in found or kernels)
    raise Error(f"which kernel? There are {names}" if found else f"there is no kernel {kernel} among {names}")
