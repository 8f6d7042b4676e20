"""CUDA C++ and PTX as modules whose kernels are called with numpy arrays."""

import functools
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sysconfig
import tempfile
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, Sequence, Union

from ._launch import chosen, execute
from ._memory import C_TYPES
from ._program import Error, Option, call
from ._report import Run
from ._source import Source, is_text, text, written

if TYPE_CHECKING:
    import numpy

#: An entry that does nothing, to read a module's variables before the first launch.
NOTHING = "\n.visible .entry ptxasw_nothing() { ret; }\n"

#: Types of variables, as numpy has them; of others the bytes are shown.
DTYPES = {"u16": "u2", "u32": "u4", "u64": "u8", "s16": "i2", "s32": "i4", "s64": "i8", "f16": "f2", "f32": "f4", "f64": "f8"}


class Module:
    """The kernels of a text: ``module.NAME[grid, block, shared](x, y, n)`` executes one on numpy arrays, and so does
    ``module["NAME"]``, whatever the name is.

    ``source`` is CUDA C++ (the path of a ``.cu`` file, or a text), which nvcc compiles for ``arch`` with ``options``, or
    whatever else has PTX. All launches share the module's variables."""

    def __init__(self, source: Source, arch: Union[int, str] = 80, options: Sequence[str] = ()) -> None:
        __tracebackhide__ = True
        self._source = cuda(source)
        if self._source:
            file = None if is_cuda_text(source) else os.fspath(source)
            self.asm = {"ptx": compiled(self._source, file, arch, tuple(options))}
        else:
            self.asm = {"ptx": text(source)}
        with written(self, to_file=True) as (path, _):
            found = json.loads(call(["parse", path, "--format", "json"], {}).stdout)
        self._kernels, self._declared = found["kernels"], found["variables"]
        self._variables: Optional[Dict[str, "numpy.ndarray"]] = None

    def __getattr__(self, name: str) -> "Kernel":
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return self[name]
        except Error as error:
            raise AttributeError(str(error)) from None

    def __getitem__(self, name: str) -> "Kernel":
        return Kernel(self, chosen(self._kernels, name))

    def __dir__(self) -> List[str]:
        return [*super().__dir__(), *(one["names"][-1] for one in self._kernels)]

    def symbol(self, name: str, dtype: Any = None) -> "numpy.ndarray":
        """A ``__device__`` or ``__constant__`` variable: an array that kernels read and change. PTX has arrays and structs as
        bytes; unless ``dtype`` says what they are, the declaration in the CUDA source is looked up."""
        found = [one for one in self._declared if name in one["names"]]
        if len(found) != 1:
            names = ", ".join(one["names"][-1] for one in self._declared) or "none"
            raise Error(f"there is no variable `{name}`; there are: {names}" if not found else f"several are called `{name}`")
        written_as = re.search(rf"__(?:device|constant)__[\s\w]*?\b((?:(?:{'|'.join(C_TYPES)})\s+)+){re.escape(name)}\b", self._source)
        in_source = C_TYPES.get(" ".join(written_as[1].split())) if written_as else None
        content = self._contents()[found[0]["name"]].view(dtype or in_source or DTYPES.get(found[0]["type"], "u1"))
        extents = re.search(rf"\b{re.escape(name)}\s*((?:\[\s*\d+\s*\])+)", self._source)
        shape = [int(extent) for extent in re.findall(r"\d+", extents[1])] if extents and not dtype else []
        return content.reshape(shape) if shape and math.prod(shape) == content.size else content

    def _contents(self) -> Dict[str, "numpy.ndarray"]:
        """The bytes of all variables."""
        if self._variables is None:
            found: Dict[str, "numpy.ndarray"] = {}
            execute(self.asm["ptx"] + NOTHING, "ptxasw_nothing", (1, 32), [], {}, found)
            self._variables = found
        return self._variables


