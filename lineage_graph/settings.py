"""Settings: command-line options first, then ``LINEAGE_*`` environment variables, then ``lineage-graph.toml``.

Secrets may also stand in a file named by ``LINEAGE_…_FILE``.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path

from lineage_graph.errors import BadRequest

FILE = "lineage-graph.toml"

KEYS: dict[str, str] = {
    "data": "data folder with the journal; ./lineage-data unless given",
    "store": "bolt://… or neo4j://… of a Neo4j; embedded unless given",
    "url": "address of a running server that questions and loads go to",
    "host": "address that serve listens on; 127.0.0.1 unless given",
    "port": "port that serve listens on; 5000 unless given",
    "neo4j_user": "user of the Neo4j; neo4j unless given",
    "neo4j_password": "password of the Neo4j; none unless given",
}
"""Every setting with its meaning; in the environment as ``LINEAGE_`` and the key in capitals."""

_SECRETS = ("neo4j_password",)


def settings(environment: Mapping[str, str] = os.environ, folder: Path | None = None) -> dict[str, str]:
    """What environment and file set, by key. Raises :class:`BadRequest` naming a key that is no setting, a file that
    is no TOML, or a secret's file that can't be read. A variable that is set to nothing counts as not set."""
    found = _from_file((folder or Path.cwd()) / FILE)
    for key in KEYS:
        variable = f"LINEAGE_{key.upper()}"
        if environment.get(variable):
            found[key] = environment[variable]
        elif key in _SECRETS and environment.get(f"{variable}_FILE"):
            found[key] = _secret(f"{variable}_FILE", environment[f"{variable}_FILE"])
    return found


def _from_file(path: Path) -> dict[str, str]:
    try:
        held = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadRequest(FILE, f"can't be used: {error}") from error
    for key, value in held.items():
        if key not in KEYS:
            raise BadRequest(f"{FILE}: {key}", f"is no setting; there are {', '.join(KEYS)}")
        if not isinstance(value, (str, int)) or isinstance(value, bool):
            raise BadRequest(f"{FILE}: {key}", "must be a text or a number")
    return {key: str(value) for key, value in held.items()}


def _secret(variable: str, path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        raise BadRequest(variable, f"names a file that can't be read: {error}") from error
