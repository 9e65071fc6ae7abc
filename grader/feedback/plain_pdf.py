"""A PDF of plain text, for who handed in a PDF where no browser prints one.

Pages of A4 in Courier, which every reader has; a letter beyond Windows' Western encoding is told by
its number (ISO 32000-1, 7 and 9.4).
"""

from __future__ import annotations

import textwrap

_COLUMNS, _ROWS = 88, 62
_SIZE, _LEADING, _LEFT, _TOP = 9, 12, 54, 790


def pdf_of(text: str) -> bytes:
    """The text as PDF, the same bytes for the same text."""
    lines = [part for line in text.splitlines() for part in _broken(line)] or [""]
    pages = [lines[first : first + _ROWS] for first in range(0, len(lines), _ROWS)]
    numbers = [4 + 2 * place for place in range(len(pages))]
    kids = " ".join(f"{number} 0 R" for number in numbers)
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Courier /Encoding /WinAnsiEncoding >>",
    ]
    for number, page in zip(numbers, pages, strict=True):
        drawn = _drawn(page)
        objects += [
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font "
            b"<< /F1 3 0 R >> >> /Contents %d 0 R >>" % (number + 1),
            b"<< /Length %d >>\nstream\n%b\nendstream" % (len(drawn), drawn),
        ]
    return _file(objects)


def _broken(line: str) -> list[str]:
    indent = line[: len(line) - len(line.lstrip())][: _COLUMNS // 2]
    return textwrap.wrap(line, _COLUMNS, subsequent_indent=indent) or [""]


def _drawn(lines: list[str]) -> bytes:
    shown = b"".join(b"(%b) Tj T*\n" % _escaped(line) for line in lines)
    return b"BT /F1 %d Tf %d TL %d %d Td\n%bET" % (_SIZE, _LEADING, _LEFT, _TOP, shown)


def _escaped(line: str) -> bytes:
    encoded = line.replace("\N{MINUS SIGN}", "-").encode("cp1252", "backslashreplace")
    return encoded.replace(b"\\", b"\\\\").replace(b"(", b"\\(").replace(b")", b"\\)")


def _file(objects: list[bytes]) -> bytes:
    """The objects, numbered from 1, with the table of where each begins."""
    content, places = b"%PDF-1.4\n", []
    for number, one in enumerate(objects, 1):
        places.append(len(content))
        content += b"%d 0 obj\n%b\nendobj\n" % (number, one)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    size = len(objects) + 1
    return content + b"xref\n0 %d\n0000000000 65535 f \n%btrailer\n%b\nstartxref\n%d\n%%%%EOF\n" % (
        size,
        table,
        b"<< /Size %d /Root 1 0 R >>" % size,
        len(content),
    )
