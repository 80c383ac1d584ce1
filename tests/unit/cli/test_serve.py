"""``lev-plugins serve`` refuses what cannot work before it loads a model."""

import socket
import sys
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

import pytest

from lev_plugins.cli import edit, serve
from lev_plugins.cli.main import build_parser
from lev_plugins.utils import model_folder
from lev_plugins.utils.errors import UserError
from tests.commands import run
from tests.helpers import Refusal, mentions


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--host", "0.0.0.0"], "--host 0.0.0.0 --allow-host"),
        (["--host", "::"], "--host :: --allow-host"),
        (["--host", "0"], "--host 0 --allow-host"),
        (["--host", "::0"], "--host ::0 --allow-host"),
        (["--allow-origin", "*"], "--allow-origin * https://example.org"),
        (["--allow-origin", "https://a.example/"], "--allow-origin https://a.example/"),
        (["--port", "65536"], "--port 65535 65536"),
        (["--keep-bias", "inf"], "--keep-bias -1000 1000 inf"),
        (["--token-file", "none"], "--token-file none"),
        (["--host", "192.0.2.1"], "--host 192.0.2.1 --port 8081"),
        (["--port", "0"], "model folder"),
    ],
)
def test_unusable_flags_of_serve_are_refused(flags: list[str], message: str, refusal: Refusal) -> None:
    assert mentions(refusal("serve", "model", *flags), message)


def test_a_port_in_use_is_refused(refusal: Refusal) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        error = refusal("serve", "model", "--port", port)
    assert mentions(error, f"--host 127.0.0.1 --port {port} 0")


@pytest.mark.parametrize(("command", "package"), [("serve", "uvicorn"), ("lsp", "pygls")])
def test_a_missing_extra_names_its_package(command: str, package: str) -> None:
    code = (
        f"import sys; sys.modules['{package}'] = None; from lev_plugins.cli.main import main; main(['{command}', '.'])"
    )
    assert mentions(run(sys.executable, "-c", code).verdict, f"{package} lev-plugins[{command}]")


def test_the_token_comes_from_a_file_or_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "token"
    path.write_text("0123456789abcdef\n")
    monkeypatch.delenv(serve.TOKEN_ENV, raising=False)
    assert serve.token_of(None) is None and serve.token_of(path) == "0123456789abcdef"
    monkeypatch.setenv(serve.TOKEN_ENV, "from-the-environment")
    assert serve.token_of(None) == "from-the-environment" and serve.token_of(path) == "0123456789abcdef"
    monkeypatch.setenv(serve.TOKEN_ENV, "two words")
    with pytest.raises(UserError, match=r"LEV_PLUGINS_TOKEN .* 8 "):
        serve.token_of(None)
    path.write_bytes(b"\xff" * 10)
    with pytest.raises(UserError, match=r"--token-file .*utf-8"):
        serve.token_of(path)


def serve_options(*flags: str) -> Namespace:
    return build_parser("serve").parse_args(["model", *flags])


def test_allowed_hosts_and_origins_come_from_flags() -> None:
    access = serve.access_of(
        serve_options("--host", "::1", "--allow-host", "text.example", "--allow-origin", "https://a.example")
    )
    assert set(access.hosts) == {"localhost", "127.0.0.1", "[::1]", "text.example"}
    assert access.origins == ("https://a.example",) and access.token is None


SEARCH_FLAGS = ["--beam", "2", "--keep-bias", "1", "--language", "de"]


def test_editor_flags_reach_the_options() -> None:
    options = edit.editor_options(serve_options("--device", "cuda", *SEARCH_FLAGS))
    assert (options.beam, options.keep_bias, options.language, options.device) == (2, 1.0, "de", "cuda")
    serve.check_flags(serve_options("--host", "0.0.0.0", "--allow-host", "here"))


@pytest.mark.parametrize("flag_and_value", zip(SEARCH_FLAGS[::2], SEARCH_FLAGS[1::2], strict=True))
def test_editor_flags_for_a_labeller_are_refused(
    flag_and_value: tuple[str, str], golden_folder: Callable[[str], Path], refusal: Refusal
) -> None:
    message = refusal("serve", golden_folder("labels"), "--port", 0, *flag_and_value)
    assert mentions(message, f"{flag_and_value[0]} text_labelling")


def test_a_flag_that_no_served_model_reads_is_refused() -> None:
    beam = model_folder.Decoding(beam=3)
    beam.check_for("text_editing", "text_correction")
    model_folder.Decoding().check_for("text_labelling")
    with pytest.raises(UserError, match=r"--beam .*text_editing or text_labelling"):
        beam.check_for("text_editing", "text_labelling")
    assert (beam.suited_to("text_editing").beam, beam.suited_to("text_correction").beam) == (None, 3)


def test_editors_and_labellers_are_served_together(golden_folder: Callable[[str], Path]) -> None:
    paths = [str(golden_folder(name)) for name in ("labels", "pbd")]
    labeller, editor = serve.load_models(build_parser("serve").parse_args([*paths, *SEARCH_FLAGS]))
    assert (labeller.kind, editor.kind, editor.language) == ("label", "edit", "de")
    for model in (labeller, editor):
        model.worker.close()


def test_the_address_of_the_server_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    serve.announce("::1", 80)
    assert capsys.readouterr().out == "serving at http://[::1]:80 (LanguageTool clients: http://[::1]:80/v2)\n"
