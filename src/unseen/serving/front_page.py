"""The page at ``/``: what this service is and what it can be asked, with nothing from elsewhere."""

from __future__ import annotations

import string
from html import escape
from importlib import resources

from unseen.typing import JsonObject

PAGE_HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}


def front_page(description: JsonObject, token: bool) -> str:
    """Return the page.

    Parameters
    ----------
    description : dict
        What ``/openapi.json`` says.
    token : bool
        Whether requests need one.
    """
    rows = "".join(
        f"<tr><td><code>{method.upper()}</code></td><td><code>{escape(path)}</code></td>"
        f"<td>{escape(operation.get('summary', ''))}</td></tr>"
        for path, methods in description["paths"].items()
        for method, operation in methods.items()
    )
    needs = (
        "<p>Requests need the token of the service, in a header <code>Authorization: Bearer …</code>; "
        "this page and <code>/health</code> do not.</p>"
        if token
        else ""
    )
    header = " -H 'authorization: Bearer TOKEN'" if token else ""
    example = (
        f"curl THIS-ADDRESS/predict{header} -H 'content-type: application/json' \\\n"
        "     -d '{\"features\": [[0.8, 0.9, …]]}'"
    )
    template = (resources.files(__package__) / "front_page.html").read_text(encoding="utf-8")
    return string.Template(template).substitute(
        version=escape(description["info"]["version"]), needs=needs, rows=rows, example=escape(example)
    )
