"""Texts of a file are data: none of them opens a path, imports a package, runs, or takes more than
the load may take."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(sys.platform != "linux", reason="the test sets limits of Linux")
def test_no_text_of_a_file_is_looked_up_elsewhere() -> None:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "tests")))}
    done = subprocess.run(
        [sys.executable, "-m", "support.hostile_texts"],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"{done.returncode} {done.stderr[-3000:]}"
    results = json.loads(done.stdout)
    assert results.pop("refused") > 200
    assert results.pop("without rules") > 20
    assert results.pop("built in") < 20
    assert not results


def test_the_watch_notices(tmp_path: Path) -> None:
    """It is heard only while it is on."""
    script = (
        "from scripts._fuzzing import DefectError, Watch\n"
        "import sys\n"
        "watch = Watch()\n"
        "open(sys.argv[1]).close()\n"
        "for act in (lambda: open(sys.argv[1]), lambda: __import__('no_such_package')):\n"
        "    try:\n"
        "        with watch():\n"
        "            try: act()\n"
        "            except ImportError: pass\n"
        "        print('unheard')\n"
        "    except DefectError as error: print(error)\n"
    )
    secret = tmp_path / "secret.txt"
    secret.write_text("x")
    command = [sys.executable, "-c", script, str(secret)]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert said.splitlines() == [f"opens {secret.resolve()}", "imports no_such_package"]
