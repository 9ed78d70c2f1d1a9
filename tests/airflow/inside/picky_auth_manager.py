"""Airflow's simple auth manager, with a permission per DAG: what each user may read."""

from airflow.api_fastapi.auth.managers.base_auth_manager import ResourceMethod
from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity, DagDetails
from airflow.api_fastapi.auth.managers.simple.simple_auth_manager import SimpleAuthManager
from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser

HIDDEN = {"viewer": ("secret",), "outsider": ("",), "admin": ()}
"""How the names of DAGs begin that a user may not read."""


class PickyAuthManager(SimpleAuthManager):
    def is_authorized_dag(
        self,
        *,
        method: ResourceMethod,
        user: SimpleAuthManagerUser,
        access_entity: DagAccessEntity | None = None,
        details: DagDetails | None = None,
    ) -> bool:
        name = (details.id if details else None) or ""
        is_hidden = name.startswith(HIDDEN[user.username])
        return not is_hidden and super().is_authorized_dag(
            method=method, user=user, access_entity=access_entity, details=details
        )
