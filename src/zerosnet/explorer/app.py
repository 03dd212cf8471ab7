"""The web application: the JSON interface, the page, and the headers that keep it to itself.

Files of the page are read once, when the application is made; a request can name them, but never a file.
"""

from collections.abc import Awaitable, Callable, MutableMapping
from functools import cache
from importlib import resources
from typing import Annotated, Any

from fastapi import FastAPI, HTTPException, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException as StarletteHTTPException

from zerosnet import __version__
from zerosnet.errors import InputError
from zerosnet.explorer import documents, locus, query, wiring_query, wirings
from zerosnet.explorer.limits import LONGEST_QUERY, is_own_host
from zerosnet.numerics import PAPER_ROWS, facts, root_condition
from zerosnet.report import root_places

Message = MutableMapping[str, Any]

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-cache",
}
_DESCRIPTION = """Zero stability of numerical schemes, and of the networks that they are.

A scheme is named by `alphas` and `betas`, or by `family`, `param` and, for lm, `beta`. Numbers are exact: `0.1` is one
tenth, `1/3` a third. A request that cannot be answered gets a 4xx status and `{"error": ..., "parameter": ...}`:
numbers have at most 50 digits, schemes at most 8 steps, grids at most 400 x 400 points, wirings at most 8 streams and
432 blocks."""


def create_app(host: str = "localhost") -> FastAPI:
    """The application, which holds no state but its files; it answers requests to this host and to localhost."""
    app = FastAPI(
        title="zerosnet explorer",
        version=__version__,
        description=_DESCRIPTION,
        openapi_url="/api/openapi.json",
        docs_url=None,  # its pages would load scripts from elsewhere; /api is our own
        redoc_url=None,
    )
    _add_interface(app)
    _add_files(app)
    app.add_exception_handler(InputError, _refuse)
    app.add_exception_handler(RequestValidationError, _refuse)
    app.add_exception_handler(StarletteHTTPException, _refuse)
    app.add_exception_handler(Exception, _fail)
    app.add_middleware(Guard, host=host)
    return app


def _add_interface(app: FastAPI) -> None:
    @app.get("/api/analyze", tags=["one scheme"])
    def analyze(of: Annotated[query.NamedScheme, Query()]) -> JSONResponse:
        """What `zerosnet analyze --json` prints: verdict and reason, roots, order, error constant, intervals."""
        return JSONResponse(facts(of.scheme()))

    @app.get("/api/envelope", tags=["one scheme"])
    def envelope(of: Annotated[query.Envelope, Query()]) -> JSONResponse:
        """How far a perturbation of the starting values can grow: log10 of the bound after 0, 1, ... blocks."""
        return JSONResponse(documents.envelope_document(of.scheme(), of.blocks))

    @app.get("/api/region", tags=["one scheme"])
    def region(of: Annotated[query.Region, Query()]) -> JSONResponse:
        """The region of absolute stability on a grid: for every row, bottom first, its runs of stable columns."""
        return JSONResponse(documents.region_document(of.scheme(), of))

    @app.get("/api/forecast", tags=["one scheme"])
    def forecast(of: Annotated[query.ForecastOf, Query()]) -> JSONResponse:
        """What `zerosnet predict --json` prints: shares and parts of blocks, effective depth, accuracy, its limit."""
        return JSONResponse(documents.forecast_document(of.scheme(), of.layers))

    @app.get("/api/copy", tags=["one scheme"])
    def copy(of: Annotated[query.NamedScheme, Query()]) -> JSONResponse:
        """The scheme as Python, as a command and as LaTeX."""
        return JSONResponse(documents.copy_document(of))

    @app.get("/api/view", tags=["one scheme"])
    def view(of: Annotated[query.View, Query()]) -> JSONResponse:
        """All of the above in one answer, where every root lies, and the largest parasitic modulus: for the page.

        The forecast is that of 56 layers.
        """
        scheme = of.scheme()
        verdict = root_condition(scheme)
        return JSONResponse(
            {
                "analysis": facts(scheme),
                "places": root_places(verdict),
                "parasitic_modulus": 1 - verdict.margin,
                "envelope": documents.envelope_document(scheme, of.blocks),
                "region": documents.region_document(scheme, of),
                "forecast": documents.forecast_document(scheme, 56),
                "copy": documents.copy_document(of),
            }
        )

    @app.get("/api/locus", tags=["families"])
    def root_locus(of: Annotated[query.Locus, Query()]) -> JSONResponse:
        """The parasitic roots while one number of the scheme moves from low to high, and where it is zero-stable."""
        return JSONResponse(locus.locus_document(of))

    @app.get("/api/families", tags=["families"])
    def families() -> JSONResponse:
        """All families, with their formulas and their exact sets of zero-stable parameters."""
        return JSONResponse(locus.families_document())

    @app.get("/api/wiring", tags=["wirings"])
    def wiring(of: Annotated[wiring_query.WiringOf, Query()]) -> JSONResponse:
        """Gains, shares and likeness of streams of any wiring: residual gains, or m streams that matrices mix."""
        return JSONResponse(wirings.wiring_document(of))

    @app.get("/api/wirings", tags=["wirings"])
    def forms() -> JSONResponse:
        """The forms of wirings with their parameters and defaults, and some to start from."""
        return JSONResponse(wirings.forms_document())

    @app.get("/api/map", tags=["families"])
    def accuracy_map() -> JSONResponse:
        """Predicted accuracy over the pair of parasitic roots of consistent three-step schemes, and measured ones."""
        return JSONResponse(documents.map_document())

    @app.get("/api/paper", tags=["the paper"])
    def paper() -> JSONResponse:
        """What `zerosnet analyze --paper --json` prints: the ten coefficient rows."""
        return JSONResponse(_paper_rows())

    @app.get("/api/accuracies", tags=["the paper"])
    def accuracies() -> JSONResponse:
        """Measured test accuracies and, apart from them, the printed ones, with the largest parasitic modulus."""
        return JSONResponse(documents.accuracies_document())

    @app.get("/api/{path:path}", include_in_schema=False)
    def unknown(path: str) -> None:
        raise HTTPException(404, f"there is no /api/{path[:80]}; /api/openapi.json lists what there is")


