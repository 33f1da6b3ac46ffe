"""Who may do a job: every transition of its state, and two processes that really race."""

from __future__ import annotations

import multiprocessing
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from memsearch_engine.core.errors import MemsearchError
from memsearch_engine.core.home import Home
from memsearch_engine.longterm import jobs as lease
from memsearch_engine.longterm.jobs import LEASE_S, RETRY_S, TRIES, Claim, Jobs, Refusal

from tests.conftest import until


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def jobs(tmp_path: Path, clock: Clock) -> Jobs:
    return Jobs(Home(tmp_path / "home").ensure(), clock)


def claimed(jobs: Jobs, watermark: float = 1.0, key: str = "a/1", **how) -> Claim:
    got = jobs.claim("extract", key, watermark, cap=how.pop("cap", 10), **how)
    assert isinstance(got, Claim), got
    return got


def test_done_at_a_watermark_is_up_to_date_until_the_session_goes_on(jobs):
    assert jobs.succeed(claimed(jobs, 5.0), "kept")
    assert jobs.claim("extract", "a/1", 5.0) is Refusal.UP_TO_DATE
    assert jobs.claim("extract", "a/1", 4.0) is Refusal.UP_TO_DATE
    claimed(jobs, 6.0)


def test_a_live_lease_keeps_others_out_and_a_lapsed_one_does_not(jobs, clock):
    first = claimed(jobs)
    assert jobs.claim("extract", "a/1", 1.0) is Refusal.RUNNING
    clock.now += LEASE_S - 1
    assert jobs.heartbeat(first)
    clock.now += LEASE_S - 1
    assert jobs.claim("extract", "a/1", 1.0) is Refusal.RUNNING
    clock.now += 2
    second = claimed(jobs)
    assert second.token != first.token
    assert not jobs.heartbeat(first) and not jobs.succeed(first) and not jobs.fail(first, "late")
    assert jobs.succeed(second)


def test_who_let_the_lease_lapse_can_finish_nothing_even_if_nobody_took_it(jobs, clock):
    claim = claimed(jobs)
    clock.now += LEASE_S + 1
    written = []
    assert not jobs.heartbeat(claim)
    assert not jobs.succeed(claim, "", written.append)
    assert written == []


@pytest.fixture
def beats(jobs, monkeypatch) -> list[bool | MemsearchError]:
    """What each heartbeat answers, while there is something in the list; a beat takes a hundredth
    of a second and, by the clock that the lease is measured with, a tenth of a lease.
    """
    answers: list[bool | MemsearchError] = []
    clock = Clock()
    monkeypatch.setattr(lease, "BEAT_S", 0.01)
    monkeypatch.setattr(lease, "LEASE_S", 0.1)
    monkeypatch.setattr(lease, "time", SimpleNamespace(monotonic=clock, time=time.time))

    def heartbeat(claim: Claim) -> bool:
        clock.now += 0.01
        answer = answers.pop(0) if answers else True
        if isinstance(answer, MemsearchError):
            raise answer
        return answer

    monkeypatch.setattr(jobs, "heartbeat", heartbeat)
    return answers


def test_a_lease_holds_while_its_heart_beats_and_its_loss_is_reported_at_once(jobs, beats):
    beats += [True] * 30
    with jobs.kept_alive(claimed(jobs)) as lost:
        until(lambda: not beats, 10, "thirty beats")
        assert not lost.is_set()
        beats += [False, True]
        assert lost.wait(10)
    assert beats == [True]  # nobody asks any more


def test_a_busy_database_is_borne_for_as_long_as_the_lease_holds(jobs, beats):
    busy = MemsearchError("database is locked")
    beats += [*[busy] * 8, True, *[busy] * 8, True]
    with jobs.kept_alive(claimed(jobs)) as lost:
        until(lambda: not beats, 10, "all beats")
        assert not lost.is_set()
        beats += [busy] * 12
        assert lost.wait(10)
    assert 1 <= len(beats) <= 4  # before the lease was over, not after


def test_stolen_leases_are_counted_and_use_up_the_tries(jobs, clock):
    claimed(jobs)
    for stolen in range(1, TRIES):
        clock.now += LEASE_S + 1
        claimed(jobs)
        job = jobs.get("extract", "a/1")
        assert (job.stolen, job.tries_left) == (stolen, TRIES - stolen)
    clock.now += LEASE_S + 1
    assert jobs.claim("extract", "a/1", 1.0) is Refusal.EXHAUSTED
    assert "ended" in jobs.get("extract", "a/1").error


