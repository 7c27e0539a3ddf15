"""What every section of a config file is, and the kinds of number in it."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Rate = Annotated[float, Field(ge=0.0, le=1.0)]
PositiveInt = Annotated[int, Field(ge=1)]
NonNegativeInt = Annotated[int, Field(ge=0)]
PositiveFloat = Annotated[float, Field(gt=0.0)]
Seed = Annotated[int, Field(ge=0, lt=2**31)]
NonNegativeFloat = Annotated[float, Field(ge=0.0)]
MomentDecay = Annotated[float, Field(ge=0.0, lt=1.0)]


class Section(BaseModel):
    """One section of a YAML file. Unknown keys and values of another type are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)
