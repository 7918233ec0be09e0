#!/usr/bin/env python3
"""Include lines of src/ and include/ against the table of allowed dependencies.

Modules only point down, and so do the rooms (subfolders) of a module; a third-party header appears only in the modules that own it; public
headers see nothing but the C standard library and each other. A header that no table names is
refused, so that a new dependency is a decision.
"""
import re
import sys

import gatelib

USES = {  # module: the modules whose headers it may include, besides its own
    "base": set(),
    "wire": {"base"},
    "http": {"base"},
    "text": {"base"},
    "client": {"http", "wire", "text", "base"},
    "engine": {"base"},
    "httpd": {"base"},
    "chatapi": {"text", "base"},
    "gateway": {"chatapi", "httpd", "text", "base"},
    "console": {"httpd", "base"},
    "server": {"engine", "gateway", "console", "httpd", "wire", "text", "base"},
    "cli": {"base"},
}
ONE_FILE = {
    ("src/cli/commands/cmd_serve.c", "server/srv.h"),
    ("src/cli/commands/cmd_kernels.c", "server/srv.h"),
    # A tinkc_tokenizer as the gateway needs it.
    ("src/cli/gateway/gate_model.c", "client/values/tokenizer.h"),
}

# Rooms: module: {room: the rooms of the same module that it may use, besides its own}. "" is
# the folder of the module itself. Rooms that are in each other's sets are one layer.
CLIENT_GROUND = {"core", "call", "future", "insight", "values"}
ROOMS = {
    "client": {
        "values": set(),
        "future": {"insight", "values"},
        **{room: CLIENT_GROUND for room in ("core", "call", "insight")},
        "transfer": CLIENT_GROUND,
        "rest": CLIENT_GROUND,
        "hub": CLIENT_GROUND | {"transfer"},
        "sampling": CLIENT_GROUND | {"hub"},
        "training": CLIENT_GROUND | {"hub", "sampling"},
        "rl": {"values"},  # results through the public headers
    },
    "text": {
        "unicode": set(),
        "tok": {"unicode"},
        "jinja": set(),
        "chat": {"tok", "jinja"},
    },
    "server": {
        "store": set(),
        "record": {"store"},
        "run": {"store", "record", ""},  # "" for its options: server/srv.h
        "api": {"run", "record", "store"},
        "": {"store", "record", "run", "api"},
    },
    "cli": {
        "frame": set(),
        "": {"frame"},  # main() and the table of commands
        "data": {"", "frame"},
        "train": {"", "frame", "data"},
        "eval": {"", "frame", "data"},
        "dpo": {"", "frame", "data", "train"},
        "distill": {"", "frame", "data", "train"},
        "doctor": {"", "frame"},
        "commands": {"", "frame"},
        "gateway": {"", "frame"},
        "rl": {"", "frame", "train", "eval", "gateway"},
        "console": {"", "frame"},
    },
}

ROOM_USES = {  # rooms that may use fewer modules than theirs
    "server/store": {"wire", "base"},
    "server/record": {"console", "httpd", "base"},
}

ROOM_MORE = {  # rooms that may use more modules than theirs
    "cli/gateway": {"gateway", "chatapi", "httpd", "text"},
    "cli/rl": {"gateway", "chatapi", "httpd", "text"},
    "cli/console": {"console", "httpd"},
}

THIRD_PARTY = [  # (header pattern, modules or rooms)
    (r"curl/", {"http"}),
    (r"zstd(_errors)?\.h$", {"wire"}),
    (r"sqlite3\.h$", {"server/store", "server/record"}),
    (r"microhttpd\.h$", {"httpd"}),
    (r"pcre2\.h$", {"text"}),
    (r"utf8proc\.h$", {"text"}),
    (r"archive(_entry)?\.h$", {"client", "cli/data"}),
    (r"openssl/", {"base", "client"}),
    (r"(imm|emm|xmm|tmm|smm|nmm|avx512f|avx2)intrin\.h$|arm_neon\.h$|cpuid\.h$",
     {"base", "wire", "text", "engine"}),
    (r"jansson\.h$|protobuf-c/|cmocka\.h$|cblas\.h$", set()),
]

