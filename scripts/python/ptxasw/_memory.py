"""The memory of a launch: numpy arrays and CPU tensors of torch, as buffers and arguments of a launch file."""

import re
import struct
import sys
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, NamedTuple, Sequence, Tuple, Union

from ._program import Error

if TYPE_CHECKING:
    import numpy

#: Types of floating-point elements in launch files, by their names in numpy, ml_dtypes and torch.
FLOATS = {"float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64"}


#: Types of CUDA C++, as numpy has them.
C_TYPES = {"float": "f4", "double": "f8", "half": "f2", "__half": "f2", "int": "i4", "unsigned": "u4", "unsigned int": "u4", "short": "i2",
           "unsigned short": "u2", "char": "i1", "signed char": "i1", "unsigned char": "u1", "long": "i8", "unsigned long": "u8",
           "long long": "i8", "unsigned long long": "u8", "size_t": "u8", "bool": "?"}


#: The longest array of integers that may hold addresses of tensors.
MAX_POINTERS = 4096


class Tensor:
    """An array or a tensor as Triton's binder takes it: with ``dtype`` and ``data_ptr``."""

    def __init__(self, array: Any, concrete: bool = False) -> None:
        self.array, self.concrete = array, concrete
        self.dtype = str(array.dtype).split(".")[-1]
        self.shape = array.shape

    def data_ptr(self) -> int:
        """An address whose alignment is that of the buffer in the interpreter."""
        return 2**16 + storage(self.array).offset

    def zero_(self) -> None:
        """What Triton's autotuner does with ``reset_to_zero``."""
        self.array[...] = 0

    def clone(self) -> Any:
        """What Triton's autotuner does with ``restore_value``."""
        return self.array.copy()

    def copy_(self, other: Any) -> None:
        """What Triton's autotuner does with ``restore_value``."""
        self.array[...] = other


def concrete(array: Any) -> Tensor:
    """An argument of a launch for ``equivalent``: a floating-point array whose numbers count. Other arrays of floating-point
    numbers stand for all numbers."""
    return array if isinstance(array, Tensor) and array.concrete else Tensor(array, concrete=True)


