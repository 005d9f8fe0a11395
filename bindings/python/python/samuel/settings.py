"""The settings that `Loop` takes, as `[methodology.<name>]` in samuel.toml has them.

Written by `cargo xtask contract`; change `crates/samuel-config/src/settings.rs` instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, TypedDict

# In which table a setting stands that has none of its own here.
TABLE_OF = {
    "max_cost_usd": "session_budget",
    "max_tokens": "session_budget",
    "max_wall_time": "session_budget",
}


class Task_budget(TypedDict, total=False):
    """What a task may consume, over all runs since it was last reset. One that uses it up is
    blocked with the reason, and the run goes on with others.
    """

    max_cost_usd: float
    """The cost in US dollars that blocks a task. A cost that the agent does not report is none. A
    number above 0.
    """

    max_tokens: int
    """The tokens in and out that block a task. A whole number of at least 1."""

    max_attempts: int
    """How many failed attempts block a task; 0 sets no limit. An attempt is an iteration in which
    the agent did something: consumed tokens, called a tool or changed the work tree.
    """


class Clocks(TypedDict, total=False):
    """How long the agent may take."""

    first_byte: float | str
    """To its first output. A duration from 1s to 24h."""

    idle: float | str
    """Between two pieces of output; from the start for agents without `first_byte`. A duration
    from 1s to 24h.
    """

    linger: float | str
    """After its final event. A duration from 1s to 24h."""

    wall: float | str
    """As a whole. A duration from 1s to 24h."""


class Pilot(TypedDict, total=False):
    """Looking for tasks: pilot mode."""

    enabled: bool
    """Whether runs make discovery iterations: the first of a plan, others by the interval, and
    while nothing is left to work on, until two in a row find nothing.
    """

    discover_interval: int
    """Every how many iterations, counted over all runs of the plan. A whole number of at least 1.
    """

    max_discovery_tasks: int
    """How many tasks one discovery iteration may add; more are refused. A whole number of at least
    1.
    """

    focus: str
    """What it looks at; empty stands for everything. Text of at most 4096 bytes."""


class Parallel(TypedDict, total=False):
    """Working on several tasks at once."""

    jobs: int
    """How many lanes there are, each of which works on a task of its own in a clone of its own.
    With 1 there is no lane: the loop works in the project itself. A whole number from 1 to 64.
    """

    into: str
    """The branch that work lands on. Empty stands for a new one of the run, which leaves those of
    the user as they are.
    """

    merge: Literal["merge", "squash", "rebase"]
    """How work gets onto that branch: by a commit that merges the branch of each task, by one
    commit a task, or by its commits made anew. One of `merge`, `squash`, `rebase`.
    """

    batch: int
    """How many tasks are merged and checked together, at most. A whole number of at least 1."""

    overlap: Literal["wait", "allow"]
    """What happens to a task that declares a file which another one under way declares too: with
    `wait` it waits until that one has landed, with `allow` it may come back with a conflict.
    One of `wait`, `allow`.
    """

    copy: Iterable[str]
    """Files that git does not track and the clone of a lane gets, such as `.env`, by their paths
    from the project's root.
    """

    setup: Iterable[str | Mapping[str, float | str] | tuple[str, float | str]]
    """Commands that get a new clone ready, such as `npm ci`, run in this order, in a sandbox with
    what checks have there. Each is text, or a table as in `quality_checks`.
    """


class Context(TypedDict, total=False):
    """How much the agent is told of earlier work and of the project."""

    max_learnings: int
    """Learnings in the progress context."""

    max_completed: int
    """Completions in the progress context."""

    max_progress_lines: int
    """Lines of `progress.md` before it is rotated. A whole number of at least 1."""

    snapshot_tokens: int
    """The size of the project snapshot in tokens. A whole number of at least 1."""

    prd_tokens: int
    """The most that a prompt quotes of the PRD, in tokens; 0 quotes nothing of it."""


class Settings(TypedDict, total=False):
    """The settings of a loop; what is not given comes from samuel.toml."""

    agent_command: Iterable[str] | None
    """The program to run in place of the agent's usual one; with `command` the whole command line.
    """

    agent_args: Iterable[str] | None
    """Arguments that are added for any agent. The question before a run shows them."""

    model: str | None
    """The model that the agent is to use, by its own name for it: `claude`, `codex`, `gemini` and
    `copilot` take one. Empty stands for the agent's own choice.
    """

    routes: Iterable[str] | None
    """Which agent a call has, by the first of these tables that fits. One has conditions
    (`complexity`, `priority`, `mode`, `after_failures`), all of which must hold, and what it
    changes (`agent`, `model`, `args`).
    """

    fallback: Iterable[str] | None
    """Agents for the time that the one chosen cannot be started, or has a usage limit that lasts
    longer than `rate_limit_wait`; the first that can work does.
    """

    max_iterations: int | None
    """How many iterations a run may make; 0 sets no limit."""

    pause: float | str | None
    """The pause between two iterations. A duration from 0s to 24h."""

    max_consecutive_failures: int | None
    """After so many failed iterations in a row the run ends. A whole number of at least 1."""

    quality_checks: Iterable[str | Mapping[str, float | str] | tuple[str, float | str]] | None
    """Commands that check the work after each iteration, run in this order. Each is text, or a
    table such as `{ command = "cargo test", timeout = "30m" }`, which shows the default
    timeout; that is from 1s to 24h.
    """

    rate_limit: Literal["wait", "stop"] | None
    """What follows from a usage limit of the agent that lasts longer than `rate_limit_wait`, where
    no agent of `fallback` can work: `wait` waits for it, `stop` ends the run as `rate-limited`.
    One of `wait`, `stop`.
    """

    rate_limit_wait: float | str | None
    """See `rate_limit`; also how long altogether a usage limit without a known end is tried again,
    after 5, 10, 20 minutes and so on. A duration from 0s to 720h.
    """

    sandbox: str | None
    """What the agent and the checks run in. `host` is no sandbox; `bwrap` is bubblewrap, and `oci`
    containers of podman or docker, both in a clone and without a network. A program can bring
    others (`RunBuilder::sandboxes`).
    """

    completes: Literal["auto", "own-task", "plan"] | None
    """Which tasks count as completed while an agent is at work. With `own-task` these are the task
    that it was called for, and those that you complete with `samuel run done`; with `plan` any.
    `auto` is `own-task` with several lanes, in a clone and in a sandbox, and `plan` elsewhere.
    One of `auto`, `own-task`, `plan`.
    """

    require_change: bool | None
    """Whether a completion for which nothing was changed since its task began fails its check. A
    change is what is committed, or in place also what is not.
    """

    keep_runs: int | None
    """Of how many runs the agent's output in `.samuel/run/logs` is kept, the one that starts
    included; 0 keeps all.
    """

    keep_bytes: int | None
    """How many bytes of it are kept; 0 keeps all."""

    max_cost_usd: float | None
    """The cost in US dollars that ends a run. A number above 0."""

    max_tokens: int | None
    """The tokens in and out that end a run. A whole number of at least 1."""

    max_wall_time: float | str | None
    """The time that ends a run. A duration from 1s to 720h."""

    task_budget: Task_budget | None
    """What a task may consume, over all runs since it was last reset. One that uses it up is
    blocked with the reason, and the run goes on with others.
    """

    forecast: bool | None
    """Whether a run ends as `budget` before an iteration that what is left of `session_budget`
    would not last for: the median of the last five is held against it, once three are known.
    """

    ask_timeout: float | str | None
    """How long a tool call waits for `samuel run approve` or `deny` where a handler of
    `ability.before` wants a person to decide; 0 denies it at once. An agent that is silent for
    longer than `clocks.idle` is ended, so that one should be longer. A duration from 0s to 24h.
    """

    clocks: Clocks | None
    """How long the agent may take."""

    pilot: bool | Pilot | None
    """Looking for tasks: pilot mode."""

    parallel: Parallel | None
    """Working on several tasks at once."""

    context: Context | None
    """How much the agent is told of earlier work and of the project."""
