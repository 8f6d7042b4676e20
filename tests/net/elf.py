"""The machine code in a cubin, which is a 64-bit ELF file, function by function."""

import struct


def code(path):
    """The bytes of each section `.text.NAME`, by NAME."""
    data = path.read_bytes()
    if data[:5] != b"\x7fELF\x02":
        raise ValueError(f"{path} is no 64-bit ELF file")
    (table,) = struct.unpack_from("<Q", data, 0x28)
    size, count, names = struct.unpack_from("<HHH", data, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", data, table + i * size) for i in range(count)]
    strings = headers[names][4]
    found = {}
    for name, _, _, _, offset, length in headers:
        start = strings + name
        text = data[start : data.index(b"\0", start)].decode()
        if text.startswith(".text."):
            found[text.removeprefix(".text.")] = data[offset : offset + length]
    return found
