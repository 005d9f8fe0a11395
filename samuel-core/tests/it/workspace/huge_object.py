"""Commits a file of 1,200 MiB that is a pack of some hundred bytes: one piece of zeros, and the order to copy it 1,200 times."""

import hashlib
import os
import struct
import subprocess
import zlib

PIECE = 1 << 20
TIMES = 1200


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def head(kind: int, size: int) -> bytes:
    first, rest = kind << 4 | size & 15, size >> 4
    return bytes([first | 0x80]) + varint(rest) if rest else bytes([first])


def git(*args: str, given: str | None = None) -> str:
    done = subprocess.run(["git", *args], input=given, text=True, check=True, stdout=subprocess.PIPE)
    return done.stdout.strip()


zeros = bytes(PIECE)
small = hashlib.sha1(b"blob %d\0" % PIECE + zeros).digest()
summed = hashlib.sha1(b"blob %d\0" % (PIECE * TIMES))
for _ in range(TIMES):
    summed.update(zeros)
huge = summed.digest()

copy = bytes([0x80 | 0x40, PIECE >> 16])
orders = varint(PIECE) + varint(PIECE * TIMES) + copy * TIMES
entries = [
    (small, head(3, PIECE) + zlib.compress(zeros)),
    (huge, head(7, len(orders)) + small + zlib.compress(orders)),
]
pack, places = b"PACK" + struct.pack(">II", 2, len(entries)), {}
for name, entry in entries:
    places[name] = (len(pack), zlib.crc32(entry))
    pack += entry
pack += hashlib.sha1(pack).digest()

names = sorted(places)
index = b"\xfftOc" + struct.pack(">I", 2)
index += b"".join(struct.pack(">I", sum(name[0] <= first for name in names)) for first in range(256))
index += b"".join(names)
index += b"".join(struct.pack(">I", places[name][1]) for name in names)
index += b"".join(struct.pack(">I", places[name][0]) for name in names)
index += pack[-20:]
index += hashlib.sha1(index).digest()

os.makedirs(".git/objects/pack", exist_ok=True)
path = ".git/objects/pack/pack-" + pack[-20:].hex()
for ending, contents in [(".pack", pack), (".idx", index)]:
    with open(path + ending, "wb") as file:
        file.write(contents)

tree = git("mktree", "--missing", given=git("ls-tree", "HEAD") + f"\n100644 blob {huge.hex()}\thuge\n")
git("update-ref", "HEAD", git("commit-tree", "-p", "HEAD", "-m", "Huge", tree))