def _add_files(app: FastAPI) -> None:
    files = _page_files()

    @app.get("/{path:path}", include_in_schema=False)
    def page(path: str) -> Response:
        found = files.get({"": "index.html", "api": "api.html"}.get(path, path))
        if found is None:
            raise HTTPException(404, "there is no such page")
        content, media_type = found
        return Response(content, media_type=media_type)


@cache
def _page_files() -> dict[str, tuple[bytes, str]]:
    folder = resources.files("zerosnet.explorer").joinpath("static")
    return {file.name: (file.read_bytes(), _TYPES["." + file.name.rpartition(".")[2]]) for file in folder.iterdir()}


@cache
def _paper_rows() -> list[dict[str, Any]]:
    return [row.to_json() for row in PAPER_ROWS]


def _refuse(request: Request, error: Exception) -> JSONResponse:
    """4xx with one line, and the name of the parameter that it is about."""
    if isinstance(error, RequestValidationError):
        first = error.errors()[0]
        name = str(first["loc"][-1])
        given = "" if first["type"] in ("extra_forbidden", "missing") else f" is {str(first.get('input'))[:40]!r}"
        return JSONResponse({"error": f"{name}{given}: {first['msg']}", "parameter": name}, 422)
    if isinstance(error, StarletteHTTPException):
        return JSONResponse({"error": error.detail, "parameter": None}, error.status_code, headers=error.headers)
    return JSONResponse({"error": str(error), "parameter": getattr(error, "parameter", None)}, 422)


def _fail(request: Request, error: Exception) -> JSONResponse:
    """Answer a mistake of ours without its details, which the server's own log has."""
    return JSONResponse({"error": "the server failed on this request", "parameter": None}, 500, headers=_HEADERS)


class Guard:
    """Refuses long queries and other sites' host names, and puts the security headers on every answer."""

    def __init__(self, app: Callable[..., Awaitable[None]], host: str) -> None:
        self.app = app
        self.host = host

    async def __call__(self, scope: Message, receive: Any, send: Callable[[Message], Awaitable[None]]) -> None:
        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *_raw(_HEADERS)]
            await send(message)

        answer = self._refusal(scope) if scope["type"] == "http" else None
        await (answer or self.app)(scope, receive, send_guarded)

    def _refusal(self, scope: Message) -> JSONResponse | None:
        named = next((value for name, value in scope["headers"] if name == b"host"), b"").decode("latin-1")
        if not is_own_host(named, self.host):
            accepted = f"localhost or {self.host}, the host that the server was started with"
            return JSONResponse({"error": f"host is {named[:80]!r}; expected {accepted}", "parameter": None}, 421)
        if len(scope.get("query_string", b"")) > LONGEST_QUERY:
            long = f"the query is longer than {LONGEST_QUERY} characters"
            return JSONResponse({"error": long, "parameter": "query"}, 414)
        return None


def _raw(headers: dict[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode()) for name, value in headers.items()]
