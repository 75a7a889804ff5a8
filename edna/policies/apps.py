"""Django's entry point. There are no tables: a credential is in memory, and a monitor has its own store."""

from django.apps import AppConfig


class PoliciesConfig(AppConfig):
    name = "edna.policies"
    label = "edna_policies"
    verbose_name = "Policies"

    def ready(self) -> None:
        from edna import policy_seals
        from edna.policies import checks, worker

        policy_seals.connect(worker.worker)
        checks.connect()