C_STANDARD = set("""
    assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal
    stdalign stdarg stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string tgmath
    threads time uchar wchar wctype""".split())
SYSTEM = C_STANDARD | set("""
    arpa/inet dirent dlfcn endian fcntl getopt glob ifaddrs langinfo libgen link malloc net/if netdb
    netinet/in netinet/tcp poll pthread pwd sched semaphore spawn strings sys/auxv sys/epoll
    sys/eventfd sys/file sys/ioctl sys/mman sys/prctl sys/random sys/resource sys/sendfile
    sys/signalfd sys/socket sys/stat sys/statvfs sys/syscall sys/time sys/timerfd sys/types sys/uio sys/un
    sys/utsname sys/wait sysexits syslog termios unistd utime linux/futex""".split())
PUBLIC_MAY_SEE = {"stdbool", "stddef", "stdint"}

INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*([<\"])([^>\"]+)[>\"]", re.M)


def room_of(path):
    """The subfolder of its module: "call" of "client/call/poll.h", "" of "server/srv.h"."""
    return "/".join(path.split("/")[1:-1])


def place_of(path):
    """Module and room: "client/call" of "src/client/call/poll.c", "server" of "src/server/srv.c"."""
    return "/".join(path.split("/")[1:-1])


def blame_room(path, module, header):
    table = ROOMS.get(module, {"": set()})
    own, other = room_of(path.removeprefix("src/")), room_of(header)
    if own not in table:
        return f"room {module}/{own} is in no table of scripts/check-layers.py"
    if other not in table:
        return f'there is no room for "{header}"'
    if other != own and other not in table[own]:
        return f'{module}/{own} may not use {module}/{other} ("{header}")'
    return None


def blame_quoted(path, module, header):
    if (path, header) in ONE_FILE:
        return None
    target, slash, _ = header.partition("/")
    if not slash or target not in USES:
        return f'"{header}" is not written as "module/file.h"'
    if ".." in header:
        return f'"{header}" leaves the source root'
    place = place_of(path)
    if target in ROOM_MORE.get(place, ()):
        return None
    if target != module and target not in USES[module]:
        return f'{module} may not use {target} ("{header}")'
    if target != module and target not in ROOM_USES.get(place, USES[module]):
        return f'{place} may not use {target} ("{header}")'
    return blame_room(path, module, header) if target == module else None


def blame_angled(path, module, header):
    if header.startswith("tinkc/"):
        return None
    for pattern, owners in THIRD_PARTY:
        if re.match(pattern, header):
            place = place_of(path)
            return None if owners & {module, place} else f"<{header}> is not for {place}"
    if header.endswith(".h") and header[:-2] in SYSTEM:
        return None
    return f"<{header}> is in no table of scripts/check-layers.py"


def blame_public(kind, header):
    if kind == "<" and (header.startswith("tinkc/") or header[:-2] in PUBLIC_MAY_SEE):
        return None
    return f"a public header may not include {header}"


def main():
    root = gatelib.root_of(sys.argv)
    problems, lines, sources = [], 0, 0
    for path in gatelib.files(root, ".c", ".h"):
        top, _, rest = path.partition("/")
        if top not in ("src", "include"):
            continue
        sources += 1
        module = rest.split("/")[0]
        text = (root / path).read_text()
        if top == "src" and module not in USES:
            problems.append(f"{path}: module {module} is in no table")
            continue
        for match in INCLUDE.finditer(gatelib.without_comments(text)):
            lines += 1
            kind, header = match.groups()
            if top == "include":
                why = blame_public(kind, header)
            elif kind == '"':
                why = blame_quoted(path, module, header)
            else:
                why = blame_angled(path, module, header)
            if why:
                problems.append(f"{path}:{gatelib.line_of(text, match.start())}: {why}")
    gatelib.need(sources, "sources")
    return gatelib.finish(problems, f"{lines} include lines in {sources} files")


if __name__ == "__main__":
    sys.exit(main())
