"""The site: how a request becomes a page, and what is asked of every one of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, ParamSpec, TypeVar, cast
from urllib.parse import parse_qsl

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.datastructures import FormData
from starlette.formparsers import MultiPartException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

from deskgym.errors import DeskgymError
from deskgym.serve.access import Trainer
from deskgym.serve.operation import OPERATION
from deskgym.serve.problem import KINDS, Problem, problem_of
from deskgym.serve.service import Service
from deskgym.suite import suite_names
from deskgym.web import show
from deskgym.web.kept import Kept
from deskgym.web.session import Session

P = ParamSpec("P")
T = TypeVar("T")

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""Only what comes with the app is loaded, no script stands in a page, and no page in another."""

HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}

STATIC_AGE_S: Final = 365 * 24 * 3_600
_STATIC: Final = Path(str(files("deskgym.web") / "static"))


@dataclass(frozen=True)
class Page:
    """A page of the app.

    Attributes:
        name: unique; its name in the metrics and in links.
        path: after the site's prefix, with parameters in braces.
        answer: makes the answer; its docstring says what the page is for.
        method: GET (HEAD with it) or POST.
        public: whether it is shown to who has not shown a key yet.
        files_max: how many files its form may bring; one that brings any may be as large as a
            recording.
    """

    name: str
    path: str
    answer: Callable[[Visit], Awaitable[Response]]
    method: str = "GET"
    public: bool = False
    files_max: int = 0


