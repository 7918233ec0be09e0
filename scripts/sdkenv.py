#!/usr/bin/env python3
"""Makes Python environments that hold one version of the official SDK each.

One environment (`base`, about 350 MB) holds the dependencies, all pinned by
recorder/constraints.txt. The environment of a version sees the packages of `base` through a
.pth file and installs the SDK itself, about 5 MB, plus what `base` lacks for it. PyTorch comes
the same way from scripts/torch-venv.sh, once for all comparisons. Used by record-fixtures.py,
sdk-drift.py and tests/interop/matrix.sh.

    scripts/sdkenv.py VERSION [--torch]     prints the path of its Python
"""

import argparse
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CONSTRAINTS = ROOT / "scripts" / "recorder" / "constraints.txt"
HOME = ROOT / "build" / "sdk-venv"
NAME = re.compile(r"[0-9]+(\.[0-9]+)+([a-z]+[0-9]+)?")  # of a release


def pip(home, *args):
    """Runs the pip of `base` for the environment `home`."""
    subprocess.run([str(HOME / "base" / "bin" / "python"), "-m", "pip", "--disable-pip-version-check",
                    "--python", str(home / "bin" / "python"), "-q", *args], check=True,
                   stdout=sys.stderr)


def packages(home):
    return next(home.glob("lib/python*/site-packages"))


def make(home, build, with_pip=False):
    """Builds an environment whole or not at all."""
    if (home / "ready").exists():
        return
    shutil.rmtree(home, ignore_errors=True)
    venv.create(home, with_pip=with_pip)
    build()
    (home / "ready").touch()


def base():
    home = HOME / "base"
    make(home, lambda: pip(home, "install", "-r", str(CONSTRAINTS)), with_pip=True)
    return home


def torch_packages():
    python = subprocess.run([str(ROOT / "scripts" / "torch-venv.sh")], check=True,
                            stdout=subprocess.PIPE, text=True).stdout.strip()
    return packages(Path(python).parent.parent)


def environment(version, with_torch):
    """Returns the Python of an environment with that version of the SDK."""
    if not NAME.fullmatch(version):
        sys.exit(f"{version} is not a version")
    shared = packages(base())
    home = HOME / version

    def build():
        (packages(home) / "base.pth").write_text(f"{shared}\n")
        pip(home, "install", "-c", str(CONSTRAINTS), f"tinker=={version}")

    make(home, build)
    link = packages(home) / "torch.pth"  # sorts after base.pth: the pinned packages come first
    if with_torch:
        link.write_text(f"{torch_packages()}\n")
    else:
        link.unlink(missing_ok=True)
    return home / "bin" / "python"


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("version")
    arguments.add_argument("--torch", action="store_true", help="with PyTorch")
    options = arguments.parse_args()
    print(environment(options.version, options.torch))


if __name__ == "__main__":
    main()
