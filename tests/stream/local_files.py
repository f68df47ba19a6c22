"""`Files` without Spark."""

from __future__ import annotations

import shutil
from pathlib import Path


class LocalFiles:
    """The face of `stream.files.Files`, on this machine's disk."""

    def full(self, path: str) -> str:
        return str(Path(path).absolute())

    def exists(self, path: str) -> bool:
        return Path(path).exists()

    def rename(self, old: str, new: str) -> None:
        Path(new).parent.mkdir(parents=True, exist_ok=True)
        Path(old).rename(new)

    def delete(self, path: str) -> None:
        shutil.rmtree(path) if Path(path).is_dir() else Path(path).unlink()

    def names(self, path: str) -> list[str]:
        return [entry.name for entry in Path(path).iterdir()] if Path(path).exists() else []

    def read(self, path: str) -> str | None:
        return Path(path).read_bytes().decode() if Path(path).exists() else None

    def write(self, path: str, text: str) -> None:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(text)

    def write_whole(self, path: str, text: str) -> None:
        self.write(f"{path}.draft", text)
        self.rename(f"{path}.draft", path)
