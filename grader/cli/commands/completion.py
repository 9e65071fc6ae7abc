"""`grader completion`: completion with the Tab key in a shell."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

_SHELLS = ("bash", "zsh", "fish")


@click.command(short_help="Print what completes commands in a shell.")
@click.argument("shell", type=click.Choice(_SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Prints the script that completes commands and options with the Tab key in SHELL.

    \b
    Examples:
      eval "$(grader completion bash)"           in ~/.bashrc
      eval "$(grader completion zsh)"            in ~/.zshrc
      grader completion fish | source            in ~/.config/fish/config.fish
    """
    script_of = get_completion_class(shell)
    if script_of is None:
        raise click.UsageError(f"this version of click knows no completion for {shell}")
    script = script_of(context.find_root().command, {}, "grader", "_GRADER_COMPLETE")
    click.echo(script.source())
