"""Says things of which UTF-8 has no form, at lines of files whose names have none either."""


def run_double(x):
    raise ValueError("\ud800\udfff \udcff passed")


def run_count(x):
    name = __file__.replace("adapters", "\udce9")
    exec(compile("raise ValueError('\\ud83d')", name, "exec"))
