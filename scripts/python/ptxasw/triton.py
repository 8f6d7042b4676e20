"""Triton's kernels without a GPU: a driver for Triton's runtime."""

import contextlib
import importlib
import importlib.util
import os
import pathlib
import re
import runpy
import sys
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Tuple, Union

import numpy
import triton  # type: ignore[import-not-found, import-untyped, unused-ignore]
from triton.backends.compiler import GPUTarget  # type: ignore[import-not-found, import-untyped, unused-ignore]
from triton.backends.driver import (  # type: ignore[import-not-found, import-untyped, unused-ignore]
    DriverBase, decompose_descriptor, expand_signature)
from triton.runtime.cache import get_cache_manager  # type: ignore[import-not-found, import-untyped, unused-ignore]
from triton.runtime.jit import KernelInterface  # type: ignore[import-not-found, import-untyped, unused-ignore]

from ._equivalence import Launch, described
from ._launch import OF_TRITON, SETTINGS, execute, kernel_of, named
from ._memory import Tensor, is_array, is_scalar
from ._program import Error, checks_of
from ._source import report, written

#: Bytes of shared memory that a block may have, by architecture.
SHARED = {75: 65536, 80: 166912, 86: 101376, 87: 166912, 89: 101376, 90: 232448, 100: 232448, 103: 232448, 120: 101376}

#: Kernels that Triton's own interpreter executes have no PTX.
INTERPRETED = "TRITON_INTERPRET is set, so that Triton compiles nothing; unset it"

#: What a driver does with a launch: text, kernel, grid, block and shared memory, arguments, their names.
Launched = Callable[[str, str, Tuple[Any, ...], List[Any], List[str]], Any]


class Driver(DriverBase):  # type: ignore[misc, unused-ignore]
    """A device that hands launches to Python."""

    def __init__(self, arch: int, launched: Launched, bench: Callable[[Callable[[], Any]], float]) -> None:
        self.arch, self.launched, self.bench = arch, launched, bench
        self.launcher_cls = Launcher
        self.utils = self

    @classmethod
    def is_active(cls) -> bool:
        return True

    def map_python_to_cpp_type(self, ty: str) -> str:
        return ty

    def get_current_target(self) -> Any:
        return GPUTarget("cuda", self.arch, 32)

    def get_active_torch_device(self) -> Any:
        import torch  # type: ignore[import-not-found, import-untyped, unused-ignore]

        return torch.device("cpu")

    def get_current_device(self) -> Any:
        # A key of Triton's caches; kernels for another device are not ours.
        return f"ptxasw sm_{self.arch}"

    def set_current_device(self, device: Any) -> None:
        pass

    def get_current_stream(self, device: Any) -> int:
        return 0

    def get_device_capability(self, *_: Any) -> Tuple[int, int]:
        return divmod(self.arch, 10)

    def get_benchmarker(self) -> Any:
        return lambda call, quantiles=(0.5,), **_: [self.bench(call)] * len(quantiles)

    def get_device_properties(self, device: Any) -> Dict[str, int]:
        return {"max_shared_mem": SHARED.get(self.arch, 49152), "max_num_regs": 65536, "multiprocessor_count": 16,
                "warpSize": 32, "sm_clock_rate": 1000000, "mem_clock_rate": 1000000, "mem_bus_width": 1024}

    def load_binary(self, name: str, kernel: bytes, *_: Any) -> Tuple[Any, ...]:
        try:
            resources = next(one for one in report("asm", kernel, {})["kernels"] if one["name"] == name)
        except (Error, StopIteration):
            resources = {}
        # Module, function, registers, spills, threads of a block.
        return None, None, resources.get("registers", 32), resources.get("spill_stores", 0), 1024

    def unload_module(self, module: Any) -> None:
        pass


