"""The committed certificates prove the table of records."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts import records
from tensorcfr.formats.checker import CertificateError


def test_the_page_has_the_proven_numbers() -> None:
    assert records.records() in records.PAGE.read_text("utf-8")


def test_only_better_certificates_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "records"
    folder.mkdir()
    monkeypatch.setattr(records, "FOLDER", folder)
    kuhn = Path(__file__).parents[2] / "docs" / "records" / "kuhn.cert"
    records.add(kuhn)
    assert [path.name for path in folder.iterdir()] == ["kuhn_ranks_3.cert"]
    with pytest.raises(CertificateError, match=r"kuhn_ranks_3\.cert proves 0\.0 already"):
        records.add(kuhn)
    text = kuhn.read_text()
    (tmp_path / "a").write_text(text + " " * (records.MOST_BYTES - len(text)))
    with pytest.raises(CertificateError, match="100,000 bytes or more"):
        records.add(tmp_path / "a")
