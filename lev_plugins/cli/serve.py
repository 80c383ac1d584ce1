"""``lev-plugins serve MODEL...``: a server with its own protocol, LanguageTool's, and a page to work on."""

import argparse
import logging
import os
import re
import sys
from pathlib import Path

import lev_plugins
from lev_plugins.cli import edit
from lev_plugins.cli.named import named_paths
from lev_plugins.editor.options import EditOptions, LabelOptions
from lev_plugins.editor.own_words import WordList
from lev_plugins.serving import running
from lev_plugins.serving.app import application
from lev_plugins.serving.context import Context, ServedModel
from lev_plugins.serving.journal import append_pairs
from lev_plugins.serving.limits import LOCAL_HOSTS, Access, Limits
from lev_plugins.utils.errors import UserError, require
from lev_plugins.utils.model_folder import LABELLER, model_path, read_unchecked
from lev_plugins.utils.ranges import at_least, bounded

TOKEN_ENV = "LEV_PLUGINS_TOKEN"  # environment variable
SHORTEST_TOKEN = 8
MODEL_NAME = re.compile(r"[\w.-]{1,100}")  # of a model
ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^/\s*]+")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("models", metavar="MODEL", nargs="+", help="a model folder; NAME=MODEL gives it a name")
    add("--host", metavar="NAME", default="127.0.0.1", help="address to listen at (default: this machine alone)")
    add("--port", metavar="N", type=int, default=8081, help="0: any free one, which is printed (default: 8081)")
    add("--allow-host", metavar="NAME", action="append", default=[], help="a further name of this server; repeatable")
    add("--allow-origin", metavar="URL", action="append", default=[], help="whose pages may use it; repeatable")
    add("--token-file", metavar="FILE", type=Path, help=f"token that clients must send (or environment {TOKEN_ENV})")
    add("--max-bytes", metavar="N", type=int, default=1_000_000, help="bytes of a request (default: 1000000)")
    add("--max-text", metavar="N", type=int, default=20_000, help="characters of its texts, each at least 20")
    add("--timeout", metavar="S", type=float, default=30.0, help="seconds for a request, and for its answer")
    add("--queue", metavar="N", type=int, default=256, help="requests that may wait for a model (default: 256)")
    add("--log-text", action="store_true", help="write the texts of requests into the log, too")
    journal = "append accepted and rejected edits to this file, as sentences NOISY<TAB>CLEAN for lev-plugins adapt"
    add("--journal", metavar="FILE", type=Path, help=journal)
    edit.add_editor_arguments(parser)


def run(args: argparse.Namespace) -> int:
    check_flags(args)
    access, words = access_of(args), WordList(args.words)
    limits = Limits(args.max_bytes, args.max_text, args.timeout)
    if args.journal is not None:
        append_pairs(args.journal, [])  # refuses a file that cannot be written before anybody decides anything
    with running.bound(args.host, args.port) as socket:
        context = Context(load_models(args), access, limits, words, args.log_text, args.journal)
        logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(message)s", force=True)
        running.stop_quietly()
        socket.listen()
        announce(args.host, socket.getsockname()[1])
        running.server(application(context), args.timeout).run([socket])
    return 0


def check_flags(args: argparse.Namespace) -> None:
    edit.decoding_of(args)
    bounded("--port", args.port, 0, 65535)
    bounded("--timeout", args.timeout, above=0)
    at_least(args, 1, "max_bytes", "max_text", "queue")
    require(
        args.host not in running.ALL_NETWORKS or args.allow_host,
        f"--host {args.host} lets other machines in: add --allow-host NAME for each name by which they reach this one",
    )
    for origin in args.allow_origin:
        require(
            bool(ORIGIN.fullmatch(origin)),
            f"--allow-origin {origin} must be as browsers send it, such as https://example.org or moz-extension://ID",
        )


def access_of(args: argparse.Namespace) -> Access:
    hosts = (*LOCAL_HOSTS, in_url(args.host), *args.allow_host)
    return Access(hosts, tuple(args.allow_origin), token_of(args.token_file))


def token_of(path: Path | None) -> str | None:
    """Never from the command line, which others on the machine can read."""
    if path is None and TOKEN_ENV not in os.environ:
        return None
    where = TOKEN_ENV if path is None else f"--token-file {path}"
    try:
        token = (os.environ[TOKEN_ENV] if path is None else path.read_text("utf-8")).strip()
    except (OSError, ValueError) as error:
        raise UserError(f"{where} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    require(
        len(token) >= SHORTEST_TOKEN and token.isascii() and len(token.split()) == 1,
        f"{where} must hold a token of at least {SHORTEST_TOKEN} letters and digits, without blanks: make one with "
        "openssl rand -hex 16",
    )
    return token


def load_models(args: argparse.Namespace) -> list[ServedModel]:
    paths = {name: str(model_path(path)) for name, path in named_paths(args.models, "models").items()}
    for name, path in paths.items():
        require(
            bool(MODEL_NAME.fullmatch(name)), f"{name!r}: name the model with letters and digits, as in typos={path}"
        )
    configs = {name: read_unchecked(path) for name, path in paths.items()}
    edit.decoding_of(args).check_for(*(config.task for config in configs.values()))
    models = []
    for name, path in paths.items():
        options: EditOptions | LabelOptions
        if configs[name].kind == LABELLER:
            options = LabelOptions(device=args.device, cpu_int8=args.cpu_int8)
        else:
            options = edit.editor_options(args).suited_to(configs[name].task)
        models.append(ServedModel.start(name, lev_plugins.load(path, options=options), args.queue))
    return models


def announce(host: str, port: int) -> None:
    address = f"http://{in_url(host)}:{port}"
    sys.stdout.write(f"serving at {address} (LanguageTool clients: {address}/v2)\n")
    sys.stdout.flush()


def in_url(host: str) -> str:
    """Returns a host as URLs have it: IPv6 addresses in brackets."""
    return f"[{host}]" if ":" in host else host
