"""A plugin for pytest: kernels without a GPU, with checks.

The fixture ``cuda`` makes modules: ``cuda("kernels.cu").add[1, 32](x, y, 5)``, with paths relative to the test's file. It and
the marker let Triton's kernels run in the interpreter, too. ``@pytest.mark.cuda(checks="race,init,bounds", meet=8, arch=80)``
chooses what all launches of a test look for, and ``limit`` after how many warp instructions they are given up; with ``meet=8`` the test runs under eight schedules: where ptxas makes lanes meet
again that have parted, and seven choices by seed."""

import contextlib
import pathlib
import sys
from typing import Any, Dict, Iterator, Optional, Sequence, Union

import pytest

from ._launch import SETTINGS
from ._module import Module
from ._program import checks_of
from ._source import Source


class Cuda:
    """The fixture: what makes modules."""

    def __init__(self, folder: pathlib.Path, arch: Union[int, str]) -> None:
        self.folder, self.arch = folder, arch

    def __call__(self, source: Source, options: Sequence[str] = (), arch: Union[int, str, None] = None) -> Module:
        """``Module(source)``, of a path relative to the test's file."""
        if isinstance(source, str) and "\n" not in source and (self.folder / source).is_file():
            source = self.folder / source
        return Module(source, arch or self.arch, options)

    Module = __call__


#: What the marker takes.
KNOWN = {"checks", "meet", "arch", "limit"}

#: Warp instructions after which a launch of a test is given up: minutes.
LIMIT = 1 << 28


def marked(node: Any) -> Optional[Dict[str, Any]]:
    """What a test's marker says; nothing if it is another project's marker of that name."""
    marker = node.get_closest_marker("cuda")
    if marker is None or marker.args or marker.kwargs and not KNOWN & set(marker.kwargs):
        return None
    unknown = set(marker.kwargs) - KNOWN
    if unknown:
        raise pytest.UsageError(f"{node.nodeid}: `pytest.mark.cuda` takes {', '.join(sorted(KNOWN))}, not {', '.join(unknown)}")
    return dict(marker.kwargs)


def pytest_configure(config: pytest.Config) -> None:
    """Declares the marker."""
    config.addinivalue_line("markers", "cuda(checks='race,init,bounds', meet=1, arch=80, limit=2**28): how ptxasw executes the kernels of a test")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test with ``meet=8`` is eight tests."""
    count = (marked(metafunc.definition) or {}).get("meet", 1)
    if count > 1:
        metafunc.fixturenames.append("ptxasw_meet")
        metafunc.parametrize("ptxasw_meet", ["assembler", *range(1, count)], ids=lambda meet: f"meet-{meet}")


@pytest.fixture
def ptxasw_meet() -> Optional[str]:
    """Where lanes meet again that have parted; tests that say nothing run with what their launches say."""
    return None


@pytest.fixture(autouse=True)
def ptxasw_settings(request: pytest.FixtureRequest) -> Iterator[None]:
    """The options of a test's launches."""
    given, uses = marked(request.node), "cuda" in request.fixturenames
    if given is None and not uses:
        yield
        return
    # A marker without arguments may be meant for tests that need a GPU, and where there is one, they get it.
    asked, given = uses or bool(given), given or {}
    meet = request.getfixturevalue("ptxasw_meet") if given.get("meet", 1) > 1 else None
    before, SETTINGS.options = SETTINGS.options, checks_of(given.get("checks"), meet)
    SETTINGS.options["limit"] = given.get("limit", LIMIT)
    with contextlib.ExitStack() as stack:
        stack.callback(setattr, SETTINGS, "options", before)
        if "triton" in sys.modules:
            from .triton import activated, has_gpu

            if asked or not has_gpu():
                stack.enter_context(activated(given.get("arch", 80)))
        yield


@pytest.fixture
def cuda(request: pytest.FixtureRequest) -> Cuda:
    """What makes modules of CUDA C++ or PTX."""
    return Cuda(request.path.parent, (marked(request.node) or {}).get("arch", 80))


def pytest_sessionfinish(session: Any) -> None:
    """A worker of pytest-xdist tells the main process what it has executed."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["ptxasw"] = [SETTINGS.launches, SETTINGS.lane_instructions, SETTINGS.faults]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Adds what a worker has executed."""
    launches, lane_instructions, faults = getattr(node, "workeroutput", {}).get("ptxasw", (0, 0, 0))
    SETTINGS.launches += launches
    SETTINGS.lane_instructions += lane_instructions
    SETTINGS.faults += faults


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """One line about what was executed."""
    if SETTINGS.launches:
        count, faults = SETTINGS.lane_instructions, SETTINGS.faults
        found = f"{faults} fault{'s' if faults != 1 else ''}"
        terminalreporter.write_line(f"ptxasw: {SETTINGS.launches} launches, {count:,} lane-instructions, {found}")
