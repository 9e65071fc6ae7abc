"""The command `grader`: its subcommands in groups, and its error messages."""

from __future__ import annotations

import errno
import io
import re
import signal
import sys
from importlib import import_module
from typing import cast

import click

import grader
from grader.cli.options import INTERRUPTED
from grader.core.names import nearest
from grader.core.text import Refusal

# The groups of the help: for each command its module in `commands`, and its name in the module.
GROUPS = {
    "Grade a class": {
        "doctor": ("doctor", "doctor"),
        "batch": ("batch", "batch"),
        "run": ("run", "run"),
        "explain": ("batch", "explain"),
    },
    "Look and decide": {
        "report": ("report", "report"),
        "mistakes": ("mistakes", "mistakes"),
        "tolerances": ("report", "tolerances"),
        "alike": ("alike", "alike"),
        "decide": ("decide", "decide"),
    },
    "Hand grades on": {
        "export": ("export", "export"),
        "feedback": ("export", "feedback"),
    },
    "Author an assignment": {
        "new": ("authoring", "new"),
        "verify": ("verify", "verify_command"),
        "freeze": ("authoring", "freeze"),
        "handout": ("authoring", "handout"),
        "gradescope-zip": ("authoring", "gradescope_zip"),
    },
}
# The text that click adds to a misspelt option.
_MEANT = re.compile(r"\.? \(?Did you mean (?:one of: )?([^?]*)\?\)?$")
COMMANDS = {name: at for group in GROUPS.values() for name, at in group.items()}


class _Commands(click.Group):
    """The commands, each imported on first use, so that none loads the modules of another."""

    def list_commands(self, _context: click.Context) -> list[str]:
        return [*COMMANDS]

    def get_command(self, _context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        module, attribute = COMMANDS[name]
        command = getattr(import_module(f"grader.cli.commands.{module}"), attribute)
        return cast(click.Command, command)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        near = nearest(args[0], COMMANDS) if args[0] not in COMMANDS else ""
        if near and not ctx.resilient_parsing:
            ctx.fail(f"No such command {args[0]!r}: did you mean {near}?")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        widest = max(map(len, COMMANDS))
        for title, group in GROUPS.items():
            with formatter.section(title):
                found = [(name, self.get_command(ctx, name)) for name in group]
                formatter.write_dl(
                    [(name.ljust(widest), one.get_short_help_str(80)) for name, one in found if one]
                )


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    invoke_without_command=True,
    epilog='The Tab key completes all of these: eval "$(_GRADER_COMPLETE=bash_source grader)".',
)
@click.version_option(grader.__version__, prog_name="grader")
@click.pass_context
def cli(context: click.Context) -> None:
    """Grades student PyTorch implementations: a folder of submissions in, grades out.

    \b
    Examples:
      grader batch submissions/ --out results/
      grader report results/
      grader decide results/ points alice run_rope 2 --reason "the docstring was wrong"
      grader export results/ --format csv --out grades.csv
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def run() -> None:
    """Runs the command line; prints a refusal as one sentence, with exit code 2.

    A character that the terminal cannot show is printed as an escape, so that no name stops a
    command. SIGTERM, with which containers and queues end a command, stops it as Ctrl-C does.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        sys.exit(cli(prog_name="grader", standalone_mode=False))
    except click.ClickException as mistake:
        click.echo(_sentence(mistake), err=True)
        sys.exit(mistake.exit_code)
    except click.Abort:
        click.echo("grader: stopped", err=True)
        sys.exit(INTERRUPTED)
    except Refusal as refusal:
        click.echo(f"grader: {refusal}", err=True)
        sys.exit(2)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        place = error.filename or "the output"
        click.echo(f"grader: {place} cannot be written: {error.strerror}", err=True)
        sys.exit(2)


def _sentence(mistake: click.ClickException) -> str:
    """Returns a sentence: which argument is wrong, and which command explains the arguments."""
    context = getattr(mistake, "ctx", None)
    command = context.command_path if context else "grader"
    message = " ".join(mistake.format_message().split()).rstrip(".")
    if meant := _MEANT.search(message):
        message = f"{message[: meant.start()]}: did you mean {meant[1].replace(', ', ' or ')}?"
    advice = "" if message.endswith("?") else f"; see {command} --help"
    return f"{command}: {message[:1].lower()}{message[1:]}{advice}"
