"""Find the browser that the tests drive; as a script, install Debian's where there is none.

Playwright's own Chromium is not used: it comes from a host of its own, which a closed network
does not reach. Any Chromium or Chrome of the system will do; $CHROMIUM names another.
"""

import os
import shutil
import subprocess
import sys

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

# A quiet browser: without these, Chromium looks up its maker's hosts at every start.
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--process-per-site",  # pages of one profile share what WebAssembly they compiled
]


def find() -> str | None:
    """Path of the browser to drive, or None."""
    named = os.environ.get("CHROMIUM")
    if named:
        return shutil.which(named)
    return next(filter(None, map(shutil.which, NAMES)), None)


def install() -> None:
    """Debian's chromium, where we may: root and apt-get."""
    if "CHROMIUM" in os.environ:
        sys.exit(f"CHROMIUM={os.environ['CHROMIUM']} is no program")
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        sys.exit("No Chromium found. Install one, or set CHROMIUM=/path/to/chrome; then go on.")
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in ("update", "install --yes --no-install-recommends chromium"):
        done = subprocess.run(
            ["apt-get", "-qq", *command.split()], env=quiet, text=True, capture_output=True
        )
        if done.returncode:
            sys.exit(f"apt-get {command} failed:\n{done.stderr.strip()}")


if __name__ == "__main__":
    if find() is None:
        print("Installing Chromium …", flush=True)
        install()
    print(f"Browser for the tests: {find()}")
