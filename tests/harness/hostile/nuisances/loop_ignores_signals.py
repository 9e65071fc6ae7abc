"""Never returns, and ignores or blocks every signal that can be."""

import signal

for number in signal.valid_signals():
    try:
        signal.signal(number, signal.SIG_IGN)
    except OSError:
        continue
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())


def run_double(x):
    while True:
        try:
            while True:
                pass
        except BaseException:
            continue


def run_count(x):
    return x.numel()
