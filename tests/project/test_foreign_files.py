"""The script that reads folders of files of other programs."""

import json
from pathlib import Path

import pytest

from scripts import foreign_files


def test_each_file_is_counted_by_kind_and_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, results = tmp_path / "theirs", tmp_path / "results.json"
    folder.mkdir()
    script = "set_pot 5.5\nset_effective_stack 97.5\nset_range_oop AA\nset_range_ip KK\n"
    for name, text in {
        "a.txt": script + "set_board Ks,8d,3c",
        "b.txt": script,
        "c.txt": script.replace("AA", "A1") + "set_board Ks,8d,3c",
        "d.txt": script.replace("AA", "B22") + "set_board Ks,8d,3c",
        "e.nfg": 'NFG 1 R "" { "a" } { 2 } 1 2',
        "f.agg": "#AGG",
    }.items():
        (folder / name).write_text(text)
    monkeypatch.setattr("sys.argv", ["", str(folder), "--json", str(results)])
    assert foreign_files.main() == 0
    kinds = json.loads(results.read_text())["theirs"]["kinds"]
    assert {kind: (found["files"], found["read"]) for kind, found in kinds.items()} == {
        ".agg": (1, 0),
        ".nfg": (1, 1),
        ".txt": (4, 1),
    }
    reasons = kinds[".txt"]["refused"]
    assert reasons["the script has no set_board"] == 1
    # Two ranges that are wrong in one way are one reason.
    assert sorted(reasons.values()) == [1, 2]
    # Any other error is a defect.
    monkeypatch.setattr(foreign_files, "read", lambda path: 1 // 0)
    assert foreign_files.main() == 1
    assert "6 defects" in capsys.readouterr().out