class Launcher:
    """Calls the driver with the arguments that a kernel's parameters get."""

    def __init__(self, src: Any, metadata: Any) -> None:
        self.metadata = metadata
        self.names, self.types = list(src.signature), list(src.signature.values())
        self.descriptors = getattr(metadata, "tensordesc_meta", None)
        name = src.name[:150]
        group = get_cache_manager(metadata.hash).get_group(f"{name}.json")
        with open(group[f"{name}.ptx"]) as file:
            self.ptx = here(file.read(), src)

    def __call__(self, x: int, y: int, z: int, stream: Any, function: Any, packed: Any, about: Any, enter: Any, leave: Any,
                 *args: Any) -> None:
        __tracebackhide__ = True
        values: List[Any] = []
        names: List[str] = []

        def flatten(name: str, kind: Any, value: Any) -> None:
            if isinstance(kind, tuple):
                for at, (one, other) in enumerate(zip(kind, value)):
                    flatten(f"{name}.{at}", one, other)
            elif isinstance(kind, str) and kind.startswith("tensordesc"):
                expanded = expand_signature([kind], self.descriptors, "nvTmaDesc")
                for at, (one, other) in enumerate(zip(expanded, decompose_descriptor(value))):
                    flatten(f"{name}.{at}" if at else name, one, other)
            elif kind != "constexpr":
                values.append(value)
                names.append(name)

        for name, kind, value in zip(self.names, self.types, args):
            flatten(name, kind, value)
        for size in ("global_scratch_size", "profile_scratch_size"):
            if hasattr(self.metadata, size):
                needed = getattr(self.metadata, size) * x * y * z
                values.append(numpy.zeros(needed, numpy.uint8) if needed else 0)
                names.append(size[:-5])
        shape = ([int(x), int(y), int(z)], 32 * self.metadata.num_warps, self.metadata.shared)
        if enter is not None:
            enter(about)
        triton.runtime.driver.active.launched(self.ptx, self.metadata.name, shape, values, names)
        if leave is not None:
            leave(about)


def here(ptx: str, src: Any) -> str:
    """The text with the path of a kernel's file; Triton's cache has the one that the file had when the kernel was compiled."""
    path = getattr(getattr(getattr(getattr(src, "fn", None), "fn", None), "__code__", None), "co_filename", "")
    known = {old for old in re.findall(r'\.file\s+\d+\s+"([^"]*)"', ptx) if os.path.basename(old) == os.path.basename(path)}
    return ptx.replace(f'"{known.pop()}"', f'"{path}"') if len(known) == 1 else ptx


def bound(value: Any) -> Any:
    """An argument as Triton's binder takes it."""
    if isinstance(value, tuple):
        each = map(bound, value)
        return type(value)(*each) if hasattr(value, "_fields") else tuple(each)
    if is_scalar(value):
        return value.item()
    return Tensor(value) if is_array(value) and not hasattr(value, "data_ptr") else value


def recorded(kernel: Any, grid: Any, args: Tuple[Any, ...], keywords: Mapping[str, Any], arch: int) -> Launch:
    """The last launch that a call of a kernel makes; nothing is executed. Of several configurations the first one is taken."""
    launches: List[Launch] = []
    if triton.knobs.runtime.interpret:
        raise Error(INTERPRETED)

    def launched(ptx: str, name: str, shape: Tuple[Any, ...], values: List[Any], names: List[str]) -> None:
        with written(ptx, to_file=True) as (path, _):
            found = kernel_of(path, name)
        launches.append(described(ptx, name, shape, values, named(found, names), **OF_TRITON))

    active = getattr(triton.runtime.driver, "_active", None)
    triton.runtime.driver.set_active(Driver(arch, launched, lambda call: 0.0))
    try:
        kernel.run(*map(bound, args), grid=grid, warmup=False, **{name: bound(value) for name, value in keywords.items()})
    finally:
        triton.runtime.driver.set_active(active)
    return launches[-1]


#: What ``activate`` has done to torch; of nested ones, the last one is in force.
TORCH = [contextlib.ExitStack()]


