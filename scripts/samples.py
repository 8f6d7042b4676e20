"""What the scripts about the samples share: where things lie, the manifest, the program built."""

import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BENCH = ROOT / "openacc-bench"
SAMPLES = ROOT / "ptx-samples"
MANIFEST = SAMPLES / "samples.json"
TOOLCHAIN = ROOT / ".toolchain"
# Cargo's features of the program that the tests build.
TESTED = ["internals"]


def manifest():
    """ptx-samples/samples.json."""
    return json.loads(MANIFEST.read_text())


def build(profile):
    """Builds ptxasw and gives its path. `profile` is one of cargo's: `release`, or `dev`, the program that the tests build."""
    features = ["--features", ",".join(TESTED)] if profile == "dev" else []
    subprocess.run(
        ["cargo", "build", "--quiet", "--locked", "--bin", "ptxasw", "--profile", profile, *features], check=True,
        cwd=ROOT, stdin=subprocess.DEVNULL)
    return executable_path(profile)


def executable_path(profile="dev"):
    """Where cargo puts ptxasw."""
    metadata = subprocess.run(
        ["cargo", "metadata", "--locked", "--no-deps", "--format-version", "1"], check=True, cwd=ROOT,
        capture_output=True)
    folder = "debug" if profile == "dev" else profile
    return pathlib.Path(json.loads(metadata.stdout)["target_directory"]) / folder / "ptxasw"


def install(package, folder):
    """Installs a package from PyPI, without what it depends on, into a folder."""
    print(f"installing {package} into {folder}", file=sys.stderr)
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-input",
         "--disable-pip-version-check", "--root-user-action=ignore", "--target", str(folder), package],
        check=True, stdin=subprocess.DEVNULL)
