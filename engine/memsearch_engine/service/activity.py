"""Records when clients and hooks last used the service. Only such uses postpone its exit.

The service's own work (an index update, a comparison, a retry, a summary) does not count: the next
service resumes it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class Activity:
    """Uses of the service by clients and hooks. Thread-safe.

    Args:
        clock: a monotonic clock, in seconds.

    Attributes:
        clients: connections that are open now.
        uses: number of uses so far.
        last_use: name of the last use; ``""`` if there was none.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self.clients = 0
        self.uses = 0
        self.last_use = ""
        self._at = clock()

    def note(self, what: str) -> None:
        """Record a use.

        Args:
            what: the name of the request or event.
        """
        with self._lock:
            self.uses += 1
            self.last_use, self._at = what, self._clock()

    def connected(self) -> None:
        """Record that a client has connected."""
        with self._lock:
            self.clients += 1

    def disconnected(self) -> None:
        """Record that a client has disconnected."""
        with self._lock:
            self.clients -= 1

    @property
    def idle_s(self) -> float:
        """Seconds since the last use."""
        return max(0.0, self._clock() - self._at)

    def is_over(self, idle_s: float) -> bool:
        """Whether no client is connected and the last use is more than *idle_s* seconds ago."""
        return not self.clients and self.idle_s > idle_s