def test_failures_wait_run_out_and_are_forgiven_by_new_turns(jobs, clock):
    for left in range(TRIES - 1, -1, -1):
        assert jobs.fail(claimed(jobs), "boom")
        assert jobs.get("extract", "a/1").tries_left == left
        if left:
            assert jobs.claim("extract", "a/1", 1.0) is Refusal.BACKOFF
            clock.now += RETRY_S
    clock.now += 100 * RETRY_S
    assert jobs.claim("extract", "a/1", 1.0) is Refusal.EXHAUSTED
    claimed(jobs, 2.0)
    assert jobs.get("extract", "a/1").tries_left == TRIES


def test_new_turns_don_t_wait_for_a_failure_s_pause(jobs):
    jobs.fail(claimed(jobs), "boom")
    claimed(jobs, 2.0)


def test_an_error_that_can_t_be_mended_by_asking_again_is_not(jobs, clock):
    jobs.fail(claimed(jobs), "no such model", again=False)
    clock.now += 100 * RETRY_S
    assert jobs.claim("extract", "a/1", 1.0) is Refusal.EXHAUSTED
    claimed(jobs, force=True)


def test_a_job_that_is_given_back_costs_no_try(jobs):
    jobs.release(claimed(jobs), "the day's tokens")
    assert jobs.get("extract", "a/1").tries_left == TRIES
    claimed(jobs)


def test_the_cap_counts_what_all_processes_run(jobs, clock):
    for number in range(3):
        claimed(jobs, key=f"a/{number}", cap=3)
    assert jobs.claim("extract", "a/9", 1.0, cap=3) is Refusal.FULL
    clock.now += LEASE_S + 1  # the others died
    claimed(jobs, key="a/9", cap=3)


def test_a_consolidation_pauses_after_success_and_only_after_success(jobs, clock):
    claim = jobs.claim("consolidate", "all", 1.0, cooldown_s=100)
    assert isinstance(claim, Claim) and jobs.succeed(claim)
    assert jobs.claim("consolidate", "all", 9.0, cooldown_s=100) is Refusal.COOLDOWN
    forced = jobs.claim("consolidate", "all", 9.0, cooldown_s=100, force=True)
    assert isinstance(forced, Claim)
    assert jobs.claim("consolidate", "all", 9.0, cooldown_s=100, force=True) is Refusal.RUNNING
    jobs.fail(forced, "boom")
    assert jobs.claim("consolidate", "all", 9.0, cooldown_s=100) is Refusal.BACKOFF
    clock.now += RETRY_S
    for _ in range(TRIES + 1):  # used up tries don't end consolidation for good
        again = jobs.claim("consolidate", "all", 9.0, cooldown_s=100)
        assert isinstance(again, Claim)
        jobs.fail(again, "boom")
        clock.now += RETRY_S


def test_work_and_end_are_one_transaction(jobs):
    def broken(db):
        db.execute("CREATE TABLE made (x)")
        raise RuntimeError("boom")

    claim = claimed(jobs)
    with pytest.raises(RuntimeError):
        jobs.succeed(claim, "", broken)
    assert jobs.get("extract", "a/1").state == "running"
    made = []
    assert jobs.succeed(
        claim,
        "",
        lambda db: made.append(
            db.execute("SELECT count(*) FROM sqlite_master WHERE name='made'").fetchone()[0]
        ),
    )
    assert made == [0]


def _race(root: str, keys: list[str], cap: int, start, results) -> None:
    jobs = Jobs(Home(Path(root)))
    start.wait()
    results.put(
        [key for key in keys if isinstance(jobs.claim("extract", key, 1.0, cap=cap), Claim)]
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("keys", "cap", "winners"),
    [(["a/1"], 9, 1), (["a/1", "a/2", "a/3"], 1, 1), ([f"a/{n}" for n in range(20)], 9, 9)],
)
def test_processes_that_race_win_each_job_once_and_never_more_than_the_cap(
    tmp_path, keys, cap, winners
):
    Home(tmp_path / "home").ensure()
    context = multiprocessing.get_context("spawn")
    start, results = context.Event(), context.Queue()
    racers = [
        context.Process(target=_race, args=(str(tmp_path / "home"), keys, cap, start, results))
        for _ in range(4)
    ]
    for racer in racers:
        racer.start()
    start.set()
    won = [key for _ in racers for key in results.get(timeout=60)]
    for racer in racers:
        racer.join(60)
    assert len(won) == len(set(won)) == winners
