"""circl's tkn20 through the library in Go: what it refuses, also from whoever computes past its functions; and how it is loaded."""

from __future__ import annotations

import os
import resource
import shutil
import string
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from edna.custody.policies.attributes import building, library, parameters
from edna.custody.policies.language import Formula, check_attribute
from edna.errors import AttributeParametersForged, ConfigurationError
from tests.policies.parties import with_library, without_library
from tests.unit.leaks import assert_error_leaks_nothing

MESSAGE = library.LongSecret(bytes(range(32)))
TEN = [(f"a{number}", "yes") for number in range(10)]
ALL_TEN = Formula.parse(" and ".join(f"{name} = {value}" for name, value in TEN))
CIRCL = "github.com/cloudflare/circl"


@pytest.fixture(scope="module")
def made() -> tuple[bytes, library.AttributeMaster]:
    return library.setup()


def sealed(made: tuple[bytes, Any], formula: Formula = ALL_TEN, epoch: int = 1) -> bytes:
    return library.encrypt(MESSAGE, parameters=made[0], epoch=epoch, formula=formula)


def key(made: tuple[bytes, library.AttributeMaster], attributes: Any, *epochs: int) -> library.TknKey:
    return library.key_of(made[1], epochs=epochs or (1,), attributes=attributes)


@with_library
def test_whoever_has_the_attributes_in_the_epoch_decrypts(made: Any) -> None:
    ciphertext = sealed(made)
    assert library.decrypt(ciphertext, key=key(made, [*TEN, ("b", "more")], 1, 2)) == MESSAGE
    for attributes, epoch in ((TEN[1:], 1), ([*TEN[1:], ("a0", "no")], 1), (TEN, 2), ([], 1)):
        assert library.decrypt(ciphertext, key=key(made, attributes, epoch)) is None


@with_library
@pytest.mark.parametrize("places", ["whole", "claimed alone"])
def test_a_key_that_says_that_it_is_for_another_attribute_decrypts_nothing(made: Any, places: str) -> None:
    """What it says of itself is what the package looks at before it computes: then the computation has to refuse."""
    own = key(made, [*TEN[1:], ("a0", "nay")])
    count = -1 if places == "whole" else 1
    forged = own.expose().replace(b"a0_3dnay", b"a0_3dyes", count)
    assert forged != own.expose()
    # The second lacks what it would compute with: circl panics, and the process goes on.
    assert library.decrypt(sealed(made), key=library.TknKey(forged)) is None
    assert library.decrypt(sealed(made), key=key(made, TEN)) == MESSAGE


@with_library
def test_a_ciphertext_that_says_that_it_is_for_others_decrypts_to_nothing(made: Any) -> None:
    ciphertext = sealed(made)
    forged = ciphertext.replace(b"a0_3dyes", b"a0_3dnay")
    assert forged != ciphertext
    assert library.decrypt(forged, key=key(made, [*TEN[1:], ("a0", "nay")])) is None


