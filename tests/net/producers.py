"""Makes the PTX of the net: one function per producer, from items to the files that were made.

Made files are kept beside a digest of source, target and options and are made again only where it has
changed; whoever changes a compiler or this file removes target/net first. A producer that is not installed is set up first: pip installs into environments of their own in
.toolchain/, apt-get through scripts/setup."""

import ctypes
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

from plan import HERE, SOURCES

ROOT = HERE.parent.parent
TOOLCHAIN = ROOT / ".toolchain"

# One release each, so that the net is the same everywhere.
PACKAGES = {
    "triton": ["triton==3.9.0"],
    "numba": ["numba-cuda==0.30.4", "nvidia-cuda-nvcc==13.5.37", "nvidia-nvvm==13.5.37",
              "nvidia-cuda-nvrtc==13.5.37"],
    "nvrtc": ["nvidia-cuda-nvrtc-cu12==12.9.86"],
}
DEBIAN = {"clang": ("clang-19", ["clang-19"]), "gcc": ("gcc-12", ["gcc-12", "gcc-12-offload-nvptx"])}


class Missing(Exception):
    """A producer that is not here and cannot be installed."""


def run(words, **keywords):
    """Runs a command; its standard error is the exception where it fails."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, **keywords)
    if done.returncode:
        raise RuntimeError((done.stderr or done.stdout or f"exit status {done.returncode}").strip())
    return done.stdout


def environment(name):
    """The python of an environment with the packages of a producer."""
    folder = TOOLCHAIN / f"{name}-env"
    python, stamp, wanted = folder / "bin/python", folder / "packages", " ".join(PACKAGES[name])
    if not stamp.exists() or stamp.read_text() != wanted:
        print(f"installing {wanted} into .toolchain/{folder.name}", file=sys.stderr)
        try:
            run([sys.executable, "-m", "venv", folder])
            run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PACKAGES[name]])
        except RuntimeError as error:
            raise Missing(str(error).splitlines()[-1]) from error
        stamp.write_text(wanted)
    return python


def debian(name):
    """A compiler that is a Debian package."""
    program, packages = DEBIAN[name]
    missing = [package for package in packages if subprocess.run(
        ["dpkg-query", "-W", package], capture_output=True, check=False).returncode]
    if missing:
        try:
            run([ROOT / "scripts/setup", "--packages", *missing])
        except RuntimeError as error:
            raise Missing(str(error).splitlines()[-1]) from error
    return shutil.which(program) or program


def find_nvcc():
    """$NVCC, the one beside $PTXASW_PTXAS, the one in .toolchain/, the one in PATH."""
    named = os.environ.get("NVCC")
    beside = pathlib.Path(os.environ.get("PTXASW_PTXAS", "/-")).parent / "nvcc"
    for candidate in [named, beside, TOOLCHAIN / "cuda/bin/nvcc", shutil.which("nvcc")]:
        if candidate and os.access(candidate, os.X_OK):
            return str(candidate)
    raise Missing("there is no nvcc; scripts/setup --toolchain installs one")


def digest(item):
    """Of what determines a file, as far as it is known before it is made."""
    parts = [repr((item.function, item.target, item.compile)), item.source.read_text(),
             (SOURCES / "plain.h").read_text()]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def stamp(item, folder):
    """Notes of what a file was made."""
    (folder / f"{item.name}.digest").write_text(digest(item))


def is_fresh(item, folder):
    """Whether a file is there and made of what there is now."""
    noted = folder / f"{item.name}.digest"
    return (folder / f"{item.name}.ptx").exists() and noted.exists() and noted.read_text() == digest(item)


def compile_with(command, items, folder, jobs):
    """Runs `command(item, output)` for each item, in parallel; the message of each that failed."""
    def one(item):
        try:
            command(item, folder / f"{item.name}.ptx")
            stamp(item, folder)
        except (RuntimeError, OSError) as error:
            return item, str(error)
        return item, None
    with ThreadPoolExecutor(jobs) as pool:
        return {item: message for item, message in pool.map(one, items) if message}


def nvcc(items, folder, jobs):
    program = find_nvcc()
    return compile_with(lambda item, output: run(
        [program, "-ptx", "-w", "-std=c++17", "--extended-lambda", f"-I{SOURCES}",
         f"-arch={item.target.replace('sm', 'compute')}", *item.compile, "-o", output, item.source]),
        items, folder, jobs)


def clang(items, folder, jobs):
    """Writes the PTX ISA of the toolkit that it finds, or one older than shuffles need; so it is told."""
    program = debian("clang")
    return compile_with(lambda item, output: run(
        [program, "-x", "cuda", "--cuda-device-only", "-S", "-w", "-std=c++17", "-nocudainc", "-nocudalib",
         "-Xclang", "-target-feature", "-Xclang", "+ptx78", f"-I{SOURCES}", f"--cuda-gpu-arch={item.target}", *item.compile, "-o", output, item.source]),
        items, folder, jobs)


def gcc(items, folder, jobs):
    """What its offload compiler writes for a file with target regions, kept by -save-temps. It checks
    that with a ptxas from PATH where there is one, and a new one does not know the old targets."""
    program = debian("gcc")
    folders = [place for place in os.environ["PATH"].split(":") if not os.access(f"{place}/ptxas", os.X_OK)]
    surroundings = {**os.environ, "PATH": ":".join(folders)}
    def one(item, output):
        with tempfile.TemporaryDirectory() as place:
            options = " ".join([f"-march={item.target}", *item.compile])
            run([program, "-w", "-fopenacc" if "pragma acc" in item.source.read_text() else "-fopenmp",
                 *item.compile, "-foffload=nvptx-none", f"-foffload-options=nvptx-none={options}", "-save-temps",
                 item.source, "-o", "out"], cwd=place, env=surroundings)
            made = sorted(pathlib.Path(place).glob("*.mkoffload.s"))
            if len(made) != 1:
                raise RuntimeError(f"{len(made)} files of PTX from {item.source.name}")
            shutil.copyfile(made[0], output)
    return compile_with(one, items, folder, jobs)


def by_library(name):
    def make(items, folder, jobs):
        python = environment(name)
        outputs = {str(folder / f"{item.name}.ptx"): item for item in items}
        work = [{"source": str(item.source), "function": item.function, "number": item.number,
                 "compile": item.compile, "output": output} for output, item in outputs.items()]
        failures = json.loads(run([python, HERE / "by_library.py", name], input=json.dumps(work)) or "{}")
        for output, item in outputs.items():
            if output not in failures:
                stamp(item, folder)
        return {outputs[output]: message for output, message in failures.items()}
    return make


def nvrtc(items, folder, jobs):
    """The run-time compiler is a library, and compiles one program after another."""
    place = TOOLCHAIN / "nvrtc"
    if not any(place.glob("**/libnvrtc.so.12")):
        try:
            run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--disable-pip-version-check",
                 "--root-user-action=ignore", "--target", place, *PACKAGES["nvrtc"]])
        except RuntimeError as error:
            raise Missing(str(error).splitlines()[-1]) from error
    library = ctypes.CDLL(str(next(place.glob("**/libnvrtc.so.12"))))
    header = (SOURCES / "plain.h").read_bytes()

    def text(program, what):
        size = ctypes.c_size_t()
        library[f"nvrtcGet{what}Size"](program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(max(size.value, 1))
        library[f"nvrtcGet{what}"](program, buffer)
        return buffer.value.decode()

    def one(item, output):
        strings = lambda values: (ctypes.c_char_p * len(values))(*values)
        program = ctypes.c_void_p()
        options = [f"--gpu-architecture={item.target.replace('sm', 'compute')}", *item.compile]
        status = library.nvrtcCreateProgram(
            ctypes.byref(program), item.source.read_bytes(), item.source.name.encode(), 1,
            strings([header]), strings([b"plain.h"]))
        status = status or library.nvrtcCompileProgram(
            program, len(options), strings([option.encode() for option in options]))
        if status:
            raise RuntimeError(f"status {status}: {text(program, 'ProgramLog')}")
        output.write_text(text(program, "PTX"))
        library.nvrtcDestroyProgram(ctypes.byref(program))
    return compile_with(one, items, folder, 1)


PRODUCERS = {"nvcc": nvcc, "nvrtc": nvrtc, "clang": clang, "gcc": gcc,
             "triton": by_library("triton"), "numba": by_library("numba")}


def make(producer, items, folder, jobs):
    """Makes those files that are not there yet; the message of each that could not be made."""
    (folder / producer).mkdir(parents=True, exist_ok=True)
    stale = [item for item in items if not is_fresh(item, folder)]
    return PRODUCERS[producer](stale, folder, jobs) if stale else {}
