"""What is said of the socket of a process that others ask: a guardian, a monitor. Knows neither."""

from __future__ import annotations

import argparse


def add_socket_arguments(parser: argparse.ArgumentParser, *, beside: str, by_default: str = "") -> None:
    """``beside`` says who is answered anyway; ``by_default``, which profile is taken if none is named."""
    parser.add_argument("--certificate", metavar="FILE", help="For TLS; needed but on the loopback interface.")
    parser.add_argument("--certificate-key", metavar="FILE")
    parser.add_argument(
        "--profile",
        choices=["reg", "auth", "secure"],
        help="How it is spoken to without TLS: secure; auth, which others can read and nobody can change; reg, in clear on the loopback "
        f"interface.{by_default}",
    )
    parser.add_argument(
        "--peer",
        metavar="KEY",
        action="append",
        default=[],
        help=f"With auth or secure: who is answered beside {beside}, by their public keys; any: whoever comes.",
    )
