"""Who may do what: every route with every credential, and which hosts are answered."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.routing import BaseRoute, Mount, Route, WebSocketRoute

from deskgym.errors import UsageError
from deskgym.serve import Settings
from deskgym.serve.access import Keys
from deskgym.serve.settings import is_loopback, keys_from
from tests.serve.inside import Inside

KEY = "a-trainers-key-0123456789"
OTHER_KEY = "another-trainers-key-987"
TASK = "service/two-full-captures"
PUBLIC = {"/login", "/static/x", "/health", "/ready"} | {
    f"/{door}/{page}" for door in ("api", "tickets") for page in ("openapi.json", "docs")
}
"""What anyone may see: it says nothing of any episode."""
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


def paths_of(routes: list[BaseRoute], prefix: str = "") -> Iterator[str]:
    for route in routes:
        if isinstance(route, Mount):
            inner = list(paths_of(list(route.routes), prefix + route.path))
            yield from inner or [f"{prefix}{route.path}/x"]
        elif isinstance(route, Route | WebSocketRoute):
            yield prefix + route.path
        else:
            raise AssertionError(f"a kind of route that this test does not know: {route!r}")


def routes_of(api: Inside, episode: str) -> list[str]:
    """Every path of the app, its parameters filled in with what is there."""
    assert isinstance(api.app.app, Starlette)
    values = {"id": episode, "suite": "service", "task": "two-full-captures"}
    filled = [
        re.sub(r"\{(\w+)(:\w+)?\}", lambda found: values.get(found[1], episode), path)
        for path in paths_of(list(api.app.app.routes))
    ]
    assert len(filled) > 20
    return filled


def bearing(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Inside]:
    with Inside(tmp_path, keys={"ann": KEY, "bob": OTHER_KEY}) as api:
        yield api


@pytest.fixture
def free(tmp_path: Path) -> Iterator[Inside]:
    with Inside(tmp_path / "free") as api:
        yield api


def episode_with_token(api: Inside, **headers: str) -> tuple[str, str]:
    body = {"task": TASK, "with_token": True}
    made = api.post("/api/episodes", json=body, headers=headers).json()
    return made["id"], made["token"]


def is_agents_door(path: str) -> bool:
    return path.startswith("/episodes/")


@pytest.mark.parametrize("with_keys", [True, False], ids=["keys", "no keys"])
def test_an_agents_token_opens_no_route_but_its_own_door(
    guarded: Inside, free: Inside, with_keys: bool
) -> None:
    api = guarded if with_keys else free
    trainer = bearing(KEY) if with_keys else {}
    own, token = episode_with_token(api, **trainer)
    other, _ = episode_with_token(api, **trainer)
    before = api.get("/api/episodes", headers=trainer).json()
    credentials: dict[str, dict[str, str]] = {
        "the agent's token": bearing(token),
        "a wrong token": bearing("x" * 43),
        "an empty token": bearing(""),
        "another scheme": {"Authorization": "Basic YTpi"},
    }
    if with_keys:
        credentials["none"] = {}
    for episode in (own, other):
        for path in routes_of(api, episode):
            if path in PUBLIC:
                continue
            for method in METHODS:
                for name, headers in credentials.items():
                    is_token = name == "the agent's token"
                    if is_token and episode == own and is_agents_door(path):
                        continue
                    if episode == other and not is_token:
                        continue  # nothing is anybody's there, and the first round has asked
                    answer = api.request(method, path, headers=headers)
                    at = f"{method} {path} with {name}"
                    if answer.status_code == 303:  # a person's page, which asks for a key
                        assert name == "none", at
                        assert answer.headers["location"].startswith("/login"), at
                        continue
                    assert answer.status_code in (401, 403, 404, 405), at
                    if method in ("GET", "POST") and answer.status_code in (404, 405):
                        assert not path.startswith("/api"), at
                    assert "reward" not in answer.text, at
    assert api.get("/api/episodes", headers=trainer).json() == before


def test_what_is_public_needs_no_credential_and_tells_nothing(guarded: Inside) -> None:
    episode, token = episode_with_token(guarded, **bearing(KEY))
    for path in PUBLIC:
        answer = guarded.get(path)
        assert answer.status_code == (404 if path == "/static/x" else 200)
        assert episode not in answer.text
        assert KEY not in answer.text
        assert token not in answer.text


def test_every_trainers_key_opens_the_trainers_door(guarded: Inside) -> None:
    for key in (KEY, OTHER_KEY):
        assert guarded.get("/api/version", headers=bearing(key)).status_code == 200
        assert guarded.get("/metrics", headers=bearing(key)).status_code == 200
    refused = guarded.get("/api/version")
    assert refused.status_code == 401
    assert refused.headers["www-authenticate"] == "Bearer"
    for wrong in (KEY[:-1], KEY + "x", KEY.upper(), f"ann:{KEY}", ""):
        assert guarded.get("/api/version", headers=bearing(wrong)).status_code == 403


def test_a_key_is_known_by_its_holder_alone() -> None:
    keys = Keys({"ann": KEY, "bob": OTHER_KEY})
    assert [keys.holder_of(key) for key in (KEY, OTHER_KEY, "", "\ud800")] == [
        "ann", "bob", None, None,
    ]  # fmt: skip
    assert KEY not in repr(Settings(keys={"ann": KEY}))


@pytest.mark.parametrize(
    ("host", "origin", "status"),
    [
        ("127.0.0.1", None, 200),
        ("127.0.0.1:8000", None, 200),
        ("localhost:8000", None, 200),
        ("LOCALHOST", None, 200),
        ("[::1]:8000", None, 200),
        ("localhost:8000", "http://localhost:8000", 200),
        ("evil.example", None, 403),
        ("127.0.0.1.evil.example", None, 403),
        ("localhost.evil.example:8000", None, 403),
        ("10.0.0.1", None, 403),
        ("", None, 403),
        ("127.0.0.1:8000", "http://evil.example", 403),
        ("127.0.0.1:8000", "http://127.0.0.1:9", 403),
        ("127.0.0.1:8000", "null", 403),
        ("127.0.0.1:8000", "http://[", 403),
        ("evil.example", "http://evil.example", 403),
    ],
)
def test_a_page_of_another_site_cannot_use_a_server_on_loopback(
    free: Inside, host: str, origin: str | None, status: int
) -> None:
    headers = {"Host": host} | ({"Origin": origin} if origin is not None else {})
    assert free.get("/api/version", headers=headers).status_code == status


def test_a_name_can_be_allowed(tmp_path: Path) -> None:
    with Inside(tmp_path, allowed_hosts=("Gym.example",)) as api:
        for host, status in (("gym.example", 200), ("gym.example:80", 200), ("x.example", 403)):
            assert api.get("/api/version", headers={"Host": host}).status_code == status


def test_only_loopback_goes_without_a_key() -> None:
    for host in ("127.0.0.1", "localhost", "::1", "127.9.9.9"):
        assert Settings(host=host).checked().host == host
        assert is_loopback(host)
    for host in ("0.0.0.0", "::", "10.1.2.3", "example.org", ""):
        with pytest.raises(UsageError, match="DESKGYM_API_KEY"):
            Settings(host=host).checked()
        assert Settings(host=host, keys={"ann": KEY}).checked()
    with pytest.raises(UsageError, match="served alone"):
        Settings(host="0.0.0.0", without_key=True).checked()


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("", {}),
        (KEY, {"trainer": KEY}),
        (f"ann:{KEY}, bob:{OTHER_KEY}", {"ann": KEY, "bob": OTHER_KEY}),
    ],
)
def test_keys_come_from_the_environment(text: str, keys: dict[str, str]) -> None:
    assert keys_from({"DESKGYM_API_KEY": text}) == keys


@pytest.mark.parametrize("text", ["short", "two words of some length", f"{KEY},{OTHER_KEY}", "a:b"])
def test_a_key_that_cannot_be_used_is_refused_and_not_shown(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        keys_from({"DESKGYM_API_KEY": text})
    assert text not in str(refused.value)


def test_a_held_key_names_its_episodes_and_bounds_them(tmp_path: Path) -> None:
    keys = {"ann": KEY, "bob": OTHER_KEY}
    with Inside(tmp_path, keys=keys, live_max=3, live_max_per_key=2) as api:

        def create(key: str) -> Any:
            return api.post("/api/episodes", json={"task": TASK}, headers=bearing(key))

        made = [create(KEY) for _ in range(2)]
        shown = api.get(f"/api/episodes/{made[0].json()['id']}", headers=bearing(KEY)).json()
        assert shown["holder"] == "ann"
        for key, code in ((KEY, 429), (OTHER_KEY, 201), (OTHER_KEY, 429)):
            answer = create(key)
            assert answer.status_code == code
        assert int(answer.headers["retry-after"]) > 0
        assert answer.json()["code"] == "too_many_episodes"
        closed = api.post(f"/api/episodes/{made[0].json()['id']}/close", headers=bearing(KEY))
        assert closed.status_code == 200
        assert create(KEY).status_code == 201
