"""How a run of a program ended, ours or the official one."""
import signal
from pathlib import Path


def exit_code(done):
    """The official one's HTTP library (pyqwest) now and then aborts while the interpreter ends,
    when all is done and said; then what was said tells how it went."""
    if done.returncode == -signal.SIGABRT and Path(done.args[0]).name == "tinker":
        return 1 if "Error" in done.stdout + done.stderr else 0
    return done.returncode
