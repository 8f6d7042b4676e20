#!/usr/bin/env python3
"""A ptxasw with a GPU that is the interpreter, for the scripts that need one.

`run --on gpu` runs on the CPU and says it was a device; `ab` answers with times that are made up.
$REAL is the real ptxasw.
"""

import json
import os
import subprocess
import sys

words = sys.argv[1:]
real = os.environ["REAL"]
DEVICE = {"name": "Stub", "architecture": "sm_86", "multiprocessors": 2}


def variant(name, median, **more):
    return {"name": name, "median_us": median, "samples": 10, "registers": 24, "local_bytes": 0,
            "blocks_per_multiprocessor": 4, "times_us": [median] * 10, **more}


def against(speedup, verdict, identical):
    return {"speedup": speedup, "interval": [speedup - 0.01, speedup + 0.01], "verdict": verdict,
            "identical_output": identical}


if words[0] == "run" and "gpu" in words:
    words[words.index("gpu")] = "cpu"
    done = subprocess.run([real, *words], capture_output=True, text=True)
    sys.stderr.write(done.stderr)
    if done.returncode:
        sys.exit(done.returncode)
    print(json.dumps({**json.loads(done.stdout), "device": DEVICE}))
elif words[0] == "ab" and "--check" in words:
    equal = not any("sincos" in word for word in words)
    print(json.dumps({"device": "Stub", "kernel": "k", "variants": [
        {"name": "original", "equal": True}, {"name": "full", "equal": equal}]}))
    sys.exit(0 if equal else 1)
elif words[0] == "ab":
    launch = json.load(open(words[words.index("--launch") + 1]))
    print(json.dumps({
        "device": "Stub", "architecture": "sm_86", "driver": "12.4", "file": words[1], "launch": "l.json",
        "kernel": launch["kernel"], "l2": words[words.index("--l2") + 1], "launches_per_sample": 5,
        "confidence": 0.99, "threshold": 0.01, "seed": 1,
        "throttling": {"source": "times", "seen": False, "rounds_left_out": 0},
        "variants": [variant("original", 100.0), variant("no-load", 80.0, **against(1.25, "ambiguous", False)),
                     variant("no-corner", 90.0, **against(1.11, "ambiguous", False)),
                     variant("full", 95.0, **against(1.05, "faster", "jacobi" not in words[1])),
                     variant("auto", 100.0, **against(1.0, "same", True))]}))
else:
    sys.exit(subprocess.run([real, *words]).returncode)