def activate(arch: int = 80, checks: Union[str, Iterable[str], None] = None, meet: Union[str, int, None] = None) -> None:
    """From now on ``kernel[grid](x, y, n, BLOCK=128)`` executes in the interpreter, on arrays of numpy and CPU tensors of
    torch. A fault raises ``ptxasw.Fault`` with the line of the kernel. Where torch has no GPU, ``device="cuda"`` is the CPU,
    and ``torch.cuda`` describes a GPU of ``arch``.

    ``arch`` is the architecture that Triton compiles for, ``checks`` some of ``"race,init,bounds"`` (all by default; bounds
    are always checked), ``meet`` where lanes that parted meet again (``"assembler"``, ``"never"`` or a seed)."""
    if triton.knobs.runtime.interpret:
        raise Error(INTERPRETED)
    options = checks_of(checks, meet)
    last = {"instructions": 0.0}

    def launched(ptx: str, name: str, shape: Tuple[Any, ...], values: List[Any], names: List[str]) -> None:
        __tracebackhide__ = True
        ran = execute(ptx, name, shape, values, {**options, **SETTINGS.options}, names=names, **OF_TRITON)
        last["instructions"] = ran["counters"]["instructions"]

    def bench(call: Callable[[], Any]) -> float:
        call()
        return last["instructions"]

    driver = Driver(arch, launched, bench)
    triton.runtime.driver.set_active(driver)
    KernelInterface.__getitem__ = subscript
    TORCH[-1].close()
    if importlib.util.find_spec("torch") is not None:
        import torch

        if not torch.cuda.is_available():
            from ._torch import without_gpu

            without_gpu(TORCH[-1], arch, driver.get_device_properties(None))


def deactivate() -> None:
    """Kernels are launched as without ``activate``."""
    TORCH[-1].close()
    triton.runtime.driver.set_active(None)
    KernelInterface.__getitem__ = SUBSCRIPT


def has_gpu() -> bool:
    """Whether Triton would find a GPU."""
    return any(backend.driver.is_active() for backend in triton.backends.backends.values())


@contextlib.contextmanager
def activated(arch: int = 80) -> Iterator[None]:
    """``activate`` for a while, unless it is active for that architecture."""
    before = getattr(triton.runtime.driver, "_active", None), KernelInterface.__getitem__
    is_active = isinstance(before[0], Driver) and before[0].arch == arch
    TORCH.append(contextlib.ExitStack())
    try:
        if not is_active and not triton.knobs.runtime.interpret:
            activate(arch)
        yield
    finally:
        TORCH.pop().close()
        triton.runtime.driver.set_active(before[0])
        KernelInterface.__getitem__ = before[1]


#: Triton's own ``kernel[grid]``.
SUBSCRIPT = KernelInterface.__getitem__


def subscript(kernel: Any, grid: Any) -> Callable[..., Any]:
    """``kernel[grid]`` that takes arrays of numpy."""
    def call(*args: Any, **named: Any) -> Any:
        __tracebackhide__ = True
        try:
            return SUBSCRIPT(kernel, grid)(*map(bound, args), **{name: bound(value) for name, value in named.items()})
        except Error as error:
            # Not through Triton's own calls: the place is in the message.
            raise error.with_traceback(None) from None

    return call


def main() -> None:
    """Runs a script with ``activate``: ``python -m ptxasw.triton [--arch 90] script.py ...``."""
    words = sys.argv[1:]
    arch = 80
    if words[:1] == ["--arch"] and len(words) > 2:
        arch, words = int(words[1].replace("sm_", "")), words[2:]
    if not words or words[0].startswith("-"):
        sys.exit("usage: python -m ptxasw.triton [--arch 90] script.py ...")
    activate(arch)
    sys.argv, sys.path[0] = words, str(pathlib.Path(words[0]).resolve().parent)
    runpy.run_path(words[0], run_name="__main__")


if __name__ == "__main__":
    # Not this module, which has another name.
    importlib.import_module("ptxasw.triton").main()
