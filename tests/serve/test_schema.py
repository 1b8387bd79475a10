"""The description in OpenAPI against the app: whatever fits it is answered as it says."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis import Case
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from deskgym.serve.api import OPERATIONS
from deskgym.serve.openapi import openapi_of
from tests.serve.inside import Inside

TASK = "service/two-full-captures"
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    negative_data_rejection,
]


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inside]:
    with Inside(tmp_path_factory.mktemp("schema")) as made:
        yield made


schema = schemathesis.openapi.from_dict(openapi_of("deskgym", "1", "", "/api", OPERATIONS))


def answered(api: Inside, case: Case) -> None:
    """Send a generated request, and hold the answer to the description."""
    fields = case.as_transport_kwargs(base_url="http://127.0.0.1")
    kept = {name: fields[name] for name in ("params", "json", "headers") if name in fields}
    if "data" in fields:
        kept["content"] = fields["data"]
    answer = api.request(fields["method"], fields["url"], **kept)
    case.validate_response(schemathesis.Response.from_any(answer), checks=CHECKS)


@schema.parametrize()
@settings(
    max_examples=8,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_whatever_fits_the_description_is_answered_as_it_says(case: Case, api: Inside) -> None:
    answered(api, case)
    if "id" not in (case.path_parameters or {}):
        return
    # A name that was made up is there for nobody: ask about an episode and a recording that are.
    made = api.post("/api/episodes", json={"task": TASK}).json()["id"]
    if case.path.startswith("/api/recordings"):
        api.post(f"/api/episodes/{made}/close")
        made = api.get("/api/recordings", params={"episode": made}).json()["items"][0]["id"]
    case.path_parameters = {"id": made}
    answered(api, case)
