# SPDX-License-Identifier: Apache-2.0
"""Runs a PyTorch script in a process that is warm and compiled, and makes a round on request.

The script uses torch_speed.py, and this class reads its lines. Between rounds the process sleeps.
"""

import json
import re
import subprocess
import tempfile

Json = dict  # from json.loads


def error_in(text: str) -> str:
    """The line of `text` that names the error; PyTorch may print advice after it."""
    lines = text.strip().splitlines() or ["it said nothing"]
    return next((line for line in reversed(lines) if re.match(r"[\w.]+(Error|Exception)\b", line)),
                lines[-1])


class TorchProcess:
    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        """Starts the process; returns when it is ready for its first round."""
        self.command = command
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(command, env=environment, text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=self.errors)
        self.facts = self.line()
        way = "compiled" if self.facts["compiled"] else "eager"
        self.name = f"{way} {self.facts['torch'].split('+')[0]}"

    def round(self) -> Json:
        try:
            self.process.stdin.write("\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # line() reports why it ended
        return self.line()

    def line(self) -> Json:
        text = self.process.stdout.readline()
        if not text:
            self.process.wait()
            self.errors.seek(0)
            raise SystemExit(f"torch_process: exit code {self.process.returncode}: "
                             f"{error_in(self.errors.read())}: {' '.join(self.command)}")
        return json.loads(text)

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()
        self.errors.close()
