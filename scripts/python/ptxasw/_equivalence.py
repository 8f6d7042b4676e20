"""Launches as values, and the question whether two of them compute the same function."""

import contextlib
import json
import os
import pathlib
import re
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Tuple, Union

from ._launch import OF_TRITON, is_of_triton, kernel_of, named, shape, with_metadata
from ._memory import Memory, address, arguments
from ._program import Option, folder
from ._report import Equivalence
from ._source import Source, report, text, written


class Launch:
    """A kernel's text with a launch. Whatever takes a kernel takes it, too."""

    def __init__(self, ptx: str, file: Mapping[str, Any], memory: Memory) -> None:
        self.asm = {"ptx": ptx}
        #: The launch as a launch file has it.
        self.file = file
        self.memory = memory

    def __repr__(self) -> str:
        return f"Launch({self.file['kernel']!r}, grid={self.file['grid']}, block={self.file['block']})"


class Launcher:
    """A kernel that waits for its launch: ``launch(kernel)[grid, block](x, y, n)``."""

    def __init__(self, kernel: Any, name: Optional[str], arch: int) -> None:
        self.kernel, self.name, self.arch = kernel, name, arch

    def __getitem__(self, grid: Any) -> Callable[..., Launch]:
        if hasattr(self.kernel, "warmup") and hasattr(self.kernel, "fn"):
            from .triton import recorded

            return lambda *args, **named: recorded(self.kernel, grid, args, named, self.arch)
        return lambda *args, **named: self.launched(grid, args, named)

    def launched(self, given: Any, args: Tuple[Any, ...], keywords: Mapping[str, Any]) -> Launch:
        """A launch of PTX: grid, block and bytes of dynamic shared memory; keywords name buffers, in the parameters' order."""
        values = [*args, *keywords.values()]
        if is_of_triton(self.kernel):
            given, values = with_metadata(self.kernel, given, values)
        if not isinstance(given, tuple) or len(given) not in (2, 3):
            raise TypeError("`launch(ptx)[grid, block]` or `[grid, block, shared]` is expected")
        with written(self.kernel, to_file=True) as (path, _):
            found = kernel_of(path, self.name)
        own = getattr(self.kernel, "parameters", None) or [one["name"] for one in found["parameters"]]
        names = own[: len(args)]
        parameters = named(found, [*names, *keywords])
        more = OF_TRITON if is_of_triton(self.kernel) else {}
        return described(text(self.kernel), found["name"], given, values, parameters, **more)


def described(
    ptx: str, kernel: Optional[str], given: Tuple[Any, ...], args: List[Any], parameters: List[Mapping[str, Any]],
    **more: Any
) -> Launch:
    """A launch with arrays of floating-point numbers as symbols; ``more`` goes into the launch file."""
    grid, block, shared = (*given, 0)[:3]
    memory = Memory()
    values = arguments(memory, args, parameters)
    file = {"kernel": kernel, "grid": shape(grid), "block": shape(block), "dynamic_shared": shared, "args": values,
            "buffers": memory.symbols(), **more}
    return Launch(ptx, file, memory)


def launch(kernel: Any, /, name: Optional[str] = None, arch: int = 80) -> Launcher:
    """A launch as a value, written as launches are: ``launch(kernel)[grid](x, y, n, BLOCK=128)`` for a function with
    ``@triton.jit``, which Triton compiles for ``arch`` as it would for these arguments; ``launch(ptx)[grid, block, shared](x,
    y, n)`` for PTX, of whose kernels ``name`` chooses one, and for a kernel of a ``Module``.

    Arrays of floating-point numbers stand for all numbers, unless they are ``concrete(array)``; ``SYMBOL`` is such an
    argument. Integers are what they are. An array that two launches share is one buffer; others are paired by the names of
    their parameters, which keywords give to those of PTX (``launch(ptx)[grid, block](x=x, out=y, n=5)``, in their order),
    and what is left by position."""
    return Launcher(kernel, name or getattr(kernel, "kernel_name", None), arch)


#: Launches as people have them: the value of ``launch``, a launch file, its path.
AnyLaunch = Union[Launch, Mapping[str, Any], str, "os.PathLike[str]"]


