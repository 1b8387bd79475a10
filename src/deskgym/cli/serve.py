"""`deskgym serve`: the server."""

from __future__ import annotations

import os
import sys
import threading
import webbrowser
from enum import StrEnum
from typing import Annotated

import typer

from deskgym.cli.console import AsJson, escape, out, print_json
from deskgym.errors import MissingExtra


class LogLevel(StrEnum):
    """The least level that is logged."""

    debug = "debug"
    info = "info"
    warning = "warning"
    error = "error"


def serve(
    host: Annotated[
        str, typer.Option(help="The address to listen on; any but loopback needs a key.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65_535, help="The port; 0 takes any free one.")
    ] = 8_000,
    workers: Annotated[int, typer.Option(min=1, max=256, help="How many processes.")] = 1,
    app: Annotated[
        str, typer.Option(help="Serve one door alone at the root, such as tickets.")
    ] = "all",
    database: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Where episodes are stored: sqlite:///FILE, postgresql://…, embedded or default, "
            "a file in your data directory. DESKGYM_DATABASE_URL if not given.",
        ),
    ] = None,
    without_key: Annotated[
        bool, typer.Option("--without-key", help="Let anyone reach a door that is served alone.")
    ] = False,
    allowed_hosts: Annotated[
        list[str] | None,
        typer.Option("--allowed-host", metavar="NAME", help="Answer to this name too."),
    ] = None,
    live_max: Annotated[
        int, typer.Option(min=1, help="How many episodes may be live at once.")
    ] = 20_000,
    live_max_per_key: Annotated[
        int, typer.Option(min=1, help="How many of them one key may hold.")
    ] = 10_000,
    idle_timeout_s: Annotated[
        float,
        typer.Option(min=0, help="Close an episode that takes no action for so long; 0 never."),
    ] = 3_600,
    body_bytes_max: Annotated[
        int, typer.Option(min=1_024, help="How large a request's body may be.")
    ] = 2**20,
    log_level: Annotated[LogLevel, typer.Option(help="The least level to log.")] = LogLevel.info,
    access_log: Annotated[
        bool, typer.Option("--access-log", help="Log every request, not only those that fail.")
    ] = False,
    open_browser: Annotated[
        bool, typer.Option("--open", help="Open the web app in a browser, where there is one.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Serve the web app, /api for trainers, and a door over MCP for each agent.

    On loopback no key is needed. For any other address set DESKGYM_API_KEY to a secret of at least
    16 characters, or to several as name:key,name:key.

    Examples:
    deskgym serve --open

    deskgym serve --port 0 --workers 4 --database postgresql://me@db/deskgym

    DESKGYM_API_KEY=$(openssl rand -hex 32) deskgym serve --host 0.0.0.0
    """
    try:
        from deskgym.serve.run import serve as serve_app
        from deskgym.serve.settings import Settings, keys_from
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("deskgym"):
            raise
        raise MissingExtra("deskgym serve", "serve") from error
    from deskgym.runstore import chosen_url

    settings = Settings(
        database=chosen_url(database) or "default",
        app=app,
        host=host,
        port=port,
        workers=workers,
        keys=keys_from(),
        without_key=without_key,
        allowed_hosts=tuple(allowed_hosts or ()),
        live_max=live_max,
        live_max_per_key=live_max_per_key,
        idle_timeout_s=idle_timeout_s or None,
        body_bytes_max=body_bytes_max,
        access_log=access_log,
    )

    def started(url: str) -> None:
        if as_json:
            print_json({"url": url})
        else:
            what = "The web app is at" if app == "all" else "deskgym serves"
            out.print(f"{what} {escape(url)} (stop it with Ctrl+C)")
        out.file.flush()
        if open_browser and app == "all":
            _open(url)

    serve_app(settings, log_level=log_level.value, started=started)


def _open(url: str) -> None:
    """Open a browser beside the server; without a desktop there is none, and that is no error."""
    desktop = sys.platform in ("darwin", "win32") or any(map(os.environ.get, _DESKTOPS))
    if desktop:
        threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()


_DESKTOPS = ("DISPLAY", "WAYLAND_DISPLAY")
