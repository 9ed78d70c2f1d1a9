"""What every model of a pipeline file shares: unknown keys are refused, nothing is converted in silence,
nothing changes afterwards.
"""

from pydantic import BaseModel, ConfigDict


class Model(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, populate_by_name=True, defer_build=True
    )
