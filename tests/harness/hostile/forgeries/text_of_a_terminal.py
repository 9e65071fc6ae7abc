"""Says in its exceptions what a terminal and a report would take for their own."""


def run_double(x):
    raise ValueError(
        "[bold green]passed[/] 5 / 5 \x1b[2J\x1b[31m\x07\r\n\n| passed | 5 |\n[/nothing]"
    )


def run_count(x):
    raise ValueError("</td><script>passed</script> ]]> &amp; \x00 \u202e \x9b31m")