def equivalent(
    a: Source, b: Source, launch: Optional[AnyLaunch] = None, over: str = "reals", *,
    launch_against: Optional[AnyLaunch] = None, **options: Option
) -> Equivalence:
    """Whether two kernels compute the same function of their floating-point inputs: the JSON of ``ptxasw verify --over``,
    with ``"verdict"`` ``"equal"``, ``"different"`` (with a ``"witness"``) or ``"unknown"`` (with a ``"reason"``).

    ``a`` and ``b`` are kernels or values of ``launch``, which need no launch besides. ``launch_against`` is the launch of
    ``b`` where it differs. ``over`` is ``"reals"`` or ``"bits"``. Options: ``blocks="0,17"``, ``seeds=2``, ``compare="out"``,
    ``tolerance=1e-3``, ``kernel=NAME``, ``against=NAME``."""
    first = a if isinstance(a, Launch) else launch
    second = b if isinstance(b, Launch) else launch_against
    if first is None:
        raise TypeError("a launch is expected: `equivalent(a, b, launch)`, or `launch(kernel)[grid, block](...)` as `a` and `b`")
    if isinstance(a, Launch) and launch is not None:
        raise TypeError("`a` has its launch already")
    renamed: Tuple[Dict[str, str], Dict[str, str]] = ({}, {})
    if isinstance(first, Launch) and isinstance(second, Launch):
        renamed = pairs(first, second)
    with written(a, to_file=True) as (one, _), written(b, to_file=True) as (other, _), file_of(first, renamed[0]) as its_launch:
        with file_of(second, renamed[1]) as against:
            names = {"kernel": getattr(a, "kernel_name", None), "against": getattr(b, "kernel_name", None)}
            options = {**names, "over": over, "launch": its_launch, "launch_against": against, **options}
            found = report("verify", one, options, other)
    found["unpaired"] = sorted({*renamed[0].values()} ^ {*renamed[1].values()})
    if isinstance(first, Launch):
        own = {renamed[0].get(name, name): name for name in first.memory.arrays}
        witness = found["witness"] or {}
        smallest = witness.get("smallest", {"inputs": []})
        for one in [witness, smallest, *smallest["inputs"], *found.get("differences", [])]:
            if one.get("buffer") in own:
                one["at"] = first.memory.at(own[one["buffer"]], one["index"])
    return Equivalence(found)


def assert_same_function(
    a: Source, b: Source, launch: Optional[AnyLaunch] = None, over: str = "reals", **options: Any
) -> Equivalence:
    """Fails unless ``equivalent`` says ``"equal"``; takes what it takes. The message has the witness, or the reason."""
    __tracebackhide__ = True
    found = equivalent(a, b, launch, over, **options)
    if found["verdict"] != "equal":
        raise AssertionError(str(found))
    return found


def pairs(first: Launch, second: Launch) -> Tuple[Dict[str, str], Dict[str, str]]:
    """New names for the buffers of both launches, equal for those that belong together: those of the same array, of the same
    name, and of the same place among the rest."""
    ours, theirs = (dict(one.memory.arrays) for one in (first, second))
    found: List[Tuple[str, str]] = []

    def pair(name: str, other: str) -> None:
        found.append((name, other))
        del ours[name], theirs[other]

    for other, (storage, _) in list(theirs.items()):
        same = (name for name, (known, _) in ours.items() if address(known.owner) == address(storage.owner))
        name = next(same, None)
        if name is not None:
            pair(name, other)
    for name in [name for name in ours if name in theirs]:
        pair(name, name)
    if len(ours) == len(theirs):
        for name, other in list(zip(ours, theirs)):
            pair(name, other)
    # A name of the source says more than the number of a parameter.
    chosen = {(name, other): other if re.search(r"_param_\d+$", name) else name for name, other in found}
    if len(set(chosen.values())) != len(chosen):
        chosen = {one: one[0] for one in chosen}
    taken = set(chosen.values())
    rest = [{name: name if name not in taken else f"{name} ({which})" for name in names}
            for names, which in ((ours, "first"), (theirs, "second"))]
    return ({**{name: new for (name, _), new in chosen.items()}, **rest[0]},
            {**{other: new for (_, other), new in chosen.items()}, **rest[1]})


@contextlib.contextmanager
def file_of(launch: Optional[AnyLaunch], renamed: Mapping[str, str] = {}) -> Iterator[Optional[str]]:
    """The path of a launch file."""
    if launch is None or isinstance(launch, (str, os.PathLike)):
        yield None if launch is None else str(launch)
        return
    file = launch.file if isinstance(launch, Launch) else launch
    if renamed:
        args = [{**one, "buffer": renamed[one["buffer"]]} if "buffer" in one else one for one in file["args"]]
        file = {**file, "args": args, "buffers": {renamed[name]: one for name, one in file["buffers"].items()}}
    with folder() as its_folder:
        path = pathlib.Path(its_folder, "launch.json")
        path.write_text(json.dumps(file))
        yield str(path)
