"""When the service was last used by somebody else, which is all that postpones its end.

Work that the service gives itself (an index brought up to date, a comparison, a retry, a summary)
does not count: it is resumed by the next service.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class Activity:
    """Uses of the service by clients and hooks; any thread.

    Args:
        clock: seconds, monotonic.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self.clients = 0  # connected now
        self.uses = 0
        self.last_use = ""
        self._at = clock()

    def note(self, what: str) -> None:
        """Note a use, named by *what*."""
        with self._lock:
            self.uses += 1
            self.last_use, self._at = what, self._clock()

    def connected(self) -> None:
        with self._lock:
            self.clients += 1

    def disconnected(self) -> None:
        with self._lock:
            self.clients -= 1

    @property
    def idle_s(self) -> float:
        """Seconds since the last use."""
        return max(0.0, self._clock() - self._at)

    def is_over(self, idle_s: float) -> bool:
        """Whether nobody is connected, and nobody was for *idle_s* seconds."""
        return not self.clients and self.idle_s > idle_s
