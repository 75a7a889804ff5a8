"""One operation, again and again from the same scene, and what must be true after it was interrupted."""

from __future__ import annotations

from django.db import Error

import edna
from edna.testing.dumps import check_foreign_keys
from tests.faults.operations import Operation, Scene
from tests.faults.states import Snapshot, State
from tests.support import in_another_process


class Run:
    """One operation, again and again from the same scene."""

    def __init__(self, operation: Operation) -> None:
        self.operation = operation
        self.scene: Scene = operation.prepare()
        #: Kept over all attempts, as a page keeps it that tries once more.
        self.unlocked = self.scene.actor.unlock()
        self.before = State.now()
        self.prepared = Snapshot()
        self._checked: set[tuple[object, ...]] = set()
        # How large everything is when it is done. Keys and ciphertexts are random, so that sizes are all there is to compare.
        assert in_another_process(self.work) == 0
        self.done = State.now().sizes()
        self.check_end()
        self.again()

    def work(self) -> None:
        self.operation.run(self.scene, self.unlocked)

    def refused(self) -> Error | None:
        """Work, and return what the database had against it."""
        try:
            self.work()
        except Error as error:
            return error
        return None

    def again(self) -> None:
        """Set the scene once more."""
        self.prepared.restore()
        assert State.now() == self.before
        if self.unlocked.closed:
            self.unlocked = self.scene.actor.unlock()

    def check_end(self) -> None:
        """It is done: every row and every bag that belongs to it is there, and whoever it concerns gets everything back."""
        check_foreign_keys()
        edna.finish_files()  # as at every start
        assert State.now().sizes() == self.done
        self.operation.check(self.scene)

    def check_interrupted(self) -> bool:
        """Nothing has happened, or everything has. Whether it has; then the scene is set once more."""
        now = State.now()
        if now == self.before:
            return False
        looks = (*sorted(now.sizes().items()), *sorted(now.files.items()))
        if (
            looks not in self._checked
        ):  # what looks like that was checked already, where random keys and ciphertexts differ
            self.check_end()
            self._checked.add(looks)
        self.again()
        return True
