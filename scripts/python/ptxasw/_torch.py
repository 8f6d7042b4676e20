"""Code that asks torch for a GPU, on a machine without one: what it puts on ``"cuda"`` is on the CPU."""

import contextlib
import types
import weakref
from typing import Any, Callable, Dict, Mapping, Sequence

import torch  # type: ignore[import-not-found, import-untyped, unused-ignore]
from torch.overrides import TorchFunctionMode  # type: ignore[import-not-found, import-untyped, unused-ignore]

#: The tensors that were asked for their address, by it.
POINTED: "weakref.WeakValueDictionary[int, Any]" = weakref.WeakValueDictionary()

#: What torch calls for ``tensor.is_cuda``.
IS_CUDA = vars(torch._C.TensorBase)["is_cuda"].__get__

#: Methods that move a tensor, whose positional arguments may be devices.
MOVES = (torch.Tensor.to, torch.Tensor.new_empty, torch.Tensor.new_zeros, torch.Tensor.new_ones, torch.Tensor.new_full)


def on_cpu(value: Any) -> Any:
    """The CPU instead of a GPU; all else as it is."""
    if isinstance(value, str) and value.split(":")[0] == "cuda":
        return "cpu"
    return torch.device("cpu") if isinstance(value, torch.device) and value.type == "cuda" else value


class OnCpu(TorchFunctionMode):  # type: ignore[misc, unused-ignore]
    """Calls of torch that name a GPU get the CPU."""

    def __torch_function__(self, called: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None) -> Any:
        named: Dict[str, Any] = dict(kwargs or {})
        if called == IS_CUDA:
            return True
        if called is torch.Tensor.cuda:
            return args[0]
        if called is torch.Tensor.data_ptr:
            address = called(*args)
            POINTED[address] = args[0]
            return address
        if called in MOVES:
            args = [on_cpu(one) for one in args]
        if "device" in named:
            named["device"] = on_cpu(named["device"])
        if named.get("pin_memory"):
            named["pin_memory"] = False
        return called(*args, **named)


def stands_in(arch: int, properties: Mapping[str, int]) -> Dict[str, Callable[..., Any]]:
    """What functions of ``torch.cuda`` return, for an architecture with these properties."""
    major, minor = divmod(arch, 10)
    name = f"ptxasw sm_{arch}"
    about = types.SimpleNamespace(
        name=name, major=major, minor=minor, multi_processor_count=properties["multiprocessor_count"], total_memory=1 << 34,
        warp_size=32, regs_per_multiprocessor=properties["max_num_regs"], max_threads_per_multi_processor=2048,
        shared_memory_per_block=49152, shared_memory_per_block_optin=properties["max_shared_mem"],
        shared_memory_per_multiprocessor=properties["max_shared_mem"] + 1024, L2_cache_size=40 << 20)
    stream = types.SimpleNamespace(cuda_stream=0, device=torch.device("cpu"), synchronize=lambda: None)
    return {
        "is_available": lambda: True, "device_count": lambda: 1, "current_device": lambda: 0, "set_device": lambda *_: None,
        "synchronize": lambda *_: None, "empty_cache": lambda: None, "device": contextlib.nullcontext,
        "current_stream": lambda *_: stream, "default_stream": lambda *_: stream, "get_device_name": lambda *_: name,
        "get_device_capability": lambda *_: (major, minor), "get_device_properties": lambda *_: about}


def without_gpu(until: contextlib.ExitStack, arch: int, properties: Mapping[str, int]) -> None:
    """Torch as if there were a GPU of this architecture, with the memory of the CPU, until the stack is closed."""
    for name, function in stands_in(arch, properties).items():
        until.callback(setattr, torch.cuda, name, getattr(torch.cuda, name))
        setattr(torch.cuda, name, function)
    until.enter_context(OnCpu())
