"""What kernels take of a multiprocessor, by `cuobjdump --dump-resource-usage` of their cubins.

ptxasw reads the same numbers out of the ELF file by itself, and takes back what makes a kernel worse. Here
they come from NVIDIA's program, blocks from the text of the PTX, and resident warps from a formula of its
own (CUDA C++ Programming Guide, "Compute Capabilities"): so a mistake there does not hide itself."""

import dataclasses
import re
import subprocess

WARP = 32

# Sizes of blocks for a kernel that names none.
USUAL_BLOCKS = (128, 256, 512)

# Compute capability: warps, blocks, and KiB of shared memory of a multiprocessor. (Each has 65536 registers.)
SIZES = {
    50: (64, 32, 64), 52: (64, 32, 96), 53: (64, 32, 64), 60: (64, 32, 64), 61: (64, 32, 96), 62: (64, 32, 64),
    70: (64, 32, 96), 72: (64, 32, 96), 75: (32, 16, 64), 80: (64, 32, 164), 86: (48, 16, 100),
    87: (48, 16, 164), 89: (48, 24, 100), 90: (64, 32, 228), 100: (64, 32, 228), 103: (64, 32, 228),
    110: (48, 24, 228), 120: (48, 24, 100), 121: (48, 24, 100)}


@dataclasses.dataclass(frozen=True)
class Usage:
    """Registers of a thread, bytes of its stack (with what is spilled), bytes of a block's shared memory."""

    registers: int
    stack: int
    shared: int


def usage(cuobjdump, cubin):
    """The usage of each function in a cubin, by its name."""
    done = subprocess.run([str(cuobjdump), "--dump-resource-usage", str(cubin)], capture_output=True, text=True,
                          check=True)
    found = {}
    for name, numbers in re.findall(r"^ *Function (\S+):\n(.*)$", done.stdout, re.M):
        words = {word: int(value) for word, value in re.findall(r"(\w+)(?:\[\d+\])?:(\d+)", numbers)}
        found[name] = Usage(words["REG"], words["STACK"] + words.get("LOCAL", 0), words["SHARED"])
    return found


def capability(options):
    """The compute capability in the words for ptxas: 90 of `-arch=sm_90a`; 0 where there is none."""
    found = re.search(r"sm_(\d+)", " ".join(options))
    return int(found[1]) if found else 0


def blocks(text):
    """Threads of the largest block, by the name of each kernel whose PTX says so."""
    found = {}
    for name, head in re.findall(r"\.entry\s+([\w$%]+)([^{;]*)", text):
        if sizes := re.search(r"\.(?:reqntid|maxntid)\s+([\d ,]+)", head):
            threads = 1
            for size in sizes[1].split(","):
                threads *= int(size)
            found[name] = threads
    return found


def warps(capability, threads, used):
    """Warps resident at once; `None` of a multiprocessor that is not in the table."""
    if capability not in SIZES:
        return None
    most, most_blocks, shared = SIZES[capability]
    of_block = -(-threads // WARP)
    # Registers come in units of 256 for a warp, from one scheduler's quarter of them.
    of_warp = max(1, -(-used.registers * WARP // 256)) * 256
    by_registers = 65536 // 4 // of_warp * 4 // of_block
    # The system takes 1 KiB of each block besides.
    of_shared = used.shared + (1024 if capability >= 80 else 0)
    by_shared = shared * 1024 // of_shared if of_shared else most_blocks
    return min(by_registers, most // of_block, most_blocks, by_shared) * of_block


def losses(capability, text, before, after):
    """What functions have lost, a line for each: warps, or bytes of stack."""
    known, lost = blocks(text), []
    for name in sorted(before.keys() & after.keys()):
        old, new = before[name], after[name]
        if new.stack > old.stack:
            lost.append(f"{name}: {new.stack} bytes of stack instead of {old.stack}")
        for threads in [known[name]] if name in known else USUAL_BLOCKS:
            had, has = warps(capability, threads, old), warps(capability, threads, new)
            if had is not None and has < had:
                lost.append(f"{name}: {has} warps instead of {had} in blocks of {threads}, "
                            f"{new.registers} registers instead of {old.registers}")
                break
    return lost
