"""How many numbers a layer has."""


class Matrix:
    def __init__(self, d_in, d_out):
        self.d_in = d_in
        self.d_out = d_out

    def count(self):
        return self.d_in * self.d_out


class Biased(Matrix):
    def count(self):
        return super().count() + self.d_out
