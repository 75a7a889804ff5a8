"""Beyond one machine: several servers that hold the same data, and what stands between them and a site. `make test-cluster` runs all of
it; `make test` what is not marked `cluster`: the operations that do most of what there is to do."""

import pytest

from tests.faults.operations import OPERATIONS

OPERATIONS_HERE = [each if each.telling else pytest.param(each, marks=pytest.mark.cluster) for each in OPERATIONS]
