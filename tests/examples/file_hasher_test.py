# SPDX-License-Identifier: Apache-2.0
"""The example file_hasher says of every file what hashlib finds, and tells of those it cannot read."""

import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"


def run(*arguments):
    done = subprocess.run([sys.argv[1], *map(str, arguments)], capture_output=True, text=True, check=False)
    return done.returncode, sorted(done.stdout.splitlines()), done.stderr


def line_of(file):
    return f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file}"


files = sorted(file for file in EXAMPLES.rglob("*") if file.is_file())
code, lines, progress = run(EXAMPLES)
assert code == 0, progress
assert lines == sorted(map(line_of, files)), lines
assert f"[{'#' * 40}] {len(files)} of {len(files)}\n" in progress, progress

code, lines, progress = run(files[0], "no_such_file")
assert code == 1
assert lines == [line_of(files[0])], lines
assert "cannot read no_such_file" in progress, progress

code, lines, progress = run("/proc/self/mem")  # can be opened, and not read from its beginning
assert code == 1 and not lines, lines
assert "cannot read /proc/self/mem" in progress, progress

with tempfile.TemporaryDirectory() as directory:
    root = pathlib.Path(directory)
    program = shutil.copy(sys.argv[1], root)
    (root / "files" / "secret").mkdir(parents=True)
    (root / "files" / "plain").write_text("text")
    (root / "files" / "secret").chmod(0)
    root.chmod(0o755)
    anybody = {"user": 65534} if os.geteuid() == 0 else {}  # root may read everything
    done = subprocess.run([program, root / "files"], capture_output=True, text=True, check=False, **anybody)
    assert done.returncode == 0, done
    assert done.stdout.splitlines() == [line_of(root / "files" / "plain")], done
