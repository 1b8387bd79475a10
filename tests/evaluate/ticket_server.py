"""A server with the seven published ticket endpoints, over the real environment."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

from deskgym.suites.tickets import SupportAction, TicketEnvironment
from deskgym.suites.tickets.scenario import TIERS


class TicketServer(ThreadingHTTPServer):
    """Keeps an environment for each session.

    Attributes:
        broken: what to answer instead, by path: a status and a body.
        asked: every request, as its method and path.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.sessions: dict[str, TicketEnvironment] = {}
        self.broken: dict[str, tuple[int, bytes]] = {}
        self.asked: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: TicketServer  # pyright: ignore[reportIncompatibleVariableOverride]

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._answer("GET")

    def do_POST(self) -> None:
        self._answer("POST")

    def _answer(self, method: str) -> None:
        path = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        self.server.asked.append(f"{method} {path.path}")
        if path.path in self.server.broken:
            self._send(*self.server.broken[path.path])
            return
        query = {name: values[0] for name, values in parse_qs(path.query).items()}
        found = self._found(f"{method} {path.path}", {**query, **(json.loads(body or b"{}"))})
        self._send(404 if found is None else 200, json.dumps(found).encode())

    def _found(self, what: str, asked: dict[str, Any]) -> dict[str, Any] | None:
        sessions = self.server.sessions
        match what:
            case "GET /":
                return {"status": "ok", "env": "customer_support_env"}
            case "GET /tasks":
                return {"tasks": [{"name": tier} for tier in TIERS]}
            case "POST /baseline":
                return dict.fromkeys(TIERS, 1.0)
            case "POST /reset":
                session = f"session-{len(sessions) + 1}"
                sessions[session] = TicketEnvironment()
                opening = sessions[session].reset(asked["task_name"], asked["seed"])
                # The published observation also has the framework's own field.
                return {
                    "session_id": session,
                    "observation": {**opening.model_dump(), "metadata": {}},
                }
        environment = sessions.get(asked.get("session_id", ""))
        if environment is None:
            return None
        match what:
            case "POST /step":
                action = SupportAction(message=asked["message"], intent=asked.get("intent"))
                observation = environment.step(action).model_dump()
                return {"session_id": asked["session_id"], "observation": observation}
            case "GET /state":
                return {"session_id": asked["session_id"], "state": environment.state.model_dump()}
            case "POST /grader":
                state = environment.state
                return {"score": state.cumulative_reward, "turn_scores": state.turn_scores}
            case _:
                return None

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def ticket_server() -> Iterator[TicketServer]:
    """The server, for as long as the block lasts."""
    with TicketServer() as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
            for environment in server.sessions.values():
                environment.close()
