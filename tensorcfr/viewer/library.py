"""Folder of the user's data."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def default_folder() -> Path:
    """Return the folder for the user's data of this program on this system."""
    home = Path.home()
    if sys.platform == "win32":
        base = Path(os.environ.get("APPDATA") or home / "AppData" / "Roaming")
    elif sys.platform == "darwin":
        base = home / "Library" / "Application Support"
    else:
        base = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    return base / "tensorcfr"
