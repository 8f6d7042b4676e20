"""Trials of GCC's offload compiler, whose assembler is nvptx-none-as; ptxasw stands in front of a copy."""

import filecmp
import pathlib
import re
import shutil

import producers
from bench import SOURCES

# b[i] = a[i] + a[i + 1], as GCC writes it
SUM = (pathlib.Path(__file__).parents[1] / "install" / "sum.s").read_text()

MARKER = re.compile(r"// (?:BEGIN|END)[^\0\n]*")


def gcc(bench):
    """OpenACC and OpenMP, through `ptxasw install --as` in a folder that -B names."""
    program = producers.debian("gcc")
    assembler = shutil.which("nvptx-none-as")
    if not assembler:
        raise producers.Missing("there is no nvptx-none-as; scripts/setup installs it")
    place = bench.folder / "assembler"
    place.mkdir()
    shutil.copy2(assembler, place / "as")
    done = bench.run(bench.program, "install", "--as", "as", place)
    bench.check("install --as as", done.returncode == 0 and (place / "as.real").exists(), done.stderr)
    for name, language, isa in (("rows", "-fopenacc", "sm_80"), ("atomics", "-fopenacc", "sm_80"), ("target", "-fopenmp", "sm_80"),
                                ("rows", "-fopenacc", "sm_35")):
        what = f"{name}.c {language} {isa}"
        nvptx = f"-misa={isa} -mptx={'7.0' if isa == 'sm_80' else '3.1'}"
        texts = {}
        for which, more in (("plain", ""), ("ours", f" -B{place}/")):
            # Without a ptxas in PATH: GCC 12 passes all kinds of options to its check that a new one refuses.
            done = bench.run(program, "-O2", "-w", language, "-foffload=nvptx-none", f"-foffload-options=nvptx-none={nvptx}{more}",
                             "-save-temps", SOURCES / f"openacc/{name}.c", "-o", f"{which}.out", cwd=folder(bench, which),
                             PATH="/usr/local/bin:/usr/bin:/bin")
            if not bench.succeeds(f"{what}, {which}", done):
                return
            # The program holds what the assembler and the linker passed on, as a C string.
            texts[which] = (bench.folder / which / f"{which}.out").read_bytes().decode("latin-1")
        bench.check(f"{what}: the markers survive", MARKER.findall(texts["plain"]) == MARKER.findall(texts["ours"]) != [])
        before, after = (texts[which].count("shfl.sync") for which in ("plain", "ours"))
        bench.check(f"{what}: no shuffle of GCC's own is lost, none is put into a text too old for it",
                    after == before if isa == "sm_35" else after >= before, f"{before}, then {after}")
    assembly(bench, place)
    done = bench.run(bench.program, "uninstall", "--as", "as", place)
    bench.check("uninstall", done.returncode == 0 and filecmp.cmp(place / "as", assembler, shallow=False), done.stderr)
    left = [name for name in bench.leftovers() if name.startswith("ptxasw")]
    bench.check("no temporary file of ours is left", not left, left)


def assembly(bench, place):
    """A text as GCC writes it, in which there is something to replace, through GCC's own driver."""
    program = shutil.which("x86_64-linux-gnu-accel-nvptx-none-gcc-12")
    if not program:
        bench.skip("GCC's driver for nvptx", "it is not in PATH")
        return
    source = bench.write("sum.s", SUM)
    if bench.succeeds("sum.s through GCC's driver", bench.run(
            program, "-c", f"-B{place}/", "-misa=sm_80", source, "-o", "sum.o", PATH="/usr/local/bin:/usr/bin:/bin")):
        text = (bench.folder / "sum.o").read_text()
        bench.check("sum.s: a shuffle, and the markers survive", text.count("shfl.sync") == 1
                    and MARKER.findall(text) == MARKER.findall(SUM))
        bench.check("sum.s is untouched", source.read_text() == SUM)
        assembled = bench.run(bench.ptxas, "-c", "-arch=sm_80", "-o", "sum.cubin", "sum.o")
        bench.check("ptxas accepts the object: SHFL", assembled.returncode == 0
                    and bench.shuffles("sum.cubin") > 0, assembled.stderr)


def folder(bench, name):
    """A folder of the bench."""
    place = bench.folder / name
    place.mkdir(exist_ok=True)
    return place