@with_library
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("go", path=f"{os.environ['PATH']}:/usr/local/go/bin") is None, reason="takes Go")
def test_no_key_that_does_not_satisfy_a_policy_decapsulates_directly(tmp_path: Path) -> None:
    """Past the package's own functions; the wildcard that each key has among the ways, by circl's own attack and by ours."""
    go = building.go()
    asked = [go, "list", "-m", "-f", "{{.Dir}}", CIRCL]
    found = subprocess.run(asked, cwd=building.SOURCE, capture_output=True, text=True, check=True).stdout.strip()
    copied = tmp_path / "circl"
    # Go keeps its copy for reading alone.
    shutil.copytree(found, copied, copy_function=shutil.copyfile)
    for folder, _, _ in os.walk(copied):
        os.chmod(folder, 0o700)
    package = "abe/cpabe/tkn20/internal/tkn"
    shutil.copy(Path(__file__).parent / "tkn20" / "attack_test.go", copied / package / "edna_attack_test.go")
    names = [
        "TestNoKeyDecapsulatesWhatItDoesNotSatisfy",
        "TestTwoKeysTogetherDecapsulateNothing",
        "TestBKWildcardAttackFails",
        "TestShareAndGateNoSingleLeafReconstructs",
    ]
    run = [go, "test", "-mod=mod", "-count=1", "-v", "-run", f"^({'|'.join(names)})$", f"./{package}"]
    done = subprocess.run(run, cwd=copied, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    for name in names:
        assert f"--- PASS: {name} " in done.stdout


def test_a_label_is_one_attributes_and_has_no_sign_that_the_package_reads_otherwise() -> None:
    """Signs that names and values may have, and those with which labels are written."""
    words = ["a", "a_3d", "a=b", "a_", "a.b", "a-b", "and", "epoch", "_3d_3d", "a/b", "a+b:c"]
    pairs = [(name, value) for name in words for value in words if "=" not in name]
    labels = {library.label(each, epoch=epoch) for each in pairs for epoch in (1, 11)}
    assert len(labels) == 2 * len(pairs)
    assert all(set(label) <= set(string.ascii_letters + string.digits + "_") for label in labels)
    assert library.label(("a", "b"), epoch=7) == "7_a_3db"


@with_library
def test_every_attribute_that_a_policy_can_name_is_told_from_others(made: Any) -> None:
    long = "z" + "-" * 63
    names = ["a", "or1", "a.b-c_d", "not-", long]
    values = ["1", "1.2", "1_2", "A/b:c+d", "/" * 64]
    attributes = [check_attribute(name, value) for name, value in zip(names, values, strict=True)]
    formula = Formula.parse(" and ".join(f"{name} = {value}" for name, value in attributes))
    ciphertext = sealed(made, formula)
    assert library.decrypt(ciphertext, key=key(made, attributes)) == MESSAGE
    others = [(name, value.replace("_", ".")) for name, value in attributes]
    assert library.decrypt(ciphertext, key=key(made, others)) is None


@with_library
def test_formulas_mean_what_they_say(made: Any) -> None:
    formula = Formula.parse("(a = 1 or b = 2 and c = 3) and (a = 1 or d in (4, 5))")
    ciphertext = sealed(made, formula)
    everything = [("a", "1"), ("b", "2"), ("c", "3"), ("d", "4"), ("d", "5")]
    for chosen in range(2 ** len(everything)):
        had = [each for number, each in enumerate(everything) if chosen >> number & 1]
        opened = library.decrypt(ciphertext, key=key(made, had))
        assert (opened == MESSAGE) is formula.is_satisfied(had), had


@with_library
def test_the_longest_formula_is_sealed_whole(made: Any) -> None:
    formula = Formula.parse(f"a in ({', '.join(map(str, range(64)))})")
    assert library.decrypt(sealed(made, formula), key=key(made, [("a", "63")])) == MESSAGE


@with_library
@pytest.mark.parametrize("policy", [b"a:1) and b:1", b"a:1 b:1", b"", b"a:1 and not", b"a"])
def test_a_policy_is_never_read_in_part(made: Any, policy: bytes) -> None:
    """The package's parser stops at the first bracket too many, and would seal to what stands before."""
    assert library._asked("edna_encrypt", made[0], policy, 2, MESSAGE) == []


@with_library
def test_what_is_none_is_refused_and_the_process_goes_on(made: Any) -> None:
    for raw in (b"", b"\xff" * 40, made[0][:-1], made[1].expose()):
        with pytest.raises(AttributeParametersForged):
            library.encrypt(MESSAGE, parameters=raw, epoch=1, formula=ALL_TEN)
        assert library.decrypt(raw, key=library.TknKey(raw)) is None
        assert library.decrypt(raw, key=key(made, TEN[:1])) is None
        with pytest.raises(ConfigurationError):
            library.key_of(library.AttributeMaster(raw[:50]), epochs=[1], attributes=TEN)
    ciphertext = sealed(made, Formula.parse("a = 1"))
    mine = key(made, [("a", "1")])
    for place in range(0, len(ciphertext), 37):
        changed = bytearray(ciphertext)
        changed[place] ^= 1
        assert library.decrypt(bytes(changed), key=mine) is None
        assert library.decrypt(ciphertext[:place], key=mine) is None


@with_library
def test_what_the_library_gives_back_is_freed(made: Any) -> None:
    formula = Formula.parse("a = 1")
    long = library.encrypt(library.LongSecret(bytes(8 * 2**20)), parameters=made[0], epoch=1, formula=formula)
    mine = key(made, [("a", "1")])
    library.decrypt(long, key=mine)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(30):
        assert library.decrypt(long, key=mine) is not None
    # 240 MB have come back; Go itself keeps some of what it has used.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 120 * 1024


def run(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@with_library
def test_workers_that_are_forked_before_load_it_each_and_after_are_told() -> None:
    """As Celery's and gunicorn's are. Without the second, a child stands still when Go collects garbage: it has no threads for that."""
    program = """
        import os
        from edna.custody.policies.attributes import library
        from edna.errors import ConfigurationError

        def child(act):
            number = os.fork()
            if not number:
                os._exit(act())
            return os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])

        def works():
            library.setup()
            return 7

        def is_told():
            try:
                library.setup()
            except ConfigurationError as error:
                return 8 if "forked" in str(error) else 1

        print(child(works), child(works), works(), child(is_told), works())
    """
    assert run(program) == "7 7 7 8 7\n"


def test_nothing_of_it_is_loaded_before_it_is_used() -> None:
    program = """
        import sys
        from edna.custody.policies.attributes import library, parameters, seal
        print(library._loaded, "ctypes" in sys.modules)
    """
    assert run(program) == "None False\n"


def test_without_the_library_it_says_how_to_build_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    without_library(monkeypatch, place=tmp_path / "library.so")
    for act in (library.require, library.setup):
        with pytest.raises(ConfigurationError, match="edna_monitor library builds it"):
            act()
    (tmp_path / "library.so").write_bytes(b"none")
    with pytest.raises(ConfigurationError, match="cannot be loaded"):
        library.setup()


def test_an_error_has_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    without_library(monkeypatch)
    secret, other = bytes(range(100, 140)), bytes(range(60, 100))
    master, mine = library.AttributeMaster(secret), parameters.AttributeKey(secret + other)
    for act in (
        lambda: library.key_of(master, epochs=[1], attributes=TEN),
        lambda: library.encrypt(library.LongSecret(secret), parameters=b"", epoch=1, formula=ALL_TEN),
        lambda: library.decrypt(b"", key=mine.key()),
    ):
        with pytest.raises(ConfigurationError) as caught:
            act()
        assert_error_leaks_nothing(caught.value, secret, other)
    assert "redacted" in repr([master, mine, mine.veil(), mine.key()])


def test_without_go_or_with_an_old_one_it_says_what_to_take(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(building, "_GO_ARCHIVE", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigurationError, match="there is none: take one from"):
        building.build(tmp_path / "library.so")
    go = tmp_path / "go"
    go.write_text("#!/bin/sh\necho go1.19.8\n")
    go.chmod(0o755)
    with pytest.raises(ConfigurationError, match=r"is 1\.19, which is too old"):
        building.build(tmp_path / "library.so")
    go.write_text('#!/bin/sh\n[ "$1" = env ] && echo go1.26.0 && exit\necho no such module >&2\nexit 1\n')
    with pytest.raises(ConfigurationError, match="no such module"):
        building.build(tmp_path / "library.so")
    assert [each.name for each in tmp_path.iterdir()] == ["go"]