@dataclass(frozen=True)
class Visit:
    """A request for a page, by someone who may see it.

    Attributes:
        site: the site.
        request: the request; its `query_params` and `path_params` are texts.
        trainer: who asks.
        form: what a POST brings; empty otherwise.
    """

    site: Site
    request: Request
    trainer: Trainer
    form: FormData

    @property
    def service(self) -> Service:
        """What every door works with."""
        return self.site.service

    @property
    def path(self) -> Mapping[str, str]:
        """The parameters in the path."""
        return self.request.path_params

    def query(self, name: str, default: str = "") -> str:
        """A value of the query; the last one where it is given more than once."""
        return self.request.query_params.get(name, default)

    def text(self, name: str, default: str = "") -> str:
        """A text of the form; a file there is nothing that is asked for here."""
        value = self.form.get(name, default)
        return value if isinstance(value, str) else default

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call something that uses the database."""
        return await self.service.run(work, *args, **kwargs)

    def render(self, template: str, /, status: int = 200, **context: Any) -> Response:
        """A page from its template."""
        return self.site.render(self.request, self.trainer, template, status, context)

    def go(self, path: str) -> Response:
        """An answer to a form that was taken: look there now. `path` starts with a slash."""
        return RedirectResponse(self.site.prefix + path, 303, headers=HEADERS)


class Site:
    """The pages of one worker process."""

    def __init__(self, service: Service, prefix: str) -> None:
        self.service: Final = service
        self.prefix: Final = prefix
        self.session: Final = Session(service)
        self.kept: Final = Kept()
        self._versions: Final = {
            path.name: sha256(path.read_bytes()).hexdigest()[:12] for path in _STATIC.iterdir()
        }
        self._templates: Final = Environment(
            loader=PackageLoader("deskgym.web"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        values = cast(dict[str, Any], self._templates.globals)  # pyright: ignore[reportUnknownMemberType]
        values.update(
            link=self.link, static=self.static, suites=suite_names(), version=service.store.version
        )
        filters = cast(dict[str, Any], self._templates.filters)  # pyright: ignore[reportUnknownMemberType]
        filters.update(show.FILTERS)
        tests = cast(dict[str, Any], self._templates.tests)  # pyright: ignore[reportUnknownMemberType]
        tests.update(show.TESTS)

    def link(self, path: str) -> str:
        """The address of a page; `path` starts with a slash."""
        return self.prefix + path

    def static(self, name: str) -> str:
        """The address of a file that comes with the app; it changes when the file does."""
        return f"{self.prefix}/static/{name}?v={self._versions[name]}"

    def render(
        self,
        request: Request,
        trainer: Trainer | None,
        template: str,
        status: int,
        context: Mapping[str, Any],
    ) -> Response:
        """A page from its template."""
        text = self._templates.get_template(template).render(
            {"path": request.url.path.removeprefix(self.prefix), "trainer": trainer, **context}
        )
        return HTMLResponse(text, status, headers=HEADERS)

    def trouble(self, request: Request, problem: Problem) -> Response:
        """The page that says what went wrong."""
        response = self.render(
            request,
            None,
            "trouble.html",
            problem.status,
            {"title": KINDS[problem.code].title, "detail": problem.detail},
        )
        response.headers.update(problem.headers)
        return response

    def routes(self, pages: Sequence[Page]) -> list[BaseRoute]:
        """A route for each path, and one for the files."""
        paths: dict[str, dict[str, Page]] = {}
        for page in pages:
            paths.setdefault(page.path, {})[page.method] = page
            if page.files_max:
                self.service.imports.add(self.prefix + page.path)
        self.service.refusal = self._refusal
        return [
            *(Route(self.prefix + path, _Endpoint(self, items)) for path, items in paths.items()),
            Mount(f"{self.prefix}/static", _Files(directory=_STATIC)),
            Route(f"{self.prefix}/{{rest:path}}", self._nowhere),
        ]

    async def _nowhere(self, request: Request) -> Response:
        """Tell a person that nothing is here; programs are told as the API tells them."""
        problem = Problem("not_found", f"There is no page {request.url.path}")
        return self._refusal(request.scope, problem) or problem.response()

    def _refusal(self, scope: Scope, problem: Problem) -> Response | None:
        request = Request(scope)
        if "text/html" not in request.headers.get("accept", ""):
            return None
        return self.trouble(request, problem)


class _Files(StaticFiles):
    """The files; their addresses change with them, so a browser may keep them."""

    def file_response(self, *args: Any, **kwargs: Any) -> Response:
        response = super().file_response(*args, **kwargs)
        response.headers["Cache-Control"] = f"public, max-age={STATIC_AGE_S}, immutable"
        response.headers["X-Content-Type-Options"] = "nosniff"
        return response


class _Endpoint:
    """Answers the requests for one path."""

    def __init__(self, site: Site, pages: Mapping[str, Page]) -> None:
        self._site: Final = site
        self._pages: Final = pages
        methods = {*pages, *(("HEAD",) if "GET" in pages else ())}
        self._allow: Final = ", ".join(sorted(methods))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, as ASGI has it."""
        request = Request(scope, receive)
        try:
            response = await self._answer(request)
        except Problem as problem:
            response = self._site.trouble(request, problem)
        except DeskgymError as error:
            response = self._site.trouble(request, problem_of(error))
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        site = self._site
        page = self._pages.get("GET" if request.method == "HEAD" else request.method)
        if page is None:
            raise Problem(
                "method_not_allowed", f"here are: {self._allow}", headers={"Allow": self._allow}
            )
        request.scope[OPERATION] = f"web_{page.name}"
        if page.method == "POST":
            _check_same_site(request)
        _check_query(request)
        trainer = Trainer(None) if page.public else site.session.trainer(request)
        if trainer is None:
            return RedirectResponse(site.link(f"/login?{site.session.back(request)}"), 303)
        form = await _form(request, page.files_max) if page.method == "POST" else FormData()
        try:
            return await page.answer(Visit(site, request, trainer, form))
        finally:
            await form.close()  # the files that it brought


def _check_same_site(request: Request) -> None:
    """Refuse a form that a page of another site sends; every browser says where it comes from.

    The Origin of each request is held to this host already, so this is for browsers that send a
    form without one.
    """
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise Problem("forbidden_host", "a page of another origin may not use this server")


def _check_query(request: Request) -> None:
    try:
        parse_qsl(request.scope["query_string"].decode(), keep_blank_values=True, errors="strict")
    except ValueError:
        raise Problem("bad_request", "the query is not UTF-8") from None


async def _form(request: Request, files_max: int) -> FormData:
    try:
        return await request.form(
            max_files=files_max,
            max_fields=200,
            max_part_size=request.app.state.service.settings.body_bytes_max,
        )
    except MultiPartException as error:
        raise Problem("bad_request", f"the form cannot be read: {error.message}") from None


__all__ = ["HEADERS", "POLICY", "Page", "Site", "Visit"]
