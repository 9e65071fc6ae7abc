"""Control groups of the kernel, in which workers are: memory and tasks are bounded.

What a submission does cannot distract or deceive it: all memory counts, whatever it was asked for
with (shared, private, page tables and what else the kernel holds for it, files in a tmpfs that a
member wrote), and every thread. For the judge's side:

    ground = find_ground()                     # once for each process; tries it for real
    if isinstance(ground, NoGround): ...       # ground.because says why, for people
    group = ground.new("server-1", GroupBounds(memory=512 << 20, tasks=64))
    group.add(pid)                             # of a fork server: what it forks is in it as well
    group.killed_for_memory()                  # so many, ever
    ground.clear(), ground.close()             # both bounded in time; False: not all is gone

A ground belongs to the process that found it and is used by that or by those it forks; it must not
outlive it: finding one also removes those of processes that are gone (`sweep`). Find it *before*
the fork server is started: where systemd grants it, this process moves into a scope, of which only
what it starts from then on is part too; an ordinary user cannot bring in anybody else.
"""
