"""Trials of older ptxas: those that still know targets that the present one has given up."""

import producers

# Each is a wheel with the ptxas of that release; the disassembler of 12 is in a wheel of Triton's.
producers.PACKAGES |= {
    "ptxas12.9": ["nvidia-cuda-nvcc-cu12==12.9.86"],
    "ptxas11.8": ["nvidia-cuda-nvcc-cu11==11.8.89"],
    "nvdisasm12": ["triton==3.3.1"],
}

# Of each target the oldest PTX that it may be written in and that has what a shuffle needs.
TARGETS = {"sm_50": "6.2", "sm_70": "6.2", "sm_80": "7.0"}


def versions(bench):
    """ptxas 12.9 and 11.8 behind ptxasw, with old targets and with PTX newer than they know."""
    site = producers.environment("nvdisasm12").parent.parent
    disassembler = next(site.glob("lib/python*/site-packages/triton/backends/nvidia/bin/nvdisasm"))
    ptx = bench.ptx("sm_80", "plane").read_text()
    head = ptx.index(".version"), ptx.index(".address_size")
    for release in ("12.9", "11.8"):
        site = producers.environment(f"ptxas{release}").parent.parent
        ptxas = next(site.glob("lib/python*/site-packages/nvidia/cuda_nvcc/bin/ptxas"))
        said = bench.run(bench.stand_in, "--version", PTXASW_PTXAS=ptxas).stdout
        bench.check(f"{release}: --version is its own", f"release {release}" in said, said.splitlines()[-2:])
        for target, version in TARGETS.items():
            text = f"{ptx[:head[0]]}.version {version}\n.target {target}\n{ptx[head[1]:]}"
            path, what = bench.write(f"{target}.ptx", text), f"{release}, {target}, PTX {version}"
            counts = {}
            for which, program in (("plain", ptxas), ("ours", bench.stand_in)):
                cubin = bench.folder / f"{which}.cubin"
                cubin.unlink(missing_ok=True)
                if bench.succeeds(f"{what}, {which}", bench.run(program, f"-arch={target}", "-o", cubin, path,
                                                                PTXASW_PTXAS=ptxas)):
                    listing = bench.run(disassembler, "-c", cubin)
                    counts[which] = listing.stdout.count("SHFL") if listing.returncode == 0 else -1
            bench.check(f"{what}: more SHFL", counts.get("ours", 0) > counts.get("plain", -1) >= 0, counts)
            bench.compare(f"{what}, -v -O1", ["-v", "-O1", f"-arch={target}", "-o", "x.cubin", path], real=ptxas)
        newer = bench.ptx("sm_80", "rows")
        bench.compare(f"{release}: PTX newer than it knows", ["-arch=sm_80", "-o", "x.cubin", newer], lines=0, real=ptxas)
        plain = bench.run(ptxas, "-arch=sm_80", "-o", "x.cubin", newer)
        bench.check(f"{release}: it refuses newer PTX", plain.returncode != 0 and ".version" in plain.stderr, plain.stderr)
        bench.compare(f"{release}: a target that it does not know", ["-arch=sm_121a", "-o", "x.cubin",
                                                                     bench.folder / "sm_80.ptx"], lines=0, real=ptxas)
        options = bench.run(bench.stand_in, "--help", PTXASW_PTXAS=ptxas).stdout
        bench.check(f"{release}: --help is its own", options == bench.run(ptxas, "--help").stdout != "")
    bench.check("no temporary file is left", not bench.leftovers(), bench.leftovers())
