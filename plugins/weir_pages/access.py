"""Who may see what: a pipeline's reports are for those who may read the runs of the DAG of its name, as
Airflow's auth manager says.
"""

from collections.abc import Iterable

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity, DagDetails
from airflow.api_fastapi.core_api.security import GetUserDep
from airflow.models.dag import DagModel
from airflow.utils.session import create_session
from fastapi import HTTPException
from sqlalchemy import select


def readable_dags(user: GetUserDep, dag_ids: Iterable[str]) -> set[str]:
    """Those of these DAGs that Airflow has and that the user may read."""
    with create_session() as session:
        known = list(session.scalars(select(DagModel.dag_id).where(DagModel.dag_id.in_(list(dag_ids)))))
        teams = DagModel.get_dag_id_to_team_name_mapping(known, session=session)
    return {dag_id for dag_id in known if _may_read(user, dag_id, teams.get(dag_id))}


def check_dag(dag_id: str, user: GetUserDep) -> str:
    """The id of a DAG that the user may read. Any other is not found, so that nobody
    learns which there are.
    """
    if dag_id not in readable_dags(user, [dag_id]):
        raise HTTPException(404)
    return dag_id


def _may_read(user: GetUserDep, dag_id: str, team: str | None) -> bool:
    details = DagDetails(id=dag_id, team_name=team)
    return get_auth_manager().is_authorized_dag(
        method="GET", access_entity=DagAccessEntity.RUN, details=details, user=user
    )
