"""One start of a fit: from the beginning, or from a checkpoint."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from vbnmf.core.discovery import Found, Watch
from vbnmf.core.fit import Loop
from vbnmf.core.model import Labels, State
from vbnmf.core.starts import Knobs
from vbnmf.engines.mapping import ShardEngine
from vbnmf.estimators.checkpoints import Keeper
from vbnmf.estimators.starting import FitData, Start


@dataclass(frozen=True)
class Run:
    """A start, with what it works on."""

    start: Start
    keeper: Keeper | None  # None: there are no checkpoints
    kernel: Any
    corpus: FitData
    knobs: Knobs
    labels: Labels | None
    rng: np.random.Generator

    @property
    def loop(self) -> Loop | None:
        """Where the loop goes on; None: at its beginning."""
        return None if self.keeper is None else self.keeper.loop

    def find(self, rng: np.random.Generator | None, watch: Watch) -> Found | None:
        """Look for components, unless a checkpoint has them."""
        if self.keeper is not None and self.keeper.loop is not None:
            return self.keeper.found
        return self.start.find(self.kernel, self.corpus, self.knobs, rng, watch)

    def begin(self, engine: ShardEngine, found: Found | None) -> State:
        """Bring the documents to where the loop begins, and return the state of that."""
        dtype = self.corpus.X.dtype
        if self.keeper is not None and self.keeper.loop is not None:
            return self.keeper.restore(engine, self.labels, dtype)
        draft = None if found is None else found.draft
        return self.start.begin(engine, draft, self.knobs, self.labels, self.rng, dtype)

    def keep(self, engine: ShardEngine, found: Found | None, loop: Loop, state: State) -> None:
        """Write a checkpoint, if there is to be one."""
        if self.keeper is not None:
            self.keeper.keep(engine, loop, state, found)
