"""Write `docs/openapi-1.json`, the description of edna's HTTP interface, from what its routes declare.

python .ci/openapi.py            writes it
python .ci/openapi.py --check    exits 1 if it is not what would be written
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "openapi-1.json"


def main() -> int:
    sys.path.insert(0, str(HERE.parent))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    import django

    django.setup()
    from edna.api_http import description
    from edna.devices.http import routes
    from edna.guardians import http

    text = description.text([*http.urlpatterns, *routes.urlpatterns])
    if "--check" in sys.argv[1:]:
        return int(PAGE.read_text() != text)
    PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
