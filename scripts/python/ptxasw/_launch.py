"""Kernels on numpy arrays, executed by the interpreter."""

import json
import pathlib
import struct
import tempfile
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from ._program import Error, Option, call
from ._report import Run
from ._source import Source, written

if TYPE_CHECKING:
    import numpy

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
        if len(parameters) != len(args):
            raise Error(f"the kernel has {len(parameters)} parameters, not {len(args)}")
        memory = Memory()
        launch = {
            "kernel": kernel, "grid": shape(grid), "block": shape(block), "dynamic_shared": dynamic_shared or 0,
            "args": [memory.argument(value, parameter) for value, parameter in zip(args, parameters)],
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


class Memory:
    """The arrays of a launch, each with the buffer that has its bits."""

    def __init__(self) -> None:
        self.arrays: Dict[str, Tuple["numpy.ndarray", "numpy.ndarray"]] = {}

    def argument(self, value: Any, parameter: Mapping[str, Any]) -> Mapping[str, Any]:
        """An argument in the form of a launch file."""
        import numpy

        if isinstance(value, numpy.ndarray):
            return self.pointer(value, parameter["name"])
        if isinstance(value, numpy.generic):
            return {"bytes": value.tobytes().hex()}
        if isinstance(value, (bytes, bytearray)):
            return {"bytes": bytes(value).hex()}
        return {"bytes": number(value, parameter).hex()}

    def pointer(self, array: "numpy.ndarray", name: str) -> Mapping[str, Any]:
        """A pointer to an array's first element, in the array that owns the memory."""
        import numpy

        owner = array
        while isinstance(owner.base, numpy.ndarray):
            owner = owner.base
        for known, (other, _) in self.arrays.items():
            if other is owner:
                name = known
                break
        else:
            self.arrays[name] = (owner, bits(owner))
        offset = array.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
        return {"buffer": name, "offset": offset}

    def buffers(self) -> Mapping[str, Any]:
        """The buffers of the launch file: the bits, as unsigned integers."""
        return {name: {"type": f"u{8 * flat.itemsize}", "data": flat.tolist()} for name, (_, flat) in self.arrays.items()}

    def changed(self, buffers: Mapping[str, Any]) -> None:
        """Gives the arrays the bits that the kernel has left behind."""
        import numpy

        for name, (owner, flat) in self.arrays.items():
            after = numpy.array(buffers[name]["data"], flat.dtype)
            if numpy.array_equal(after, flat):
                continue
            if not flat.flags.writeable:
                raise Error(f"the kernel writes to `{name}`, whose array is read-only")
            flat[...] = after


def bits(array: "numpy.ndarray") -> "numpy.ndarray":
    """The elements of an array that owns its memory as unsigned integers, one behind the other, in the same memory."""
    if not (array.flags.c_contiguous or array.flags.f_contiguous):
        raise Error("an array that is no view has its elements one behind the other")
    flat = (array if array.flags.c_contiguous else array.T).reshape(-1)
    width = array.itemsize if array.itemsize in (1, 2, 4, 8) else 1
    return flat.view(f"u{width}")


def number(value: Union[int, float], parameter: Mapping[str, Any]) -> bytes:
    """A number in the type of its parameter."""
    name, kind, size = parameter["name"], parameter["type"] or "", parameter["bytes"]
    if not isinstance(value, (int, float)):
        raise TypeError(f"parameter `{name}`: an array, a number or bytes are expected, not {type(value).__name__}")
    is_float = kind.startswith("f") or kind.startswith("b") and isinstance(value, float)
    if isinstance(value, float) and not is_float:
        raise TypeError(f"parameter `{name}` is an integer, not {value}")
    if is_float and size in (2, 4, 8):
        return struct.pack({2: "<e", 4: "<f", 8: "<d"}[size], value)
    try:
        return int(value).to_bytes(size, "little", signed=value < 0)
    except OverflowError:
        raise Error(f"parameter `{name}` has {size} bytes, which {value} does not fit into") from None
