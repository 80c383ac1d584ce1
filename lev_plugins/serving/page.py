"""The page at ``/``: one file, which loads nothing else and may run nothing but its own script."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import lru_cache
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

INLINE = re.compile(r"<(style|script)>(.*?)</\1>", re.DOTALL)


async def page(_: Request) -> Response:
    content, policy = read()
    return HTMLResponse(content, headers={"Content-Security-Policy": policy, "X-Frame-Options": "DENY"})


@lru_cache(maxsize=1)
def read() -> tuple[str, str]:
    content = files("lev_plugins.serving").joinpath("page.html").read_text("utf-8")
    return content, policy_of(content)


def policy_of(content: str) -> str:
    """Only the style sheets and scripts in the page itself, by their hashes.

    >>> policy_of("<style>p {}</style>")[:73]
    "default-src 'none'; connect-src 'self'; style-src 'sha256-SNJDlN1Iy2mnt7D"
    """
    hashes: dict[str, list[str]] = {"style": [], "script": []}
    for kind, inside in INLINE.findall(content):
        digest = base64.b64encode(hashlib.sha256(inside.encode("utf-8")).digest()).decode()
        hashes[kind].append(f"'sha256-{digest}'")
    own = "; ".join(f"{kind}-src {' '.join(found)}" for kind, found in hashes.items() if found)
    return f"default-src 'none'; connect-src 'self'; {own}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
