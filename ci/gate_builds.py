# SPDX-License-Identifier: Apache-2.0
"""Builds commits for ci/regression, each in its own git worktree below build/regression.

Worktrees and builds are kept, so that the next comparison builds only the differences. After
build/ was removed, `git worktree prune` makes git forget the worktrees.
"""

import fcntl
import os
import shutil
import subprocess
from pathlib import Path
from typing import TextIO

from children import Children

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "build/regression"
GIT_LIMIT_S = 120
CONFIGURE_LIMIT_S = 300
BUILD_LIMIT_S = 3600
LOG_LINES = 20


class Refused(Exception):
    """A request cannot be fulfilled; the text has the reason and the remedy."""


def lock(folder: Path) -> TextIO:
    """Locks the folder, because two measurements at once would disturb each other."""
    folder.mkdir(parents=True, exist_ok=True)
    file = open(folder / "lock", "w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise Refused(f"another ci/regression or ci/history is at work in {folder}; wait for it"
                      ) from error
    return file


class Untrusted(Refused):
    """The checkout belongs to another user."""


def forget_repository() -> None:
    """Removes git's variables from the environment. Git sets them for hooks; with them, every git
    command here would act on the hook's repository, whatever folder it runs in."""
    names = subprocess.run(["git", "rev-parse", "--local-env-vars"], capture_output=True, text=True,
                           timeout=GIT_LIMIT_S, check=True)
    for name in names.stdout.split():
        os.environ.pop(name, None)


forget_repository()


def git(*arguments: str) -> str:
    """Runs git; returns its output. Throws: Refused with git's error message, Untrusted."""
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True,
                          timeout=GIT_LIMIT_S, check=False, env=os.environ | {"LC_ALL": "C"})
    if "dubious ownership" in done.stderr:
        raise Untrusted(f"{ROOT} is of another user, so git does nothing there; if you trust it: "
                        f"git config --global --add safe.directory {ROOT}")
    if done.returncode != 0:
        raise Refused(f"git {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout.strip()


def commit_of(name: str) -> str:
    """The hash of a commit. Throws: Refused if this repository has no such commit."""
    try:
        return git("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    except Untrusted:
        raise
    except Refused as refused:
        raise Refused(f"'{name}' is no commit of this repository; in CI, fetch its history, too "
                      "(fetch-depth: 0)") from refused


def require_clean() -> None:
    """Throws: Refused if the checkout differs from its commit, because the commit is raced."""
    if changes := git("status", "--porcelain"):
        first = "\n  ".join(changes.splitlines()[:5])
        raise Refused("what is raced is a commit, but this checkout has changes that are in none; "
                      f"commit or stash them, or name a commit by --head:\n  {first}")


def ccache_for(tree: Path) -> dict[str, str]:
    """Environment that makes a build use ccache; empty if ccache is not installed."""
    if shutil.which("ccache") is None:
        return {}
    launchers = {f"CMAKE_{language}_COMPILER_LAUNCHER": "ccache"
                 for language in ("C", "CXX", "CUDA")}
    return launchers | {"CCACHE_BASEDIR": str(tree), "CCACHE_NOHASHDIR": "1"}


class Builder:
    def __init__(self, children: Children) -> None:
        self.children = children
        FOLDER.mkdir(parents=True, exist_ok=True)

    def build(self, name: str, commit: str, *options: str) -> Path:
        """Builds `regatta` of a commit, with these options of CMake; returns its folder.
        Throws: Refused with the end of the log."""
        tree, log = FOLDER / name, FOLDER / f"{name}.log"
        log.unlink(missing_ok=True)
        self.check_out(tree, commit, log)
        self.run(["cmake", "--preset", "release", *options], tree, log, CONFIGURE_LIMIT_S)
        # Calls ninja, not `cmake --build`, because ninja ends its compilers at a signal.
        self.run(["ninja", "-C", "build/release", "regatta"], tree, log, BUILD_LIMIT_S)
        return tree / "build/release/bin"

    def check_out(self, tree: Path, commit: str, log: Path) -> None:
        if (tree / ".git").exists():
            self.run(["git", "checkout", "--quiet", "--force", "--detach", commit], tree, log,
                     GIT_LIMIT_S)
            return
        git("worktree", "prune")
        self.run(["git", "worktree", "add", "--quiet", "--force", "--detach", str(tree), commit],
                 ROOT, log, GIT_LIMIT_S)

    def run(self, command: list[str], tree: Path, log: Path, limit_s: float,
            output: Path | None = None) -> None:
        if self.children.run(command, log, limit_s, folder=tree, output=output,
                             environment=ccache_for(tree)) == 0:
            return
        end = "\n  ".join(log.read_text(errors="replace").splitlines()[-LOG_LINES:])
        raise Refused(f"{' '.join(command)} failed; {os.path.relpath(log)} ends with\n  {end}")
