"""The program of the wheel, and calls of it."""

import os
import pathlib
import re
import shutil
import subprocess
import sysconfig
import tempfile
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Union

#: The value of an option of the program: a list repeats it, ``True`` is a flag, ``None`` and ``False`` leave it out.
Option = Union[str, int, float, bool, "os.PathLike[str]", None, Sequence[Union[str, int]]]


class Error(Exception):
    """The program could not do what was asked for, or a kernel that was executed has faulted."""

    #: The exit status; 3 for a fault.
    status: int
    #: The JSON that was printed all the same: the fault of a kernel.
    report: Optional[Dict[str, Any]]

    def __init__(self, message: str, status: int = 2, report: Optional[Dict[str, Any]] = None) -> None:
        super().__init__(message)
        self.status, self.report = status, report


class Fault(Error):
    """A kernel that was executed has faulted; ``report["fault"]`` says where."""

    @property
    def kind(self) -> str:
        """``out-of-bounds``, ``race``, ``uninitialized``, ..."""
        return str((self.report or {"fault": {}})["fault"].get("kind"))


def program() -> str:
    """The path of the program: that which was installed with this package, else the one in ``PATH``."""
    user = sysconfig.get_preferred_scheme("user") if hasattr(sysconfig, "get_preferred_scheme") else f"{os.name}_user"
    # A folder of `pip install --target` has its programs in `bin`, beside the packages.
    folders = [sysconfig.get_path("scripts"), sysconfig.get_path("scripts", user),
               str(pathlib.Path(__file__).resolve().parents[1] / "bin")]
    for folder in folders:
        path = os.path.join(folder, "ptxasw")
        if os.access(path, os.X_OK):
            return path
    found = shutil.which("ptxasw")
    if found is None:
        raise Error(f"there is no program ptxasw in {', '.join(folders)} or PATH")
    return found


def words(options: Mapping[str, Option]) -> List[str]:
    """Options as words of a command line: ``max_delta=4`` is ``--max-delta 4``."""
    out: List[str] = []
    for name, value in options.items():
        values = list(value) if isinstance(value, (list, tuple)) else [value]
        for one in values:
            if one is None or one is False:
                continue
            out.append("--" + name.replace("_", "-"))
            if one is not True:
                out.append(os.fspath(one) if isinstance(one, os.PathLike) else str(one))
    return out


def checks_of(checks: Union[str, Iterable[str], None], meet: Union[str, int, None]) -> Dict[str, Option]:
    """The options of ``ptxasw run`` for ``checks="race,init,bounds"`` and ``meet``; bounds are always checked."""
    out: Dict[str, Option] = {} if meet is None else {"meet": meet}
    if checks is not None:
        given = checks.split(",") if isinstance(checks, str) else checks
        wanted = {one.strip() for one in given} - {""}
        if not wanted <= {"race", "init", "bounds"}:
            raise ValueError(f"`checks` are race, init and bounds, not {checks}")
        out.update(no_races="race" not in wanted, uninitialized="report" if "init" in wanted else "ignore")
    return out


def folder() -> "tempfile.TemporaryDirectory[str]":
    """A folder for texts that have no file; messages do not name it."""
    return tempfile.TemporaryDirectory(prefix="ptxasw-")


def shown(output: bytes) -> str:
    """What the program has printed, without the names of such folders."""
    return re.sub(rf"{re.escape(tempfile.gettempdir())}/ptxasw-[^/\s]+/", "", output.decode(errors="replace"))


def call(
    arguments: Sequence[str], options: Mapping[str, Option], stdin: Optional[bytes] = None, good: Sequence[int] = (0,)
) -> "subprocess.CompletedProcess[bytes]":
    """Calls the program; an exit status other than the ``good`` ones is an ``Error``."""
    __tracebackhide__ = True
    command = [program(), *arguments, *words(options)]
    done = subprocess.run(command, input=stdin if stdin is not None else b"", capture_output=True)
    if done.returncode not in good:
        # A launch file of ours is not the user's.
        raise Error(re.sub(r"^launch\.json: error: ", "", shown(done.stderr).strip()), done.returncode)
    return done
