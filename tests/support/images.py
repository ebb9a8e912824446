"""Small whole images of each kind, as far as a header tells, and some that are none."""

from __future__ import annotations

import io

from PIL import Image


def png(width: int = 8, height: int = 8, size: int = 0) -> bytes:
    """`size` bytes, where it would be smaller."""
    file = io.BytesIO()
    Image.new("L", (width, height)).save(file, "PNG")
    data = file.getvalue()
    end = data[-12:]
    return data[:-12] + bytes(max(0, size - len(data))) + end


def jpeg(width: int = 8, height: int = 8) -> bytes:
    """Begins with a comment, as some do."""
    frame = b"\x08" + height.to_bytes(2) + width.to_bytes(2) + b"\x01\x01\x11\x00"
    comment = b"made for a test"
    return b"".join(
        (
            b"\xff\xd8\xff\xfe" + (2 + len(comment)).to_bytes(2) + comment,
            b"\xff\xc4\x00\x03\x00",
            b"\xff\xc2" + (2 + len(frame)).to_bytes(2) + frame,
            b"\xff\xd9",
        )
    )


def webp(kind: str = "VP8X", width: int = 8, height: int = 8) -> bytes:
    small = 0x3FFF
    sizes = {
        "VP8 ": b"\0\0\0\x9d\x01\x2a" + (width & small).to_bytes(2, "little") + (height & small).to_bytes(2, "little"),
        "VP8L": b"\x2f" + ((width - 1 & small) | (height - 1 & small) << 14).to_bytes(4, "little") + bytes(8),
        "VP8X": bytes(4) + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little"),
    }
    chunk = kind.encode() + len(sizes[kind]).to_bytes(4, "little") + sizes[kind]
    return b"RIFF" + (4 + len(chunk)).to_bytes(4, "little") + b"WEBP" + chunk


SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
