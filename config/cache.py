"""One URL names the cache that all processes share: `EDNA_CACHE_URL`.

redis://user:password@host:6379/0   rediss://... (with TLS)   unix:///run/redis/socket?db=0 (Celery writes redis+socket:///...)
memory: (of each process alone)
"""

from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

#: A cache that does not answer must not hold up a page: what is counted in it is let through without.
_REDIS_OPTIONS: dict[str, Any] = {"socket_connect_timeout": 0.5, "socket_timeout": 0.5}


def from_url(url: str) -> dict[str, Any]:
    """Django's description of the cache that `url` names."""
    parts = urlsplit(url)
    if parts.scheme == "memory":
        return {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}
    if parts.scheme in {"redis", "rediss"} and parts.hostname:
        location = url
    elif parts.scheme in {"unix", "redis+socket"} and not parts.netloc and parts.path:
        location = f"unix:{url.partition(':')[2]}"
    else:
        raise ImproperlyConfigured("EDNA_CACHE_URL must start with redis://, rediss:// or unix:/// (or be memory:).")
    return {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": location,
        "KEY_PREFIX": "edna-samples",
        "OPTIONS": dict(_REDIS_OPTIONS),
    }
