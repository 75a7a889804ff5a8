"""The vectors of policies, read by the library."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from edna import errors
from edna.crypto.keys import SecretKey
from edna.custody.policies import batches, clauses, seal
from edna.custody.policies.attributes import library, parameters
from edna.custody.policies.credentials import Credential, epoch_of
from edna.custody.policies.language import Clause, Formula, Policy
from tests.policies.parties import without_library
from tests.vectors.policies.attributes.generate import all_cases as all_cases_of_attributes
from tests.vectors.policies.generate import all_cases

VECTORS = Path(__file__).resolve().parents[1] / "vectors" / "policies"
CASES = {path.stem: json.loads(path.read_text()) for path in sorted(VECTORS.glob("*.json"))}
OF_ATTRIBUTES = {path.stem: json.loads(path.read_text()) for path in sorted((VECTORS / "attributes").glob("*.json"))}
raw = bytes.fromhex


def run_open_seal(given: Any) -> dict[str, str]:
    stored = raw(given["stored"])
    keys = {(1, Clause((("host", str(at)),))): SecretKey(raw(key)) for at, key in enumerate(given["keys"])}
    # As a credential for whatever epoch the bytes say.
    epoch = seal.check(stored, len(stored))
    credential = Credential(
        {(epoch, clause): key for (_, clause), key in keys.items()}, attributes=[], epochs=[epoch], expires_at=2
    )
    policy, content = credential.open(stored, index=raw(given["index"]), now=1)
    return {"policy": str(policy), "content": content.hex()}


def run_read_clauses(given: Any) -> dict[str, str]:
    read = clauses.ClauseList.parse(given["file"], monitor=raw(given["monitor"]))
    return {str(clause): bytes(key).hex() for clause, key in read.keys.items()}


def run_clause_key(given: Any) -> str:
    master, clause = clauses.MasterKey(raw(given["master"])), Clause.parse(given["clause"])
    return clauses.clause_key(master, epoch=given["epoch"], clause=clause).expose().hex()


def run_check_path(given: Any) -> bool:
    path = batches.Path(given["number"], given["count"], tuple(raw(each) for each in given["neighbours"]))
    batches.check_path(raw(given["nonce"]), path, root=raw(given["root"]))
    return True


OPERATIONS: dict[str, Callable[[Any], Any]] = {
    "open_seal": run_open_seal,
    "read_clauses": run_read_clauses,
    "clause_key": run_clause_key,
    "check_path": run_check_path,
    "read_policy": lambda given: str(Policy.parse(given)),
}


@pytest.mark.parametrize("name", CASES)
def test_a_vector_of_policies_gives_what_it_says_or_is_refused_with_the_error_it_names(name: str) -> None:
    said = CASES[name]
    run = OPERATIONS[said["operation"]]
    if "error" not in said:
        assert run(said["input"]) == said["expect"]
        return
    with pytest.raises(errors.EdnaError) as caught:
        run(said["input"])
    assert type(caught.value) is getattr(errors, said["error"])


def test_the_vectors_of_policies_are_those_of_their_generator() -> None:
    assert all_cases() == {path.name: path.read_text() for path in VECTORS.glob("*.json")}
    generator = (VECTORS / "generate.py").read_text().splitlines()
    assert not [line for line in generator if line.startswith(("import edna", "from edna"))]
    assert {said["operation"] for said in CASES.values()} == set(OPERATIONS)


def run_open_attribute_seal(given: Any) -> dict[str, str]:
    stored, key = raw(given["stored"]), parameters.AttributeKey(raw(given["veil"]) + raw(given["key"]))
    # As a credential for whatever epoch the bytes say.
    epochs = [epoch_of(stored, len(stored))]
    policy, content = Credential({}, attributes=[], epochs=epochs, expires_at=2, attribute_key=key).open(
        stored, index=raw(given["index"]), now=1
    )
    return {"policy": str(policy), "content": content.hex()}


def run_read_parameters(given: Any) -> dict[str, Any]:
    read = parameters.Parameters.parse(given["file"], monitor=raw(given["monitor"]))
    said = {"epoch": read.epoch, "former": list(read.former)}
    return {**said, "parameters": read.public.hex(), "veil": read.veil.expose().hex()}


OPERATIONS_OF_ATTRIBUTES: dict[str, Callable[[Any], Any]] = {
    "open_seal": run_open_attribute_seal,
    "read_parameters": run_read_parameters,
    "read_formula": lambda given: str(Formula.of_spelling(str(Formula.parse(given)))),
    "label": lambda given: library.label((given["name"], given["value"]), epoch=given["epoch"]),
}


@pytest.mark.parametrize("name", OF_ATTRIBUTES)
def test_a_vector_of_attributes_gives_what_it_says_or_is_refused_with_the_error_it_names(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = OF_ATTRIBUTES[name]
    run = OPERATIONS_OF_ATTRIBUTES[said["operation"]]
    if not said.get("takes_library"):
        # What is refused before is so where there is no library, too.
        without_library(monkeypatch)
    elif not library.place().is_file():
        pytest.skip("the library of policies by attributes is not built: make test-abe builds it")
    if "error" not in said:
        assert run(said["input"]) == said["expect"]
        return
    with pytest.raises(errors.EdnaError) as caught:
        run(said["input"])
    assert type(caught.value) is getattr(errors, said["error"])


def test_the_vectors_of_attributes_are_those_of_their_generator() -> None:
    folder = VECTORS / "attributes"
    assert all_cases_of_attributes() == {path.name: path.read_text() for path in folder.glob("*.json")}
    generator = (folder / "generate.py").read_text().splitlines()
    assert not [line for line in generator if line.startswith(("import edna", "from edna"))]
    assert {said["operation"] for said in OF_ATTRIBUTES.values()} == set(OPERATIONS_OF_ATTRIBUTES)
