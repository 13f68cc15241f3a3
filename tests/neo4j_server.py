"""A real Neo4j for tests and development.

``python -m tests.neo4j_server`` starts one, prints its URI and stops it on Ctrl-C. In this order (design 8):
the server that ``LINEAGE_NEO4J_URI`` names, a container when a Docker engine answers, else Neo4j Community
assembled from its Maven artifacts into ``.cache/``. Where none can be had, starting fails; no test is left out
for want of a database.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

import neo4j
from neo4j.exceptions import DriverError, Neo4jError

VERSION = "5.26.16"
_CACHE = Path(__file__).resolve().parent.parent / ".cache" / "neo4j" / VERSION
_START_SECONDS = 120
_STOP_SECONDS = 30

_POM = f"""<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>local</groupId><artifactId>neo4j-server</artifactId><version>1</version>
<dependencies>
<dependency><groupId>org.neo4j</groupId><artifactId>neo4j</artifactId><version>{VERSION}</version></dependency>
<dependency><groupId>org.neo4j.app</groupId><artifactId>neo4j-server</artifactId><version>{VERSION}</version></dependency>
</dependencies></project>
"""
_FETCH = [
    *("mvn", "--quiet", "--batch-mode", "--file", "pom.xml"),
    "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies",
    *("-DoutputDirectory=lib", "-DincludeScope=runtime"),
]
_CONFIG = """server.default_listen_address=127.0.0.1
server.bolt.listen_address=127.0.0.1:{port}
server.http.enabled=false
server.https.enabled=false
dbms.security.auth_enabled=false
dbms.usage_report.enabled=false
server.memory.pagecache.size={page_cache}
"""
_OPENED = ("java.nio", "java.io", "sun.nio.ch", "java.util.concurrent")


class Neo4jUnavailable(RuntimeError):
    """No Neo4j can be had; the text says what was tried and what to install."""


class Neo4jServer:
    """Neo4j Community from its Maven artifacts, on its own folder and loopback port, without a password.

    The folder keeps the data between starts: the same object, or another one on the same `home` and `port`,
    finds it again after :meth:`stop` or :meth:`kill`. As a context manager it starts on entry and stops on exit.
    """

    def __init__(self, home: Path, port: int | None = None, heap: str = "1g", page_cache: str = "512m") -> None:
        self.home = home.resolve()
        self.port = port or _free_port()
        self.heap = heap
        self.page_cache = page_cache
        self.uri = f"bolt://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Return once it answers a query. Raises :class:`Neo4jUnavailable` with the end of its log."""
        libraries = jars()
        # Another server on the port would answer in place of one that fails to bind.
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", self.port))
        conf, log = self.home / "conf", self.home / "console.log"
        conf.mkdir(parents=True, exist_ok=True)
        (conf / "neo4j.conf").write_text(_CONFIG.format(port=self.port, page_cache=self.page_cache))
        command = [
            # A test run that is killed must not leave a database behind.
            *(("setpriv", "--pdeathsig", "KILL") if shutil.which("setpriv") else ()),
            *("java", f"-Xms{self.heap}", f"-Xmx{self.heap}"),
            *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED),
            *("-cp", f"{libraries}/*", "org.neo4j.server.CommunityEntryPoint"),
            *(f"--home-dir={self.home}", f"--config-dir={conf}"),
        ]
        with log.open("wb") as console:
            # Its own session, because Ctrl-C is for the caller, who then stops it in order.
            process = subprocess.Popen(command, stdout=console, stderr=console, start_new_session=True)
        self._process = process
        try:
            _wait_for(self.uri, lambda: process.poll() is None, lambda: log.read_text(errors="replace"))
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Shut down in order."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once, as a crash would."""
        self._end(signal.SIGKILL)

    def pause(self) -> None:
        """Freeze it: connections stay open and nothing answers."""
        self._running().send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on after :meth:`pause`."""
        self._running().send_signal(signal.SIGCONT)

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise RuntimeError("Neo4j is not running")
        return self._process

    def _end(self, how: signal.Signals) -> None:
        if self._process is None:
            return
        self._process.send_signal(how)
        self._process.send_signal(signal.SIGCONT)
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None


def jars() -> Path:
    """The folder with Neo4j's jars, fetched by Maven once, whoever asks at the same time.

    Raises :class:`Neo4jUnavailable` when Java or Maven is missing or Maven fails.
    """
    libraries, done = _CACHE / "lib", _CACHE / "complete"
    _require("java")
    _CACHE.mkdir(parents=True, exist_ok=True)
    with (_CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            _require("mvn")
            (_CACHE / "pom.xml").write_text(_POM)
            fetched = subprocess.run(_FETCH, cwd=_CACHE, capture_output=True, text=True, check=False)
            if fetched.returncode:
                said = (fetched.stdout + fetched.stderr)[-3000:]
                raise Neo4jUnavailable(f"Maven could not fetch Neo4j {VERSION}:\n{said}")
            done.touch()
    return libraries


@contextlib.contextmanager
def running() -> Iterator[str]:
    """The URI of a real Neo4j, stopped afterwards.

    One named by ``LINEAGE_NEO4J_URI`` is neither started nor stopped, and may ask for the user and password
    that ``LINEAGE_NEO4J_USER`` and ``LINEAGE_NEO4J_PASSWORD`` hold; the others are empty and ask for none.
    """
    given = os.environ.get("LINEAGE_NEO4J_URI")
    if given:
        _wait_for(given, lambda: True, lambda: "")
        yield given
    elif _docker_answers():
        with _container() as uri:
            yield uri
    else:
        with tempfile.TemporaryDirectory(prefix="neo4j-") as home, Neo4jServer(Path(home)) as server:
            yield server.uri


@contextlib.contextmanager
def _container() -> Iterator[str]:
    from testcontainers.core.container import DockerContainer

    image = DockerContainer(f"neo4j:{VERSION}-community").with_env("NEO4J_AUTH", "none").with_exposed_ports(7687)
    with image as container:
        uri = f"bolt://{container.get_container_host_ip()}:{container.get_exposed_port(7687)}"
        _wait_for(uri, lambda: True, lambda: b"".join(container.get_logs()).decode(errors="replace"))
        yield uri


def _wait_for(uri: str, alive: Callable[[], bool], log: Callable[[], str]) -> None:
    user, password = os.environ.get("LINEAGE_NEO4J_USER"), os.environ.get("LINEAGE_NEO4J_PASSWORD")
    auth = (user or "neo4j", password) if password else None
    deadline = time.monotonic() + _START_SECONDS
    refusal: Exception | None = None
    while alive() and time.monotonic() < deadline:
        try:
            with (
                neo4j.GraphDatabase.driver(uri, auth=auth, connection_timeout=2) as driver,
                driver.session() as session,
            ):
                session.run("RETURN 1").consume()
            return
        except (DriverError, Neo4jError, OSError) as error:
            refusal = error
        time.sleep(0.2)
    why = f"did not answer within {_START_SECONDS} s" if alive() else "ended while starting"
    raise Neo4jUnavailable(f"Neo4j at {uri} {why} ({refusal}); its log ends:\n{log()[-3000:]}")


def _docker_answers() -> bool:
    docker = shutil.which("docker")
    if docker is None:
        return False
    try:
        return subprocess.run([docker, "info"], capture_output=True, check=False, timeout=20).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def _require(tool: str) -> None:
    if shutil.which(tool) is None:
        raise Neo4jUnavailable(
            f"{tool} is missing: install Java 17 and Maven (Debian: apt-get install openjdk-17-jre-headless maven), "
            "or start Docker, or set LINEAGE_NEO4J_URI to an empty Neo4j 5"
        )


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for_end(uri: str) -> None:
    """Return when nothing listens there any more."""
    far = urlsplit(uri)
    with contextlib.suppress(OSError):
        while True:
            socket.create_connection((far.hostname or "", far.port or 7687), 10).close()
            time.sleep(1)


def main() -> None:
    """Fetch what a start needs (``--fetch``), or run until interrupted."""
    parser = argparse.ArgumentParser(description="Run a real Neo4j for tests and development.")
    parser.add_argument("--fetch", action="store_true", help="only fetch what a later start needs")
    if parser.parse_args().fetch:
        if not os.environ.get("LINEAGE_NEO4J_URI") and not _docker_answers():
            jars()
        return
    # A plain SIGTERM would skip the clean-up.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with running() as uri, contextlib.suppress(KeyboardInterrupt):
        print(f"Neo4j answers on {uri}; Ctrl-C stops it", flush=True)
        _wait_for_end(uri)
        sys.exit(f"Neo4j on {uri} has ended")


if __name__ == "__main__":
    main()
