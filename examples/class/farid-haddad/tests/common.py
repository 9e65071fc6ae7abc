from pathlib import Path

REPO = Path(__file__).resolve().parent.parent

# base of the wavelengths in "Attention is all you need", 3.5
BASE = 10_000.0
