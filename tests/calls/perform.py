"""Performing a call: what a program did with it, and how two programs differ.

In: a `Call` and the path of a program. Out: a `Deed`: status, messages, files, what is left of processes. `differences` compares
two deeds; what differs from run to run (names of temporary files, times) is taken out before."""

import dataclasses
import hashlib
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import time

PATIENCE = 20  # seconds


@dataclasses.dataclass
class Deed:
    """What a program did."""
    status: object
    said: dict
    files: dict
    left: list  # files for temporary use
    alive: list  # processes
    seconds: float


def lay_out(call, folder):
    """Makes the files of a call in an empty folder."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "work").mkdir(parents=True)
    (folder / "tmp").mkdir()
    for name, text in sorted(call.files.items()):
        path = folder / "work" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if text is None:
            path.mkdir(exist_ok=True)
        elif isinstance(text, tuple):
            path.symlink_to(text[1])
        else:
            path.write_bytes(encode(text))


def encode(text):
    return text.encode("latin-1" if text.startswith(("// \xe9", "\x7fELF")) else "utf-8")


def perform(call, program, folder, environment):
    """Makes the call."""
    lay_out(call, folder)
    work = folder / "work"
    out, err = folder / "stdout", folder / "stderr"
    settings = {"PATH": "/usr/bin:/bin", "TMPDIR": str(folder / "tmp"), **environment, **dict(call.env)}
    feeder = None
    if call.pipe:
        pipe, end = os.pipe()
        os.write(end, encode(call.pipe))
        os.close(end)
        os.dup2(pipe, 9)
        os.close(pipe)
    streams = {1: open_stream(call.stdout, out), 2: open_stream(call.stderr, err)}
    kind, text = call.stdin
    if kind == "file":
        (folder / "stdin").write_bytes(encode(text))
        stdin = open(folder / "stdin", "rb")
    elif kind == "pipe":
        reading, feeder = os.pipe()
        stdin = os.fdopen(reading, "rb")
        os.set_inheritable(feeder, False)
    else:
        stdin = open(os.devnull, "rb")

    script = [f"umask {call.umask:o}"] + [f"trap '' {name}" for name in call.ignored]
    closed = {"<&-": kind == "closed", "1>&-": call.stdout == "closed", "2>&-": call.stderr == "closed"}
    script += [f"exec {how}" for how, is_so in closed.items() if is_so]
    script += [f"ulimit -{what} {most}" for what, most in call.limits] + ['exec "$0" "$@"']
    begin = time.monotonic()
    child = subprocess.Popen(["/bin/sh", "-c", "\n".join(script), str(program), *call.words], cwd=work, env=settings, stdin=stdin,
                             stdout=streams[1], stderr=streams[2], start_new_session=True, pass_fds=[9] if call.pipe else [])
    stdin.close()
    for stream in streams.values():
        stream.close()
    if feeder is not None:
        feed(child, feeder, call, text)
    try:
        status = child.wait(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        status = "does not end"
    seconds = time.monotonic() - begin
    alive = others(child.pid)
    for number in alive + ([child.pid] if status == "does not end" else []):
        try:
            os.kill(number, signal.SIGKILL)
        except ProcessLookupError:
            pass
    child.wait()
    if call.pipe:
        os.close(9)
    said = {name: clean(path.read_bytes(), folder) if path.exists() else "" for name, path in (("stdout", out), ("stderr", err))}
    left = sorted(re.sub("tmpxft_[0-9a-f]+_[0-9a-f]+", "tmpxft", str(path.relative_to(folder / "tmp"))) for path in (folder / "tmp").rglob("*"))
    return Deed(status, said, contents(work), left, [f"{len(alive)} processes"] if alive else [], seconds)


def open_stream(how, path):
    if how == "full":
        return open("/dev/full", "wb")
    if how == "broken":
        reading, writing = os.pipe()
        os.close(reading)
        return os.fdopen(writing, "wb")
    return open(path, "ab" if how == "pipe" else "wb")


def feed(child, feeder, call, text):
    """Writes standard input, or a part of it before a signal."""
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    rest = memoryview(encode(text))
    try:
        if call.sent:
            os.write(feeder, rest[:len(rest) // 2])
            time.sleep(0.15)
            child.send_signal(getattr(signal, "SIG" + call.sent))
            time.sleep(0.05)
            os.write(feeder, rest[len(rest) // 2:])
        else:
            os.write(feeder, rest)
    except (BrokenPipeError, ProcessLookupError):
        pass
    os.close(feeder)


def others(session):
    """The processes of a session whose first process has ended, after a moment."""
    for _ in range(40):
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != session:
                try:
                    fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
                except (OSError, IndexError):
                    continue
                if int(fields[3]) == session and fields[0] != "Z":
                    found.append(int(entry.name))
        if not found:
            return []
        time.sleep(0.025)
    return found


def clean(said, folder):
    """What was said, without what no two runs have in common."""
    text = said.decode("utf-8", "backslashreplace")
    text = re.sub(r"/tmpxft_[0-9a-f]+_[0-9a-f]+(-\w+)?", "/TEMPORARY", text)
    text = re.sub(r"Compile time = [0-9.]+ ms", "Compile time", text)
    # (Of what is no text, a line number that is none.)
    text = re.sub(r"on line \d{5,}", "on line N", text)
    return text.replace(str(folder), "FOLDER")


def contents(folder):
    """What lies in a folder: kinds, modes, and what is in the files."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name, about = re.sub("tmpxft_[0-9a-f]+_[0-9a-f]+", "tmpxft", str(path.relative_to(folder))), path.lstat()
        if path.is_symlink():
            found[name] = ("link", os.readlink(path), None, None)
        elif path.is_dir():
            found[name] = ("folder", oct(about.st_mode), None, None)
        else:
            data = path.read_bytes()
            found[name] = ("file", oct(about.st_mode), hashlib.sha256(data).hexdigest(), shape(data))
    return found


