"""Where the command line's questions go: a running server, or a graph opened here. Both give the same answers."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import httpx
import orjson

from lineage_graph.errors import Ambiguous, BadRequest, LineageError, NotFound, StoreUnavailable

if TYPE_CHECKING:
    from lineage_graph.graph import LineageGraph
    from lineage_graph.nodes import Asked

Parameters = dict[str, Any]
_SECONDS = 30.0
_LONGEST_WAIT = 30
_PAGE = 10_000


class Target(Protocol):
    def ask(self, question: str, parameters: Parameters) -> dict[str, Any]:
        """One page of an answer as HTTP gives it. Raises what the question raises."""
        ...


class Server:
    """A running server. Raises :class:`StoreUnavailable` when it can't be reached or can't answer."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")

    def ask(self, question: str, parameters: Parameters) -> dict[str, Any]:
        given = {name: _text(value) for name, value in parameters.items() if value not in (None, ())}
        patience = _SECONDS + (parameters.get("seconds") or 0)
        return self.request("GET", f"/api/v1/{question}", params=given, timeout=patience)

    def request(self, method: str, path: str, tries: int = 1, **more: Any) -> dict[str, Any]:
        """The answer's document. A 503 is tried again after the seconds that it asks for, up to ``tries`` times."""
        response = self._sent(method, path, **more)
        for _ in range(tries - 1):
            if response.status_code != 503:
                break
            asked = response.headers.get("Retry-After", "")
            time.sleep(min(int(asked), _LONGEST_WAIT) if asked.isdecimal() else 1)
            response = self._sent(method, path, **more)
        if not response.is_success:
            raise _error(self.url, response)
        try:
            answer = orjson.loads(response.content)
        except orjson.JSONDecodeError as error:
            raise StoreUnavailable(self.url, "it answered something else than JSON") from error
        if not isinstance(answer, dict):
            raise StoreUnavailable(self.url, "it answered something else than lineage-graph does")
        return answer

    def content(self, path: str) -> bytes:
        """What a route gives that is no document, byte for byte."""
        response = self._sent("GET", path)
        if not response.is_success:
            raise _error(self.url, response)
        return response.content

    def _sent(self, method: str, path: str, **more: Any) -> httpx.Response:
        try:
            return httpx.request(method, self.url + path, **{"timeout": _SECONDS, **more})
        except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
            raise BadRequest(
                "--url", f"{self.url} is no address of a server; give one such as http://host:5000"
            ) from error
        except UnicodeEncodeError as error:
            raise BadRequest("request", "holds text that is no UTF-8, which no name in an event can hold") from error
        except httpx.HTTPError as error:
            raise StoreUnavailable(self.url, f"no answer ({type(error).__name__})") from error


def _text(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value


def _error(url: str, response: httpx.Response) -> LineageError:
    try:
        problem = orjson.loads(response.content)
        detail, kind = str(problem["detail"]), str(problem["type"]).rpartition(":")[2]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return StoreUnavailable(url, f"it answered {response.status_code}")
    if kind == "not-found":
        node, end = detail.partition(" is not known")[0], str(problem.get("field", ""))
        return NotFound(node.removeprefix(f"{end} "), int(problem.get("lag", 0)), end, problem.get("nearest", ()))
    if kind == "ambiguous":
        return Ambiguous(detail.partition(" can be read as ")[0], problem.get("readings", ()))
    if response.status_code < 500:
        field = str(problem.get("field", "request"))
        return BadRequest(field, detail.removeprefix(f"{field} ").removeprefix(f"{field}: "))
    return StoreUnavailable(url, detail)


class Local:
    """A graph opened in this process."""

    def __init__(self, graph: LineageGraph) -> None:
        self.graph = graph

    def ask(self, question: str, parameters: Parameters) -> dict[str, Any]:
        from lineage_graph.nodes import Asked
        from lineage_graph.questions.lineage import Bounds
        from lineage_graph.scope import Scope

        if question == "search":
            kinds = (parameters["type"],) if parameters.get("type") else ("dataset", "job")
            given = _given(parameters, "namespace", "limit", "cursor")
            return self.graph.search(parameters["q"], kinds, **given).model_dump(mode="json")
        get = parameters.get
        scope = Scope.parse(everything=bool(get("all")), window=get("window"))
        if question == "paths":
            source, target = (asked_in(parameters, Asked(end=end)) for end in ("source", "target"))
            return self.graph.paths(source, target, scope, **_given(parameters, "k", "seconds")).model_dump(mode="json")
        asked = asked_in(parameters, Asked())
        bounds = Bounds(**_given(parameters, *Bounds._fields))
        if question == "graph":
            return self.graph.graph(asked, scope, bounds, get("level") or "dataset").model_dump(mode="json")
        questions: dict[str, Callable[..., Any]] = {"impact": self.graph.impact, "upstream": self.graph.upstream}
        answer: dict[str, Any] = questions[question](asked, scope, bounds).model_dump(mode="json")
        return answer


def asked_in(parameters: Parameters, of: Asked) -> Asked:
    """What parameters say of a node, or of an end of a path, by the names that its parts have there."""
    given = {part: parameters.get(of.parameter(part)) for part in ("node", "namespace", "name", "field", "type")}
    return of._replace(**{part: value for part, value in given.items() if value is not None})


def _given(parameters: Parameters, *names: str) -> Parameters:
    return {name: parameters[name] for name in names if parameters.get(name) is not None}


def answer_to(target: Target, question: str, parameters: Parameters) -> dict[str, Any]:
    """The answer with the items of all its pages; with ``limit`` or ``cursor`` among the parameters, of that page."""
    if _given(parameters, "limit", "cursor"):
        return target.ask(question, parameters)
    parameters |= {"limit": _PAGE}
    answer = page = target.ask(question, parameters)
    while page.get("next"):
        page = target.ask(question, parameters | {"cursor": page["next"]})
        answer["items"] += page["items"]
    answer["next"] = None
    return answer
