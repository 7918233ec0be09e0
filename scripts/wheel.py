#!/usr/bin/env python3
"""Writes the wheel of the Python package: bindings/python/tinkc with libtinkc.so inside, for any
Python 3.9 or newer on this platform. Needs nothing but Python; the same input gives the same bytes.

    scripts/wheel.py BUILD [DIRECTORY]     the library of BUILD; into BUILD/dist
"""
import base64
import hashlib
import re
import sys
import sysconfig
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "bindings/python/tinkc"
METADATA = """Metadata-Version: 2.1
Name: tinkc
Version: {version}
Summary: Tinker, the fine-tuning API: a thin Python layer over the C library libtinkc
License: Apache-2.0
Requires-Python: >=3.9
Classifier: Operating System :: POSIX :: Linux
Classifier: Typing :: Typed
Description-Content-Type: text/markdown

{description}"""
WHEEL = """Wheel-Version: 1.0
Generator: scripts/wheel.py
Root-Is-Purelib: false
Tag: {tag}
"""


def record_line(name, data):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}\n"


def contents(build, version, tag):
    """[(name, bytes)] of the wheel, but for its RECORD."""
    files = [(f"tinkc/{path.name}", path.read_bytes())
             for path in sorted(PACKAGE.iterdir()) if path.suffix in (".py", ".typed")
             or path.name == "py.typed"]
    info = f"tinkc-{version}.dist-info"
    description = (ROOT / "docs/guide/python.md").read_text()
    return files + [
        ("tinkc/libtinkc.so", (build / "libtinkc.so").read_bytes()),
        (f"{info}/METADATA", METADATA.format(version=version, description=description).encode()),
        (f"{info}/WHEEL", WHEEL.format(tag=tag).encode()),
        (f"{info}/LICENSE", (ROOT / "LICENSE").read_bytes())]


def write(path, files, info):
    record = "".join(record_line(*file) for file in files) + f"{info}/RECORD,,\n"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, data in files + [(f"{info}/RECORD", record.encode())]:
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = (0o755 if name.endswith(".so") else 0o644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, data)


def main():
    if len(sys.argv) not in (2, 3):
        print(__doc__)
        return 2
    build = Path(sys.argv[1])
    target = Path(sys.argv[2]) if len(sys.argv) == 3 else build / "dist"
    header = (ROOT / "include/tinkc/version.h").read_text()
    version = re.search(r'define TINKC_VERSION "(.+)"', header)[1]
    platform = re.sub(r"[-.]", "_", sysconfig.get_platform())
    tag = f"py3-none-{platform}"
    target.mkdir(parents=True, exist_ok=True)
    path = target / f"tinkc-{version}-{tag}.whl"
    write(path, contents(build, version, tag), f"tinkc-{version}.dist-info")
    print(f"{path}: {path.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
