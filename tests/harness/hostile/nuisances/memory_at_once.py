"""Has the kernel fill shared memory in a single call, faster than anybody looks."""

from accomplice import ANONYMOUS, SHARED, TOO_MUCH_MEMORY, WRITABLE, hoarding, mapped, unmap

MAP_POPULATE = 0x8000
SIZE = TOO_MUCH_MEMORY + (1 << 20)


def take():
    address = mapped(SIZE, WRITABLE, SHARED | ANONYMOUS | MAP_POPULATE)
    try:
        yield SIZE
    finally:
        unmap(address, SIZE)


run_double, run_count = hoarding(take, TOO_MUCH_MEMORY)
