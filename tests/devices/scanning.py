"""What the camera of a telephone reads off a page: zbar decodes a picture of it, as a browser draws it."""

from __future__ import annotations

import io
from typing import Any

from PIL import Image


def scanned(page: Any) -> str:
    """The address that the picture beside a code stands for."""
    from pyzbar.pyzbar import ZBarSymbol, decode  # late: zbar is installed where browsers are

    drawn = page.locator("[data-edna-picture] svg").screenshot()
    (found,) = decode(Image.open(io.BytesIO(drawn)), symbols=[ZBarSymbol.QRCODE])
    return str(found.data.decode())
