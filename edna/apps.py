"""Django's entry point: discovers the projects' ``disguises`` modules and connects the edges."""

from importlib.util import find_spec

from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules


class EdnaConfig(AppConfig):
    name = "edna"
    verbose_name = "Disguises"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from edna import checks, receivers

        checks.connect()
        receivers.connect()
        _connect_tasks()
        _connect_metrics()
        autodiscover_modules("disguises")


def _connect_tasks() -> None:
    """Let Celery's workers hear of jobs. With `edna_run` nobody listens: it looks by itself."""
    from edna import conf
    from edna.errors import ConfigurationError

    try:
        wanted = conf.job_runner() == "celery" and conf.has_operations()
    except ConfigurationError:
        return  # edna.E002 says so
    if wanted and find_spec("celery"):  # edna.E004 says so if it is not there
        from edna import tasks

        tasks.connect()


def _connect_metrics() -> None:
    """Count from the beginning, if the project wants metrics. Otherwise Prometheus' client is not even imported."""
    from edna import conf
    from edna.errors import ConfigurationError

    try:
        wanted = conf.metrics_token() is not None and conf.has_operations()
    except ConfigurationError:
        return  # edna.E002 says so
    if wanted and find_spec("prometheus_client"):  # edna.W003 says so if it is not there
        from edna import metrics

        metrics.connect()