def shape(data):
    """Of a whole ELF file the header's numbers, the names of its sections and of its symbols; of anything else nothing."""
    try:
        if data[:4] != b"\x7fELF":
            return None
        kind, machine = struct.unpack_from("<HH", data, 16)
        segments, sections, flags = struct.unpack_from("<QQI", data, 32)
        number_segments, size, number, names = struct.unpack_from("<HHHH", data, 56)[0], *struct.unpack_from("<HHH", data, 58)
        if segments + number_segments * 56 > len(data) or sections + number * size > len(data):
            return None
        table = [struct.unpack_from("<IIQQQQIIQQ", data, sections + at * size) for at in range(number)]
        if any(row[1] != 8 and row[4] + row[5] > len(data) for row in table):
            return None
        strings = table[names]
        symbols = []
        for row in (row for row in table if row[1] == 2):
            for at in range(row[4], row[4] + row[5], 24):
                symbols.append(string(data, table[row[6]][4] + struct.unpack_from("<I", data, at)[0]))
        sections = {string(data, strings[4] + row[0]) for row in table}
        return kind, machine, flags, sorted(map(unnumbered, sections)), sorted({unnumbered(name) for name in symbols})
    except (struct.error, IndexError):
        return None


def unnumbered(name):
    """A name without the number that ptxas has made of the text: of its hash, or of how many registers it has."""
    return re.sub(r"^(\.nv_debug_ptx_txt\.|\$__s__)\d+$", r"\1N", name)


def string(data, at):
    return data[at:data.index(b"\0", at)].decode("latin-1")


def differences(plain, tested):
    """What the tested program did otherwise, a line for each thing. Other machine code in a file of the same shape is none: that is
    what the program is for; then the numbers of registers and bytes that the assembler counts are not compared."""
    found = []
    if plain.status != tested.status:
        found.append(f"status: {tested.status} instead of {plain.status}")
    other_code = False
    for name in sorted({*plain.files, *tested.files}):
        before, after = plain.files.get(name), tested.files.get(name)
        if before == after:
            continue
        if before is None or after is None:
            found.append(f"file {name!r}: {'is not made' if after is None else 'is made'}")
        elif before[:2] != after[:2]:
            found.append(f"file {name!r}: {after[:2]} instead of {before[:2]}")
        elif before[3] is None or before[3] != after[3]:
            added = adds_functions(before[3], after[3])
            other_code = other_code or added
            what = "functions that ptxas adds" if added else "no whole cubin" if after[3] is None else "other contents"
            found.append(f"file {name!r}: {what}")
        else:
            other_code = True
    for stream in ("stdout", "stderr"):
        before, after = (counted(deed.said[stream]) if other_code else deed.said[stream] for deed in (plain, tested))
        if before != after:
            found.append(f"{stream}: {new(before, after)}")
    for name in tested.left:
        if name not in plain.left:
            found.append(f"left over: {re.sub('-[A-Za-z0-9]{6}', '-X', name)}")
    if tested.alive and not plain.alive:
        found.append(f"still running: {tested.alive[0]}")
    if tested.seconds > 10 * plain.seconds + 5:
        found.append("takes over ten times as long, and 5 s")
    return found


def adds_functions(before, after):
    """Whether a cubin has all that another one has, and beside it only functions of ptxas for warp-level instructions."""
    if before is None or after is None or before[:3] != after[:3]:
        return False
    names = [{*after[at]} - {*before[at]} for at in (3, 4)]
    theirs = r"__cuda_sm70_\w+$|^\.nv\.prototype$|^\.rela?\.text\.\w+$"
    return all({*before[at]} <= {*after[at]} for at in (3, 4)) and all(re.search(theirs, name) for name in names[0] | names[1]) \
        and any("__cuda_sm70_" in name for name in names[1])


def counted(text):
    lines = (line for line in text.splitlines(keepends=True))
    return "".join(re.sub(r"\d+", "N", line) if "Used" in line or " bytes " in line else line for line in lines)


def new(before, after):
    """The first lines that differ."""
    before, after = before.splitlines(), after.splitlines()
    for at in range(max(len(before), len(after))):
        pair = [lines[at] if at < len(lines) else "(nothing)" for lines in (after, before)]
        if pair[0] != pair[1]:
            return f"{pair[0]} instead of {pair[1]}"
    return "the end of a line"
