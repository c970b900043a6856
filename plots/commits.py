# SPDX-License-Identifier: Apache-2.0
"""Looks up times of commits in the git checkout that holds this file."""

import functools
import re
import subprocess
from datetime import datetime, timezone
from pathlib import Path


@functools.cache
def commit_time(commit: str) -> datetime | None:
    """The commit's time in UTC; None if git or the commit is missing."""
    if not re.fullmatch(r"[0-9a-f]{7,40}", commit):
        return None
    try:
        shown = subprocess.run(["git", "show", "--no-patch", "--format=%ct", commit],
                               cwd=Path(__file__).parent, capture_output=True, text=True)
    except OSError:
        return None
    if shown.returncode != 0:
        return None
    return datetime.fromtimestamp(int(shown.stdout), timezone.utc)