class Kernel:
    """A kernel of a module."""

    def __init__(self, module: Module, found: Mapping[str, Any]) -> None:
        self.module, self.kernel_name, self.asm = module, str(found["name"]), module.asm
        #: The names of its parameters in the source.
        self.parameters = declared(module._source, found)

    def __getitem__(self, given: Any) -> Callable[..., Run]:
        if not isinstance(given, tuple) or len(given) not in (2, 3):
            raise TypeError("`kernel[grid, block]` or `kernel[grid, block, shared]` is expected")

        def call(*args: Any, **options: Option) -> Run:
            __tracebackhide__ = True
            return self.launched(given, args, options)

        return call

    def __call__(self, *_: Any) -> None:
        raise TypeError("`kernel[grid, block](...)` is a launch; grid and block are missing")

    def launched(self, given: Any, args: Sequence[Any], options: Mapping[str, Option]) -> Run:
        """Executes the kernel; ``options`` are those of ``ptxasw run``."""
        __tracebackhide__ = True
        variables = self.module._contents() if self.module._declared else None
        return execute(self, self.kernel_name, given, args, options, variables, self.parameters)


def declared(source: str, kernel: Mapping[str, Any]) -> List[str]:
    """The names of a kernel's parameters in its source, as far as they are found there."""
    name = re.match(r"\w+", str(kernel["names"][-1]).rsplit("::", 1)[-1])
    text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", source, flags=re.DOTALL)
    for found in re.finditer(rf"\b{name[0]}\s*\(([^()]*)\)\s*\{{", text) if name else ():
        names = [re.findall(r"\w+", re.sub(r"\[[^]]*\]", "", one)) for one in re.split(r",(?![^<]*>)", found[1])]
        if len(names) == len(kernel["parameters"]) and all(len(words) > 1 for words in names):
            return [words[-1] for words in names]
    return []


def cuda(source: Any) -> str:
    """The text of CUDA C++, given as a text or a path; empty if it is something else."""
    if is_cuda_text(source):
        return str(source)
    is_path = isinstance(source, os.PathLike) or isinstance(source, str) and not is_text(source)
    return pathlib.Path(source).read_text() if is_path and pathlib.Path(source).suffix in (".cu", ".cpp", ".cc") else ""


def is_cuda_text(source: Any) -> bool:
    """Whether a source is CUDA C++ as a text."""
    return isinstance(source, str) and "__global__" in source and ".version" not in source


def nvcc() -> str:
    """The path of nvcc: in ``PATH``, of ``CUDA_HOME`` or ``CUDA_PATH``, of NVIDIA's package, in the usual place."""
    folders = [pathlib.Path(os.environ[name], "bin") for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    folders += sorted(pathlib.Path(sysconfig.get_path("purelib"), "nvidia").glob("*/bin"))
    folders.append(pathlib.Path("/usr/local/cuda/bin"))
    found = shutil.which("nvcc") or shutil.which("nvcc", path=os.pathsep.join(map(str, folders)))
    if found is None:
        raise Error("CUDA C++ needs nvcc, which is not in PATH, CUDA_HOME or /usr/local/cuda; `pip install nvidia-cuda-nvcc "
                    "nvidia-cuda-crt nvidia-cuda-runtime nvidia-cuda-cccl nvidia-nvvm` brings one")
    return found


@functools.lru_cache(maxsize=None)
def compiled(source: str, path: Optional[str], arch: Union[int, str], options: Sequence[str]) -> str:
    """The PTX that nvcc makes of a file, or of a text without one."""
    __tracebackhide__ = True
    with tempfile.TemporaryDirectory() as folder:
        made = pathlib.Path(folder, "kernel.ptx")
        if path is None:
            path = str(pathlib.Path(folder, "kernel.cu"))
            pathlib.Path(path).write_text(f'#line 1 "kernel.cu"\n{source}')
        target = arch if str(arch).startswith("sm_") else f"sm_{arch}"
        command = [nvcc(), "-ptx", "-lineinfo", f"-arch={target}", *options, path, "-o", str(made)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise Error((done.stderr + done.stdout).strip().replace(f"{folder}/", ""))
        # A text is no file of this folder.
        return made.read_text().replace(f'"{os.path.join(os.getcwd(), "kernel.cu")}"', '"kernel.cu"')
