"""What a worker is told that has no ear for frames."""

import signal

# Tell where you are as soon as Python looks for signals, as it does at home; or wherever that is.
# Either way, end.
TELL_WHERE_SOON = signal.SIGUSR2
TELL_WHERE = signal.SIGUSR1