#: Names of floating-point types in Triton, by which ``triton.reinterpret`` looks at integers.
OF_TRITON = {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64"}


class Symbol(float):
    """A floating-point argument that stands for all numbers."""


#: A floating-point argument of a launch for ``equivalent`` that stands for all numbers.
SYMBOL = Symbol("nan")


class Storage(NamedTuple):
    """The memory that an array lies in."""

    #: The array that owns the memory.
    owner: "numpy.ndarray"
    #: The name of the element type.
    dtype: str
    #: Bytes from the beginning of the memory to the first element.
    offset: int


def storage(value: Any) -> Storage:
    """The memory that an array of numpy or a CPU tensor of torch lies in."""
    import numpy

    if isinstance(value, Tensor):
        return storage(value.array)
    if hasattr(getattr(value, "base", None), "data_ptr"):  # what `triton.reinterpret` returns
        found = storage(value.base)
        return found._replace(dtype=OF_TRITON.get(str(value.dtype), found.dtype))
    if isinstance(value, numpy.ndarray):
        owner = value
        while isinstance(owner.base, numpy.ndarray):
            owner = owner.base
        return Storage(owner, owner.dtype.name, address(value) - address(owner))
    if value.device.type != "cpu":
        raise Error(f"a tensor on the CPU is expected, not on {value.device}")
    known = value.untyped_storage() if hasattr(value, "untyped_storage") else value.storage()
    size = known.nbytes() if callable(known.nbytes) else known.nbytes
    whole = value.detach().as_strided((size // value.element_size(),), (1,), 0)
    dtype = str(value.dtype).split(".")[-1]
    try:
        owner = whole.numpy()
    except TypeError:  # numpy has no such type
        import torch  # type: ignore[import-not-found, import-untyped, unused-ignore]

        owner = whole.view({1: torch.int8, 2: torch.int16, 4: torch.int32}[value.element_size()]).numpy()
    return Storage(owner, dtype, value.storage_offset() * value.element_size())


def tensors_at(numbers: "numpy.ndarray") -> List[Any]:
    """The tensors of torch whose addresses these numbers are, if all are addresses or 0."""
    known = sys.modules.get("ptxasw._torch")
    if known is None or numbers.itemsize != 8 or not numbers.any():
        return []
    found = [known.POINTED.get(number) for number in numbers.tolist()] if numbers.size <= MAX_POINTERS else []
    return found if all((one is None) == (number == 0) for one, number in zip(found, numbers.tolist())) else []


def is_array(value: Any) -> bool:
    """Whether an argument is memory: an array of numpy, a tensor of torch."""
    numpy = sys.modules.get("numpy")
    return hasattr(value, "data_ptr") or numpy is not None and isinstance(value, numpy.ndarray)


def is_scalar(value: Any) -> bool:
    """Whether an argument is a scalar of numpy."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.generic)


def address(array: "numpy.ndarray") -> int:
    """The address of an array's first element."""
    return int(array.__array_interface__["data"][0])


class Memory:
    """The arrays of a launch, each with the buffer that has its bits."""

    def __init__(self) -> None:
        self.arrays: Dict[str, Tuple[Storage, "numpy.ndarray"]] = {}
        self.concrete: Dict[str, bool] = {}
        #: Buffers of pointers, in the form of launch files.
        self.pointers: Dict[str, List[Any]] = {}

    def argument(self, value: Any, parameter: Mapping[str, Any]) -> Mapping[str, Any]:
        """An argument in the form of a launch file."""
        __tracebackhide__ = True
        if is_array(value):
            check_type(value, parameter)
            return self.pointer(value, parameter["name"])
        if isinstance(value, Symbol):
            return {"type": f"f{8 * parameter['bytes']}", "values": "symbolic"}
        if isinstance(value, list):
            return self.pointers_to(value, parameter["name"])
        if isinstance(value, tuple):
            return {"struct": [self.member(one, parameter) for one in value]}
        if isinstance(value, (bytes, bytearray)):
            return {"bytes": bytes(value).hex()}
        if is_scalar(value):
            if value.nbytes == parameter["bytes"] or value.dtype.kind not in "biuf":
                return {"bytes": value.tobytes().hex()}
            value = value.item()
        return {"bytes": number(value, parameter).hex()}

    def member(self, value: Any, parameter: Mapping[str, Any]) -> Mapping[str, Any]:
        """A member of a struct; integers of Python are ``int``, other numbers ``float``."""
        __tracebackhide__ = True
        if is_array(value):
            return self.pointer(value, parameter["name"] if not self.arrays else f"{parameter['name']}.{len(self.arrays)}")
        if isinstance(value, tuple):
            return {"struct": [self.member(one, parameter) for one in value]}
        if is_scalar(value) and value.dtype.kind in "biuf":
            return {"type": f"b{8 * value.nbytes}", "value": "0x" + value.tobytes()[::-1].hex()}
        kind = {"type": "f32" if isinstance(value, float) else "s32", "bytes": 4, "name": parameter["name"]}
        return {"type": "b32", "value": "0x" + number(value, kind)[::-1].hex()}

    def pointer(self, array: Any, name: str) -> Mapping[str, Any]:
        """A pointer to an array's first element, in the array that owns the memory."""
        found = storage(array)
        for known, (other, _) in self.arrays.items():
            if address(other.owner) == address(found.owner) and other.owner.nbytes == found.owner.nbytes:
                name = known
                break
        else:
            self.arrays[name] = (found, bits(found.owner))
            pointed = tensors_at(self.arrays[name][1])
            if pointed:
                self.pointers_to(pointed, name)
        self.concrete[name] = self.concrete.get(name, False) or getattr(array, "concrete", False)
        return {"buffer": name, "offset": found.offset}

    def pointers_to(self, arrays: List[Any], name: str) -> Mapping[str, Any]:
        """A pointer to a buffer of pointers; ``None`` is the null pointer."""
        self.pointers[name] = [one if one is None else self.pointer(one, f"{name}[{at}]") for at, one in enumerate(arrays)]
        return {"buffer": name}

    def at(self, name: str, index: int) -> List[int]:
        """The indices of an element of a buffer in its array."""
        import numpy

        owner = self.arrays[name][0].owner
        return [int(at) for at in numpy.unravel_index(index, owner.shape, "C" if owner.flags.c_contiguous else "F")]

    def buffers(self) -> Mapping[str, Any]:
        """The buffers of the launch file: the bits, as unsigned integers."""
        buffers = {name: {"type": f"u{8 * flat.itemsize}", "bytes": flat.data.hex()} for name, (_, flat) in self.arrays.items()}
        return {**buffers, **self.tables()}

    def tables(self) -> Dict[str, Any]:
        """The buffers of pointers."""
        return {name: {"pointers": each} for name, each in self.pointers.items()}

    def symbols(self) -> Mapping[str, Any]:
        """The buffers of a launch file whose floating-point numbers stand for all numbers, but for concrete ones."""
        def buffer(name: str, found: Storage, flat: "numpy.ndarray") -> Mapping[str, Any]:
            kind = FLOATS.get(found.dtype)
            if kind is None:
                return {"type": f"u{8 * flat.itemsize}", "bytes": flat.data.hex()}
            if self.concrete[name]:
                return {"type": kind, "values": "concrete", "bytes": flat.data.hex()}
            return {"type": kind, "values": "symbolic", "len": flat.size}

        return {**{name: buffer(name, found, flat) for name, (found, flat) in self.arrays.items()}, **self.tables()}

    def changed(self, buffers: Mapping[str, Any]) -> None:
        """Gives the arrays the bits that the kernel has left behind."""
        import numpy

        for name, (_, flat) in self.arrays.items():
            after = numpy.frombuffer(bytes.fromhex(buffers[name]["bytes"]), flat.dtype)
            if name in self.pointers or numpy.array_equal(after, flat):
                continue
            if not flat.flags.writeable:
                raise Error(f"the kernel writes to `{name}`, whose array is read-only")
            flat[...] = after


def check_type(array: Any, parameter: Mapping[str, Any]) -> None:
    """Refuses an array whose elements are not what a parameter points to, as far as the kernel's name tells; single bytes may
    stand for anything."""
    import numpy

    __tracebackhide__ = True
    declared = parameter.get("declared", "")
    kind = C_TYPES.get(re.sub(r"\b(const|volatile)\b|\*$", "", declared).strip()) if declared.endswith("*") else None
    if kind is None or not isinstance(array, numpy.ndarray) or array.itemsize == 1:
        return
    wanted = numpy.dtype(kind)
    if array.itemsize != wanted.itemsize or (array.dtype.kind == "f") != (wanted.kind == "f"):
        raise TypeError(f"parameter `{parameter['name']}` is `{declared}`, and the array has elements of {array.dtype}, not "
                        f"{wanted.name}; a view as uint8 is passed as it is")


def bits(array: "numpy.ndarray") -> "numpy.ndarray":
    """The elements of an array that owns its memory as unsigned integers, one behind the other, in the same memory."""
    if not (array.flags.c_contiguous or array.flags.f_contiguous):
        raise Error("an array that is no view has its elements one behind the other")
    flat = (array if array.flags.c_contiguous else array.T).reshape(-1)
    width = array.itemsize if array.itemsize in (1, 2, 4, 8) else 1
    return flat.view(f"u{width}")


def number(value: Union[int, float], parameter: Mapping[str, Any]) -> bytes:
    """A number in the type of its parameter."""
    __tracebackhide__ = True
    name, kind, size = parameter["name"], parameter["type"] or "", parameter["bytes"]
    if not isinstance(value, (int, float)):
        raise TypeError(f"parameter `{name}`: an array, a number, bytes or a tuple (a struct) are expected, not {type(value).__name__}")
    is_float = kind.startswith("f") or kind.startswith("b") and isinstance(value, float)
    if isinstance(value, float) and not is_float:
        raise TypeError(f"parameter `{name}` is an integer, not {value}")
    if is_float and size in (2, 4, 8):
        return struct.pack({2: "<e", 4: "<f", 8: "<d"}[size], value)
    try:
        return int(value).to_bytes(size, "little", signed=value < 0)
    except OverflowError:
        raise Error(f"parameter `{name}` has {size} bytes, which {value} does not fit into") from None


def arguments(memory: Memory, values: Sequence[Any], parameters: Sequence[Mapping[str, Any]]) -> List[Mapping[str, Any]]:
    """The arguments of a launch file."""
    __tracebackhide__ = True
    if len(parameters) != len(values):
        declared = ", ".join(str(one.get("declared", one["name"])) for one in parameters)
        raise Error(f"the kernel has {len(parameters)} parameters, not {len(values)}: {declared}")
    out: List[Mapping[str, Any]] = []
    for value, parameter in zip(values, parameters):
        out.append(memory.argument(value, parameter))
    return out
