"""What handlers are given and answer, what runs tell, and what the prompt holds.

Written by `cargo xtask contract` from `wit/` and the types of samuel-core; do not
edit. Records are immutable, compare by value and can be matched, pickled and
copied.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, TypeAlias

from ._record import Changes, EventBase, Pairs, Record, changes, items, items_or_none, pairs

_set = object.__setattr__


HookPointId: TypeAlias = Literal[
    "init.before",
    "init.after",
    "sync.before",
    "sync.after",
    "session.start",
    "before:loop",
    "before:iteration",
    "iteration.gate",
    "prompt.submit",
    "context.snapshot",
    "context.progress",
    "context.task",
    "context.extra",
    "before:agent.invoke",
    "agent.invoke",
    "after:agent.invoke",
    "quality.check",
    "after:iteration",
    "iteration.error",
    "task.completed",
    "ability.before",
    "ability.after",
    "session.stop",
    "after:loop",
    "session.end",
]
"""The id of a hook point."""


class HookPoint:
    """The ids of the hook points, by name."""

    INIT_BEFORE: Final = "init.before"
    """Fires once, before `samuel init` writes anything."""
    INIT_AFTER: Final = "init.after"
    """Fires once, after `samuel init` has written."""
    SYNC_BEFORE: Final = "sync.before"
    """Fires once, before `samuel sync` writes anything."""
    SYNC_AFTER: Final = "sync.after"
    """Fires once, after `samuel sync` has written."""
    SESSION_START: Final = "session.start"
    """Fires once, before the loop."""
    BEFORE_LOOP: Final = "before:loop"
    """Fires once, before the first iteration."""
    BEFORE_ITERATION: Final = "before:iteration"
    """Fires at the start of each iteration."""
    ITERATION_GATE: Final = "iteration.gate"
    """Says whether the loop goes on, and in which mode."""
    PROMPT_SUBMIT: Final = "prompt.submit"
    """Fires before a prompt is put together."""
    CONTEXT_SNAPSHOT: Final = "context.snapshot"
    """Produces what the agent is told of the project, as TOON."""
    CONTEXT_PROGRESS: Final = "context.progress"
    """Produces what the agent is told of earlier work, as Markdown."""
    CONTEXT_TASK: Final = "context.task"
    """Produces what the agent is told of its task, as TOON."""
    CONTEXT_EXTRA: Final = "context.extra"
    """Adds sections of its own to the prompt."""
    BEFORE_AGENT_INVOKE: Final = "before:agent.invoke"
    """Changes what the agent is called with."""
    AGENT_INVOKE: Final = "agent.invoke"
    """Runs the agent."""
    AFTER_AGENT_INVOKE: Final = "after:agent.invoke"
    """Fires after each agent call."""
    QUALITY_CHECK: Final = "quality.check"
    """Fires after each agent call of an iteration."""
    AFTER_ITERATION: Final = "after:iteration"
    """Fires after each iteration, failed ones included."""
    ITERATION_ERROR: Final = "iteration.error"
    """Fires when an iteration failed."""
    TASK_COMPLETED: Final = "task.completed"
    """Fires once for each completion, while the agent is still at work."""
    ABILITY_BEFORE: Final = "ability.before"
    """Fires before each tool call of the agent."""
    ABILITY_AFTER: Final = "ability.after"
    """Fires after each tool call."""
    SESSION_STOP: Final = "session.stop"
    """Fires when the loop is about to end."""
    AFTER_LOOP: Final = "after:loop"
    """Fires once, after the last iteration."""
    SESSION_END: Final = "session.end"
    """Fires once, as the last point of a run."""


Mark: TypeAlias = Literal["no-change", "other-agent", "edit"]
"""What is unusual about the completion of a task.

- `no-change`: Nothing was changed since the task began.
- `other-agent`: The agent of another task completed it.
- `edit`: An edit of `prd.toon` completed it.
"""


Status: TypeAlias = Literal["pending", "in_progress", "completed", "skipped", "blocked"]
"""Where a task stands.

- `pending`: Waits to be worked on.
- `in_progress`: The loop works on it.
- `completed`: Done.
- `skipped`: Left out on purpose; counts as done for those that depend on it.
- `blocked`: Cannot be worked on until someone resets it.
"""


Source: TypeAlias = Literal["manual", "prd", "pilot-discovery"]
"""Where a task comes from.

- `manual`: Someone added it; the default.
- `prd`: The conversion of a PRD.
- `pilot-discovery`: A discovery iteration of pilot mode.
"""


class Task(Record):
    """One task of a plan.

    Attributes:
        id: The id, unique within the plan.
        title: The title: one line, not empty, at most `MAX_TITLE_CHARS` characters.
        description: The description, any number of lines; may be empty.
        status: Where it stands.
        priority: How urgent it is.
        complexity: How much work it is.
        parent_id: The task this one is a part of.
        depends_on: The tasks that must be completed or skipped first.
        files_to_create: Files the task creates, relative to the project.
        files_to_modify: Files the task changes, relative to the project.
        guardrails: Rules the work must keep to.
        acceptance: What must hold for the task to be done.
        source: Where it comes from.
        created_at: When it was added.
        completed_at: When it was completed.
        commit_sha: The commit that completed it.
        iteration: The iteration that completed it, from 1.
        skip_reason: Why it was skipped.
        owner: Who works on it while it is in progress: the id of a run, or what its caller
            is called.
        question: What was asked about it: open while it is blocked, and answered until its
            agent was given the answer. Earlier versions of Samuel do not know of it.
        marks: What is unusual about its completion. Earlier versions of Samuel do not know
            of it.
    """

    __slots__ = ("id", "title", "description", "status", "priority", "complexity", "parent_id", "depends_on", "files_to_create", "files_to_modify", "guardrails", "acceptance", "source", "created_at", "completed_at", "commit_sha", "iteration", "skip_reason", "owner", "question", "marks")
    __match_args__ = ("id", "title", "description", "status", "priority", "complexity", "parent_id", "depends_on", "files_to_create", "files_to_modify", "guardrails", "acceptance", "source", "created_at", "completed_at", "commit_sha", "iteration", "skip_reason", "owner", "question", "marks")
    id: str
    title: str
    description: str
    status: Status
    priority: Priority
    complexity: Complexity
    parent_id: str | None
    depends_on: tuple[str, ...]
    files_to_create: tuple[str, ...]
    files_to_modify: tuple[str, ...]
    guardrails: tuple[str, ...]
    acceptance: tuple[str, ...]
    source: Source
    created_at: str | None
    completed_at: str | None
    commit_sha: str | None
    iteration: int | None
    skip_reason: str | None
    owner: str | None
    question: Question | None
    marks: tuple[Mark, ...]

    def __init__(
        self,
        id: str,
        title: str,
        description: str = "",
        status: Status = "pending",
        priority: Priority = "medium",
        complexity: Complexity = "medium",
        parent_id: str | None = None,
        depends_on: Iterable[str] = (),
        files_to_create: Iterable[str] = (),
        files_to_modify: Iterable[str] = (),
        guardrails: Iterable[str] = (),
        acceptance: Iterable[str] = (),
        source: Source = "manual",
        created_at: str | None = None,
        completed_at: str | None = None,
        commit_sha: str | None = None,
        iteration: int | None = None,
        skip_reason: str | None = None,
        owner: str | None = None,
        question: Question | None = None,
        marks: Iterable[Mark] = (),
    ) -> None:
        _set(self, "id", id)
        _set(self, "title", title)
        _set(self, "description", description)
        _set(self, "status", status)
        _set(self, "priority", priority)
        _set(self, "complexity", complexity)
        _set(self, "parent_id", parent_id)
        _set(self, "depends_on", items(depends_on))
        _set(self, "files_to_create", items(files_to_create))
        _set(self, "files_to_modify", items(files_to_modify))
        _set(self, "guardrails", items(guardrails))
        _set(self, "acceptance", items(acceptance))
        _set(self, "source", source)
        _set(self, "created_at", created_at)
        _set(self, "completed_at", completed_at)
        _set(self, "commit_sha", commit_sha)
        _set(self, "iteration", iteration)
        _set(self, "skip_reason", skip_reason)
        _set(self, "owner", owner)
        _set(self, "question", question)
        _set(self, "marks", items(marks))


class Question(Record):
    """A question about a task.

    ``` use samuel_model::{InvalidQuestion, Question};

    let question = Question::new("Which database?", vec!`"sqlite".into(), "postgres".into()`)?;
    assert!(question.answer.is_none()); assert_eq!(question.answered("sqlite")?.answer.as_deref(),
    Some("sqlite")); assert!(Question::new(" ", Vec::new()).is_err()); # Ok::<(),
    InvalidQuestion>(()) ```

    Attributes:
        text: What is asked: any number of lines, not blank, at most `MAX_QUESTION_CHARS`
            characters, without control characters but tabs and line feeds.
        options: Answers that whoever asks proposes, a line of at most `MAX_OPTION_CHARS`
            characters each, at most `MAX_OPTIONS`; any other answer may be given too.
        answer: What a person answered, under the rules of a question, with
            `MAX_ANSWER_CHARS` characters at most; nothing while the question is open.
    """

    __slots__ = ("text", "options", "answer")
    __match_args__ = ("text", "options", "answer")
    text: str
    options: tuple[str, ...]
    answer: str | None

    def __init__(
        self,
        text: str,
        options: Iterable[str],
        answer: str | None = None,
    ) -> None:
        _set(self, "text", text)
        _set(self, "options", items(options))
        _set(self, "answer", answer)


QueuePlace: TypeAlias = Literal[
    "waits",
    "merging",
    "checking",
    "suspect",
    "landing",
    "held",
    "returning",
]
"""Where a submission is in the queue.

- `waits`: It waits for those before it.
- `merging`: It is being merged.
- `checking`: It is being checked, alone or with others.
- `suspect`: It was in a batch whose checks failed, and is checked with fewer.
- `landing`: It is being landed.
- `held`: Something is in the way of its landing, or a person holds it.
- `returning`: It goes back.
"""


Doing: TypeAlias = Literal[
    "getting_ready",
    "working",
    "discovering",
    "waiting",
    "paused",
    "ending",
    "ended",
]
"""What a run does, in a word.

- `getting_ready`: It gets ready, or is between two iterations.
- `working`: An iteration works on a task.
- `discovering`: An iteration looks for tasks.
- `waiting`: It waits: in a pause, or for a usage limit.
- `paused`: It holds until it is resumed.
- `ending`: It is about to end.
- `ended`: It has ended.
"""


class WaitingCall(Record):
    """A tool call that waits for a person to approve it.

    Attributes:
        call: The number by which it is approved or denied.
        ability_id: The tool, such as `Bash`.
        input: Its arguments in one line, shortened.
        reason: Why a person is asked, in the handler's words.
    """

    __slots__ = ("call", "ability_id", "input", "reason")
    __match_args__ = ("call", "ability_id", "input", "reason")
    call: int
    ability_id: str
    input: str
    reason: str

    def __init__(
        self,
        call: int,
        ability_id: str,
        input: str,
        reason: str,
    ) -> None:
        _set(self, "call", call)
        _set(self, "ability_id", ability_id)
        _set(self, "input", input)
        _set(self, "reason", reason)


class QueuedWork(Record):
    """Work that waits to be landed.

    Attributes:
        task: The task.
        place: Where it is.
    """

    __slots__ = ("task", "place")
    __match_args__ = ("task", "place")
    task: str
    place: QueuePlace

    def __init__(
        self,
        task: str,
        place: QueuePlace,
    ) -> None:
        _set(self, "task", task)
        _set(self, "place", place)


class LiveWorker(Record):
    """What a worker of a run does now.

    Attributes:
        worker: The worker, from 1; nothing in a run without workers.
        doing: What it does.
        iteration: The iteration under way, else the last one.
        task: The task of that iteration; nothing where it looks for tasks, and between
            iterations.
        title: The title of the task.
    """

    __slots__ = ("worker", "doing", "iteration", "task", "title")
    __match_args__ = ("doing", "iteration", "worker", "task", "title")
    worker: int | None
    doing: Doing
    iteration: int
    task: str | None
    title: str | None

    def __init__(
        self,
        doing: Doing,
        iteration: int,
        worker: int | None = None,
        task: str | None = None,
        title: str | None = None,
    ) -> None:
        _set(self, "worker", worker)
        _set(self, "doing", doing)
        _set(self, "iteration", iteration)
        _set(self, "task", task)
        _set(self, "title", title)


class LiveState(Record):
    """What a run does now.

    Attributes:
        run: The run's id.
        doing: What it does.
        workers: What each of its workers does, in their order; a run without workers has
            one. Empty before the first iteration.
        approvals: The tool calls that wait for a person to approve them.
        until: Until when it waits, where that is known.
        queue: The tasks whose work waits to be landed, in a run with lanes, in no order.
        held: What is in the way of the landing, where something is.
        into: The branch that work lands on, in a run with lanes.
    """

    __slots__ = ("run", "doing", "workers", "approvals", "until", "queue", "held", "into")
    __match_args__ = ("run", "doing", "workers", "approvals", "queue", "until", "held", "into")
    run: str
    doing: Doing
    workers: tuple[LiveWorker, ...]
    approvals: tuple[WaitingCall, ...]
    until: str | None
    queue: tuple[QueuedWork, ...]
    held: str | None
    into: str | None

    def __init__(
        self,
        run: str,
        doing: Doing,
        workers: Iterable[LiveWorker],
        approvals: Iterable[WaitingCall],
        queue: Iterable[QueuedWork],
        until: str | None = None,
        held: str | None = None,
        into: str | None = None,
    ) -> None:
        _set(self, "run", run)
        _set(self, "doing", doing)
        _set(self, "workers", items(workers))
        _set(self, "approvals", items(approvals))
        _set(self, "until", until)
        _set(self, "queue", items(queue))
        _set(self, "held", held)
        _set(self, "into", into)


ProgressStatus: TypeAlias = Literal["not_started", "running", "stopped", "completed"]
"""Where the work on a plan stands.

- `not_started`: Nothing has run yet.
- `running`: A loop is running, or was when it died.
- `stopped`: The last run ended and tasks are left.
- `completed`: Every task is completed or skipped.
"""


class Progress(Record):
    """How far the work on a plan is, cumulative over its runs.

    Attributes:
        status: Where the work stands.
        total_tasks: How many tasks the plan has, groups among them; what counts as work
            says `TaskCounts`.
        completed_tasks: How many of them are completed.
        current_iteration: The iteration of the current or last run, from 1; 0 before the
            first.
        total_iterations_run: Iterations over all runs.
        impl_iterations: Those of them that implemented.
        discovery_iterations: Those of them that discovered.
        last_discovery_at: When the last discovery iteration ended.
        last_discovery_iteration: Which of the iterations over all runs that was, from 1; 0
            before the first.
        discovery_room: How many tasks may still be added while a discovery iteration is
            under way; nothing while none is.
        last_iteration_at: When the last iteration ended.
        cost_usd: What all runs cost, in US dollars, as far as agents say.
        tokens: Tokens read and written by all runs.
    """

    __slots__ = ("status", "total_tasks", "completed_tasks", "current_iteration", "total_iterations_run", "impl_iterations", "discovery_iterations", "last_discovery_at", "last_discovery_iteration", "discovery_room", "last_iteration_at", "cost_usd", "tokens")
    __match_args__ = ("status", "total_tasks", "completed_tasks", "current_iteration", "total_iterations_run", "impl_iterations", "discovery_iterations", "last_discovery_at", "last_discovery_iteration", "discovery_room", "last_iteration_at", "cost_usd", "tokens")
    status: ProgressStatus
    total_tasks: int
    completed_tasks: int
    current_iteration: int
    total_iterations_run: int
    impl_iterations: int
    discovery_iterations: int
    last_discovery_at: str | None
    last_discovery_iteration: int
    discovery_room: int | None
    last_iteration_at: str | None
    cost_usd: float
    tokens: int

    def __init__(
        self,
        status: ProgressStatus = "not_started",
        total_tasks: int = 0,
        completed_tasks: int = 0,
        current_iteration: int = 0,
        total_iterations_run: int = 0,
        impl_iterations: int = 0,
        discovery_iterations: int = 0,
        last_discovery_at: str | None = None,
        last_discovery_iteration: int = 0,
        discovery_room: int | None = None,
        last_iteration_at: str | None = None,
        cost_usd: float = 0.0,
        tokens: int = 0,
    ) -> None:
        _set(self, "status", status)
        _set(self, "total_tasks", total_tasks)
        _set(self, "completed_tasks", completed_tasks)
        _set(self, "current_iteration", current_iteration)
        _set(self, "total_iterations_run", total_iterations_run)
        _set(self, "impl_iterations", impl_iterations)
        _set(self, "discovery_iterations", discovery_iterations)
        _set(self, "last_discovery_at", last_discovery_at)
        _set(self, "last_discovery_iteration", last_discovery_iteration)
        _set(self, "discovery_room", discovery_room)
        _set(self, "last_iteration_at", last_iteration_at)
        _set(self, "cost_usd", cost_usd)
        _set(self, "tokens", tokens)


ExitReason: TypeAlias = Literal[
    "completed",
    "blocked",
    "max-iterations",
    "consecutive-failures",
    "gate-stop",
    "stop-blocked",
    "no-progress",
    "budget",
    "wall-clock",
    "rate-limited",
    "empty-discovery",
    "strict-hook",
    "control-files-changed",
    "cancelled",
    "error",
]
"""Why a run ended (docs/loop.md).

- `completed`: Every task is completed or skipped, and the last check was ok.
- `blocked`: Tasks are left, and none of them can be worked on.
- `max-iterations`: The iteration cap was reached.
- `consecutive-failures`: Too many iterations in a row failed, or too many tasks in a row were blocked.
- `gate-stop`: A handler of `iteration.gate` said stop.
- `stop-blocked`: `session.stop` was blocked too often in a row.
- `no-progress`: The same failure with the same work tree three times in a row.
- `budget`: The session budget was used up.
- `wall-clock`: The wall-clock limit was reached.
- `rate-limited`: The agent's usage limit lasts longer than the run waits.
- `empty-discovery`: Discovery found nothing twice in a row.
- `strict-hook`: A handler broke at a point that ends the loop then.
- `control-files-changed`: Files that decide what runs were changed during the run.
- `cancelled`: The caller ended it.
- `error`: Samuel itself could not go on.
"""


FailureClass: TypeAlias = Literal[
    "agent-start",
    "agent-exit",
    "agent-timeout",
    "rate-limit",
    "quality-check",
    "refused",
    "hook-broke",
    "interrupted",
]
"""What kind of thing made an iteration fail.

- `agent-start`: The agent could not be started.
- `agent-exit`: The agent ended with a code other than 0.
- `agent-timeout`: The agent was ended by a clock.
- `rate-limit`: The agent's provider refused because of a usage limit.
- `quality-check`: A quality check failed.
- `refused`: A handler said no.
- `hook-broke`: A handler broke.
- `interrupted`: Samuel was interrupted while the iteration was under way.
"""


class BeforeAgentInvokeInput(Record):
    """`before:agent.invoke`: what a handler is given.

    Transform, verdict. Changes what the agent is called with. The environment's deny list is
    applied again after the last handler. A plugin cannot choose another agent or sandbox.

    Attributes:
        agent: The agent, such as `claude`.
        prompt: The prompt as it stands.
        env: The agent's variables with their values. A plugin is given those alone that its
            capability `env` covers.
        env_names: The names of all the agent's variables.
        sandbox: The sandbox, such as `host`.
        snapshot: What `context.snapshot` made, TOON. This and the three below are what the
            prompt of a main turn is composed of, and empty in other turns.
        progress: What `context.progress` made, Markdown.
        task_context: What `context.task` made, TOON.
        extras: What `context.extra` made, in order.
    """

    __slots__ = ("agent", "prompt", "env", "env_names", "sandbox", "snapshot", "progress", "task_context", "extras", "extensions")
    __match_args__ = ("agent", "prompt", "env", "sandbox", "env_names", "snapshot", "progress", "task_context", "extras", "extensions")
    agent: str
    prompt: str
    env: tuple[tuple[str, str], ...]
    env_names: tuple[str, ...]
    sandbox: str
    snapshot: str
    progress: str
    task_context: str
    extras: tuple[Extra, ...]
    extensions: tuple[tuple[str, str], ...]

    def __init__(
        self,
        agent: str,
        prompt: str,
        env: Pairs,
        sandbox: str,
        env_names: Iterable[str] = (),
        snapshot: str = "",
        progress: str = "",
        task_context: str = "",
        extras: Iterable[Extra] = (),
        extensions: Pairs = (),
    ) -> None:
        _set(self, "agent", agent)
        _set(self, "prompt", prompt)
        _set(self, "env", pairs(env))
        _set(self, "env_names", items(env_names))
        _set(self, "sandbox", sandbox)
        _set(self, "snapshot", snapshot)
        _set(self, "progress", progress)
        _set(self, "task_context", task_context)
        _set(self, "extras", items(extras))
        _set(self, "extensions", pairs(extensions))


class BeforeAgentInvokeOutput(Record):
    """`before:agent.invoke`: what a handler answers.

    What to change; an absent field stays as it is.

    Attributes:
        agent: Another agent.
        prompt: Another prompt.
        env: Variables to set, and those without a value to take away; the others stay as
            they are. A plugin needs `agent.env` for each.
        sandbox: Another sandbox.
        ok: Whether the agent may be called; `false` fails the iteration.
        reason: Why not.
    """

    __slots__ = ("agent", "prompt", "env", "sandbox", "ok", "reason", "extensions")
    __match_args__ = ("agent", "prompt", "env", "sandbox", "ok", "reason", "extensions")
    agent: str | None
    prompt: str | None
    env: tuple[tuple[str, str | None], ...]
    sandbox: str | None
    ok: bool
    reason: str | None
    extensions: tuple[tuple[str, str], ...]

    def __init__(
        self,
        agent: str | None = None,
        prompt: str | None = None,
        env: Changes = (),
        sandbox: str | None = None,
        ok: bool = True,
        reason: str | None = None,
        extensions: Pairs = (),
    ) -> None:
        _set(self, "agent", agent)
        _set(self, "prompt", prompt)
        _set(self, "env", changes(env))
        _set(self, "sandbox", sandbox)
        _set(self, "ok", ok)
        _set(self, "reason", reason)
        _set(self, "extensions", pairs(extensions))


class AgentInvokeInput(Record):
    """`agent.invoke`: what a handler is given.

    Replace. Runs the agent. Only the last handler in order is called; the others are shadowed.

    Attributes:
        agent: The agent, such as `claude`.
        prompt: The prompt.
        env: The agent's variables with their values. A plugin is given those alone that its
            capability `env` covers.
        env_names: The names of all the agent's variables.
        sandbox: The sandbox, such as `host`.
        task: The task the call is about; absent in discovery and in the last turns of a
            run.
        conversation: The conversation that an extra turn goes on in: the session that this
            agent named when it was ready in an earlier turn of the iteration. Absent in main
            turns and where it named none. The prompt is for either: who cannot go on there
            begins anew.
    """

    __slots__ = ("agent", "prompt", "env", "env_names", "sandbox", "task", "conversation", "extensions")
    __match_args__ = ("agent", "prompt", "env", "sandbox", "env_names", "task", "conversation", "extensions")
    agent: str
    prompt: str
    env: tuple[tuple[str, str], ...]
    env_names: tuple[str, ...]
    sandbox: str
    task: TaskBrief | None
    conversation: str | None
    extensions: tuple[tuple[str, str], ...]

    def __init__(
        self,
        agent: str,
        prompt: str,
        env: Pairs,
        sandbox: str,
        env_names: Iterable[str] = (),
        task: TaskBrief | None = None,
        conversation: str | None = None,
        extensions: Pairs = (),
    ) -> None:
        _set(self, "agent", agent)
        _set(self, "prompt", prompt)
        _set(self, "env", pairs(env))
        _set(self, "env_names", items(env_names))
        _set(self, "sandbox", sandbox)
        _set(self, "task", task)
        _set(self, "conversation", conversation)
        _set(self, "extensions", pairs(extensions))


AgentFailureClass: TypeAlias = Literal[
    "agent-start",
    "agent-exit",
    "agent-timeout",
    "rate-limit",
    "interrupted",
]
"""What kind of failure it is.

- `agent-start`: The agent could not be started.
- `agent-exit`: The agent did not come to its own end, or says itself that it failed.
- `agent-timeout`: The agent was ended by a clock.
- `rate-limit`: The agent's provider refused because of a usage limit. The run waits for its end, as it is configured.
- `interrupted`: The call was cancelled.
"""


class AgentFailure(Record):
    """How an agent failed.

    Attributes:
        class_: What kind of failure it is.
        message: What happened, in one line.
        resets_at: When a usage limit ends, such as `2026-11-21T10:00:00Z`, where the
            provider says.
    """

    __slots__ = ("class_", "message", "resets_at")
    __match_args__ = ("class_", "message", "resets_at")
    _wire = {'class': 'class_'}
    class_: AgentFailureClass
    message: str
    resets_at: str | None

    def __init__(
        self,
        class_: AgentFailureClass,
        message: str,
        resets_at: str | None = None,
    ) -> None:
        _set(self, "class_", class_)
        _set(self, "message", message)
        _set(self, "resets_at", resets_at)


class AgentInvokeOutput(Record):
    """`agent.invoke`: what a handler answers.

    Attributes:
        exit_code: The agent's exit code; 0 is success.
        stdout: What it printed, shortened to head and tail.
        stderr: What it printed as errors, shortened to head and tail.
        usage: What the call consumed, also where it failed.
        failure: How the agent failed, where it did not run to its end; its exit code then
            says nothing.
        logs: The files that hold all that it printed, relative to the project where they
            are in it. They are told where the call failed.
    """

    __slots__ = ("exit_code", "stdout", "stderr", "usage", "failure", "logs", "extensions")
    __match_args__ = ("exit_code", "stdout", "stderr", "usage", "failure", "logs", "extensions")
    exit_code: int
    stdout: str
    stderr: str
    usage: Usage | None
    failure: AgentFailure | None
    logs: tuple[str, ...]
    extensions: tuple[tuple[str, str], ...]

    def __init__(
        self,
        exit_code: int = 0,
        stdout: str = "",
        stderr: str = "",
        usage: Usage | None = None,
        failure: AgentFailure | None = None,
        logs: Iterable[str] = (),
        extensions: Pairs = (),
    ) -> None:
        _set(self, "exit_code", exit_code)
        _set(self, "stdout", stdout)
        _set(self, "stderr", stderr)
        _set(self, "usage", usage)
        _set(self, "failure", failure)
        _set(self, "logs", items(logs))
        _set(self, "extensions", pairs(extensions))


class AfterAgentInvokeInput(Record):
    """`after:agent.invoke`: what a handler is given.

    Observe. Fires after each agent call.

    Attributes:
        exit_code: The agent's exit code; 0 is success.
        stdout: What it printed, shortened to head and tail.
        stderr: What it printed as errors, shortened to head and tail.
        duration_ms: How long the call took, in milliseconds.
        usage: What the call consumed.
    """

    __slots__ = ("exit_code", "stdout", "stderr", "duration_ms", "usage", "extensions")
    __match_args__ = ("exit_code", "stdout", "stderr", "duration_ms", "usage", "extensions")
    exit_code: int
    stdout: str
    stderr: str
    duration_ms: int
    usage: Usage | None
    extensions: tuple[tuple[str, str], ...]

    def __init__(
        self,
        exit_code: int,
        stdout: str,
        stderr: str,
        duration_ms: int,
        usage: Usage | None = None,
        extensions: Pairs = (),
    ) -> None:
        _set(self, "exit_code", exit_code)
        _set(self, "stdout", stdout)
        _set(self, "stderr", stderr)
        _set(self, "duration_ms", duration_ms)
        _set(self, "usage", usage)
        _set(self, "extensions", pairs(extensions))


class AfterAgentInvokeOutput(Record):
    """`after:agent.invoke`: what a handler answers.

    Attributes:
        ok: Whether the handler is content; `false` fails the iteration where the point is
            strict.
        reason: Why not.
    """

    __slots__ = ("ok", "reason", "extensions")
    __match_args__ = ("ok", "reason", "extensions")
    ok: bool
    reason: str | None
    extensions: tuple[tuple[str, str], ...]

    def __init__(
        self,
        ok: bool = True,
        reason: str | None = None,
        extensions: Pairs = (),
    ) -> None:
        _set(self, "ok", ok)
        _set(self, "reason", reason)
        _set(self, "extensions", pairs(extensions))


class ContextSnapshotInput(Record):
    """`context.snapshot`: what a handler is given.

    Blob. Produces what the agent is told of the project, as TOON.

    Attributes:
        project_root: The project's root directory, absolute.
    """

    __slots__ = ("project_root", "extensions")
    __match_args__ = ("project_root", "extensions")
    project_root: str
    extensions: tuple[tuple[str, str], ...]

    def __init__(
        self,
        project_root: str,
        extensions: Pairs = (),
    ) -> None:
        _set(self, "project_root", project_root)
        _set(self, "extensions", pairs(extensions))


class ContextSnapshotOutput(Record):
    """`context.snapshot`: what a handler answers.

    Attributes:
        toon_blob: A TOON object. The runtime writes the folded one, once.
    """

    __slots__ = ("toon_blob", "extensions")
    __match_args__ = ("toon_blob", "extensions")
    toon_blob: str
    extensions: tuple[tuple[str, str], ...]

    def __init__(
        self,
        toon_blob: str = "",
        extensions: Pairs = (),
    ) -> None:
        _set(self, "toon_blob", toon_blob)
        _set(self, "extensions", pairs(extensions))


class ContextProgressInput(Record):
    """`context.progress`: what a handler is given.

    Blob. Produces what the agent is told of earlier work, as Markdown.

    Attributes:
        progress_path: The progress log, absolute.
    """

    __slots__ = ("progress_path", "extensions")
    __match_args__ = ("progress_path", "extensions")
    progress_path: str
    extensions: tuple[tuple[str, str], ...]

    def __init__(
        self,
        progress_path: str,
        extensions: Pairs = (),
    ) -> None:
        _set(self, "progress_path", progress_path)
        _set(self, "extensions", pairs(extensions))


class ContextProgressOutput(Record):
    """`context.progress`: what a handler answers.

    Attributes:
        md_blob: Markdown. The runtime writes the folded one, once.
    """

    __slots__ = ("md_blob", "extensions")
    __match_args__ = ("md_blob", "extensions")
    md_blob: str
    extensions: tuple[tuple[str, str], ...]

    def __init__(
        self,
        md_blob: str = "",
        extensions: Pairs = (),
    ) -> None:
        _set(self, "md_blob", md_blob)
        _set(self, "extensions", pairs(extensions))


class ContextTaskInput(Record):
    """`context.task`: what a handler is given.

    Blob. Produces what the agent is told of its task, as TOON.

    Attributes:
        task: The task; absent in discovery.
        mode: What the iteration is for.
    """

    __slots__ = ("task", "mode", "extensions")
    __match_args__ = ("mode", "task", "extensions")
    task: TaskBrief | None
    mode: Mode
    extensions: tuple[tuple[str, str], ...]

    def __init__(
        self,
        mode: Mode,
        task: TaskBrief | None = None,
        extensions: Pairs = (),
    ) -> None:
        _set(self, "task", task)
        _set(self, "mode", mode)
        _set(self, "extensions", pairs(extensions))


class ContextTaskOutput(Record):
    """`context.task`: what a handler answers.

    Attributes:
        toon_blob: A TOON object. The runtime writes the folded one, once.
    """

    __slots__ = ("toon_blob", "extensions")
    __match_args__ = ("toon_blob", "extensions")
    toon_blob: str
    extensions: tuple[tuple[str, str], ...]

    def __init__(
        self,
        toon_blob: str = "",
        extensions: Pairs = (),
    ) -> None:
        _set(self, "toon_blob", toon_blob)
        _set(self, "extensions", pairs(extensions))


class ContextExtraInput(Record):
    """`context.extra`: what a handler is given.

    List. Adds sections of its own to the prompt.

    Attributes:
        task: The task; absent in discovery.
    """

    __slots__ = ("task", "extensions")
    __match_args__ = ("task", "extensions")
    task: TaskBrief | None
    extensions: tuple[tuple[str, str], ...]

    def __init__(
        self,
        task: TaskBrief | None = None,
        extensions: Pairs = (),
    ) -> None:
        _set(self, "task", task)
        _set(self, "extensions", pairs(extensions))


class ContextExtraOutput(Record):
    """`context.extra`: what a handler answers.

    Attributes:
        extras: The sections, in order.
    """

    __slots__ = ("extras", "extensions")
    __match_args__ = ("extras", "extensions")
    extras: tuple[Extra, ...]
    extensions: tuple[tuple[str, str], ...]

    def __init__(
        self,
        extras: Iterable[Extra] = (),
        extensions: Pairs = (),
    ) -> None:
        _set(self, "extras", items(extras))
        _set(self, "extensions", pairs(extensions))


class InitBeforeInput(Record):
    """`init.before`: what a handler is given.

    Gate. Fires once, before `samuel init` writes anything. A refusal ends the command with nothing
    written.

    Attributes:
        project_root: The project's root directory, absolute.
        force: Whether existing files may be replaced.
        minimal: Whether only the necessary files are asked for.
    """

    __slots__ = ("project_root", "force", "minimal", "extensions")
    __match_args__ = ("project_root", "force", "minimal", "extensions")
    project_root: str
    force: bool
    minimal: bool
    extensions: tuple[tuple[str, str], ...]

    def __init__(
        self,
        project_root: str,
        force: bool,
        minimal: bool,
        extensions: Pairs = (),
    ) -> None:
        _set(self, "project_root", project_root)
        _set(self, "force", force)
        _set(self, "minimal", minimal)
        _set(self, "extensions", pairs(extensions))


class InitBeforeOutput(Record):
    """`init.before`: what a handler answers.

    Attributes:
        ok: Whether the command may go on.
        reason: Why not.
    """

    __slots__ = ("ok", "reason", "extensions")
    __match_args__ = ("ok", "reason", "extensions")
    ok: bool
    reason: str | None
    extensions: tuple[tuple[str, str], ...]

    def __init__(
        self,
        ok: bool = True,
        reason: str | None = None,
        extensions: Pairs = (),
    ) -> None:
        _set(self, "ok", ok)
        _set(self, "reason", reason)
        _set(self, "extensions", pairs(extensions))


class InitAfterInput(Record):
    """`init.after`: what a handler is given.

    Observe. Fires once, after `samuel init` has written.

    Attributes:
        project_root: The project's root directory, absolute.
        plugins_installed: Names of the plugins the project uses now.
    """

    __slots__ = ("project_root", "plugins_installed", "extensions")
    __match_args__ = ("project_root", "plugins_installed", "extensions")
    project_root: str
    plugins_installed: tuple[str, ...]
    extensions: tuple[tuple[str, str], ...]

    def __init__(
        self,
        project_root: str,
        plugins_installed: Iterable[str],
        extensions: Pairs = (),
    ) -> None:
        _set(self, "project_root", project_root)
        _set(self, "plugins_installed", items(plugins_installed))
        _set(self, "extensions", pairs(extensions))


class InitAfterOutput(Record):
    """`init.after`: what a handler answers.

    Attributes:
        ok: Whether the handler is content; `false` is a warning.
        reason: Why not.
    """

    __slots__ = ("ok", "reason", "extensions")
    __match_args__ = ("ok", "reason", "extensions")
    ok: bool
    reason: str | None
    extensions: tuple[tuple[str, str], ...]

    def __init__(
        self,
        ok: bool = True,
        reason: str | None = None,
        extensions: Pairs = (),
    ) -> None:
        _set(self, "ok", ok)
        _set(self, "reason", reason)
        _set(self, "extensions", pairs(extensions))


class SyncBeforeInput(Record):
    """`sync.before`: what a handler is given.

    Gate. Fires once, before `samuel sync` writes anything.

    Attributes:
        project_root: The project's root directory, absolute.
        dry_run: Whether the command only reports what it would write.
    """

    __slots__ = ("project_root", "dry_run", "extensions")
    __match_args__ = ("project_root", "dry_run", "extensions")
    project_root: str
    dry_run: bool
    extensions: tuple[tuple[str, str], ...]

    def __init__(
        self,
        project_root: str,
        dry_run: bool,
        extensions: Pairs = (),
    ) -> None:
        _set(self, "project_root", project_root)
        _set(self, "dry_run", dry_run)
        _set(self, "extensions", pairs(extensions))


class SyncBeforeOutput(Record):
    """`sync.before`: what a handler answers.

    Attributes:
        ok: Whether the command may go on.
        reason: Why not, or why it is skipped.
        skip: Whether there is nothing to do; one handler is enough to skip.
    """

    __slots__ = ("ok", "reason", "skip", "extensions")
    __match_args__ = ("ok", "reason", "skip", "extensions")
    ok: bool
    reason: str | None
    skip: bool
    extensions: tuple[tuple[str, str], ...]

    def __init__(
        self,
        ok: bool = True,
        reason: str | None = None,
        skip: bool = False,
        extensions: Pairs = (),
    ) -> None:
        _set(self, "ok", ok)
        _set(self, "reason", reason)
        _set(self, "skip", skip)
        _set(self, "extensions", pairs(extensions))


class SyncAfterInput(Record):
    """`sync.after`: what a handler is given.

    Observe. Fires once, after `samuel sync` has written.

    Attributes:
        project_root: The project's root directory, absolute.
        files_written: The files that were written, relative to the project.
    """

    __slots__ = ("project_root", "files_written", "extensions")
    __match_args__ = ("project_root", "files_written", "extensions")
    project_root: str
    files_written: tuple[str, ...]
    extensions: tuple[tuple[str, str], ...]

    def __init__(
        self,
        project_root: str,
        files_written: Iterable[str],
        extensions: Pairs = (),
    ) -> None:
        _set(self, "project_root", project_root)
        _set(self, "files_written", items(files_written))
        _set(self, "extensions", pairs(extensions))


class SyncAfterOutput(Record):
    """`sync.after`: what a handler answers.

    Attributes:
        ok: Whether the handler is content; `false` is a warning.
        reason: Why not.
    """

    __slots__ = ("ok", "reason", "extensions")
    __match_args__ = ("ok", "reason", "extensions")
    ok: bool
    reason: str | None
    extensions: tuple[tuple[str, str], ...]

    def __init__(
        self,
        ok: bool = True,
        reason: str | None = None,
        extensions: Pairs = (),
    ) -> None:
        _set(self, "ok", ok)
        _set(self, "reason", reason)
        _set(self, "extensions", pairs(extensions))


class BeforeLoopInput(Record):
    """`before:loop`: what a handler is given.

    Gate. Fires once, before the first iteration.

    Attributes:
        prd_path: The task file, absolute.
        max_iterations: How many iterations this run may make; absent without a limit.
    """

    __slots__ = ("prd_path", "max_iterations", "extensions")
    __match_args__ = ("prd_path", "max_iterations", "extensions")
    prd_path: str
    max_iterations: int | None
    extensions: tuple[tuple[str, str], ...]

    def __init__(
        self,
        prd_path: str,
        max_iterations: int | None = None,
        extensions: Pairs = (),
    ) -> None:
        _set(self, "prd_path", prd_path)
        _set(self, "max_iterations", max_iterations)
        _set(self, "extensions", pairs(extensions))


class BeforeLoopOutput(Record):
    """`before:loop`: what a handler answers.

    Attributes:
        ok: Whether the loop may start.
        reason: Why not.
    """

    __slots__ = ("ok", "reason", "extensions")
    __match_args__ = ("ok", "reason", "extensions")
    ok: bool
    reason: str | None
    extensions: tuple[tuple[str, str], ...]

    def __init__(
        self,
        ok: bool = True,
        reason: str | None = None,
        extensions: Pairs = (),
    ) -> None:
        _set(self, "ok", ok)
        _set(self, "reason", reason)
        _set(self, "extensions", pairs(extensions))


class BeforeIterationInput(Record):
    """`before:iteration`: what a handler is given.

    Gate, text. Fires at the start of each iteration. A refusal fails the iteration before the agent
    is called.

    Attributes:
        iteration: The iteration, from 1.
        task: The task it is for; absent in discovery.
    """

    __slots__ = ("iteration", "task", "extensions")
    __match_args__ = ("iteration", "task", "extensions")
    iteration: int
    task: TaskBrief | None
    extensions: tuple[tuple[str, str], ...]

    def __init__(
        self,
        iteration: int,
        task: TaskBrief | None = None,
        extensions: Pairs = (),
    ) -> None:
        _set(self, "iteration", iteration)
        _set(self, "task", task)
        _set(self, "extensions", pairs(extensions))


class BeforeIterationOutput(Record):
    """`before:iteration`: what a handler answers.

    Attributes:
        ok: Whether the iteration may run.
        reason: Why not.
        text: Text for the agent.
    """

    __slots__ = ("ok", "reason", "text", "extensions")
    __match_args__ = ("ok", "reason", "text", "extensions")
    ok: bool
    reason: str | None
    text: tuple[TextItem, ...]
    extensions: tuple[tuple[str, str], ...]

    def __init__(
        self,
        ok: bool = True,
        reason: str | None = None,
        text: Iterable[TextItem] = (),
        extensions: Pairs = (),
    ) -> None:
        _set(self, "ok", ok)
        _set(self, "reason", reason)
        _set(self, "text", items(text))
        _set(self, "extensions", pairs(extensions))


class IterationGateInput(Record):
    """`iteration.gate`: what a handler is given.

    Decide. Says whether the loop goes on, and in which mode.

    Attributes:
        iteration: The iteration, from 1.
        consec_fails: How many iterations in a row failed before this one.
        queue_size: How many tasks are pending.
        mode: The mode the iteration will have.
    """

    __slots__ = ("iteration", "consec_fails", "queue_size", "mode", "extensions")
    __match_args__ = ("iteration", "consec_fails", "queue_size", "mode", "extensions")
    iteration: int
    consec_fails: int
    queue_size: int
    mode: Mode
    extensions: tuple[tuple[str, str], ...]

    def __init__(
        self,
        iteration: int,
        consec_fails: int,
        queue_size: int,
        mode: Mode,
        extensions: Pairs = (),
    ) -> None:
        _set(self, "iteration", iteration)
        _set(self, "consec_fails", consec_fails)
        _set(self, "queue_size", queue_size)
        _set(self, "mode", mode)
        _set(self, "extensions", pairs(extensions))


class IterationGateOutput(Record):
    """`iteration.gate`: what a handler answers.

    Attributes:
        proceed: Whether the loop goes on; all handlers must agree.
        mode: Another mode for the iteration; the last handler's wins.
        reason: Why the loop ends, or why the mode changes.
    """

    __slots__ = ("proceed", "mode", "reason", "extensions")
    __match_args__ = ("proceed", "mode", "reason", "extensions")
    _wire = {'continue': 'proceed'}
    proceed: bool
    mode: Mode | None
    reason: str | None
    extensions: tuple[tuple[str, str], ...]

    def __init__(
        self,
        proceed: bool = True,
        mode: Mode | None = None,
        reason: str | None = None,
        extensions: Pairs = (),
    ) -> None:
        _set(self, "proceed", proceed)
        _set(self, "mode", mode)
        _set(self, "reason", reason)
        _set(self, "extensions", pairs(extensions))


class CheckFailure(Record):
    """A check that failed.

    Attributes:
        command: The command, or the name of the check.
        message: What is wrong, in one line.
        exit_code: The exit code, where a command ran to its end.
        tail: The end of its output.
        log: The file that holds all of its output, relative to the project where it is in
            it.
    """

    __slots__ = ("command", "message", "exit_code", "tail", "log")
    __match_args__ = ("command", "message", "exit_code", "tail", "log")
    command: str
    message: str
    exit_code: int | None
    tail: str
    log: str | None

    def __init__(
        self,
        command: str,
        message: str,
        exit_code: int | None = None,
        tail: str = "",
        log: str | None = None,
    ) -> None:
        _set(self, "command", command)
        _set(self, "message", message)
        _set(self, "exit_code", exit_code)
        _set(self, "tail", tail)
        _set(self, "log", log)


class QualityCheckInput(Record):
    """`quality.check`: what a handler is given.

    List, verdict. Fires after each agent call of an iteration. Failures of all handlers are
    concatenated and reach the next prompt.

    Attributes:
        commands: The configured commands, in the order they run.
        changed_files: The files that differ from the commit the iteration started at,
            relative to the project; without those below `.samuel`, `.system/logs` and
            `.system/cache`. Absent where that is unknown, as without a git repository or where
            what is checked is no iteration's work.
    """

    __slots__ = ("commands", "changed_files", "extensions")
    __match_args__ = ("commands", "changed_files", "extensions")
    commands: tuple[str, ...]
    changed_files: tuple[str, ...] | None
    extensions: tuple[tuple[str, str], ...]

    def __init__(
        self,
        commands: Iterable[str],
        changed_files: Iterable[str] | None = None,
        extensions: Pairs = (),
    ) -> None:
        _set(self, "commands", items(commands))
        _set(self, "changed_files", items_or_none(changed_files))
        _set(self, "extensions", pairs(extensions))


class QualityCheckOutput(Record):
    """`quality.check`: what a handler answers.

    Attributes:
        ok: Whether all checks passed.
        reason: Why not, in one line.
        failures: The checks that failed.
    """

    __slots__ = ("ok", "reason", "failures", "extensions")
    __match_args__ = ("ok", "reason", "failures", "extensions")
    ok: bool
    reason: str | None
    failures: tuple[CheckFailure, ...]
    extensions: tuple[tuple[str, str], ...]

    def __init__(
        self,
        ok: bool = True,
        reason: str | None = None,
        failures: Iterable[CheckFailure] = (),
        extensions: Pairs = (),
    ) -> None:
        _set(self, "ok", ok)
        _set(self, "reason", reason)
        _set(self, "failures", items(failures))
        _set(self, "extensions", pairs(extensions))


IterationOutcome: TypeAlias = Literal["succeeded", "failed", "cancelled"]
"""How an iteration ended.

- `succeeded`: The agent ended well and every check passed.
- `failed`: Something failed; the failure counts.
- `cancelled`: The caller ended it.
"""


class AfterIterationInput(Record):
    """`after:iteration`: what a handler is given.

    Observe, text. Fires after each iteration, failed ones included.

    Attributes:
        iteration: The iteration, from 1.
        task: The task it was for; absent in discovery.
        outcome: How it ended.
        changed_files: The files that differ from the commit the iteration started at,
            relative to the project; without those below `.samuel`, `.system/logs` and
            `.system/cache`. Absent where that is unknown, as without a git repository.
    """

    __slots__ = ("iteration", "task", "outcome", "changed_files", "extensions")
    __match_args__ = ("iteration", "outcome", "task", "changed_files", "extensions")
    iteration: int
    task: TaskBrief | None
    outcome: IterationOutcome
    changed_files: tuple[str, ...] | None
    extensions: tuple[tuple[str, str], ...]

    def __init__(
        self,
        iteration: int,
        outcome: IterationOutcome,
        task: TaskBrief | None = None,
        changed_files: Iterable[str] | None = None,
        extensions: Pairs = (),
    ) -> None:
        _set(self, "iteration", iteration)
        _set(self, "task", task)
        _set(self, "outcome", outcome)
        _set(self, "changed_files", items_or_none(changed_files))
        _set(self, "extensions", pairs(extensions))


class AfterIterationOutput(Record):
    """`after:iteration`: what a handler answers.

    Attributes:
        ok: Whether the handler is content; `false` is a warning.
        reason: Why not.
        text: Text for the agent.
    """

    __slots__ = ("ok", "reason", "text", "extensions")
    __match_args__ = ("ok", "reason", "text", "extensions")
    ok: bool
    reason: str | None
    text: tuple[TextItem, ...]
    extensions: tuple[tuple[str, str], ...]

    def __init__(
        self,
        ok: bool = True,
        reason: str | None = None,
        text: Iterable[TextItem] = (),
        extensions: Pairs = (),
    ) -> None:
        _set(self, "ok", ok)
        _set(self, "reason", reason)
        _set(self, "text", items(text))
        _set(self, "extensions", pairs(extensions))


class IterationErrorInput(Record):
    """`iteration.error`: what a handler is given.

    Observe, text. Fires when an iteration failed. Text is sent to the agent at once, in one
    recovery turn.

    Attributes:
        error: What went wrong.
        class_: The class of the failure, such as `agent-exit`.
        consec_fails: How many iterations in a row have failed, this one included.
    """

    __slots__ = ("error", "class_", "consec_fails", "extensions")
    __match_args__ = ("error", "class_", "consec_fails", "extensions")
    _wire = {'class': 'class_'}
    error: str
    class_: str
    consec_fails: int
    extensions: tuple[tuple[str, str], ...]

    def __init__(
        self,
        error: str,
        class_: str,
        consec_fails: int,
        extensions: Pairs = (),
    ) -> None:
        _set(self, "error", error)
        _set(self, "class_", class_)
        _set(self, "consec_fails", consec_fails)
        _set(self, "extensions", pairs(extensions))


class IterationErrorOutput(Record):
    """`iteration.error`: what a handler answers.

    Attributes:
        text: Text for the recovery turn.
    """

    __slots__ = ("text", "extensions")
    __match_args__ = ("text", "extensions")
    text: tuple[TextItem, ...]
    extensions: tuple[tuple[str, str], ...]

    def __init__(
        self,
        text: Iterable[TextItem] = (),
        extensions: Pairs = (),
    ) -> None:
        _set(self, "text", items(text))
        _set(self, "extensions", pairs(extensions))


Actor: TypeAlias = Literal["agent", "user", "runtime", "external"]
"""Who completed the task.

- `agent`: The agent, through a mutation command.
- `user`: A user.
- `runtime`: Samuel itself.
- `external`: Whoever changed the plan's file instead of asking Samuel.
"""


class TaskCompletedInput(Record):
    """`task.completed`: what a handler is given.

    Observe, text. Fires once for each completion, while the agent is still at work.

    Attributes:
        task_id: The id of the task.
        task_content: Its title, and its description below.
        actor: Who completed it.
        provisional: Whether a failed quality check can still take it back.
    """

    __slots__ = ("task_id", "task_content", "actor", "provisional", "extensions")
    __match_args__ = ("task_id", "task_content", "actor", "provisional", "extensions")
    task_id: str
    task_content: str
    actor: Actor
    provisional: bool
    extensions: tuple[tuple[str, str], ...]

    def __init__(
        self,
        task_id: str,
        task_content: str,
        actor: Actor,
        provisional: bool,
        extensions: Pairs = (),
    ) -> None:
        _set(self, "task_id", task_id)
        _set(self, "task_content", task_content)
        _set(self, "actor", actor)
        _set(self, "provisional", provisional)
        _set(self, "extensions", pairs(extensions))


class TaskCompletedOutput(Record):
    """`task.completed`: what a handler answers.

    Attributes:
        text: Text for the agent.
    """

    __slots__ = ("text", "extensions")
    __match_args__ = ("text", "extensions")
    text: tuple[TextItem, ...]
    extensions: tuple[tuple[str, str], ...]

    def __init__(
        self,
        text: Iterable[TextItem] = (),
        extensions: Pairs = (),
    ) -> None:
        _set(self, "text", items(text))
        _set(self, "extensions", pairs(extensions))


class AfterLoopInput(Record):
    """`after:loop`: what a handler is given.

    Observe. Fires once, after the last iteration.

    Attributes:
        iterations_run: How many iterations the run made.
        exit_reason: Why the loop ended, such as `completed`.
    """

    __slots__ = ("iterations_run", "exit_reason", "extensions")
    __match_args__ = ("iterations_run", "exit_reason", "extensions")
    iterations_run: int
    exit_reason: str
    extensions: tuple[tuple[str, str], ...]

    def __init__(
        self,
        iterations_run: int,
        exit_reason: str,
        extensions: Pairs = (),
    ) -> None:
        _set(self, "iterations_run", iterations_run)
        _set(self, "exit_reason", exit_reason)
        _set(self, "extensions", pairs(extensions))


class AfterLoopOutput(Record):
    """`after:loop`: what a handler answers.

    Attributes:
        ok: Whether the handler is content; `false` is a warning.
        reason: Why not.
    """

    __slots__ = ("ok", "reason", "extensions")
    __match_args__ = ("ok", "reason", "extensions")
    ok: bool
    reason: str | None
    extensions: tuple[tuple[str, str], ...]

    def __init__(
        self,
        ok: bool = True,
        reason: str | None = None,
        extensions: Pairs = (),
    ) -> None:
        _set(self, "ok", ok)
        _set(self, "reason", reason)
        _set(self, "extensions", pairs(extensions))


SessionSource: TypeAlias = Literal["startup", "resume"]
"""Whether the session is new or goes on after an interruption.

- `startup`: A new session.
- `resume`: A session that goes on after an interruption.
"""


class SessionStartInput(Record):
    """`session.start`: what a handler is given.

    Observe, text, results. Fires once, before the loop.

    Attributes:
        session: The name of the session.
        source: Whether it is new.
    """

    __slots__ = ("session", "source", "extensions")
    __match_args__ = ("session", "source", "extensions")
    session: str
    source: SessionSource
    extensions: tuple[tuple[str, str], ...]

    def __init__(
        self,
        session: str,
        source: SessionSource,
        extensions: Pairs = (),
    ) -> None:
        _set(self, "session", session)
        _set(self, "source", source)
        _set(self, "extensions", pairs(extensions))


class SessionStartOutput(Record):
    """`session.start`: what a handler answers.

    Attributes:
        ok: Whether the handler is content; `false` is a warning.
        reason: Why not.
        text: Text for the agent.
        results: What a repository hook reports.
    """

    __slots__ = ("ok", "reason", "text", "results", "extensions")
    __match_args__ = ("ok", "reason", "text", "results", "extensions")
    ok: bool
    reason: str | None
    text: tuple[TextItem, ...]
    results: HookResults
    extensions: tuple[tuple[str, str], ...]

    def __init__(
        self,
        ok: bool = True,
        reason: str | None = None,
        text: Iterable[TextItem] = (),
        results: HookResults | None = None,
        extensions: Pairs = (),
    ) -> None:
        _set(self, "ok", ok)
        _set(self, "reason", reason)
        _set(self, "text", items(text))
        _set(self, "results", HookResults() if results is None else results)
        _set(self, "extensions", pairs(extensions))


class SessionStopInput(Record):
    """`session.stop`: what a handler is given.

    Gate, results. Fires when the loop is about to end. A block gives the agent one more turn with
    the reason, at most eight in a row.

    Attributes:
        reason: The exit reason the loop is about to end with.
        changed_files: The files that differ from the commit the run started at, relative to
            the project, also where it was cut off since; without those below `.samuel`,
            `.system/logs` and `.system/cache`. Absent where that is unknown, as without a git
            repository.
        stop_block_count: How many stops in a row were blocked before this one.
    """

    __slots__ = ("reason", "changed_files", "stop_block_count", "extensions")
    __match_args__ = ("reason", "stop_block_count", "changed_files", "extensions")
    reason: str
    changed_files: tuple[str, ...] | None
    stop_block_count: int
    extensions: tuple[tuple[str, str], ...]

    def __init__(
        self,
        reason: str,
        stop_block_count: int,
        changed_files: Iterable[str] | None = None,
        extensions: Pairs = (),
    ) -> None:
        _set(self, "reason", reason)
        _set(self, "changed_files", items_or_none(changed_files))
        _set(self, "stop_block_count", stop_block_count)
        _set(self, "extensions", pairs(extensions))


class SessionStopOutput(Record):
    """`session.stop`: what a handler answers.

    Attributes:
        block: Whether the loop should not end yet.
        reason: Why not, for the agent to read.
        results: What a repository hook reports.
    """

    __slots__ = ("block", "reason", "results", "extensions")
    __match_args__ = ("block", "reason", "results", "extensions")
    block: bool
    reason: str | None
    results: HookResults
    extensions: tuple[tuple[str, str], ...]

    def __init__(
        self,
        block: bool = False,
        reason: str | None = None,
        results: HookResults | None = None,
        extensions: Pairs = (),
    ) -> None:
        _set(self, "block", block)
        _set(self, "reason", reason)
        _set(self, "results", HookResults() if results is None else results)
        _set(self, "extensions", pairs(extensions))


class SessionEndInput(Record):
    """`session.end`: what a handler is given.

    Observe. Fires once, as the last point of a run.

    Attributes:
        exit_reason: Why the run ended, such as `completed`.
    """

    __slots__ = ("exit_reason", "extensions")
    __match_args__ = ("exit_reason", "extensions")
    exit_reason: str
    extensions: tuple[tuple[str, str], ...]

    def __init__(
        self,
        exit_reason: str,
        extensions: Pairs = (),
    ) -> None:
        _set(self, "exit_reason", exit_reason)
        _set(self, "extensions", pairs(extensions))


class SessionEndOutput(Record):
    """`session.end`: what a handler answers.

    Attributes:
        ok: Whether the handler is content; `false` is a warning.
        reason: Why not.
    """

    __slots__ = ("ok", "reason", "extensions")
    __match_args__ = ("ok", "reason", "extensions")
    ok: bool
    reason: str | None
    extensions: tuple[tuple[str, str], ...]

    def __init__(
        self,
        ok: bool = True,
        reason: str | None = None,
        extensions: Pairs = (),
    ) -> None:
        _set(self, "ok", ok)
        _set(self, "reason", reason)
        _set(self, "extensions", pairs(extensions))


class PromptSubmitInput(Record):
    """`prompt.submit`: what a handler is given.

    Gate, results. Fires before a prompt is put together.

    Attributes:
        source: Where the input comes from: `task` in the loop, else the caller's word.
        user_raw_input: What was asked for; in the loop the brief of the task.
    """

    __slots__ = ("source", "user_raw_input", "extensions")
    __match_args__ = ("source", "user_raw_input", "extensions")
    source: str
    user_raw_input: str
    extensions: tuple[tuple[str, str], ...]

    def __init__(
        self,
        source: str,
        user_raw_input: str,
        extensions: Pairs = (),
    ) -> None:
        _set(self, "source", source)
        _set(self, "user_raw_input", user_raw_input)
        _set(self, "extensions", pairs(extensions))


class PromptSubmitOutput(Record):
    """`prompt.submit`: what a handler answers.

    Attributes:
        block: Whether the prompt must not be sent; the iteration then fails.
        reason: Why not.
        results: What a repository hook reports.
    """

    __slots__ = ("block", "reason", "results", "extensions")
    __match_args__ = ("block", "reason", "results", "extensions")
    block: bool
    reason: str | None
    results: HookResults
    extensions: tuple[tuple[str, str], ...]

    def __init__(
        self,
        block: bool = False,
        reason: str | None = None,
        results: HookResults | None = None,
        extensions: Pairs = (),
    ) -> None:
        _set(self, "block", block)
        _set(self, "reason", reason)
        _set(self, "results", HookResults() if results is None else results)
        _set(self, "extensions", pairs(extensions))


class AbilityBeforeInput(Record):
    """`ability.before`: what a handler is given.

    Transform, verdict, results. Fires before each tool call of the agent.

    Attributes:
        ability_id: The id of the ability, such as `Bash`.
        call_id: The agent's id for the call, the same before and after it; absent where it
            has none.
        operation_key: What the caller of a `Session` gave to group calls of one kind;
            absent for the calls of agents.
        input: The arguments of the call.
        caller: Who makes the call, such as `claude`.
        enforced: Whether a block really prevents the call. Where Samuel only sees it in the
            agent's output, a block cancels the turn.
    """

    __slots__ = ("ability_id", "call_id", "operation_key", "input", "caller", "enforced", "extensions")
    __match_args__ = ("ability_id", "input", "caller", "enforced", "call_id", "operation_key", "extensions")
    ability_id: str
    call_id: str | None
    operation_key: str | None
    input: Any
    caller: str
    enforced: bool
    extensions: tuple[tuple[str, str], ...]

    def __init__(
        self,
        ability_id: str,
        input: Any,
        caller: str,
        enforced: bool,
        call_id: str | None = None,
        operation_key: str | None = None,
        extensions: Pairs = (),
    ) -> None:
        _set(self, "ability_id", ability_id)
        _set(self, "call_id", call_id)
        _set(self, "operation_key", operation_key)
        _set(self, "input", input)
        _set(self, "caller", caller)
        _set(self, "enforced", enforced)
        _set(self, "extensions", pairs(extensions))


class AbilityBeforeOutput(Record):
    """`ability.before`: what a handler answers.

    Attributes:
        block: Whether the call must not be made.
        reason: Why not, for the agent to read.
        ask: Whether a human should decide.
        updated_input: Other arguments to make the call with.
        results: What a repository hook reports.
    """

    __slots__ = ("block", "reason", "ask", "updated_input", "results", "extensions")
    __match_args__ = ("block", "reason", "ask", "updated_input", "results", "extensions")
    block: bool
    reason: str | None
    ask: bool
    updated_input: Any
    results: HookResults
    extensions: tuple[tuple[str, str], ...]

    def __init__(
        self,
        block: bool = False,
        reason: str | None = None,
        ask: bool = False,
        updated_input: Any = None,
        results: HookResults | None = None,
        extensions: Pairs = (),
    ) -> None:
        _set(self, "block", block)
        _set(self, "reason", reason)
        _set(self, "ask", ask)
        _set(self, "updated_input", updated_input)
        _set(self, "results", HookResults() if results is None else results)
        _set(self, "extensions", pairs(extensions))


class AbilityAfterInput(Record):
    """`ability.after`: what a handler is given.

    Observe, text, results. Fires after each tool call.

    Attributes:
        ability_id: The id of the ability, such as `Bash`.
        call_id: The agent's id for the call, the same before and after it; absent where it
            has none.
        operation_key: What the caller of a `Session` gave to group calls of one kind;
            absent for the calls of agents.
        status: How the call ended.
        duration_ms: How long it took, in milliseconds.
        input_summary: The arguments, a JSON document shortened to 4 KiB; absent where the
            agent does not tell them.
        output_summary: The result, shortened to 4 KiB.
        tool_call_path: The calls this one was made from, such as the one that started a
            subagent, by the agent's ids for them, outermost first.
        changed_files: The files that a file tool which succeeded names in its arguments,
            relative to the project where they are in it; without those below `.samuel`,
            `.system/logs` and `.system/cache`. Absent where that is unknown, as for shell
            commands.
    """

    __slots__ = ("ability_id", "call_id", "operation_key", "status", "duration_ms", "input_summary", "output_summary", "tool_call_path", "changed_files", "extensions")
    __match_args__ = ("ability_id", "status", "tool_call_path", "call_id", "operation_key", "duration_ms", "input_summary", "output_summary", "changed_files", "extensions")
    ability_id: str
    call_id: str | None
    operation_key: str | None
    status: AbilityStatus
    duration_ms: int | None
    input_summary: str | None
    output_summary: str | None
    tool_call_path: tuple[str, ...]
    changed_files: tuple[str, ...] | None
    extensions: tuple[tuple[str, str], ...]

    def __init__(
        self,
        ability_id: str,
        status: AbilityStatus,
        tool_call_path: Iterable[str],
        call_id: str | None = None,
        operation_key: str | None = None,
        duration_ms: int | None = None,
        input_summary: str | None = None,
        output_summary: str | None = None,
        changed_files: Iterable[str] | None = None,
        extensions: Pairs = (),
    ) -> None:
        _set(self, "ability_id", ability_id)
        _set(self, "call_id", call_id)
        _set(self, "operation_key", operation_key)
        _set(self, "status", status)
        _set(self, "duration_ms", duration_ms)
        _set(self, "input_summary", input_summary)
        _set(self, "output_summary", output_summary)
        _set(self, "tool_call_path", items(tool_call_path))
        _set(self, "changed_files", items_or_none(changed_files))
        _set(self, "extensions", pairs(extensions))


class AbilityAfterOutput(Record):
    """`ability.after`: what a handler answers.

    Attributes:
        text: Text for the agent.
        results: What a repository hook reports.
    """

    __slots__ = ("text", "results", "extensions")
    __match_args__ = ("text", "results", "extensions")
    text: tuple[TextItem, ...]
    results: HookResults
    extensions: tuple[tuple[str, str], ...]

    def __init__(
        self,
        text: Iterable[TextItem] = (),
        results: HookResults | None = None,
        extensions: Pairs = (),
    ) -> None:
        _set(self, "text", items(text))
        _set(self, "results", HookResults() if results is None else results)
        _set(self, "extensions", pairs(extensions))


Mode: TypeAlias = Literal["implementation", "discovery"]
"""What an iteration is for.

- `implementation`: Work on the next task.
- `discovery`: Look for tasks.
"""


Turn: TypeAlias = Literal["main", "recovery", "immediate", "final"]
"""Which turn of an iteration fires the point. Turns beside `main` are extra ones: they fire only the
three agent points and consume no iteration.

- `main`: The turn an iteration is made of.
- `recovery`: Tells the agent what an iteration failed with.
- `immediate`: Delivers text that asked for it within the iteration.
- `final`: Delivers pending text after the loop.
"""


class CallHeader(Record):
    """What every call carries beside the point's own input.

    Attributes:
        point: The hook point's id, such as `quality.check`.
        handler_id: The id of the handler being called, such as `samuel-lint:check`.
        run_id: The id of the run; empty outside a run.
        session: The name of the session: given by the caller, else the project's.
        iteration: The iteration, from 1; 0 outside an iteration.
        mode: What the iteration is for.
        turn: Which turn of the iteration this is.
        deadline_ms: How long the handler may take, in milliseconds; 0 where it is exempt.
        namespace: The handler's own key in the Plugins group of the prompt context.
        preview: Whether this is a look ahead: no agent is called then, and a handler
            answers without changing anything.
    """

    __slots__ = ("point", "handler_id", "run_id", "session", "iteration", "mode", "turn", "deadline_ms", "namespace", "preview")
    __match_args__ = ("point", "handler_id", "run_id", "session", "iteration", "mode", "turn", "deadline_ms", "namespace", "preview")
    point: str
    handler_id: str
    run_id: str
    session: str
    iteration: int
    mode: Mode
    turn: Turn
    deadline_ms: int
    namespace: str
    preview: bool

    def __init__(
        self,
        point: str,
        handler_id: str,
        run_id: str,
        session: str,
        iteration: int,
        mode: Mode,
        turn: Turn,
        deadline_ms: int,
        namespace: str,
        preview: bool,
    ) -> None:
        _set(self, "point", point)
        _set(self, "handler_id", handler_id)
        _set(self, "run_id", run_id)
        _set(self, "session", session)
        _set(self, "iteration", iteration)
        _set(self, "mode", mode)
        _set(self, "turn", turn)
        _set(self, "deadline_ms", deadline_ms)
        _set(self, "namespace", namespace)
        _set(self, "preview", preview)


Deliver: TypeAlias = Literal["next", "now"]
"""When text reaches the agent: in the next prompt, or in an extra turn of the iteration that is under
way.

- `next`: With the next prompt.
- `now`: In an extra turn of the iteration under way.
"""


class TextItem(Record):
    """Text a handler wants the agent to read.

    Attributes:
        content: The text, as the agent will read it.
        deliver: When it is delivered.
    """

    __slots__ = ("content", "deliver")
    __match_args__ = ("content", "deliver")
    content: str
    deliver: Deliver

    def __init__(
        self,
        content: str,
        deliver: Deliver = "next",
    ) -> None:
        _set(self, "content", content)
        _set(self, "deliver", deliver)


class SuggestedAbility(Record):
    """An ability a handler suggests to the agent.

    Attributes:
        id: The id of the ability.
        reason: Why it fits.
        confidence: From 0 to 1; the highest survives a merge.
    """

    __slots__ = ("id", "reason", "confidence")
    __match_args__ = ("id", "reason", "confidence")
    id: str
    reason: str
    confidence: float | None

    def __init__(
        self,
        id: str,
        reason: str,
        confidence: float | None = None,
    ) -> None:
        _set(self, "id", id)
        _set(self, "reason", reason)
        _set(self, "confidence", confidence)


class SuggestedDocument(Record):
    """A document a handler suggests to the agent.

    Attributes:
        path: The path of the document, relative to the project.
        reason: Why it fits.
        confidence: From 0 to 1; the highest survives a merge.
    """

    __slots__ = ("path", "reason", "confidence")
    __match_args__ = ("path", "reason", "confidence")
    path: str
    reason: str
    confidence: float | None

    def __init__(
        self,
        path: str,
        reason: str,
        confidence: float | None = None,
    ) -> None:
        _set(self, "path", path)
        _set(self, "reason", reason)
        _set(self, "confidence", confidence)


class HookResults(Record):
    """What a repository hook reports, merged over all handlers of a point.

    Attributes:
        logs: Lines for the log of hooks; those of a repository hook go to
            `.system/logs/hooks.log`.
        messages_to_user: Messages for the user, which the agent reads along with its next
            prompt.
        suggested_abilities: Abilities worth considering.
        suggested_documents: Documents worth reading.
        follow_up_actions: Actions proposed to the orchestrator. They are data and never
            run.
        new_intent: An intent for knowledge routing; the first handler's wins.
        usage_recorded: Whether the handler recorded usage.
        block_execution: Whether the action should not go on.
    """

    __slots__ = ("logs", "messages_to_user", "suggested_abilities", "suggested_documents", "follow_up_actions", "new_intent", "usage_recorded", "block_execution")
    __match_args__ = ("logs", "messages_to_user", "suggested_abilities", "suggested_documents", "follow_up_actions", "new_intent", "usage_recorded", "block_execution")
    logs: tuple[str, ...]
    messages_to_user: tuple[str, ...]
    suggested_abilities: tuple[SuggestedAbility, ...]
    suggested_documents: tuple[SuggestedDocument, ...]
    follow_up_actions: tuple[Any, ...]
    new_intent: Any
    usage_recorded: bool
    block_execution: bool

    def __init__(
        self,
        logs: Iterable[str] = (),
        messages_to_user: Iterable[str] = (),
        suggested_abilities: Iterable[SuggestedAbility] = (),
        suggested_documents: Iterable[SuggestedDocument] = (),
        follow_up_actions: Iterable[Any] = (),
        new_intent: Any = None,
        usage_recorded: bool = False,
        block_execution: bool = False,
    ) -> None:
        _set(self, "logs", items(logs))
        _set(self, "messages_to_user", items(messages_to_user))
        _set(self, "suggested_abilities", items(suggested_abilities))
        _set(self, "suggested_documents", items(suggested_documents))
        _set(self, "follow_up_actions", items(follow_up_actions))
        _set(self, "new_intent", new_intent)
        _set(self, "usage_recorded", usage_recorded)
        _set(self, "block_execution", block_execution)


class Extra(Record):
    """A section for the prompt.

    Attributes:
        name: Its heading.
        content: Its text.
        path: A file below the plugin's scratch directory, `.samuel/run/plugins/<name>/`, to
            write it to as well; a path that leads out of it is a warning.
    """

    __slots__ = ("name", "content", "path")
    __match_args__ = ("name", "content", "path")
    name: str
    content: str
    path: str | None

    def __init__(
        self,
        name: str,
        content: str,
        path: str | None = None,
    ) -> None:
        _set(self, "name", name)
        _set(self, "content", content)
        _set(self, "path", path)


Priority: TypeAlias = Literal["critical", "high", "medium", "low"]
"""How urgent a task is; the most urgent is worked on first.

- `critical`: Before everything else.
- `high`: Before the usual.
- `medium`: The usual; the default.
- `low`: After the usual.
"""


Complexity: TypeAlias = Literal["simple", "medium", "complex"]
"""How much work a task is.

- `simple`: A small change.
- `medium`: The usual; the default.
- `complex`: A large change.
"""


class TaskBrief(Record):
    """A task as handlers and prompts see it.

    Attributes:
        id: The id, such as `1.2`. Ids are text: `1.10` is not `1.1`.
        title: The title, one line.
        priority: How urgent it is.
        complexity: How much work it is.
        description: The description, any number of lines.
        files_to_modify: Files the task changes, relative to the project.
        files_to_create: Files the task creates, relative to the project.
        depends_on: Ids of the tasks it waits for.
        acceptance: What must hold for it to be done.
    """

    __slots__ = ("id", "title", "priority", "complexity", "description", "files_to_modify", "files_to_create", "depends_on", "acceptance")
    __match_args__ = ("id", "title", "priority", "complexity", "description", "files_to_modify", "files_to_create", "depends_on", "acceptance")
    id: str
    title: str
    priority: Priority
    complexity: Complexity
    description: str
    files_to_modify: tuple[str, ...]
    files_to_create: tuple[str, ...]
    depends_on: tuple[str, ...]
    acceptance: tuple[str, ...]

    def __init__(
        self,
        id: str,
        title: str,
        priority: Priority = "medium",
        complexity: Complexity = "medium",
        description: str = "",
        files_to_modify: Iterable[str] = (),
        files_to_create: Iterable[str] = (),
        depends_on: Iterable[str] = (),
        acceptance: Iterable[str] = (),
    ) -> None:
        _set(self, "id", id)
        _set(self, "title", title)
        _set(self, "priority", priority)
        _set(self, "complexity", complexity)
        _set(self, "description", description)
        _set(self, "files_to_modify", items(files_to_modify))
        _set(self, "files_to_create", items(files_to_create))
        _set(self, "depends_on", items(depends_on))
        _set(self, "acceptance", items(acceptance))


AbilityStatus: TypeAlias = Literal["success", "error", "cancelled"]
"""How the call ended.

- `success`: It succeeded.
- `error`: It failed.
- `cancelled`: It was cancelled.
"""


class Usage(Record):
    """Tokens and money one agent call, or a sum of calls, consumed.

    Attributes:
        input_tokens: Tokens read, those from a cache included.
        output_tokens: Tokens written.
        cached_tokens: The part of the tokens read that came from a cache.
        cost_usd: What it cost, in US dollars; absent where the agent does not say. A number
            that is no amount of money counts as absent.
    """

    __slots__ = ("input_tokens", "output_tokens", "cached_tokens", "cost_usd")
    __match_args__ = ("input_tokens", "output_tokens", "cached_tokens", "cost_usd")
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    cost_usd: float | None

    def __init__(
        self,
        input_tokens: int = 0,
        output_tokens: int = 0,
        cached_tokens: int = 0,
        cost_usd: float | None = None,
    ) -> None:
        _set(self, "input_tokens", input_tokens)
        _set(self, "output_tokens", output_tokens)
        _set(self, "cached_tokens", cached_tokens)
        _set(self, "cost_usd", cost_usd)


class TaskVars(Record):
    """A task as handlers and prompts see it.

    Attributes:
        id: The id, such as `1.2`. Ids are text: `1.10` is not `1.1`.
        title: The title, one line.
        priority: How urgent it is.
        complexity: How much work it is.
        description: The description, any number of lines.
        files_to_modify: Files the task changes, relative to the project.
        files_to_create: Files the task creates, relative to the project.
        depends_on: Ids of the tasks it waits for.
        acceptance: What must hold for it to be done.
    """

    __slots__ = ("id", "title", "priority", "complexity", "description", "files_to_modify", "files_to_create", "depends_on", "acceptance")
    __match_args__ = ("id", "title", "priority", "complexity", "description", "files_to_modify", "files_to_create", "depends_on", "acceptance")
    _wire = {'ID': 'id', 'Title': 'title', 'Priority': 'priority', 'Complexity': 'complexity', 'Description': 'description', 'FilesToModify': 'files_to_modify', 'FilesToCreate': 'files_to_create', 'DependsOn': 'depends_on', 'Acceptance': 'acceptance'}
    id: str
    title: str
    priority: Priority
    complexity: Complexity
    description: str
    files_to_modify: tuple[str, ...]
    files_to_create: tuple[str, ...]
    depends_on: tuple[str, ...]
    acceptance: tuple[str, ...]

    def __init__(
        self,
        id: str,
        title: str,
        priority: Priority,
        complexity: Complexity,
        description: str,
        files_to_modify: Iterable[str],
        files_to_create: Iterable[str],
        depends_on: Iterable[str],
        acceptance: Iterable[str],
    ) -> None:
        _set(self, "id", id)
        _set(self, "title", title)
        _set(self, "priority", priority)
        _set(self, "complexity", complexity)
        _set(self, "description", description)
        _set(self, "files_to_modify", items(files_to_modify))
        _set(self, "files_to_create", items(files_to_create))
        _set(self, "depends_on", items(depends_on))
        _set(self, "acceptance", items(acceptance))


class SamuelVars(Record):
    """The running Samuel.

    Attributes:
        version: Its version, such as `2.0.0`.
        binary: The command that an agent calls for mutations, such as `samuel`.
    """

    __slots__ = ("version", "binary")
    __match_args__ = ("version", "binary")
    _wire = {'Version': 'version', 'Binary': 'binary'}
    version: str
    binary: str

    def __init__(
        self,
        version: str,
        binary: str,
    ) -> None:
        _set(self, "version", version)
        _set(self, "binary", binary)


class ProjectVars(Record):
    """The project the loop works on.

    Attributes:
        name: Its name.
        description: Its description; may be empty.
        root: Its root directory, absolute on the host.
        branch: The git branch; empty without git or with a detached head.
        detected: The languages that were detected, such as `rust`.
    """

    __slots__ = ("name", "description", "root", "branch", "detected")
    __match_args__ = ("name", "description", "root", "branch", "detected")
    _wire = {'Name': 'name', 'Description': 'description', 'Root': 'root', 'Branch': 'branch', 'Detected': 'detected'}
    name: str
    description: str
    root: str
    branch: str
    detected: tuple[str, ...]

    def __init__(
        self,
        name: str,
        description: str,
        root: str,
        branch: str,
        detected: Iterable[str],
    ) -> None:
        _set(self, "name", name)
        _set(self, "description", description)
        _set(self, "root", root)
        _set(self, "branch", branch)
        _set(self, "detected", items(detected))


class MethodologyVars(Record):
    """The methodology that is run.

    Attributes:
        name: Its name, such as `ralph`.
        source: Who provides it: `built-in` or a plugin's name.
    """

    __slots__ = ("name", "source")
    __match_args__ = ("name", "source")
    _wire = {'Name': 'name', 'Source': 'source'}
    name: str
    source: str

    def __init__(
        self,
        name: str,
        source: str,
    ) -> None:
        _set(self, "name", name)
        _set(self, "source", source)


class IterationVars(Record):
    """The iteration.

    Attributes:
        number: Its number, from 1; 0 outside an iteration.
        max: How many iterations the run may make; absent without a limit.
        kind: What it is for. In templates and JSON it is `Type`.
        task_id: The id of its task; empty in discovery.
        last_discovery_at: When discovery ran last, as an RFC 3339 time; empty for never.
    """

    __slots__ = ("number", "max", "kind", "task_id", "last_discovery_at")
    __match_args__ = ("number", "kind", "task_id", "last_discovery_at", "max")
    _wire = {'Number': 'number', 'Max': 'max', 'Type': 'kind', 'TaskID': 'task_id', 'LastDiscoveryAt': 'last_discovery_at'}
    number: int
    max: int | None
    kind: Mode
    task_id: str
    last_discovery_at: str

    def __init__(
        self,
        number: int,
        kind: Mode,
        task_id: str,
        last_discovery_at: str,
        max: int | None = None,
    ) -> None:
        _set(self, "number", number)
        _set(self, "max", max)
        _set(self, "kind", kind)
        _set(self, "task_id", task_id)
        _set(self, "last_discovery_at", last_discovery_at)


class PilotVars(Record):
    """The settings of pilot mode.

    Attributes:
        discover_interval: Every how many iterations tasks are looked for.
        max_discovery_tasks: How many tasks one discovery iteration may add.
        focus: What discovery looks at; empty for everything.
    """

    __slots__ = ("discover_interval", "max_discovery_tasks", "focus")
    __match_args__ = ("discover_interval", "max_discovery_tasks", "focus")
    _wire = {'DiscoverInterval': 'discover_interval', 'MaxDiscoveryTasks': 'max_discovery_tasks', 'Focus': 'focus'}
    discover_interval: int
    max_discovery_tasks: int
    focus: str

    def __init__(
        self,
        discover_interval: int,
        max_discovery_tasks: int,
        focus: str,
    ) -> None:
        _set(self, "discover_interval", discover_interval)
        _set(self, "max_discovery_tasks", max_discovery_tasks)
        _set(self, "focus", focus)


class ContextLimits(Record):
    """How much earlier work the agent is told of.

    Attributes:
        max_learnings: Learnings in the progress context. Default 50.
        max_completed: Completions in the progress context. Default 10.
        max_progress_lines: Lines of `progress.md` before it is rotated. Default 500.
    """

    __slots__ = ("max_learnings", "max_completed", "max_progress_lines")
    __match_args__ = ("max_learnings", "max_completed", "max_progress_lines")
    _wire = {'MaxLearnings': 'max_learnings', 'MaxCompleted': 'max_completed', 'MaxProgressLines': 'max_progress_lines'}
    max_learnings: int
    max_completed: int
    max_progress_lines: int

    def __init__(
        self,
        max_learnings: int,
        max_completed: int,
        max_progress_lines: int,
    ) -> None:
        _set(self, "max_learnings", max_learnings)
        _set(self, "max_completed", max_completed)
        _set(self, "max_progress_lines", max_progress_lines)


class ConfigVars(Record):
    """The frozen configuration of the run, as far as prompts need it.

    Attributes:
        agent: The agent, such as `claude`.
        max_iterations: How many iterations a run may make; absent without a limit.
        pause_secs: The pause between two iterations, in whole seconds, rounded up.
        max_consec_fails: After how many failed iterations in a row the run ends.
        quality_checks: The commands that check the work, in the order they run.
        pilot: The settings of pilot mode; absent where it is off.
        context: How much earlier work the agent is told of.
    """

    __slots__ = ("agent", "max_iterations", "pause_secs", "max_consec_fails", "quality_checks", "pilot", "context")
    __match_args__ = ("agent", "pause_secs", "max_consec_fails", "quality_checks", "context", "max_iterations", "pilot")
    _wire = {'Agent': 'agent', 'MaxIterations': 'max_iterations', 'PauseSecs': 'pause_secs', 'MaxConsecFails': 'max_consec_fails', 'QualityChecks': 'quality_checks', 'Pilot': 'pilot', 'Context': 'context'}
    agent: str
    max_iterations: int | None
    pause_secs: int
    max_consec_fails: int
    quality_checks: tuple[str, ...]
    pilot: PilotVars | None
    context: ContextLimits

    def __init__(
        self,
        agent: str,
        pause_secs: int,
        max_consec_fails: int,
        quality_checks: Iterable[str],
        context: ContextLimits,
        max_iterations: int | None = None,
        pilot: PilotVars | None = None,
    ) -> None:
        _set(self, "agent", agent)
        _set(self, "max_iterations", max_iterations)
        _set(self, "pause_secs", pause_secs)
        _set(self, "max_consec_fails", max_consec_fails)
        _set(self, "quality_checks", items(quality_checks))
        _set(self, "pilot", pilot)
        _set(self, "context", context)


class GuardrailVars(Record):
    """The rules that work must keep to.

    Attributes:
        max_function_lines: The longest function, in lines. Default 50.
        max_file_lines: The longest file, in lines. Default 300.
        require_tests: Whether new code needs tests. Default true.
        commit_convention: How commit messages are written. Default `conventional`.
        branch_convention: How branches are named; may be empty.
        extra: Further rules, one sentence each.
    """

    __slots__ = ("max_function_lines", "max_file_lines", "require_tests", "commit_convention", "branch_convention", "extra")
    __match_args__ = ("max_function_lines", "max_file_lines", "require_tests", "commit_convention", "branch_convention", "extra")
    _wire = {'MaxFunctionLines': 'max_function_lines', 'MaxFileLines': 'max_file_lines', 'RequireTests': 'require_tests', 'CommitConvention': 'commit_convention', 'BranchConvention': 'branch_convention', 'Extra': 'extra'}
    max_function_lines: int
    max_file_lines: int
    require_tests: bool
    commit_convention: str
    branch_convention: str
    extra: tuple[str, ...]

    def __init__(
        self,
        max_function_lines: int,
        max_file_lines: int,
        require_tests: bool,
        commit_convention: str,
        branch_convention: str,
        extra: Iterable[str],
    ) -> None:
        _set(self, "max_function_lines", max_function_lines)
        _set(self, "max_file_lines", max_file_lines)
        _set(self, "require_tests", require_tests)
        _set(self, "commit_convention", commit_convention)
        _set(self, "branch_convention", branch_convention)
        _set(self, "extra", items(extra))


class PathVars(Record):
    """Where files are, as absolute paths of the host. To read one through `files-read`, take the root
    off its front.

    Attributes:
        samuel_dir: The directory `.samuel`.
        run_dir: The run directory below it.
        prd_file: The plan, `prd.toon`.
        source_prd: The PRD that the plan was converted from, which may be gone or changed
            since; empty where there is none.
        progress_file: The progress log, `progress.md`.
        task_context_file: The blob of `context.task`, `task-context.toon`.
        progress_context_file: The blob of `context.progress`, `progress-context.md`.
        snapshot_file: The blob of `context.snapshot`, `project-snapshot.toon`.
        agents_md: The project's notes for agents, `AGENTS.md`; empty where there are none.
    """

    __slots__ = ("samuel_dir", "run_dir", "prd_file", "source_prd", "progress_file", "task_context_file", "progress_context_file", "snapshot_file", "agents_md")
    __match_args__ = ("samuel_dir", "run_dir", "prd_file", "source_prd", "progress_file", "task_context_file", "progress_context_file", "snapshot_file", "agents_md")
    _wire = {'SamuelDir': 'samuel_dir', 'RunDir': 'run_dir', 'PRDFile': 'prd_file', 'SourcePRD': 'source_prd', 'ProgressFile': 'progress_file', 'TaskContextFile': 'task_context_file', 'ProgressContextFile': 'progress_context_file', 'SnapshotFile': 'snapshot_file', 'AgentsMD': 'agents_md'}
    samuel_dir: str
    run_dir: str
    prd_file: str
    source_prd: str
    progress_file: str
    task_context_file: str
    progress_context_file: str
    snapshot_file: str
    agents_md: str

    def __init__(
        self,
        samuel_dir: str,
        run_dir: str,
        prd_file: str,
        source_prd: str,
        progress_file: str,
        task_context_file: str,
        progress_context_file: str,
        snapshot_file: str,
        agents_md: str,
    ) -> None:
        _set(self, "samuel_dir", samuel_dir)
        _set(self, "run_dir", run_dir)
        _set(self, "prd_file", prd_file)
        _set(self, "source_prd", source_prd)
        _set(self, "progress_file", progress_file)
        _set(self, "task_context_file", task_context_file)
        _set(self, "progress_context_file", progress_context_file)
        _set(self, "snapshot_file", snapshot_file)
        _set(self, "agents_md", agents_md)


class CompletedTask(Record):
    """A task that was completed.

    Attributes:
        id: Its id.
        title: Its title.
        commit_sha: The commit that completed it; empty if it is not known.
    """

    __slots__ = ("id", "title", "commit_sha")
    __match_args__ = ("id", "title", "commit_sha")
    _wire = {'ID': 'id', 'Title': 'title', 'CommitSHA': 'commit_sha'}
    id: str
    title: str
    commit_sha: str

    def __init__(
        self,
        id: str,
        title: str,
        commit_sha: str,
    ) -> None:
        _set(self, "id", id)
        _set(self, "title", title)
        _set(self, "commit_sha", commit_sha)


class FailedCheck(Record):
    """A quality check that failed.

    Attributes:
        command: The command, or the name of the check.
        message: What is wrong, in one line.
        exit_code: The exit code; absent unless a command ran to its end.
        tail: The end of its output.
    """

    __slots__ = ("command", "message", "exit_code", "tail")
    __match_args__ = ("command", "message", "tail", "exit_code")
    _wire = {'Command': 'command', 'Message': 'message', 'ExitCode': 'exit_code', 'Tail': 'tail'}
    command: str
    message: str
    exit_code: int | None
    tail: str

    def __init__(
        self,
        command: str,
        message: str,
        tail: str,
        exit_code: int | None = None,
    ) -> None:
        _set(self, "command", command)
        _set(self, "message", message)
        _set(self, "exit_code", exit_code)
        _set(self, "tail", tail)


SuggestionKind: TypeAlias = Literal["ability", "document"]
"""What a suggestion points at.

- `ability`: An ability, by its id.
- `document`: A document, by its path.
"""


class Suggestion(Record):
    """Something a repository hook suggests to the agent.

    Attributes:
        kind: What it points at.
        name: The ability's id or the document's path.
        reason: Why it fits.
        confidence: From 0 to 1; absent where the hook does not say.
    """

    __slots__ = ("kind", "name", "reason", "confidence")
    __match_args__ = ("kind", "name", "reason", "confidence")
    _wire = {'Kind': 'kind', 'Name': 'name', 'Reason': 'reason', 'Confidence': 'confidence'}
    kind: SuggestionKind
    name: str
    reason: str
    confidence: float | None

    def __init__(
        self,
        kind: SuggestionKind,
        name: str,
        reason: str,
        confidence: float | None = None,
    ) -> None:
        _set(self, "kind", kind)
        _set(self, "name", name)
        _set(self, "reason", reason)
        _set(self, "confidence", confidence)


class TaskGroup(Record):
    """The group that a task is a part of.

    Attributes:
        id: Its id.
        title: Its title.
        status: Where it stands by its parts, such as `pending`.
        description: Its description, any number of lines.
        parts: How many tasks are directly a part of it.
    """

    __slots__ = ("id", "title", "status", "description", "parts")
    __match_args__ = ("id", "title", "status", "description", "parts")
    _wire = {'ID': 'id', 'Title': 'title', 'Status': 'status', 'Description': 'description', 'Parts': 'parts'}
    id: str
    title: str
    status: str
    description: str
    parts: int

    def __init__(
        self,
        id: str,
        title: str,
        status: str,
        description: str,
        parts: int,
    ) -> None:
        _set(self, "id", id)
        _set(self, "title", title)
        _set(self, "status", status)
        _set(self, "description", description)
        _set(self, "parts", parts)


class SiblingTask(Record):
    """Another part of the same group.

    Attributes:
        id: Its id.
        title: Its title.
        status: Where it stands: `pending`, `in_progress`, `completed`, `skipped` or
            `blocked`.
    """

    __slots__ = ("id", "title", "status")
    __match_args__ = ("id", "title", "status")
    _wire = {'ID': 'id', 'Title': 'title', 'Status': 'status'}
    id: str
    title: str
    status: str

    def __init__(
        self,
        id: str,
        title: str,
        status: str,
    ) -> None:
        _set(self, "id", id)
        _set(self, "title", title)
        _set(self, "status", status)


class StateVars(Record):
    """How far the plan is.

    Attributes:
        total_tasks: How many tasks there are; groups, which are done with their parts,
            count nowhere.
        pending_tasks: How many of them are pending.
        completed_tasks: How many of them are completed.
        in_progress_tasks: How many of them are in progress.
        blocked_tasks: How many of them are blocked.
        skipped_tasks: How many of them are skipped.
        next_task: The task that is or will be worked on; absent if there is none.
        parent: The group that this task is a part of; absent if it is a part of none.
        siblings: The other parts of that group, in the order of the plan: at most 30, those
            around the task.
        recent_completed: The tasks completed last, at most 5, the latest first.
        last_failures: What the last quality check complained about; empty if it passed.
        suggestions: What repository hooks suggested to consider.
    """

    __slots__ = ("total_tasks", "pending_tasks", "completed_tasks", "in_progress_tasks", "blocked_tasks", "skipped_tasks", "next_task", "parent", "siblings", "recent_completed", "last_failures", "suggestions")
    __match_args__ = ("total_tasks", "pending_tasks", "completed_tasks", "in_progress_tasks", "blocked_tasks", "skipped_tasks", "siblings", "recent_completed", "last_failures", "suggestions", "next_task", "parent")
    _wire = {'TotalTasks': 'total_tasks', 'PendingTasks': 'pending_tasks', 'CompletedTasks': 'completed_tasks', 'InProgressTasks': 'in_progress_tasks', 'BlockedTasks': 'blocked_tasks', 'SkippedTasks': 'skipped_tasks', 'NextTask': 'next_task', 'Parent': 'parent', 'Siblings': 'siblings', 'RecentCompleted': 'recent_completed', 'LastFailures': 'last_failures', 'Suggestions': 'suggestions'}
    total_tasks: int
    pending_tasks: int
    completed_tasks: int
    in_progress_tasks: int
    blocked_tasks: int
    skipped_tasks: int
    next_task: TaskVars | None
    parent: TaskGroup | None
    siblings: tuple[SiblingTask, ...]
    recent_completed: tuple[CompletedTask, ...]
    last_failures: tuple[FailedCheck, ...]
    suggestions: tuple[Suggestion, ...]

    def __init__(
        self,
        total_tasks: int,
        pending_tasks: int,
        completed_tasks: int,
        in_progress_tasks: int,
        blocked_tasks: int,
        skipped_tasks: int,
        siblings: Iterable[SiblingTask],
        recent_completed: Iterable[CompletedTask],
        last_failures: Iterable[FailedCheck],
        suggestions: Iterable[Suggestion],
        next_task: TaskVars | None = None,
        parent: TaskGroup | None = None,
    ) -> None:
        _set(self, "total_tasks", total_tasks)
        _set(self, "pending_tasks", pending_tasks)
        _set(self, "completed_tasks", completed_tasks)
        _set(self, "in_progress_tasks", in_progress_tasks)
        _set(self, "blocked_tasks", blocked_tasks)
        _set(self, "skipped_tasks", skipped_tasks)
        _set(self, "next_task", next_task)
        _set(self, "parent", parent)
        _set(self, "siblings", items(siblings))
        _set(self, "recent_completed", items(recent_completed))
        _set(self, "last_failures", items(last_failures))
        _set(self, "suggestions", items(suggestions))


class ModeVars(Record):
    """What kind of iteration this is.

    Attributes:
        is_discovery: Whether it looks for tasks.
        is_pilot: Whether pilot mode is on.
        focus: What discovery looks at; empty for everything.
        max_new_tasks: How many tasks it may add.
    """

    __slots__ = ("is_discovery", "is_pilot", "focus", "max_new_tasks")
    __match_args__ = ("is_discovery", "is_pilot", "focus", "max_new_tasks")
    _wire = {'IsDiscovery': 'is_discovery', 'IsPilot': 'is_pilot', 'Focus': 'focus', 'MaxNewTasks': 'max_new_tasks'}
    is_discovery: bool
    is_pilot: bool
    focus: str
    max_new_tasks: int

    def __init__(
        self,
        is_discovery: bool,
        is_pilot: bool,
        focus: str,
        max_new_tasks: int,
    ) -> None:
        _set(self, "is_discovery", is_discovery)
        _set(self, "is_pilot", is_pilot)
        _set(self, "focus", focus)
        _set(self, "max_new_tasks", max_new_tasks)


class HookVars(Record):
    """Which handlers are registered.

    Attributes:
        registered: Hook points and the ids of their handlers, in the order they run.
    """

    __slots__ = ("registered",)
    __match_args__ = ("registered",)
    _wire = {'Registered': 'registered'}
    registered: Mapping[str, tuple[str, ...]]

    def __init__(
        self,
        registered: Mapping[str, tuple[str, ...]],
    ) -> None:
        _set(self, "registered", registered)


OnFailure: TypeAlias = Literal["warn", "abort_iteration", "abort_loop", "abort_command"]
"""What a broken handler does to the run.

- `warn`: A warning; the next handler runs.
- `abort_iteration`: The iteration fails.
- `abort_loop`: The loop ends.
- `abort_command`: The command ends (lifecycle points).
"""


BreakClass: TypeAlias = Literal[
    "failed",
    "timeout",
    "panicked",
    "cancelled",
    "bad_output",
    "spawn",
    "signaled",
    "denied",
    "untrusted",
]
"""How a handler broke.

- `failed`: It returned an error.
- `timeout`: It did not answer in time.
- `panicked`: It panicked or trapped.
- `cancelled`: The run was cancelled while it was at work.
- `bad_output`: What it answered is not the point's output.
- `spawn`: It could not be started.
- `signaled`: A signal ended its process.
- `denied`: It used a capability that was not granted.
- `untrusted`: It is not trusted to run.
"""


class HookFailure(Record):
    """A handler that could not answer.

    Any error becomes one through `?`, with the class `BreakClass::Failed` and its causes in the
    message. It is no `std::error::Error` itself, because only then can `?` do that.

    Attributes:
        class_: How the handler broke.
        message: What happened, in one line.
        details: Further lines: causes, places, what to do next.
    """

    __slots__ = ("class_", "message", "details")
    __match_args__ = ("class_", "message", "details")
    _wire = {'class': 'class_'}
    class_: BreakClass
    message: str
    details: tuple[str, ...]

    def __init__(
        self,
        class_: BreakClass,
        message: str,
        details: Iterable[str] = (),
    ) -> None:
        _set(self, "class_", class_)
        _set(self, "message", message)
        _set(self, "details", items(details))


Speaker: TypeAlias = Literal["handler", "user", "to_user"]
"""In whose name text for the agent is said. A handler's id does not tell: it may be any name.

- `handler`: The handler's own.
- `user`: The user's: what the caller of a run steers it with.
- `to_user`: The handler's own, to the user: a message that the agent reads along with its next prompt.
"""


class Said(Record):
    """Text for the agent, with who said it.

    Attributes:
        handler: The handler's id.
        point: The point it said it at.
        item: What it said.
        speaker: In whose name it is said.
    """

    __slots__ = ("handler", "point", "item", "speaker")
    __match_args__ = ("handler", "point", "item", "speaker")
    handler: str
    point: HookPointId
    item: TextItem
    speaker: Speaker

    def __init__(
        self,
        handler: str,
        point: HookPointId,
        item: TextItem,
        speaker: Speaker = "handler",
    ) -> None:
        _set(self, "handler", handler)
        _set(self, "point", point)
        _set(self, "item", item)
        _set(self, "speaker", speaker)


class Broken(Record):
    """A handler that broke.

    Attributes:
        handler: The handler's id.
        point: The point that it was asked at.
        failure: How it broke.
        abandoned: Whether its thread is still running, because nothing can end it.
    """

    __slots__ = ("handler", "point", "failure", "abandoned")
    __match_args__ = ("handler", "point", "failure", "abandoned")
    handler: str
    point: HookPointId
    failure: HookFailure
    abandoned: bool

    def __init__(
        self,
        handler: str,
        point: HookPointId,
        failure: HookFailure,
        abandoned: bool,
    ) -> None:
        _set(self, "handler", handler)
        _set(self, "point", point)
        _set(self, "failure", failure)
        _set(self, "abandoned", abandoned)


class Abort(Record):
    """A broken handler that ends more than its own work.

    Attributes:
        handler: The handler's id.
        point: The point that it was asked at.
        action: What ends.
        failure: How the handler broke.
    """

    __slots__ = ("handler", "point", "action", "failure")
    __match_args__ = ("handler", "point", "action", "failure")
    handler: str
    point: HookPointId
    action: OnFailure
    failure: HookFailure

    def __init__(
        self,
        handler: str,
        point: HookPointId,
        action: OnFailure,
        failure: HookFailure,
    ) -> None:
        _set(self, "handler", handler)
        _set(self, "point", point)
        _set(self, "action", action)
        _set(self, "failure", failure)


class HookWarning(Record):
    """Something the user should know of a handler.

    Attributes:
        handler: The handler's id.
        class_: The class of the failure, or `refused`, `overrides`, `slow`, `scratch`.
        message: What there is to know, in one line.
    """

    __slots__ = ("handler", "class_", "message")
    __match_args__ = ("handler", "class_", "message")
    _wire = {'class': 'class_'}
    handler: str
    class_: str
    message: str

    def __init__(
        self,
        handler: str,
        class_: str,
        message: str,
    ) -> None:
        _set(self, "handler", handler)
        _set(self, "class_", class_)
        _set(self, "message", message)


class LoggedLine(Record):
    """A line that a plugin wrote to the log of the run.

    Attributes:
        handler: The handler's id.
        level: How important it is.
        message: What it says.
    """

    __slots__ = ("handler", "level", "message")
    __match_args__ = ("handler", "level", "message")
    handler: str
    level: LogLevel
    message: str

    def __init__(
        self,
        handler: str,
        level: LogLevel,
        message: str,
    ) -> None:
        _set(self, "handler", handler)
        _set(self, "level", level)
        _set(self, "message", message)


LogLevel: TypeAlias = Literal["debug", "info", "warn", "error"]
"""How important a line of a log is.

- `debug`: For whoever looks for a mistake in the plugin.
- `info`: What was done.
- `warn`: What is odd, and did not stop the handler.
- `error`: What went wrong.
"""


HookStatus: TypeAlias = Literal["ok", "refused", "asked", "failed", "broke"]
"""How a call of a handler ended.

- `ok`: It answered.
- `refused`: It answered "no".
- `asked`: It wants a person to decide.
- `failed`: It answered, but what it ran failed: the command of a session hook, or an agent that did not come to its own end.
- `broke`: It could not answer.
"""


class Timing(Record):
    """How long a handler took.

    Attributes:
        handler: The handler's id.
        took: The time it took.
        status: How the call ended.
        class_: How it failed or broke; nothing where it did not, and of an agent.
        exit_code: The code that its process exited with; nothing where it had none, or a
            signal ended it.
    """

    __slots__ = ("handler", "took", "status", "class_", "exit_code")
    __match_args__ = ("handler", "took", "status", "class_", "exit_code")
    _wire = {'class': 'class_'}
    handler: str
    took: float
    status: HookStatus
    class_: BreakClass | None
    exit_code: int | None

    def __init__(
        self,
        handler: str,
        took: float,
        status: HookStatus,
        class_: BreakClass | None = None,
        exit_code: int | None = None,
    ) -> None:
        _set(self, "handler", handler)
        _set(self, "took", took)
        _set(self, "status", status)
        _set(self, "class_", class_)
        _set(self, "exit_code", exit_code)


class HookOutcome(Record):
    """What a point's handlers said and did, without the output itself.

    Attributes:
        refused: The reason of the first refusal that counts at this point.
        advice: The reason of the first refusal, where the point's `strict = false` makes it
            advice that does not count.
        said: Text for the agent, with who said it.
        broken: Handlers that broke.
        abort: The broken handler that ends more than its own work.
        warnings: Everything the user should know.
        timings: How long each handler took.
        logged: What plugins wrote to the log of the run, in order: the first 200 lines of a
            call, each up to 1,000 characters.
        results: What repository hooks report, merged; nothing where none reported.
        skipped: Why no handler of the chain was called in this iteration, where it is for
            iterations of the other mode.
    """

    __slots__ = ("refused", "advice", "said", "broken", "abort", "warnings", "timings", "logged", "results", "skipped")
    __match_args__ = ("said", "broken", "warnings", "timings", "refused", "advice", "abort", "logged", "results", "skipped")
    _rust = "Outcome"
    refused: str | None
    advice: str | None
    said: tuple[Said, ...]
    broken: tuple[Broken, ...]
    abort: Abort | None
    warnings: tuple[HookWarning, ...]
    timings: tuple[Timing, ...]
    logged: tuple[LoggedLine, ...]
    results: HookResults | None
    skipped: str | Mapping[str, str] | None

    def __init__(
        self,
        said: Iterable[Said],
        broken: Iterable[Broken],
        warnings: Iterable[HookWarning],
        timings: Iterable[Timing],
        refused: str | None = None,
        advice: str | None = None,
        abort: Abort | None = None,
        logged: Iterable[LoggedLine] = (),
        results: HookResults | None = None,
        skipped: str | Mapping[str, str] | None = None,
    ) -> None:
        _set(self, "refused", refused)
        _set(self, "advice", advice)
        _set(self, "said", items(said))
        _set(self, "broken", items(broken))
        _set(self, "abort", abort)
        _set(self, "warnings", items(warnings))
        _set(self, "timings", items(timings))
        _set(self, "logged", items(logged))
        _set(self, "results", results)
        _set(self, "skipped", skipped)


Tier: TypeAlias = Literal[
    "built_in",
    "async",
    "blocking",
    "skill",
    "shell",
    "wasm",
    "oci",
    "python",
    "python_async",
    "python_process",
]
"""What kind of thing a handler is.

- `built_in`: Part of Samuel.
- `async`: Async Rust.
- `blocking`: Rust that blocks, on a thread of its own kind.
- `skill`: A script of a plugin, one process a call.
- `shell`: A command of a hook file, one process a call.
- `wasm`: A function of a WASM component.
- `oci`: A program of a container image, ended with its container.
- `python`: Python on a thread: left behind at its deadline, since nothing can end what does not return to the interpreter.
- `python_async`: Python on an event loop, cancelled at its deadline.
- `python_process`: Python in a process of its own, ended at its deadline.
"""


HookLayer: TypeAlias = Literal["built_in", "dialect", "plugin", "api"]
"""Where a handler comes from. The order of the cases breaks ties.

- `built_in`: Samuel itself.
- `dialect`: A session or repository hook file.
- `plugin`: A plugin.
- `api`: The program that embeds Samuel.
"""


class LaunchVariable(Record):
    """A variable of a process.

    Attributes:
        name: Its name.
        value: Its value; nothing where the name says that it is a secret, which is not
            shown.
    """

    __slots__ = ("name", "value")
    __match_args__ = ("name", "value")
    name: str
    value: str | None

    def __init__(
        self,
        name: str,
        value: str | None = None,
    ) -> None:
        _set(self, "name", name)
        _set(self, "value", value)


class Launch(Record):
    """What a handler starts, as it is started.

    Attributes:
        argv: The program and its arguments.
        cwd: The directory that it starts in.
        env: Its whole environment, by name.
        stdin: What it reads on its standard input; nothing where that is empty or stays
            open.
        timeout_ms: How long it may run, in milliseconds.
    """

    __slots__ = ("argv", "cwd", "env", "stdin", "timeout_ms")
    __match_args__ = ("argv", "cwd", "env", "stdin", "timeout_ms")
    argv: tuple[str, ...]
    cwd: str
    env: tuple[LaunchVariable, ...]
    stdin: str | None
    timeout_ms: int | None

    def __init__(
        self,
        argv: Iterable[str],
        cwd: str,
        env: Iterable[LaunchVariable],
        stdin: str | None = None,
        timeout_ms: int | None = None,
    ) -> None:
        _set(self, "argv", items(argv))
        _set(self, "cwd", cwd)
        _set(self, "env", items(env))
        _set(self, "stdin", stdin)
        _set(self, "timeout_ms", timeout_ms)


class HookExchange(Record):
    """A process of a handler: what went in, and what came out.

    Attributes:
        handler: The handler's id.
        launch: What was started.
        stdout: What it wrote to its standard output.
        stderr: What it wrote to its standard error.
        status: How it ended, such as `exit code 0`.
        exit_code: The code that it exited with; nothing where a signal ended it.
        duration_ms: How long it ran, in milliseconds.
    """

    __slots__ = ("handler", "launch", "stdout", "stderr", "status", "exit_code", "duration_ms")
    __match_args__ = ("handler", "launch", "stdout", "stderr", "status", "duration_ms", "exit_code")
    handler: str
    launch: Launch
    stdout: str
    stderr: str
    status: str
    exit_code: int | None
    duration_ms: int

    def __init__(
        self,
        handler: str,
        launch: Launch,
        stdout: str,
        stderr: str,
        status: str,
        duration_ms: int,
        exit_code: int | None = None,
    ) -> None:
        _set(self, "handler", handler)
        _set(self, "launch", launch)
        _set(self, "stdout", stdout)
        _set(self, "stderr", stderr)
        _set(self, "status", status)
        _set(self, "exit_code", exit_code)
        _set(self, "duration_ms", duration_ms)


class ListedHook(Record):
    """A hook in a list.

    Attributes:
        id: Its id.
        point: The hook point that it answers at.
        tier: What kind of thing it is.
        event_type: What its file calls the event, where that is not the hook point, such as
            `PostAbilityCall`.
        matches: Which calls it is for, in words, where it is not for all, such as
            `ability_scope=Bash`.
        enabled: Whether it runs where its point fires.
        why_not: Why it does not, where it does not.
        blocking: Whether more than its own work ends when it breaks: what it is asked
            about, or as is configured for its point.
        mode: The iterations it is for: `both`, `implementation` or `discovery`.
        place: Where it comes from: the place in a hook file, the place in samuel.toml that
            orders it, or the directory of its plugin; nothing where the program itself brings
            it.
        command: The command, of one from a hook file.
    """

    __slots__ = ("id", "point", "tier", "event_type", "matches", "enabled", "why_not", "blocking", "mode", "place", "command")
    __match_args__ = ("id", "point", "tier", "enabled", "blocking", "mode", "event_type", "matches", "why_not", "place", "command")
    id: str
    point: HookPointId
    tier: Tier
    event_type: str | None
    matches: str | None
    enabled: bool
    why_not: str | None
    blocking: bool
    mode: str
    place: str | None
    command: str | None

    def __init__(
        self,
        id: str,
        point: HookPointId,
        tier: Tier,
        enabled: bool,
        blocking: bool,
        mode: str,
        event_type: str | None = None,
        matches: str | None = None,
        why_not: str | None = None,
        place: str | None = None,
        command: str | None = None,
    ) -> None:
        _set(self, "id", id)
        _set(self, "point", point)
        _set(self, "tier", tier)
        _set(self, "event_type", event_type)
        _set(self, "matches", matches)
        _set(self, "enabled", enabled)
        _set(self, "why_not", why_not)
        _set(self, "blocking", blocking)
        _set(self, "mode", mode)
        _set(self, "place", place)
        _set(self, "command", command)


class HookList(Record):
    """The hooks of a project.

    Attributes:
        hooks: One for each handler and hook point, in the order in which they run.
        built_in: How many handlers are built in, which are not listed.
    """

    __slots__ = ("hooks", "built_in")
    __match_args__ = ("hooks", "built_in")
    hooks: tuple[ListedHook, ...]
    built_in: int

    def __init__(
        self,
        hooks: Iterable[ListedHook],
        built_in: int,
    ) -> None:
        _set(self, "hooks", items(hooks))
        _set(self, "built_in", built_in)


class HookOrigin(Record):
    """A place in a configuration file, written `samuel.toml:4:1`.

    Attributes:
        file: The file.
        line: The line, from 1.
        column: The column in characters, from 1.
    """

    __slots__ = ("file", "line", "column")
    __match_args__ = ("file", "line", "column")
    _rust = "OriginReport"
    file: str
    line: int
    column: int

    def __init__(
        self,
        file: str,
        line: int,
        column: int,
    ) -> None:
        _set(self, "file", file)
        _set(self, "line", line)
        _set(self, "column", column)


class HookAsks(Record):
    """What a handler itself asks for.

    Attributes:
        timeout_ms: How long it wants to be given, in milliseconds, if it says so.
        strict: Whether the run or command is to suffer when it breaks, if it says so.
    """

    __slots__ = ("timeout_ms", "strict")
    __match_args__ = ("timeout_ms", "strict")
    _rust = "AskedReport"
    timeout_ms: int | None
    strict: bool | None

    def __init__(
        self,
        timeout_ms: int | None = None,
        strict: bool | None = None,
    ) -> None:
        _set(self, "timeout_ms", timeout_ms)
        _set(self, "strict", strict)


class HookFileEntry(Record):
    """What a hook file says of a handler.

    Attributes:
        file: The file, relative to the project's root.
        line: The line, from 1.
        column: The column in characters, from 1.
        command: The command as it is written, on one line.
        blocking: Whether it can stop what it is asked about, and stops it where it breaks,
            whatever the chain says.
        details: What else changes how it runs, each key with its value.
        scripts: The files of the project that it starts, each with its SHA-256.
    """

    __slots__ = ("file", "line", "column", "command", "blocking", "details", "scripts")
    __match_args__ = ("file", "line", "column", "command", "blocking", "details", "scripts")
    _rust = "EntryReport"
    file: str
    line: int
    column: int
    command: str
    blocking: bool
    details: tuple[tuple[str, str], ...]
    scripts: tuple[tuple[str, str], ...]

    def __init__(
        self,
        file: str,
        line: int,
        column: int,
        command: str,
        blocking: bool,
        details: Pairs,
        scripts: Pairs,
    ) -> None:
        _set(self, "file", file)
        _set(self, "line", line)
        _set(self, "column", column)
        _set(self, "command", command)
        _set(self, "blocking", blocking)
        _set(self, "details", pairs(details))
        _set(self, "scripts", pairs(scripts))


class HookHandler(Record):
    """A handler that runs.

    Attributes:
        order: Its order; in a chain that is configured whole its place, from 0.
        id: Its id.
        tier: What kind of thing it is.
        layer: Which layer it comes from.
        source: Who brings it: `samuel`, a plugin's name, `api`, or a dialect.
        strict: Whether the run or command suffers when it breaks.
        timeout_ms: How long it may take, in milliseconds; nothing where it is exempt.
        on_failure: What happens when it breaks.
        asks: What it asks for itself; what is configured for the point counts in its place.
        entry: What a hook file says of it; nothing where it comes from elsewhere.
        origin: Where samuel.toml gives it its place, else where a hook file describes it;
            nothing where it has its place by itself.
    """

    __slots__ = ("order", "id", "tier", "layer", "source", "strict", "timeout_ms", "on_failure", "asks", "entry", "origin")
    __match_args__ = ("order", "id", "tier", "layer", "source", "strict", "on_failure", "asks", "timeout_ms", "entry", "origin")
    _rust = "HandlerReport"
    order: int
    id: str
    tier: Tier
    layer: HookLayer
    source: str
    strict: bool
    timeout_ms: int | None
    on_failure: OnFailure
    asks: HookAsks
    entry: HookFileEntry | None
    origin: HookOrigin | None

    def __init__(
        self,
        order: int,
        id: str,
        tier: Tier,
        layer: HookLayer,
        source: str,
        strict: bool,
        on_failure: OnFailure,
        asks: HookAsks,
        timeout_ms: int | None = None,
        entry: HookFileEntry | None = None,
        origin: HookOrigin | None = None,
    ) -> None:
        _set(self, "order", order)
        _set(self, "id", id)
        _set(self, "tier", tier)
        _set(self, "layer", layer)
        _set(self, "source", source)
        _set(self, "strict", strict)
        _set(self, "timeout_ms", timeout_ms)
        _set(self, "on_failure", on_failure)
        _set(self, "asks", asks)
        _set(self, "entry", entry)
        _set(self, "origin", origin)


class SkippedHook(Record):
    """A handler that does not run.

    Attributes:
        id: Its id.
        tier: What kind of thing it is; nothing for a default that does not exist.
        source: Who would bring it.
        why: Why it does not run, in words.
        by: The handler that runs in its place, where that is why.
        origin: Where samuel.toml says so.
    """

    __slots__ = ("id", "tier", "source", "why", "by", "origin")
    __match_args__ = ("id", "source", "why", "tier", "by", "origin")
    _rust = "SkippedReport"
    id: str
    tier: Tier | None
    source: str
    why: str
    by: str | None
    origin: HookOrigin | None

    def __init__(
        self,
        id: str,
        source: str,
        why: str,
        tier: Tier | None = None,
        by: str | None = None,
        origin: HookOrigin | None = None,
    ) -> None:
        _set(self, "id", id)
        _set(self, "tier", tier)
        _set(self, "source", source)
        _set(self, "why", why)
        _set(self, "by", by)
        _set(self, "origin", origin)


class HookTrial(Record):
    """What came of one hook on one event: all that went in and came out.

    Attributes:
        point: The hook point.
        id: The handler's id.
        tier: What kind of thing it is.
        place: Where it comes from, where that is known.
        status: How it ended; nothing where it was not asked, as the event is none of those
            that it is for.
        class_: How it failed or broke, where it did, such as `timeout`; nothing of an agent
            that failed.
        input: The event that it was given.
        exchanges: Its processes: what was started, what it read and printed, how it ended.
        output: What it answered; nothing where it broke.
        contributed: What it contributed to the prompt context, by namespace.
        refused: Why it refused, where it did.
        failure: How it broke, where it did.
        warnings: What the user is to know beside the failure.
        duration_ms: How long it took, in milliseconds.
    """

    __slots__ = ("point", "id", "tier", "place", "status", "class_", "input", "exchanges", "output", "contributed", "refused", "failure", "warnings", "duration_ms")
    __match_args__ = ("point", "id", "tier", "input", "exchanges", "output", "contributed", "warnings", "duration_ms", "place", "status", "class_", "refused", "failure")
    _wire = {'class': 'class_'}
    point: HookPointId
    id: str
    tier: Tier
    place: str | None
    status: HookStatus | None
    class_: BreakClass | None
    input: Any
    exchanges: tuple[HookExchange, ...]
    output: Any
    contributed: Any
    refused: str | None
    failure: HookFailure | None
    warnings: tuple[HookWarning, ...]
    duration_ms: float

    def __init__(
        self,
        point: HookPointId,
        id: str,
        tier: Tier,
        input: Any,
        exchanges: Iterable[HookExchange],
        output: Any,
        contributed: Any,
        warnings: Iterable[HookWarning],
        duration_ms: float,
        place: str | None = None,
        status: HookStatus | None = None,
        class_: BreakClass | None = None,
        refused: str | None = None,
        failure: HookFailure | None = None,
    ) -> None:
        _set(self, "point", point)
        _set(self, "id", id)
        _set(self, "tier", tier)
        _set(self, "place", place)
        _set(self, "status", status)
        _set(self, "class_", class_)
        _set(self, "input", input)
        _set(self, "exchanges", items(exchanges))
        _set(self, "output", output)
        _set(self, "contributed", contributed)
        _set(self, "refused", refused)
        _set(self, "failure", failure)
        _set(self, "warnings", items(warnings))
        _set(self, "duration_ms", duration_ms)


class HookFiring(Record):
    """What came of a point that was fired; before it is, what would.

    Attributes:
        point: The hook point.
        input: The event that its handlers are given.
        run: The handlers that run, in order.
        skipped: The handlers that do not, and why.
        outcome: What the handlers said and did; nothing where the point was not fired.
        output: What they answered together; nothing where the point was not fired.
        exchanges: Their processes, in the order in which they ended.
    """

    __slots__ = ("point", "input", "run", "skipped", "outcome", "output", "exchanges")
    __match_args__ = ("point", "input", "run", "skipped", "output", "exchanges", "outcome")
    point: HookPointId
    input: Any
    run: tuple[HookHandler, ...]
    skipped: tuple[SkippedHook, ...]
    outcome: HookOutcome | None
    output: Any
    exchanges: tuple[HookExchange, ...]

    def __init__(
        self,
        point: HookPointId,
        input: Any,
        run: Iterable[HookHandler],
        skipped: Iterable[SkippedHook],
        output: Any,
        exchanges: Iterable[HookExchange],
        outcome: HookOutcome | None = None,
    ) -> None:
        _set(self, "point", point)
        _set(self, "input", input)
        _set(self, "run", items(run))
        _set(self, "skipped", items(skipped))
        _set(self, "outcome", outcome)
        _set(self, "output", output)
        _set(self, "exchanges", items(exchanges))


class ScaffoldedHook(Record):
    """A repository hook that was written.

    Attributes:
        id: The handler's id, such as `repo:tracker`.
        event_type: What its file calls the event.
        point: The hook point of it.
        blocking: Whether it can stop what it is asked about.
        matches: Which events it is for, in words; empty for all of them.
        event: What an event has to have beside the sample of its point for the hook to be
            for it, an empty object where that is one; nothing where no such event was found.
        file: Its file, relative to the project's root.
        script: Its script, relative to the project's root.
    """

    __slots__ = ("id", "event_type", "point", "blocking", "matches", "event", "file", "script")
    __match_args__ = ("id", "event_type", "point", "blocking", "matches", "event", "file", "script")
    id: str
    event_type: str
    point: HookPointId
    blocking: bool
    matches: str
    event: Any
    file: str
    script: str

    def __init__(
        self,
        id: str,
        event_type: str,
        point: HookPointId,
        blocking: bool,
        matches: str,
        event: Any,
        file: str,
        script: str,
    ) -> None:
        _set(self, "id", id)
        _set(self, "event_type", event_type)
        _set(self, "point", point)
        _set(self, "blocking", blocking)
        _set(self, "matches", matches)
        _set(self, "event", event)
        _set(self, "file", file)
        _set(self, "script", script)


class HookLogLine(Record):
    """A hook that was called.

    Attributes:
        time: When it had answered.
        run: The run's id.
        iteration: The iteration, from 1; nothing outside of one.
        point: The hook point.
        id: The handler's id.
        tier: What kind of thing it is, such as `skill`.
        status: How it ended.
        duration_ms: How long it took, in milliseconds.
        exit: The code that its process exited with; nothing where it had none, or a signal
            ended it.
        class_: How it failed or broke, where it did, such as `timeout`; nothing of an agent
            that failed.
        warnings: What it warned of, and how it broke, without what is known to be a secret.
    """

    __slots__ = ("time", "run", "iteration", "point", "id", "tier", "status", "duration_ms", "exit", "class_", "warnings")
    __match_args__ = ("time", "run", "point", "id", "tier", "status", "duration_ms", "warnings", "iteration", "exit", "class_")
    _wire = {'class': 'class_'}
    time: str
    run: str
    iteration: int | None
    point: str
    id: str
    tier: str
    status: HookStatus
    duration_ms: int
    exit: int | None
    class_: BreakClass | None
    warnings: tuple[str, ...]

    def __init__(
        self,
        time: str,
        run: str,
        point: str,
        id: str,
        tier: str,
        status: HookStatus,
        duration_ms: int,
        warnings: Iterable[str],
        iteration: int | None = None,
        exit: int | None = None,
        class_: BreakClass | None = None,
    ) -> None:
        _set(self, "time", time)
        _set(self, "run", run)
        _set(self, "iteration", iteration)
        _set(self, "point", point)
        _set(self, "id", id)
        _set(self, "tier", tier)
        _set(self, "status", status)
        _set(self, "duration_ms", duration_ms)
        _set(self, "exit", exit)
        _set(self, "class_", class_)
        _set(self, "warnings", items(warnings))


class HookLog(Record):
    """What the log has.

    Attributes:
        lines: The lines, oldest first.
        left_out: How many more there are that were asked for, before these.
        unreadable: How many lines cannot be read.
    """

    __slots__ = ("lines", "left_out", "unreadable")
    __match_args__ = ("lines", "left_out", "unreadable")
    lines: tuple[HookLogLine, ...]
    left_out: int
    unreadable: int

    def __init__(
        self,
        lines: Iterable[HookLogLine],
        left_out: int,
        unreadable: int,
    ) -> None:
        _set(self, "lines", items(lines))
        _set(self, "left_out", left_out)
        _set(self, "unreadable", unreadable)


class PromptQuotation(Record):
    """A quotation in a prompt.

    Attributes:
        source: Whose text it is, such as `the plan`.
        tokens: How many tokens it has, as an estimate, with the lines that mark it.
        left_out: What was left out of it for its size, in a few words.
    """

    __slots__ = ("source", "tokens", "left_out")
    __match_args__ = ("source", "tokens", "left_out")
    source: str
    tokens: int
    left_out: str | None

    def __init__(
        self,
        source: str,
        tokens: int,
        left_out: str | None = None,
    ) -> None:
        _set(self, "source", source)
        _set(self, "tokens", tokens)
        _set(self, "left_out", left_out)


class PromptSection(Record):
    """A section of a prompt, without those below it.

    Attributes:
        title: Its heading; empty for what stands before the first.
        level: The level of the heading, 1 or 2; 0 before the first.
        tokens: How many tokens it has, as an estimate.
        characters: How many characters it has.
        quotations: What is quoted in it, in its order.
    """

    __slots__ = ("title", "level", "tokens", "characters", "quotations")
    __match_args__ = ("title", "level", "tokens", "characters", "quotations")
    title: str
    level: int
    tokens: int
    characters: int
    quotations: tuple[PromptQuotation, ...]

    def __init__(
        self,
        title: str,
        level: int,
        tokens: int,
        characters: int,
        quotations: Iterable[PromptQuotation],
    ) -> None:
        _set(self, "title", title)
        _set(self, "level", level)
        _set(self, "tokens", tokens)
        _set(self, "characters", characters)
        _set(self, "quotations", items(quotations))


class PromptStats(Record):
    """What a prompt consists of.

    Attributes:
        method: How tokens are estimated: `characters/4`. Each model counts in its own way.
        tokens: How many tokens the prompt has, as an estimate.
        characters: How many characters it has.
        sections: Its sections, in their order. Each is rounded up, so together they may
            have a few tokens more than the prompt.
    """

    __slots__ = ("method", "tokens", "characters", "sections")
    __match_args__ = ("method", "tokens", "characters", "sections")
    method: str
    tokens: int
    characters: int
    sections: tuple[PromptSection, ...]

    def __init__(
        self,
        method: str,
        tokens: int,
        characters: int,
        sections: Iterable[PromptSection],
    ) -> None:
        _set(self, "method", method)
        _set(self, "tokens", tokens)
        _set(self, "characters", characters)
        _set(self, "sections", items(sections))


class ControlFileChange(Record):
    """A control file that is not as it was when a run was built.

    A digest is `sha256:` and 64 digits; of a file above 64 MiB its length and its stamps, and
    `unreadable: ` with the reason where the file cannot be read.

    Attributes:
        path: The file, relative to the project's root; a plugin as a whole by its
            directory, with a slash at its end.
        named_by: Why the file is watched, such as ``run by quality check `sh check.sh` ``;
            absent where the path itself says what the file is for.
        before: Its digest when the run was built; absent where there was no file.
        now: Its digest now; absent where there is no file. The same as `before` where the
            file was written in the meantime and then put back.
    """

    __slots__ = ("path", "named_by", "before", "now")
    __match_args__ = ("path", "named_by", "before", "now")
    path: str
    named_by: str | None
    before: str | None
    now: str | None

    def __init__(
        self,
        path: str,
        named_by: str | None = None,
        before: str | None = None,
        now: str | None = None,
    ) -> None:
        _set(self, "path", path)
        _set(self, "named_by", named_by)
        _set(self, "before", before)
        _set(self, "now", now)


ExecutableKind: TypeAlias = Literal[
    "agent",
    "plugin",
    "quality_check",
    "setup_command",
    "hook_point",
    "handler",
    "hook_command",
    "template",
]
"""What kind of thing would execute.

- `agent`: The agent.
- `plugin`: An installed plugin.
- `quality_check`: A quality check.
- `setup_command`: A command that gets the work tree of a lane ready.
- `hook_point`: A hook point whose chain is configured, which can turn off what checks.
- `handler`: A handler of a hook point, beside the built-in ones.
- `hook_command`: A command of a hook file.
- `template`: A prompt template in the place of a built-in one.
"""


class Executable(Record):
    """One thing that would execute.

    Attributes:
        kind: What it is.
        id: Which one: the agent, plugin or handler by its name, a quality check by its
            number from 1, a hook point by its id, a template by its path.
        place: Where it is: the agent's program, a plugin's directory, the hook point of a
            handler; absent where that says nothing more.
        command: What is started. Of an agent it is plain where each word ends; a quality
            check is text for the shell.
        details: What changes how it runs, each by name.
    """

    __slots__ = ("kind", "id", "place", "command", "details")
    __match_args__ = ("kind", "id", "details", "place", "command")
    kind: ExecutableKind
    id: str
    place: str | None
    command: str | None
    details: tuple[tuple[str, str], ...]

    def __init__(
        self,
        kind: ExecutableKind,
        id: str,
        details: Pairs,
        place: str | None = None,
        command: str | None = None,
    ) -> None:
        _set(self, "kind", kind)
        _set(self, "id", id)
        _set(self, "place", place)
        _set(self, "command", command)
        _set(self, "details", pairs(details))


class Executables(Record):
    """What a run would execute: the agent, unless a handler is in its place, then plugins, quality
    checks, hook points that are configured, handlers and prompt templates, each in the order in
    which they are configured or run.

    Attributes:
        entries: Everything that would execute.
        changes: The control files that the last run left changed, and that nobody has
            accepted since. After a run that was cut off, those that are not as that run found
            them.
    """

    __slots__ = ("entries", "changes")
    __match_args__ = ("entries", "changes")
    entries: tuple[Executable, ...]
    changes: tuple[ControlFileChange, ...]

    def __init__(
        self,
        entries: Iterable[Executable],
        changes: Iterable[ControlFileChange],
    ) -> None:
        _set(self, "entries", items(entries))
        _set(self, "changes", items(changes))


class TrustRecord(Record):
    """What was trusted of a project.

    Attributes:
        version: The version of the format, 1.
        root: The project's canonical root, as it is shown.
        trusted_at: When it was trusted.
        entries: What was trusted to execute.
    """

    __slots__ = ("version", "root", "trusted_at", "entries")
    __match_args__ = ("version", "root", "trusted_at", "entries")
    version: int
    root: str
    trusted_at: str
    entries: tuple[Executable, ...]

    def __init__(
        self,
        version: int,
        root: str,
        trusted_at: str,
        entries: Iterable[Executable],
    ) -> None:
        _set(self, "version", version)
        _set(self, "root", root)
        _set(self, "trusted_at", trusted_at)
        _set(self, "entries", items(entries))


class AgentReady(Record):
    """The agent is up; some name their own session, and some of them only at its end. A later turn
    goes on in the one that was named last.

    Attributes:
        session_id: The agent's name for its session.
        model: The model it uses.
    """

    __slots__ = ("session_id", "model")
    __match_args__ = ("session_id", "model")
    _tag = ('type', 'ready')
    session_id: str | None
    model: str | None

    def __init__(
        self,
        session_id: str | None = None,
        model: str | None = None,
    ) -> None:
        _set(self, "session_id", session_id)
        _set(self, "model", model)


class AgentText(Record):
    """The agent says something. A slow consumer may lose these.

    Attributes:
        text: What it says, capped by the adapter.
    """

    __slots__ = ("text",)
    __match_args__ = ("text",)
    _tag = ('type', 'text')
    text: str

    def __init__(
        self,
        text: str,
    ) -> None:
        _set(self, "text", text)


class ToolCall(Record):
    """The agent calls a tool, which Samuel sees but cannot prevent.

    Attributes:
        call_id: The agent's id for the call, unique within one call of the agent.
        ability_id: The tool, such as `Bash`.
        input: The arguments, a JSON document.
        parent_id: The agent's id for the call that this one was made from, such as the one
            that started a subagent; nothing where the agent itself made it, or does not say.
    """

    __slots__ = ("call_id", "ability_id", "input", "parent_id")
    __match_args__ = ("call_id", "ability_id", "input", "parent_id")
    _tag = ('type', 'tool_call')
    call_id: str
    ability_id: str
    input: Any
    parent_id: str | None

    def __init__(
        self,
        call_id: str,
        ability_id: str,
        input: Any,
        parent_id: str | None = None,
    ) -> None:
        _set(self, "call_id", call_id)
        _set(self, "ability_id", ability_id)
        _set(self, "input", input)
        _set(self, "parent_id", parent_id)


class ToolResult(Record):
    """A tool call ended.

    Attributes:
        call_id: The agent's id for the call.
        ability_id: The tool, such as `Bash`.
        status: How it ended.
        duration_ms: How long it took, in milliseconds, where that is known.
        output_summary: The result, capped by the adapter.
        input: The arguments, a JSON document; needed only where nobody reported or asked
            about the call before it was made.
        takes_text: Whether whoever reports this hands the model at once what handlers say
            about it. Else it waits for the next prompt.
    """

    __slots__ = ("call_id", "ability_id", "status", "duration_ms", "output_summary", "input", "takes_text")
    __match_args__ = ("call_id", "ability_id", "status", "duration_ms", "output_summary", "input", "takes_text")
    _tag = ('type', 'tool_result')
    call_id: str
    ability_id: str
    status: AbilityStatus
    duration_ms: int | None
    output_summary: str | None
    input: Any
    takes_text: bool

    def __init__(
        self,
        call_id: str,
        ability_id: str,
        status: AbilityStatus = "success",
        duration_ms: int | None = None,
        output_summary: str | None = None,
        input: Any = None,
        takes_text: bool = False,
    ) -> None:
        _set(self, "call_id", call_id)
        _set(self, "ability_id", ability_id)
        _set(self, "status", status)
        _set(self, "duration_ms", duration_ms)
        _set(self, "output_summary", output_summary)
        _set(self, "input", input)
        _set(self, "takes_text", takes_text)


class AgentUsage(Record):
    """What was consumed so far by this call of the agent, as a running total.

    Attributes:
        input_tokens: Tokens read, those from a cache included.
        output_tokens: Tokens written.
        cached_tokens: The part of the tokens read that came from a cache.
        cost_usd: What it cost, in US dollars; absent where the agent does not say. A number
            that is no amount of money counts as absent.
    """

    __slots__ = ("input_tokens", "output_tokens", "cached_tokens", "cost_usd")
    __match_args__ = ("input_tokens", "output_tokens", "cached_tokens", "cost_usd")
    _tag = ('type', 'usage')
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    cost_usd: float | None

    def __init__(
        self,
        input_tokens: int = 0,
        output_tokens: int = 0,
        cached_tokens: int = 0,
        cost_usd: float | None = None,
    ) -> None:
        _set(self, "input_tokens", input_tokens)
        _set(self, "output_tokens", output_tokens)
        _set(self, "cached_tokens", cached_tokens)
        _set(self, "cost_usd", cost_usd)


class PermissionDenied(Record):
    """The agent asked for something it may not do.

    Attributes:
        tool: The tool, such as `Bash`.
        message: What it was refused, capped by the adapter.
    """

    __slots__ = ("tool", "message")
    __match_args__ = ("tool", "message")
    _tag = ('type', 'permission_denied')
    tool: str
    message: str

    def __init__(
        self,
        tool: str,
        message: str,
    ) -> None:
        _set(self, "tool", tool)
        _set(self, "message", message)


class RateLimited(Record):
    """The provider refuses because of a usage limit.

    Attributes:
        resets_at: When the limit ends, where the provider says.
        message: The provider's words.
    """

    __slots__ = ("resets_at", "message")
    __match_args__ = ("message", "resets_at")
    _tag = ('type', 'rate_limited')
    resets_at: str | None
    message: str

    def __init__(
        self,
        message: str,
        resets_at: str | None = None,
    ) -> None:
        _set(self, "resets_at", resets_at)
        _set(self, "message", message)


class SoftDeadline(Record):
    """The wall clock will end the agent soon.

    Attributes:
        remaining_ms: Milliseconds that are left.
    """

    __slots__ = ("remaining_ms",)
    __match_args__ = ("remaining_ms",)
    _tag = ('type', 'soft_deadline')
    remaining_ms: int

    def __init__(
        self,
        remaining_ms: int,
    ) -> None:
        _set(self, "remaining_ms", remaining_ms)


class AgentUnreadable(Record):
    """A line of the stream the adapter could not read, which it went over.

    Attributes:
        line: The start of the line.
    """

    __slots__ = ("line",)
    __match_args__ = ("line",)
    _tag = ('type', 'unreadable')
    line: str

    def __init__(
        self,
        line: str,
    ) -> None:
        _set(self, "line", line)


AgentEvent: TypeAlias = (
    AgentReady
    | AgentText
    | ToolCall
    | ToolResult
    | AgentUsage
    | PermissionDenied
    | RateLimited
    | SoftDeadline
    | AgentUnreadable
)
"""One thing an agent reports."""


class ToolAllowed(Record):
    """The call is made with these arguments.

    Attributes:
        input: The arguments, as handlers left them.
    """

    __slots__ = ("input",)
    __match_args__ = ("input",)
    _tag = ('decision', 'allow')
    input: Any

    def __init__(
        self,
        input: Any,
    ) -> None:
        _set(self, "input", input)


class ToolBlocked(Record):
    """The call is not made.

    Attributes:
        reason: Why not, for the agent to read.
    """

    __slots__ = ("reason",)
    __match_args__ = ("reason",)
    _tag = ('decision', 'block')
    reason: str

    def __init__(
        self,
        reason: str,
    ) -> None:
        _set(self, "reason", reason)


AbilityDecision: TypeAlias = ToolAllowed | ToolBlocked
"""What the handlers of `ability.before` decided about an enforced call."""


class AgentTotal(Record):
    """What the calls of one agent consumed.

    Attributes:
        agent: The agent's name.
        usage: What they consumed.
    """

    __slots__ = ("agent", "usage")
    __match_args__ = ("agent", "usage")
    agent: str
    usage: Usage

    def __init__(
        self,
        agent: str,
        usage: Usage,
    ) -> None:
        _set(self, "agent", agent)
        _set(self, "usage", usage)


ClaimPhase: TypeAlias = Literal["working", "submitted", "held", "landing", "released"]
"""How far a claim is.

- `working`: Somebody works on it.
- `submitted`: The work is done and waits to be merged.
- `held`: The work is done, and a person holds it: it is merged once they let go of it.
- `landing`: The work is being landed: it may be on the branch already.
- `released`: Nobody works on it; what an earlier attempt came to is kept for the next one.
"""


class Claim(Record):
    """Who works on a task or has a role, since when, and how far that is.

    Attributes:
        task: The task, or the role.
        token: The revision of the plan that made the claim. Whoever changes the claim names
            it.
        worker: Who works on it; nothing where nobody does.
        phase: How far it is.
        attempt: Which attempt at the task it is, from 1. Of a released one: how many
            attempts have failed, those that were cut off not counted.
        branch: The branch with the work that was submitted; of a released one, where the
            work is kept; of the role that lands, the branch that is moved. Nothing while there
            is none.
        commit: The commit that was submitted; of the role that lands, the one that the
            branch is moved to.
        since: Since when it is in this phase; being landed, since it was submitted.
        base: The commit that the work began at; of the role that lands, the one that the
            branch is moved from.
        tree: The tree that passed the checks before it was submitted, where one did.
        landed: The commit with the work on the branch that is moved, while it lands.
        why: Why the last attempt was released, in a few lines; nothing of a first one.
        files: The files in which earlier attempts were in conflict, from the root of the
            project. They count as declared by the task, up to `MAX_CONFLICT_FILES`.
    """

    __slots__ = ("task", "token", "worker", "phase", "attempt", "branch", "commit", "since", "base", "tree", "landed", "why", "files")
    __match_args__ = ("task", "token", "phase", "attempt", "since", "worker", "branch", "commit", "base", "tree", "landed", "why", "files")
    task: str
    token: int
    worker: str | None
    phase: ClaimPhase
    attempt: int
    branch: str | None
    commit: str | None
    since: str
    base: str | None
    tree: str | None
    landed: str | None
    why: str | None
    files: tuple[str, ...]

    def __init__(
        self,
        task: str,
        token: int,
        phase: ClaimPhase,
        attempt: int,
        since: str,
        worker: str | None = None,
        branch: str | None = None,
        commit: str | None = None,
        base: str | None = None,
        tree: str | None = None,
        landed: str | None = None,
        why: str | None = None,
        files: Iterable[str] = (),
    ) -> None:
        _set(self, "task", task)
        _set(self, "token", token)
        _set(self, "worker", worker)
        _set(self, "phase", phase)
        _set(self, "attempt", attempt)
        _set(self, "branch", branch)
        _set(self, "commit", commit)
        _set(self, "since", since)
        _set(self, "base", base)
        _set(self, "tree", tree)
        _set(self, "landed", landed)
        _set(self, "why", why)
        _set(self, "files", items(files))


class QueueEntry(Record):
    """Work that waits to be landed.

    Attributes:
        task: The task.
        title: Its title.
        place: Where it is.
        why: Why it waits, in one line.
        branch: The branch that it is on.
        commit: Its last commit.
        attempt: Which attempt at the task it is, from 1.
        worker: Who submitted it.
        since: Since when it is as it is.
        held_by: Who holds it, where a person does and the journal still tells.
    """

    __slots__ = ("task", "title", "place", "why", "branch", "commit", "attempt", "worker", "since", "held_by")
    __match_args__ = ("task", "title", "place", "why", "attempt", "since", "branch", "commit", "worker", "held_by")
    task: str
    title: str
    place: QueuePlace
    why: str
    branch: str | None
    commit: str | None
    attempt: int
    worker: str | None
    since: str
    held_by: str | None

    def __init__(
        self,
        task: str,
        title: str,
        place: QueuePlace,
        why: str,
        attempt: int,
        since: str,
        branch: str | None = None,
        commit: str | None = None,
        worker: str | None = None,
        held_by: str | None = None,
    ) -> None:
        _set(self, "task", task)
        _set(self, "title", title)
        _set(self, "place", place)
        _set(self, "why", why)
        _set(self, "branch", branch)
        _set(self, "commit", commit)
        _set(self, "attempt", attempt)
        _set(self, "worker", worker)
        _set(self, "since", since)
        _set(self, "held_by", held_by)


class QueueList(Record):
    """What waits to be landed, in the order in which it is taken.

    Attributes:
        into: The branch that it lands on; nothing where that is not known.
        worker: Who has the role `@merge`; nothing where nobody merges, as after a run that
            was killed.
        is_at_work: Whether a loop is at work here.
        held: What is in the way of all of it, where something is.
        entries: The work: what is being landed first, what somebody holds last.
    """

    __slots__ = ("into", "worker", "is_at_work", "held", "entries")
    __match_args__ = ("is_at_work", "entries", "into", "worker", "held")
    into: str | None
    worker: str | None
    is_at_work: bool
    held: str | None
    entries: tuple[QueueEntry, ...]

    def __init__(
        self,
        is_at_work: bool,
        entries: Iterable[QueueEntry],
        into: str | None = None,
        worker: str | None = None,
        held: str | None = None,
    ) -> None:
        _set(self, "into", into)
        _set(self, "worker", worker)
        _set(self, "is_at_work", is_at_work)
        _set(self, "held", held)
        _set(self, "entries", items(entries))


LaneStanding: TypeAlias = Literal["working", "waits", "empty", "landed", "left"]
"""How a branch of a lane stands.

- `working`: A lane works on it.
- `waits`: It waits to be merged, is held, or is being landed.
- `empty`: Nothing was made on it.
- `landed`: Its work is on another branch.
- `left`: It has work that is on no other branch.
"""


class LaneWorkTree(Record):
    """A clone in which a worker or a single loop works, or the queue checks.

    Attributes:
        name: Its name: `lane-1`, `queue`, `loop`.
        path: Where it is.
        task: The task that is worked on there.
        since: Since when.
        branch: The branch that is checked out; nothing between branches.
        landed_on: A branch that has what is checked out, where one does.
        holds: Why it must not be removed, where that is so. No git is run there to find
            out.
    """

    __slots__ = ("name", "path", "task", "since", "branch", "landed_on", "holds")
    __match_args__ = ("name", "path", "task", "since", "branch", "landed_on", "holds")
    name: str
    path: str
    task: str | None
    since: str | None
    branch: str | None
    landed_on: str | None
    holds: str | None

    def __init__(
        self,
        name: str,
        path: str,
        task: str | None = None,
        since: str | None = None,
        branch: str | None = None,
        landed_on: str | None = None,
        holds: str | None = None,
    ) -> None:
        _set(self, "name", name)
        _set(self, "path", path)
        _set(self, "task", task)
        _set(self, "since", since)
        _set(self, "branch", branch)
        _set(self, "landed_on", landed_on)
        _set(self, "holds", holds)


class LaneBranch(Record):
    """A branch of a lane, or a reference of kept work.

    Attributes:
        name: Its name, as `git log` takes it.
        task: The task, where that is known.
        standing: How it stands.
        landed_on: A branch that has its work, where one does.
        ahead: How many of its commits no branch of the user's has.
        commit: Its last commit.
        since: When that was made.
        checked_out: The work tree in which it is checked out, if it is in one.
    """

    __slots__ = ("name", "task", "standing", "landed_on", "ahead", "commit", "since", "checked_out")
    __match_args__ = ("name", "standing", "ahead", "commit", "since", "task", "landed_on", "checked_out")
    name: str
    task: str | None
    standing: LaneStanding
    landed_on: str | None
    ahead: int
    commit: str
    since: str
    checked_out: str | None

    def __init__(
        self,
        name: str,
        standing: LaneStanding,
        ahead: int,
        commit: str,
        since: str,
        task: str | None = None,
        landed_on: str | None = None,
        checked_out: str | None = None,
    ) -> None:
        _set(self, "name", name)
        _set(self, "task", task)
        _set(self, "standing", standing)
        _set(self, "landed_on", landed_on)
        _set(self, "ahead", ahead)
        _set(self, "commit", commit)
        _set(self, "since", since)
        _set(self, "checked_out", checked_out)


class LaneList(Record):
    """What lanes have in a project.

    Attributes:
        into: The branch that work lands on; nothing where that is not known.
        is_running: Whether a loop is at work.
        work_trees: The work trees, by name.
        branches: The branches, and the references of kept work, oldest first.
    """

    __slots__ = ("into", "is_running", "work_trees", "branches")
    __match_args__ = ("is_running", "work_trees", "branches", "into")
    into: str | None
    is_running: bool
    work_trees: tuple[LaneWorkTree, ...]
    branches: tuple[LaneBranch, ...]

    def __init__(
        self,
        is_running: bool,
        work_trees: Iterable[LaneWorkTree],
        branches: Iterable[LaneBranch],
        into: str | None = None,
    ) -> None:
        _set(self, "into", into)
        _set(self, "is_running", is_running)
        _set(self, "work_trees", items(work_trees))
        _set(self, "branches", items(branches))


class KeptOfLanes(Record):
    """Something that lanes left and that stays.

    Attributes:
        name: The branch, reference or work tree.
        why: Why, in one line.
    """

    __slots__ = ("name", "why")
    __match_args__ = ("name", "why")
    name: str
    why: str

    def __init__(
        self,
        name: str,
        why: str,
    ) -> None:
        _set(self, "name", name)
        _set(self, "why", why)


class CleanedLanes(Record):
    """What was removed of what lanes left, and what was not.

    Attributes:
        removed: The names of the branches and work trees that are gone.
        kept: What stays.
    """

    __slots__ = ("removed", "kept")
    __match_args__ = ("removed", "kept")
    removed: tuple[str, ...]
    kept: tuple[KeptOfLanes, ...]

    def __init__(
        self,
        removed: Iterable[str],
        kept: Iterable[KeptOfLanes],
    ) -> None:
        _set(self, "removed", items(removed))
        _set(self, "kept", items(kept))


class MergeReport(Record):
    """The result of merging the work of a run.

    Attributes:
        branch: The branch that was merged; nothing if there was nothing to merge.
        into: The branch that is checked out, into which it was merged.
        old: The commit that this branch was at.
        new: The commit that it is at now.
        is_fast_forward: Whether no commit was made for the merge.
        cleaned: The branches and workspaces that were removed since their work is merged,
            and those that stay.
        waiting: The tasks whose submitted work still waits in the merge queue.
    """

    __slots__ = ("branch", "into", "old", "new", "is_fast_forward", "cleaned", "waiting")
    __match_args__ = ("is_fast_forward", "cleaned", "waiting", "branch", "into", "old", "new")
    branch: str | None
    into: str | None
    old: str | None
    new: str | None
    is_fast_forward: bool
    cleaned: CleanedLanes
    waiting: tuple[str, ...]

    def __init__(
        self,
        is_fast_forward: bool,
        cleaned: CleanedLanes,
        waiting: Iterable[str],
        branch: str | None = None,
        into: str | None = None,
        old: str | None = None,
        new: str | None = None,
    ) -> None:
        _set(self, "branch", branch)
        _set(self, "into", into)
        _set(self, "old", old)
        _set(self, "new", new)
        _set(self, "is_fast_forward", is_fast_forward)
        _set(self, "cleaned", cleaned)
        _set(self, "waiting", items(waiting))


class LandedWork(Record):
    """Work that has landed.

    Attributes:
        task: The task.
        commit: The commit on the branch that has it.
        unchanged: Whether the merge changed nothing.
    """

    __slots__ = ("task", "commit", "unchanged")
    __match_args__ = ("task", "commit", "unchanged")
    task: str
    commit: str
    unchanged: bool

    def __init__(
        self,
        task: str,
        commit: str,
        unchanged: bool,
    ) -> None:
        _set(self, "task", task)
        _set(self, "commit", commit)
        _set(self, "unchanged", unchanged)


class ReturnedWork(Record):
    """Work that came back.

    Attributes:
        task: The task.
        attempt: Which attempt it was, from 1.
        reason: Why.
        kept: Where the work is kept, if it is.
    """

    __slots__ = ("task", "attempt", "reason", "kept")
    __match_args__ = ("task", "attempt", "reason", "kept")
    task: str
    attempt: int
    reason: str
    kept: str | None

    def __init__(
        self,
        task: str,
        attempt: int,
        reason: str,
        kept: str | None = None,
    ) -> None:
        _set(self, "task", task)
        _set(self, "attempt", attempt)
        _set(self, "reason", reason)
        _set(self, "kept", kept)


class LandReport(Record):
    """What came of a landing without a loop.

    Attributes:
        into: The branch that work landed on; nothing where nothing had been submitted.
        landed: The tasks whose work has landed, with the commits on the branch that have
            it, in turn.
        returned: The tasks whose work came back: they are to be worked on again, or
            blocked.
        queue: What waits still.
        fault: Why it could not go on, where it could not.
    """

    __slots__ = ("into", "landed", "returned", "queue", "fault")
    __match_args__ = ("landed", "returned", "queue", "into", "fault")
    into: str | None
    landed: tuple[LandedWork, ...]
    returned: tuple[ReturnedWork, ...]
    queue: QueueList
    fault: str | None

    def __init__(
        self,
        landed: Iterable[LandedWork],
        returned: Iterable[ReturnedWork],
        queue: QueueList,
        into: str | None = None,
        fault: str | None = None,
    ) -> None:
        _set(self, "into", into)
        _set(self, "landed", items(landed))
        _set(self, "returned", items(returned))
        _set(self, "queue", queue)
        _set(self, "fault", fault)


class Location(Record):
    """A place in a file.

    Attributes:
        file: The file.
        line: The line, from 1.
        column: The column in characters, from 1.
    """

    __slots__ = ("file", "line", "column")
    __match_args__ = ("file", "line", "column")
    file: str
    line: int | None
    column: int | None

    def __init__(
        self,
        file: str,
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        _set(self, "file", file)
        _set(self, "line", line)
        _set(self, "column", column)


class Feedback(Record):
    """What the handlers of a point said, merged over all of them. All of it is data: what is done
    about it is the caller's to say.

    Attributes:
        blocked: Why what was about to happen must not: the reason of the handler that
            blocked it, or how one broke that must not. Nothing where it may, and at points
            where nobody can block.
        text: Text for the agent, with who said it and at which point, in the order in which
            it was said.
        results: Logs, messages to the user, suggested abilities and documents, follow-up
            actions, an intent: merged, and never acted upon.
        warnings: What the user is to know of the handlers, those that broke among it.
        aborted: The handler that broke where the configuration has that end more than its
            own work.
        unheard: Why a stop was blocked that is not put off any more, since it was blocked
            as often in a row as it may be.
    """

    __slots__ = ("blocked", "text", "results", "warnings", "aborted", "unheard")
    __match_args__ = ("text", "results", "warnings", "blocked", "aborted", "unheard")
    blocked: str | None
    text: tuple[Said, ...]
    results: HookResults
    warnings: tuple[HookWarning, ...]
    aborted: Abort | None
    unheard: str | None

    def __init__(
        self,
        text: Iterable[Said],
        results: HookResults,
        warnings: Iterable[HookWarning],
        blocked: str | None = None,
        aborted: Abort | None = None,
        unheard: str | None = None,
    ) -> None:
        _set(self, "blocked", blocked)
        _set(self, "text", items(text))
        _set(self, "results", results)
        _set(self, "warnings", items(warnings))
        _set(self, "aborted", aborted)
        _set(self, "unheard", unheard)


class AbilityPermission(Record):
    """What the handlers of `ability.before` decided.

    Attributes:
        call_id: The id of the call, by which `after` knows it.
        decision: Whether the call may be made, and with which arguments. What a person was
            to decide on is denied, since nobody is asked.
        feedback: What the handlers said beside it.
    """

    __slots__ = ("call_id", "decision", "feedback")
    __match_args__ = ("call_id", "decision", "feedback")
    call_id: str
    decision: AbilityDecision
    feedback: Feedback

    def __init__(
        self,
        call_id: str,
        decision: AbilityDecision,
        feedback: Feedback,
    ) -> None:
        _set(self, "call_id", call_id)
        _set(self, "decision", decision)
        _set(self, "feedback", feedback)


PlanChange: TypeAlias = Literal[
    "skipped",
    "blocked",
    "reset",
    "added",
    "reopened",
    "changed",
    "removed",
    "asked",
    "answered",
    "held",
    "let_go",
]
"""What became of a task that was changed beside the loop.

- `skipped`: It is left out.
- `blocked`: It cannot be worked on until somebody resets it.
- `reset`: It is pending again.
- `added`: It is new.
- `reopened`: It was completed and is not any more, but is being worked on.
- `changed`: It says something else.
- `removed`: It is in the plan no more.
- `asked`: It waits for an answer to the question that is the reason.
- `answered`: Its question was answered with the reason, and it is pending again.
- `held`: Its submitted work is not to be merged until somebody lets go of it.
- `let_go`: Its submitted work, which somebody held, waits to be merged again.
"""


CheckResult: TypeAlias = Literal["passed", "failed", "advisory", "cancelled", "unverified"]
"""How the quality checks went.

- `passed`: All passed.
- `failed`: Something failed, and what the iteration completed was taken back.
- `advisory`: Something failed, and `strict = false` makes that advice.
- `cancelled`: They were cancelled, and say nothing about the work.
- `unverified`: Nothing is there that could be asked.
"""


class IterationFailure(Record):
    """How an iteration or an agent call failed.

    Attributes:
        class_: The kind of thing that failed.
        message: What failed, in one line.
    """

    __slots__ = ("class_", "message")
    __match_args__ = ("class_", "message")
    _wire = {'class': 'class_'}
    class_: FailureClass
    message: str

    def __init__(
        self,
        class_: FailureClass,
        message: str,
    ) -> None:
        _set(self, "class_", class_)
        _set(self, "message", message)


class RunStarted(EventBase):
    """The run started, or goes on after an interruption.

    Attributes:
        resumed: Whether it goes on.
        agent: The agent's name.
        model: Its model, where one is configured.
        routing: Which other agents and models its calls can have, on one line; nothing
            where none.
        max_iterations: How many iterations it may make; nothing where there is no limit.
        tasks: The tasks that it is for, beside what they depend on; none where it is for
            all.
        guards: What can end it, or take a task out of it.
        commit: The commit that was checked out then, where there was one; with lanes the
            head of the branch that work lands on.
        goes_on_from: The id that the run had before it was interrupted, where it goes on.
    """

    __slots__ = ("resumed", "agent", "model", "routing", "max_iterations", "tasks", "guards", "commit", "goes_on_from")
    __match_args__ = ("resumed", "agent", "tasks", "guards", "model", "routing", "max_iterations", "commit", "goes_on_from")
    _tag = ('event', 'run_started')
    resumed: bool
    agent: str
    model: str | None
    routing: str | None
    max_iterations: int | None
    tasks: tuple[str, ...]
    guards: tuple[Guard, ...]
    commit: str | None
    goes_on_from: str | None

    def __init__(
        self,
        resumed: bool,
        agent: str,
        tasks: Iterable[str],
        guards: Iterable[Guard],
        model: str | None = None,
        routing: str | None = None,
        max_iterations: int | None = None,
        commit: str | None = None,
        goes_on_from: str | None = None,
        *,
        seq: int = 0,
        at: str = "",
        elapsed_ms: int = 0,
        run_id: str = "",
        lane: int | None = None,
    ) -> None:
        super().__init__(seq=seq, at=at, elapsed_ms=elapsed_ms, run_id=run_id, lane=lane)
        _set(self, "resumed", resumed)
        _set(self, "agent", agent)
        _set(self, "model", model)
        _set(self, "routing", routing)
        _set(self, "max_iterations", max_iterations)
        _set(self, "tasks", items(tasks))
        _set(self, "guards", items(guards))
        _set(self, "commit", commit)
        _set(self, "goes_on_from", goes_on_from)


class LandingStarted(EventBase):
    """A landing without a loop starts, which tells nothing of what only loops do.

    Attributes:
        into: The branch that work lands on.
    """

    __slots__ = ("into",)
    __match_args__ = ("into",)
    _tag = ('event', 'landing_started')
    into: str

    def __init__(
        self,
        into: str,
        *,
        seq: int = 0,
        at: str = "",
        elapsed_ms: int = 0,
        run_id: str = "",
        lane: int | None = None,
    ) -> None:
        super().__init__(seq=seq, at=at, elapsed_ms=elapsed_ms, run_id=run_id, lane=lane)
        _set(self, "into", into)


class IterationStarted(EventBase):
    """An iteration started.

    Attributes:
        iteration: The iteration, from 1.
        mode: What it is for.
        task: The task it is for.
    """

    __slots__ = ("iteration", "mode", "task")
    __match_args__ = ("iteration", "mode", "task")
    _tag = ('event', 'iteration_started')
    iteration: int
    mode: Mode
    task: TaskBrief | None

    def __init__(
        self,
        iteration: int,
        mode: Mode,
        task: TaskBrief | None = None,
        *,
        seq: int = 0,
        at: str = "",
        elapsed_ms: int = 0,
        run_id: str = "",
        lane: int | None = None,
    ) -> None:
        super().__init__(seq=seq, at=at, elapsed_ms=elapsed_ms, run_id=run_id, lane=lane)
        _set(self, "iteration", iteration)
        _set(self, "mode", mode)
        _set(self, "task", task)


class HookFired(EventBase):
    """The handlers of a point ran.

    Attributes:
        point: The point.
        iteration: The iteration, from 1; 0 outside one.
        turn: The turn it fired in.
        outcome: What came of it.
    """

    __slots__ = ("point", "iteration", "turn", "outcome")
    __match_args__ = ("point", "iteration", "turn", "outcome")
    _tag = ('event', 'hook_fired')
    point: HookPointId
    iteration: int
    turn: Turn
    outcome: HookOutcome

    def __init__(
        self,
        point: HookPointId,
        iteration: int,
        turn: Turn,
        outcome: HookOutcome,
        *,
        seq: int = 0,
        at: str = "",
        elapsed_ms: int = 0,
        run_id: str = "",
        lane: int | None = None,
    ) -> None:
        super().__init__(seq=seq, at=at, elapsed_ms=elapsed_ms, run_id=run_id, lane=lane)
        _set(self, "point", point)
        _set(self, "iteration", iteration)
        _set(self, "turn", turn)
        _set(self, "outcome", outcome)


class AgentStarted(EventBase):
    """The agent is being called.

    Attributes:
        iteration: The iteration, from 1.
        turn: The turn.
        agent: The agent's name.
        model: Its model, where the call has one.
        why: Why it is this one, such as `route 1: complexity complex`.
    """

    __slots__ = ("iteration", "turn", "agent", "model", "why")
    __match_args__ = ("iteration", "turn", "agent", "why", "model")
    _tag = ('event', 'agent_started')
    iteration: int
    turn: Turn
    agent: str
    model: str | None
    why: str

    def __init__(
        self,
        iteration: int,
        turn: Turn,
        agent: str,
        why: str,
        model: str | None = None,
        *,
        seq: int = 0,
        at: str = "",
        elapsed_ms: int = 0,
        run_id: str = "",
        lane: int | None = None,
    ) -> None:
        super().__init__(seq=seq, at=at, elapsed_ms=elapsed_ms, run_id=run_id, lane=lane)
        _set(self, "iteration", iteration)
        _set(self, "turn", turn)
        _set(self, "agent", agent)
        _set(self, "model", model)
        _set(self, "why", why)


class AgentReported(EventBase):
    """The agent reported something.

    Attributes:
        iteration: The iteration, from 1.
        report: What it reported.
    """

    __slots__ = ("iteration", "report")
    __match_args__ = ("iteration", "report")
    _tag = ('event', 'agent')
    iteration: int
    report: AgentEvent

    def __init__(
        self,
        iteration: int,
        report: AgentEvent,
        *,
        seq: int = 0,
        at: str = "",
        elapsed_ms: int = 0,
        run_id: str = "",
        lane: int | None = None,
    ) -> None:
        super().__init__(seq=seq, at=at, elapsed_ms=elapsed_ms, run_id=run_id, lane=lane)
        _set(self, "iteration", iteration)
        _set(self, "report", report)


class AgentFinished(EventBase):
    """The call of the agent ended.

    Attributes:
        iteration: The iteration, from 1.
        turn: The turn.
        exit_code: Its exit code, where it ran to its end.
        failure: How it failed, where it did.
        usage: What it consumed.
        duration_ms: How long it took, in milliseconds.
        logs: Where it failed, the files that hold what it printed, stdout before stderr and
            none that is empty, relative to the project's root.
    """

    __slots__ = ("iteration", "turn", "exit_code", "failure", "usage", "duration_ms", "logs")
    __match_args__ = ("iteration", "turn", "usage", "duration_ms", "logs", "exit_code", "failure")
    _tag = ('event', 'agent_finished')
    iteration: int
    turn: Turn
    exit_code: int | None
    failure: IterationFailure | None
    usage: Usage
    duration_ms: int
    logs: tuple[str, ...]

    def __init__(
        self,
        iteration: int,
        turn: Turn,
        usage: Usage,
        duration_ms: int,
        logs: Iterable[str],
        exit_code: int | None = None,
        failure: IterationFailure | None = None,
        *,
        seq: int = 0,
        at: str = "",
        elapsed_ms: int = 0,
        run_id: str = "",
        lane: int | None = None,
    ) -> None:
        super().__init__(seq=seq, at=at, elapsed_ms=elapsed_ms, run_id=run_id, lane=lane)
        _set(self, "iteration", iteration)
        _set(self, "turn", turn)
        _set(self, "exit_code", exit_code)
        _set(self, "failure", failure)
        _set(self, "usage", usage)
        _set(self, "duration_ms", duration_ms)
        _set(self, "logs", items(logs))


class TaskCompleted(EventBase):
    """A task was completed; a failed check can still take it back.

    Attributes:
        task: The task.
        title: Its title.
        provisional: Whether a failed check can still take it back.
        marks: What is unusual about the completion, as far as it is known by then.
    """

    __slots__ = ("task", "title", "provisional", "marks")
    __match_args__ = ("task", "title", "provisional", "marks")
    _tag = ('event', 'task_completed')
    task: str
    title: str
    provisional: bool
    marks: tuple[Mark, ...]

    def __init__(
        self,
        task: str,
        title: str,
        provisional: bool,
        marks: Iterable[Mark],
        *,
        seq: int = 0,
        at: str = "",
        elapsed_ms: int = 0,
        run_id: str = "",
        lane: int | None = None,
    ) -> None:
        super().__init__(seq=seq, at=at, elapsed_ms=elapsed_ms, run_id=run_id, lane=lane)
        _set(self, "task", task)
        _set(self, "title", title)
        _set(self, "provisional", provisional)
        _set(self, "marks", items(marks))


class TaskClaimed(EventBase):
    """A lane has begun to work on a task.

    Attributes:
        task: The task.
        title: Its title.
        attempt: Which attempt it is, from 1: returned landings count.
        branch: Its branch.
        base: The commit that the work begins at.
    """

    __slots__ = ("task", "title", "attempt", "branch", "base")
    __match_args__ = ("task", "title", "attempt", "branch", "base")
    _tag = ('event', 'task_claimed')
    task: str
    title: str
    attempt: int
    branch: str
    base: str

    def __init__(
        self,
        task: str,
        title: str,
        attempt: int,
        branch: str,
        base: str,
        *,
        seq: int = 0,
        at: str = "",
        elapsed_ms: int = 0,
        run_id: str = "",
        lane: int | None = None,
    ) -> None:
        super().__init__(seq=seq, at=at, elapsed_ms=elapsed_ms, run_id=run_id, lane=lane)
        _set(self, "task", task)
        _set(self, "title", title)
        _set(self, "attempt", attempt)
        _set(self, "branch", branch)
        _set(self, "base", base)


class TaskSubmitted(EventBase):
    """The work on a task is done and passed its check; it waits to be merged.

    Attributes:
        task: The task.
        branch: Its branch.
        commit: Its last commit.
    """

    __slots__ = ("task", "branch", "commit")
    __match_args__ = ("task", "branch", "commit")
    _tag = ('event', 'task_submitted')
    task: str
    branch: str
    commit: str

    def __init__(
        self,
        task: str,
        branch: str,
        commit: str,
        *,
        seq: int = 0,
        at: str = "",
        elapsed_ms: int = 0,
        run_id: str = "",
        lane: int | None = None,
    ) -> None:
        super().__init__(seq=seq, at=at, elapsed_ms=elapsed_ms, run_id=run_id, lane=lane)
        _set(self, "task", task)
        _set(self, "branch", branch)
        _set(self, "commit", commit)


class TaskLanded(EventBase):
    """The work on a task is on the branch that work lands on: the task is completed.

    Attributes:
        task: The task.
        into: The branch.
        commit: The commit with its work there.
    """

    __slots__ = ("task", "into", "commit")
    __match_args__ = ("task", "into", "commit")
    _tag = ('event', 'task_landed')
    task: str
    into: str
    commit: str

    def __init__(
        self,
        task: str,
        into: str,
        commit: str,
        *,
        seq: int = 0,
        at: str = "",
        elapsed_ms: int = 0,
        run_id: str = "",
        lane: int | None = None,
    ) -> None:
        super().__init__(seq=seq, at=at, elapsed_ms=elapsed_ms, run_id=run_id, lane=lane)
        _set(self, "task", task)
        _set(self, "into", into)
        _set(self, "commit", commit)


class TaskReturned(EventBase):
    """Work did not land, and its task is free again, or blocked after its last attempt.

    Attributes:
        task: The task.
        attempt: Which attempt it was, from 1.
        reason: Why, with the files in conflict or the failures.
        kept: Where its work is.
        excused: Whether the attempt does not count, as after a conflict.
    """

    __slots__ = ("task", "attempt", "reason", "kept", "excused")
    __match_args__ = ("task", "attempt", "reason", "excused", "kept")
    _tag = ('event', 'task_returned')
    task: str
    attempt: int
    reason: str
    kept: str | None
    excused: bool

    def __init__(
        self,
        task: str,
        attempt: int,
        reason: str,
        excused: bool,
        kept: str | None = None,
        *,
        seq: int = 0,
        at: str = "",
        elapsed_ms: int = 0,
        run_id: str = "",
        lane: int | None = None,
    ) -> None:
        super().__init__(seq=seq, at=at, elapsed_ms=elapsed_ms, run_id=run_id, lane=lane)
        _set(self, "task", task)
        _set(self, "attempt", attempt)
        _set(self, "reason", reason)
        _set(self, "kept", kept)
        _set(self, "excused", excused)


class LandingHeld(EventBase):
    """Something is in the way of a landing, which is tried again.

    Attributes:
        into: The branch.
        reason: What, with the files where it is files.
    """

    __slots__ = ("into", "reason")
    __match_args__ = ("into", "reason")
    _tag = ('event', 'landing_held')
    into: str
    reason: str

    def __init__(
        self,
        into: str,
        reason: str,
        *,
        seq: int = 0,
        at: str = "",
        elapsed_ms: int = 0,
        run_id: str = "",
        lane: int | None = None,
    ) -> None:
        super().__init__(seq=seq, at=at, elapsed_ms=elapsed_ms, run_id=run_id, lane=lane)
        _set(self, "into", into)
        _set(self, "reason", reason)


class PlanChanged(EventBase):
    """The plan was changed beside the loop: by the agent, or by somebody else.

    Attributes:
        change: What became of it.
        task: The task.
        title: Its title.
        reason: Why, as far as whoever did it said so.
        actor: Who did it, as far as that is known.
    """

    __slots__ = ("change", "task", "title", "reason", "actor")
    __match_args__ = ("change", "task", "title", "actor", "reason")
    _tag = ('event', 'plan_changed')
    change: PlanChange
    task: str
    title: str
    reason: str | None
    actor: Actor

    def __init__(
        self,
        change: PlanChange,
        task: str,
        title: str,
        actor: Actor,
        reason: str | None = None,
        *,
        seq: int = 0,
        at: str = "",
        elapsed_ms: int = 0,
        run_id: str = "",
        lane: int | None = None,
    ) -> None:
        super().__init__(seq=seq, at=at, elapsed_ms=elapsed_ms, run_id=run_id, lane=lane)
        _set(self, "change", change)
        _set(self, "task", task)
        _set(self, "title", title)
        _set(self, "reason", reason)
        _set(self, "actor", actor)


class TasksTakenBack(EventBase):
    """Completions were taken back.

    Attributes:
        tasks: The tasks.
        reasons: Why, one line each.
    """

    __slots__ = ("tasks", "reasons")
    __match_args__ = ("tasks", "reasons")
    _tag = ('event', 'tasks_taken_back')
    tasks: tuple[str, ...]
    reasons: tuple[str, ...]

    def __init__(
        self,
        tasks: Iterable[str],
        reasons: Iterable[str],
        *,
        seq: int = 0,
        at: str = "",
        elapsed_ms: int = 0,
        run_id: str = "",
        lane: int | None = None,
    ) -> None:
        super().__init__(seq=seq, at=at, elapsed_ms=elapsed_ms, run_id=run_id, lane=lane)
        _set(self, "tasks", items(tasks))
        _set(self, "reasons", items(reasons))


class QualityChecked(EventBase):
    """The quality checks ran.

    Attributes:
        iteration: The iteration, from 1; 0 before the first, and with lanes where it is of
            none.
        ok: Whether the work stands: all passed, or what did not is only advice.
        result: How they went.
        failures: Those that failed.
        reason: Which handler refused the work that named no failed check, and why, in its
            words: `lint:check.sh: 3 warnings`.
        commit: The commit that was checked out then, where there was one.
        merged: The tasks whose work was merged and checked together, where the queue of a
            run with lanes checked it.
    """

    __slots__ = ("iteration", "ok", "result", "failures", "reason", "commit", "merged")
    __match_args__ = ("iteration", "ok", "result", "failures", "merged", "reason", "commit")
    _tag = ('event', 'quality_checked')
    iteration: int
    ok: bool
    result: CheckResult
    failures: tuple[CheckFailure, ...]
    reason: str | None
    commit: str | None
    merged: tuple[str, ...]

    def __init__(
        self,
        iteration: int,
        ok: bool,
        result: CheckResult,
        failures: Iterable[CheckFailure],
        merged: Iterable[str],
        reason: str | None = None,
        commit: str | None = None,
        *,
        seq: int = 0,
        at: str = "",
        elapsed_ms: int = 0,
        run_id: str = "",
        lane: int | None = None,
    ) -> None:
        super().__init__(seq=seq, at=at, elapsed_ms=elapsed_ms, run_id=run_id, lane=lane)
        _set(self, "iteration", iteration)
        _set(self, "ok", ok)
        _set(self, "result", result)
        _set(self, "failures", items(failures))
        _set(self, "reason", reason)
        _set(self, "commit", commit)
        _set(self, "merged", items(merged))


class AbilityBlocked(EventBase):
    """A handler kept the agent from calling a tool, or ended its turn because of a call.

    Attributes:
        iteration: The iteration, from 1.
        ability_id: The tool, such as `Bash`.
        reason: Why, in the handler's words.
        prevented: Whether the call was prevented. Else it was seen too late, and the turn
            ended with it.
    """

    __slots__ = ("iteration", "ability_id", "reason", "prevented")
    __match_args__ = ("iteration", "ability_id", "reason", "prevented")
    _tag = ('event', 'ability_blocked')
    iteration: int
    ability_id: str
    reason: str
    prevented: bool

    def __init__(
        self,
        iteration: int,
        ability_id: str,
        reason: str,
        prevented: bool,
        *,
        seq: int = 0,
        at: str = "",
        elapsed_ms: int = 0,
        run_id: str = "",
        lane: int | None = None,
    ) -> None:
        super().__init__(seq=seq, at=at, elapsed_ms=elapsed_ms, run_id=run_id, lane=lane)
        _set(self, "iteration", iteration)
        _set(self, "ability_id", ability_id)
        _set(self, "reason", reason)
        _set(self, "prevented", prevented)


class RequestRefused(EventBase):
    """The run refused what was asked over its socket: to an agent, or to somebody whom it does not
    know.

    Attributes:
        iteration: The iteration of the agent's call, from 1; 0 where it is not known whose
            call it is.
        task: The task of that call, where there is one.
        verb: The verb, as far as one was named.
        code: The code, such as `E_BROKER_SCOPE`.
        message: What is wrong, in words.
        count: How many refusals of this code there were in the run by then. After the tenth
            only some are told: the 16th, the 32nd and so on.
    """

    __slots__ = ("iteration", "task", "verb", "code", "message", "count")
    __match_args__ = ("iteration", "code", "message", "count", "task", "verb")
    _tag = ('event', 'request_refused')
    iteration: int
    task: str | None
    verb: str | None
    code: str
    message: str
    count: int

    def __init__(
        self,
        iteration: int,
        code: str,
        message: str,
        count: int,
        task: str | None = None,
        verb: str | None = None,
        *,
        seq: int = 0,
        at: str = "",
        elapsed_ms: int = 0,
        run_id: str = "",
        lane: int | None = None,
    ) -> None:
        super().__init__(seq=seq, at=at, elapsed_ms=elapsed_ms, run_id=run_id, lane=lane)
        _set(self, "iteration", iteration)
        _set(self, "task", task)
        _set(self, "verb", verb)
        _set(self, "code", code)
        _set(self, "message", message)
        _set(self, "count", count)


class IterationFinished(EventBase):
    """An iteration ended.

    Attributes:
        iteration: The iteration, from 1.
        outcome: How it ended.
        failure: How it failed, where it did.
        completed: Tasks that stand completed because of it.
        usage: What it consumed.
        consecutive_failures: How many iterations in a row have failed.
        excused: Whether it counts as no failure: it met a usage limit of the agent, or
            somebody settled its task or gave it back.
        unrecorded: Whether the agent ended well without saying what became of the task: it
            neither recorded it as done nor put it aside.
        commit: The commit that was checked out then, where there was one.
        uncommitted: The files that the agent left uncommitted, at most 100.
        committed_for_agent: The commit in which Samuel stored these files, in a workspace
            of Samuel's.
    """

    __slots__ = ("iteration", "outcome", "failure", "completed", "usage", "consecutive_failures", "excused", "unrecorded", "commit", "uncommitted", "committed_for_agent")
    __match_args__ = ("iteration", "outcome", "completed", "usage", "consecutive_failures", "excused", "unrecorded", "uncommitted", "failure", "commit", "committed_for_agent")
    _tag = ('event', 'iteration_finished')
    iteration: int
    outcome: IterationOutcome
    failure: IterationFailure | None
    completed: tuple[str, ...]
    usage: Usage
    consecutive_failures: int
    excused: bool
    unrecorded: bool
    commit: str | None
    uncommitted: tuple[str, ...]
    committed_for_agent: str | None

    def __init__(
        self,
        iteration: int,
        outcome: IterationOutcome,
        completed: Iterable[str],
        usage: Usage,
        consecutive_failures: int,
        excused: bool,
        unrecorded: bool,
        uncommitted: Iterable[str],
        failure: IterationFailure | None = None,
        commit: str | None = None,
        committed_for_agent: str | None = None,
        *,
        seq: int = 0,
        at: str = "",
        elapsed_ms: int = 0,
        run_id: str = "",
        lane: int | None = None,
    ) -> None:
        super().__init__(seq=seq, at=at, elapsed_ms=elapsed_ms, run_id=run_id, lane=lane)
        _set(self, "iteration", iteration)
        _set(self, "outcome", outcome)
        _set(self, "failure", failure)
        _set(self, "completed", items(completed))
        _set(self, "usage", usage)
        _set(self, "consecutive_failures", consecutive_failures)
        _set(self, "excused", excused)
        _set(self, "unrecorded", unrecorded)
        _set(self, "commit", commit)
        _set(self, "uncommitted", items(uncommitted))
        _set(self, "committed_for_agent", committed_for_agent)


class Waiting(EventBase):
    """The run waits: for the pause between iterations, or for a usage limit.

    Attributes:
        wait_ms: How long, in milliseconds.
        reason: What for.
        until: The end of the usage limit that is waited for; nothing in a pause.
    """

    __slots__ = ("wait_ms", "reason", "until")
    __match_args__ = ("wait_ms", "reason", "until")
    _tag = ('event', 'waiting')
    wait_ms: int
    reason: str
    until: str | None

    def __init__(
        self,
        wait_ms: int,
        reason: str,
        until: str | None = None,
        *,
        seq: int = 0,
        at: str = "",
        elapsed_ms: int = 0,
        run_id: str = "",
        lane: int | None = None,
    ) -> None:
        super().__init__(seq=seq, at=at, elapsed_ms=elapsed_ms, run_id=run_id, lane=lane)
        _set(self, "wait_ms", wait_ms)
        _set(self, "reason", reason)
        _set(self, "until", until)


class Commanded(EventBase):
    """Somebody asked something of the run from another process, or a signal of it.

    Attributes:
        command: What: `pause`, `resume`, `steer`, `cancel`, `stop`, `approve` or `deny`.
        by: Who: the user and the session, as `samuel` names them, or the signal, such as
            `SIGTERM`.
        text: What the agent is told with the next prompt.
    """

    __slots__ = ("command", "by", "text")
    __match_args__ = ("command", "by", "text")
    _tag = ('event', 'commanded')
    command: str
    by: str
    text: str | None

    def __init__(
        self,
        command: str,
        by: str,
        text: str | None = None,
        *,
        seq: int = 0,
        at: str = "",
        elapsed_ms: int = 0,
        run_id: str = "",
        lane: int | None = None,
    ) -> None:
        super().__init__(seq=seq, at=at, elapsed_ms=elapsed_ms, run_id=run_id, lane=lane)
        _set(self, "command", command)
        _set(self, "by", by)
        _set(self, "text", text)


class ApprovalAsked(EventBase):
    """A tool call waits for a person to approve it.

    Attributes:
        iteration: The iteration, from 1.
        call: The number by which it is approved or denied.
        ability_id: The tool, such as `Bash`.
        input: Its arguments in one line, shortened.
        reason: Why a person is asked, in the handler's words.
        wait_ms: How long it waits, in milliseconds.
    """

    __slots__ = ("iteration", "call", "ability_id", "input", "reason", "wait_ms")
    __match_args__ = ("iteration", "call", "ability_id", "input", "reason", "wait_ms")
    _tag = ('event', 'approval_asked')
    iteration: int
    call: int
    ability_id: str
    input: str
    reason: str
    wait_ms: int

    def __init__(
        self,
        iteration: int,
        call: int,
        ability_id: str,
        input: str,
        reason: str,
        wait_ms: int,
        *,
        seq: int = 0,
        at: str = "",
        elapsed_ms: int = 0,
        run_id: str = "",
        lane: int | None = None,
    ) -> None:
        super().__init__(seq=seq, at=at, elapsed_ms=elapsed_ms, run_id=run_id, lane=lane)
        _set(self, "iteration", iteration)
        _set(self, "call", call)
        _set(self, "ability_id", ability_id)
        _set(self, "input", input)
        _set(self, "reason", reason)
        _set(self, "wait_ms", wait_ms)


class ApprovalGiven(EventBase):
    """A tool call waits for a person no more.

    Attributes:
        call: Its number.
        approved: Whether it may be made.
        reason: Why not.
    """

    __slots__ = ("call", "approved", "reason")
    __match_args__ = ("call", "approved", "reason")
    _tag = ('event', 'approval_given')
    call: int
    approved: bool
    reason: str | None

    def __init__(
        self,
        call: int,
        approved: bool,
        reason: str | None = None,
        *,
        seq: int = 0,
        at: str = "",
        elapsed_ms: int = 0,
        run_id: str = "",
        lane: int | None = None,
    ) -> None:
        super().__init__(seq=seq, at=at, elapsed_ms=elapsed_ms, run_id=run_id, lane=lane)
        _set(self, "call", call)
        _set(self, "approved", approved)
        _set(self, "reason", reason)


class Paused(EventBase):
    """The run holds until it is resumed."""

    __slots__ = ()
    __match_args__ = ()
    _tag = ('event', 'paused')

    def __init__(
        self,
        *,
        seq: int = 0,
        at: str = "",
        elapsed_ms: int = 0,
        run_id: str = "",
        lane: int | None = None,
    ) -> None:
        super().__init__(seq=seq, at=at, elapsed_ms=elapsed_ms, run_id=run_id, lane=lane)


class Resumed(EventBase):
    """The run goes on."""

    __slots__ = ()
    __match_args__ = ()
    _tag = ('event', 'resumed')

    def __init__(
        self,
        *,
        seq: int = 0,
        at: str = "",
        elapsed_ms: int = 0,
        run_id: str = "",
        lane: int | None = None,
    ) -> None:
        super().__init__(seq=seq, at=at, elapsed_ms=elapsed_ms, run_id=run_id, lane=lane)


class Stopping(EventBase):
    """The run will end: after the iteration, or at once.

    Attributes:
        reason: Why.
        detail: What led to it, in one line.
    """

    __slots__ = ("reason", "detail")
    __match_args__ = ("reason", "detail")
    _tag = ('event', 'stopping')
    reason: ExitReason
    detail: str | None

    def __init__(
        self,
        reason: ExitReason,
        detail: str | None = None,
        *,
        seq: int = 0,
        at: str = "",
        elapsed_ms: int = 0,
        run_id: str = "",
        lane: int | None = None,
    ) -> None:
        super().__init__(seq=seq, at=at, elapsed_ms=elapsed_ms, run_id=run_id, lane=lane)
        _set(self, "reason", reason)
        _set(self, "detail", detail)


class Warning(EventBase):
    """Something the user should know.

    Attributes:
        message: What there is to know.
    """

    __slots__ = ("message",)
    __match_args__ = ("message",)
    _tag = ('event', 'warning')
    message: str

    def __init__(
        self,
        message: str,
        *,
        seq: int = 0,
        at: str = "",
        elapsed_ms: int = 0,
        run_id: str = "",
        lane: int | None = None,
    ) -> None:
        super().__init__(seq=seq, at=at, elapsed_ms=elapsed_ms, run_id=run_id, lane=lane)
        _set(self, "message", message)


class Swept(EventBase):
    """Processes were ended, or could not be, without the supervisor that was to do that: it was
    killed.

    Attributes:
        swept: Whether all are gone for certain.
        ended: Those that were ended, where they are known.
        left: Those that could not be ended, where they are known.
    """

    __slots__ = ("swept", "ended", "left")
    __match_args__ = ("swept", "ended", "left")
    _tag = ('event', 'swept')
    swept: bool
    ended: tuple[Process, ...]
    left: tuple[Process, ...]

    def __init__(
        self,
        swept: bool,
        ended: Iterable[Process],
        left: Iterable[Process],
        *,
        seq: int = 0,
        at: str = "",
        elapsed_ms: int = 0,
        run_id: str = "",
        lane: int | None = None,
    ) -> None:
        super().__init__(seq=seq, at=at, elapsed_ms=elapsed_ms, run_id=run_id, lane=lane)
        _set(self, "swept", swept)
        _set(self, "ended", items(ended))
        _set(self, "left", items(left))


class Lagged(EventBase):
    """Agent text was lost, because it was not read in time.

    Attributes:
        lost: How many events.
    """

    __slots__ = ("lost",)
    __match_args__ = ("lost",)
    _tag = ('event', 'lagged')
    lost: int

    def __init__(
        self,
        lost: int,
        *,
        seq: int = 0,
        at: str = "",
        elapsed_ms: int = 0,
        run_id: str = "",
        lane: int | None = None,
    ) -> None:
        super().__init__(seq=seq, at=at, elapsed_ms=elapsed_ms, run_id=run_id, lane=lane)
        _set(self, "lost", lost)


class RunFinished(EventBase):
    """The run ended. The last event.

    Attributes:
        exit_reason: Why it ended.
        detail: What led to it, in one line, with the limit where one was reached.
        iterations: How many iterations it began.
        failed_iterations: How many of them failed.
        interrupted_iterations: Number of failed iterations that were interrupted: Samuel
            was killed, or the run ended with an error.
        completed: The tasks that it completed.
        unchanged: The tasks of these for which nothing was changed.
        by_other_agent: The tasks of these that the agent of another task completed.
        by_edit: The tasks of these that an edit of `prd.toon` completed.
        unrecorded: Tasks that an agent worked on, ending well, and that nobody recorded as
            done or put aside since.
        skipped: The tasks of the plan but groups that are skipped, whoever skipped them.
        left: The tasks of the plan but groups that are neither completed nor skipped.
        undelivered: How many texts waited for the agent and did not reach it any more.
        settled: Whether every task of the plan was completed or skipped at the end,
            whatever the reason why the run ended.
        usage: What it consumed.
        agents: What of it each agent consumed, by name; those that reported nothing are not
            among them.
        swept: Whether all processes are gone that it started. If not, a `Swept` told which
            may be left.
        fault: The error that ended it, where one did.
        limit: The setting of the limit that was reached, such as `max_iterations`; nothing
            where none was.
        submitted: The tasks whose work lanes have submitted and that has not landed, those
            that somebody holds among them.
        unmerged: The branch with what lanes of earlier runs have landed, where a run
            without lanes did without it.
        into: The branch that the work of its lanes landed on; nothing in a run without
            lanes.
    """

    __slots__ = ("exit_reason", "detail", "iterations", "failed_iterations", "interrupted_iterations", "completed", "unchanged", "by_other_agent", "by_edit", "unrecorded", "skipped", "left", "undelivered", "settled", "usage", "agents", "swept", "fault", "limit", "submitted", "unmerged", "into")
    __match_args__ = ("exit_reason", "iterations", "failed_iterations", "completed", "usage", "swept", "detail", "interrupted_iterations", "unchanged", "by_other_agent", "by_edit", "unrecorded", "skipped", "left", "undelivered", "settled", "agents", "fault", "limit", "submitted", "unmerged", "into")
    _tag = ('event', 'run_finished')
    exit_reason: ExitReason
    detail: str | None
    iterations: int
    failed_iterations: int
    interrupted_iterations: int
    completed: tuple[str, ...]
    unchanged: tuple[str, ...]
    by_other_agent: tuple[str, ...]
    by_edit: tuple[str, ...]
    unrecorded: tuple[str, ...]
    skipped: tuple[str, ...]
    left: tuple[str, ...]
    undelivered: int
    settled: bool
    usage: Usage
    agents: tuple[AgentTotal, ...]
    swept: bool
    fault: RunFault | None
    limit: str | None
    submitted: tuple[str, ...]
    unmerged: str | None
    into: str | None

    def __init__(
        self,
        exit_reason: ExitReason,
        iterations: int,
        failed_iterations: int,
        completed: Iterable[str],
        usage: Usage,
        swept: bool,
        detail: str | None = None,
        interrupted_iterations: int = 0,
        unchanged: Iterable[str] = (),
        by_other_agent: Iterable[str] = (),
        by_edit: Iterable[str] = (),
        unrecorded: Iterable[str] = (),
        skipped: Iterable[str] = (),
        left: Iterable[str] = (),
        undelivered: int = 0,
        settled: bool = False,
        agents: Iterable[AgentTotal] = (),
        fault: RunFault | None = None,
        limit: str | None = None,
        submitted: Iterable[str] = (),
        unmerged: str | None = None,
        into: str | None = None,
        *,
        seq: int = 0,
        at: str = "",
        elapsed_ms: int = 0,
        run_id: str = "",
        lane: int | None = None,
    ) -> None:
        super().__init__(seq=seq, at=at, elapsed_ms=elapsed_ms, run_id=run_id, lane=lane)
        _set(self, "exit_reason", exit_reason)
        _set(self, "detail", detail)
        _set(self, "iterations", iterations)
        _set(self, "failed_iterations", failed_iterations)
        _set(self, "interrupted_iterations", interrupted_iterations)
        _set(self, "completed", items(completed))
        _set(self, "unchanged", items(unchanged))
        _set(self, "by_other_agent", items(by_other_agent))
        _set(self, "by_edit", items(by_edit))
        _set(self, "unrecorded", items(unrecorded))
        _set(self, "skipped", items(skipped))
        _set(self, "left", items(left))
        _set(self, "undelivered", undelivered)
        _set(self, "settled", settled)
        _set(self, "usage", usage)
        _set(self, "agents", items(agents))
        _set(self, "swept", swept)
        _set(self, "fault", fault)
        _set(self, "limit", limit)
        _set(self, "submitted", items(submitted))
        _set(self, "unmerged", unmerged)
        _set(self, "into", into)


Event: TypeAlias = (
    RunStarted
    | LandingStarted
    | IterationStarted
    | HookFired
    | AgentStarted
    | AgentReported
    | AgentFinished
    | TaskCompleted
    | TaskClaimed
    | TaskSubmitted
    | TaskLanded
    | TaskReturned
    | LandingHeld
    | PlanChanged
    | TasksTakenBack
    | QualityChecked
    | AbilityBlocked
    | RequestRefused
    | IterationFinished
    | Waiting
    | Commanded
    | ApprovalAsked
    | ApprovalGiven
    | Paused
    | Resumed
    | Stopping
    | Warning
    | Swept
    | Lagged
    | RunFinished
)
"""Something that happened in a run."""


class Guard(Record):
    """Something that ends a run, or takes a task out of it.

    Attributes:
        setting: Its setting, such as `session_budget.max_cost_usd`.
        words: What it allows, such as `$5.00 a run`.
    """

    __slots__ = ("setting", "words")
    __match_args__ = ("setting", "words")
    setting: str
    words: str

    def __init__(
        self,
        setting: str,
        words: str,
    ) -> None:
        _set(self, "setting", setting)
        _set(self, "words", words)


class RunFault(Record):
    """The error that a run could not go on from.

    Attributes:
        code: The name of its code, such as `E_STATE_CORRUPT`.
        message: What happened, with its causes, in one line.
        location: The place it is about, where there is one.
        help: The next step, if the error has a more specific one than its code.
    """

    __slots__ = ("code", "message", "location", "help")
    __match_args__ = ("code", "message", "location", "help")
    code: str
    message: str
    location: Location | None
    help: str | None

    def __init__(
        self,
        code: str,
        message: str,
        location: Location | None = None,
        help: str | None = None,
    ) -> None:
        _set(self, "code", code)
        _set(self, "message", message)
        _set(self, "location", location)
        _set(self, "help", help)


class RunReport(Record):
    """What came of a run.

    Attributes:
        exit_reason: Why it ended.
        detail: What led to it, in one line, with the limit where one was reached.
        iterations: How many iterations it began.
        failed_iterations: How many of them failed.
        interrupted_iterations: Number of failed iterations that were interrupted: Samuel
            was killed, or the run ended with an error.
        completed: The tasks that it completed.
        unchanged: The tasks of these for which nothing was changed.
        by_other_agent: The tasks of these that the agent of another task completed.
        by_edit: The tasks of these that an edit of `prd.toon` completed.
        unrecorded: Tasks that an agent worked on, ending well, and that nobody recorded as
            done or put aside since.
        skipped: The tasks of the plan but groups that are skipped, whoever skipped them.
        left: The tasks of the plan but groups that are neither completed nor skipped.
        undelivered: How many texts waited for the agent and did not reach it any more.
        settled: Whether every task of the plan was completed or skipped at the end,
            whatever the reason why the run ended.
        usage: What it consumed.
        agents: What of it each agent consumed, by name; those that reported nothing are not
            among them.
        swept: Whether all processes are gone that it started. If not, a `Swept` told which
            may be left.
        fault: The error that ended it, where one did.
        limit: The setting of the limit that was reached, such as `max_iterations`; nothing
            where none was.
        submitted: The tasks whose work lanes have submitted and that has not landed, those
            that somebody holds among them.
        unmerged: The branch with what lanes of earlier runs have landed, where a run
            without lanes did without it.
        into: The branch that the work of its lanes landed on; nothing in a run without
            lanes.
    """

    __slots__ = ("exit_reason", "detail", "iterations", "failed_iterations", "interrupted_iterations", "completed", "unchanged", "by_other_agent", "by_edit", "unrecorded", "skipped", "left", "undelivered", "settled", "usage", "agents", "swept", "fault", "limit", "submitted", "unmerged", "into")
    __match_args__ = ("exit_reason", "iterations", "failed_iterations", "completed", "usage", "swept", "detail", "interrupted_iterations", "unchanged", "by_other_agent", "by_edit", "unrecorded", "skipped", "left", "undelivered", "settled", "agents", "fault", "limit", "submitted", "unmerged", "into")
    exit_reason: ExitReason
    detail: str | None
    iterations: int
    failed_iterations: int
    interrupted_iterations: int
    completed: tuple[str, ...]
    unchanged: tuple[str, ...]
    by_other_agent: tuple[str, ...]
    by_edit: tuple[str, ...]
    unrecorded: tuple[str, ...]
    skipped: tuple[str, ...]
    left: tuple[str, ...]
    undelivered: int
    settled: bool
    usage: Usage
    agents: tuple[AgentTotal, ...]
    swept: bool
    fault: RunFault | None
    limit: str | None
    submitted: tuple[str, ...]
    unmerged: str | None
    into: str | None

    def __init__(
        self,
        exit_reason: ExitReason,
        iterations: int,
        failed_iterations: int,
        completed: Iterable[str],
        usage: Usage,
        swept: bool,
        detail: str | None = None,
        interrupted_iterations: int = 0,
        unchanged: Iterable[str] = (),
        by_other_agent: Iterable[str] = (),
        by_edit: Iterable[str] = (),
        unrecorded: Iterable[str] = (),
        skipped: Iterable[str] = (),
        left: Iterable[str] = (),
        undelivered: int = 0,
        settled: bool = False,
        agents: Iterable[AgentTotal] = (),
        fault: RunFault | None = None,
        limit: str | None = None,
        submitted: Iterable[str] = (),
        unmerged: str | None = None,
        into: str | None = None,
    ) -> None:
        _set(self, "exit_reason", exit_reason)
        _set(self, "detail", detail)
        _set(self, "iterations", iterations)
        _set(self, "failed_iterations", failed_iterations)
        _set(self, "interrupted_iterations", interrupted_iterations)
        _set(self, "completed", items(completed))
        _set(self, "unchanged", items(unchanged))
        _set(self, "by_other_agent", items(by_other_agent))
        _set(self, "by_edit", items(by_edit))
        _set(self, "unrecorded", items(unrecorded))
        _set(self, "skipped", items(skipped))
        _set(self, "left", items(left))
        _set(self, "undelivered", undelivered)
        _set(self, "settled", settled)
        _set(self, "usage", usage)
        _set(self, "agents", items(agents))
        _set(self, "swept", swept)
        _set(self, "fault", fault)
        _set(self, "limit", limit)
        _set(self, "submitted", items(submitted))
        _set(self, "unmerged", unmerged)
        _set(self, "into", into)


class Process(Record):
    """A process as a person finds it again.

    Attributes:
        pid: Its process id.
        name: The name of its program, at most 15 bytes as Linux keeps it, with what cannot
            be printed escaped; empty where it is not known.
    """

    __slots__ = ("pid", "name")
    __match_args__ = ("pid", "name")
    pid: int
    name: str

    def __init__(
        self,
        pid: int,
        name: str,
    ) -> None:
        _set(self, "pid", pid)
        _set(self, "name", name)


class Holder(Record):
    """Who holds a lock.

    Attributes:
        pid: The process.
        since: Since when.
        doing: What it does: the run's id, or the name of a change.
        methodology: The methodology it does it for; nothing where it is done for none.
        socket: Where a loop listens for other processes; nothing where it does not, or not
            yet.
    """

    __slots__ = ("pid", "since", "doing", "methodology", "socket")
    __match_args__ = ("pid", "since", "doing", "methodology", "socket")
    pid: int
    since: str
    doing: str
    methodology: str | None
    socket: str | None

    def __init__(
        self,
        pid: int,
        since: str,
        doing: str,
        methodology: str | None = None,
        socket: str | None = None,
    ) -> None:
        _set(self, "pid", pid)
        _set(self, "since", since)
        _set(self, "doing", doing)
        _set(self, "methodology", methodology)
        _set(self, "socket", socket)


class AgentCall(Record):
    """A call of the agent, as it begins.

    Attributes:
        run_id: The run it belongs to.
        worker: The worker that makes it, from 1; `None` in a run without workers.
        iteration: The iteration, from 1.
        turn: The turn.
        agent: The agent that is called, whoever chose it.
        model: Its model, where the call has one.
        why: Why it is this one, such as `route 1: complexity complex`.
    """

    __slots__ = ("run_id", "worker", "iteration", "turn", "agent", "model", "why")
    __match_args__ = ("run_id", "iteration", "turn", "agent", "worker", "model", "why")
    _rust = "Called"
    run_id: str
    worker: int | None
    iteration: int
    turn: Turn
    agent: str
    model: str | None
    why: str

    def __init__(
        self,
        run_id: str,
        iteration: int,
        turn: Turn,
        agent: str,
        worker: int | None = None,
        model: str | None = None,
        why: str = "",
    ) -> None:
        _set(self, "run_id", run_id)
        _set(self, "worker", worker)
        _set(self, "iteration", iteration)
        _set(self, "turn", turn)
        _set(self, "agent", agent)
        _set(self, "model", model)
        _set(self, "why", why)


class RunEnd(Record):
    """How a run ended.

    Attributes:
        reason: Why.
        detail: What led to it, in one line, with the limit where one was reached.
    """

    __slots__ = ("reason", "detail")
    __match_args__ = ("reason", "detail")
    reason: ExitReason
    detail: str | None

    def __init__(
        self,
        reason: ExitReason,
        detail: str | None = None,
    ) -> None:
        _set(self, "reason", reason)
        _set(self, "detail", detail)


class KeptPlan(Record):
    """A plan that is kept.

    Attributes:
        number: Its number, which grows from plan to plan.
        updated_at: When it was last changed.
        project: The project's name in it.
        revision: Its revision.
        tasks: How many tasks it has.
        completed: How many of them are completed.
        current: Whether the plan in the work tree has all of its tasks, however far they
            are.
    """

    __slots__ = ("number", "updated_at", "project", "revision", "tasks", "completed", "current")
    __match_args__ = ("number", "project", "revision", "tasks", "completed", "current", "updated_at")
    number: int
    updated_at: str | None
    project: str
    revision: int
    tasks: int
    completed: int
    current: bool

    def __init__(
        self,
        number: int,
        project: str,
        revision: int,
        tasks: int,
        completed: int,
        current: bool,
        updated_at: str | None = None,
    ) -> None:
        _set(self, "number", number)
        _set(self, "updated_at", updated_at)
        _set(self, "project", project)
        _set(self, "revision", revision)
        _set(self, "tasks", tasks)
        _set(self, "completed", completed)
        _set(self, "current", current)


class Restored(Record):
    """A plan that was put back.

    Attributes:
        kept: Which one it was.
        revision: The revision the plan has now.
        backup: Where the plan that was there before was put.
        reopened: The tasks of it that were completed since it was kept, as far as the
            present plan and the journal tell, and are open again.
    """

    __slots__ = ("kept", "revision", "backup", "reopened")
    __match_args__ = ("kept", "revision", "reopened", "backup")
    kept: KeptPlan
    revision: int
    backup: str | None
    reopened: tuple[str, ...]

    def __init__(
        self,
        kept: KeptPlan,
        revision: int,
        reopened: Iterable[str],
        backup: str | None = None,
    ) -> None:
        _set(self, "kept", kept)
        _set(self, "revision", revision)
        _set(self, "backup", backup)
        _set(self, "reopened", items(reopened))


class TemplateWithoutCommand(Record):
    """It does not have the command by which agents record what they did.

    Attributes:
        command: What follows `samuel run`: `done` or `enqueue`.
    """

    __slots__ = ("command",)
    __match_args__ = ("command",)
    _tag = ('kind', 'no_command')
    command: str

    def __init__(
        self,
        command: str,
    ) -> None:
        _set(self, "command", command)


class OldFileInTemplate(Record):
    """It names a file or directory of the first version.

    Attributes:
        name: The name, such as `prd.json`.
    """

    __slots__ = ("name",)
    __match_args__ = ("name",)
    _tag = ('kind', 'old_file')
    name: str

    def __init__(
        self,
        name: str,
    ) -> None:
        _set(self, "name", name)


class UnknownTemplateVariable(Record):
    """It has a variable that does not exist.

    Attributes:
        variable: The variable as the template spells it.
        nearest: The nearest name there is.
    """

    __slots__ = ("variable", "nearest")
    __match_args__ = ("variable", "nearest")
    _tag = ('kind', 'unknown_variable')
    variable: str
    nearest: str | None

    def __init__(
        self,
        variable: str,
        nearest: str | None = None,
    ) -> None:
        _set(self, "variable", variable)
        _set(self, "nearest", nearest)


class OlderTemplate(Record):
    """The template that it was copied from is another one by now.

    Attributes:
        version: The version of Samuel that it was copied from.
    """

    __slots__ = ("version",)
    __match_args__ = ("version",)
    _tag = ('kind', 'older')
    version: str

    def __init__(
        self,
        version: str,
    ) -> None:
        _set(self, "version", version)


Staleness: TypeAlias = (
    TemplateWithoutCommand
    | OldFileInTemplate
    | UnknownTemplateVariable
    | OlderTemplate
)
"""What of a template does not fit any more."""


class StaleTemplate(Record):
    """A template of the project that does not fit any more.

    Attributes:
        path: The file.
        line: The line, from 1; none where it is about the file as a whole.
        column: The column, from 1, in characters.
        why: What does not fit.
    """

    __slots__ = ("path", "line", "column", "why")
    __match_args__ = ("path", "why", "line", "column")
    path: str
    line: int | None
    column: int | None
    why: Staleness

    def __init__(
        self,
        path: str,
        why: Staleness,
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        _set(self, "path", path)
        _set(self, "line", line)
        _set(self, "column", column)
        _set(self, "why", why)


DiagnosticKind: TypeAlias = Literal[
    "missing_header",
    "skipped",
    "count_mismatch",
    "unusual",
    "more",
]
"""Kinds of things that are wrong with a file.

- `missing_header`: The version header is missing.
- `skipped`: A row or a line was skipped; the next save keeps it as text.
- `count_mismatch`: A declared count disagrees with what follows.
- `unusual`: Something is written in an unusual way and was understood.
- `more`: Faults that are only counted.
"""


class StateDiagnostic(Record):
    """One thing that is wrong with a file that could be read all the same.

    Attributes:
        file: The file.
        line: The line, from 1, where it is known.
        column: The column in characters, from 1, where it is known.
        kind: What kind of thing it is.
        reason: What is wrong, in words.
        count: How many faults this stands for: 1, but for the last one of a file that has
            very many.
    """

    __slots__ = ("file", "line", "column", "kind", "reason", "count")
    __match_args__ = ("file", "kind", "reason", "count", "line", "column")
    file: str
    line: int | None
    column: int | None
    kind: DiagnosticKind
    reason: str
    count: int

    def __init__(
        self,
        file: str,
        kind: DiagnosticKind,
        reason: str,
        count: int,
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        _set(self, "file", file)
        _set(self, "line", line)
        _set(self, "column", column)
        _set(self, "kind", kind)
        _set(self, "reason", reason)
        _set(self, "count", count)


class TaskCounts(Record):
    """How many tasks stand where.

    What counts as work is decided here: every task but the groups, which are done with their parts
    and would count these twice.

    Attributes:
        total: All of them, without the groups.
        pending: Those that wait.
        in_progress: Those that are worked on.
        completed: Those that are done.
        unchanged: The completed tasks for which nothing was changed.
        by_other_agent: The completed tasks that the agent of another task completed.
        by_edit: The completed tasks that an edit of `prd.toon` completed.
        skipped: Those that are left out.
        blocked: Those that cannot be worked on.
        groups: The groups, which count nowhere else.
        percent: How much is done, in whole percent, rounded down: the completed tasks of
            all that are not skipped. 100 where all are skipped, nothing where there are none.
    """

    __slots__ = ("total", "pending", "in_progress", "completed", "unchanged", "by_other_agent", "by_edit", "skipped", "blocked", "groups", "percent")
    __match_args__ = ("total", "pending", "in_progress", "completed", "skipped", "blocked", "groups", "unchanged", "by_other_agent", "by_edit", "percent")
    total: int
    pending: int
    in_progress: int
    completed: int
    unchanged: int
    by_other_agent: int
    by_edit: int
    skipped: int
    blocked: int
    groups: int
    percent: int | None

    def __init__(
        self,
        total: int,
        pending: int,
        in_progress: int,
        completed: int,
        skipped: int,
        blocked: int,
        groups: int,
        unchanged: int = 0,
        by_other_agent: int = 0,
        by_edit: int = 0,
        percent: int | None = None,
    ) -> None:
        _set(self, "total", total)
        _set(self, "pending", pending)
        _set(self, "in_progress", in_progress)
        _set(self, "completed", completed)
        _set(self, "unchanged", unchanged)
        _set(self, "by_other_agent", by_other_agent)
        _set(self, "by_edit", by_edit)
        _set(self, "skipped", skipped)
        _set(self, "blocked", blocked)
        _set(self, "groups", groups)
        _set(self, "percent", percent)


class OtherPlan(Record):
    """A plan of a project that is not that of the methodology in use.

    Attributes:
        methodology: The methodology it was made for; the default one's name where it names
            none.
        path: The plan, relative to the project.
        tasks: How many tasks stand where; nothing where it cannot be read.
        problem: Why it cannot be read.
    """

    __slots__ = ("methodology", "path", "tasks", "problem")
    __match_args__ = ("methodology", "path", "tasks", "problem")
    methodology: str
    path: str
    tasks: TaskCounts | None
    problem: str | None

    def __init__(
        self,
        methodology: str,
        path: str,
        tasks: TaskCounts | None = None,
        problem: str | None = None,
    ) -> None:
        _set(self, "methodology", methodology)
        _set(self, "path", path)
        _set(self, "tasks", tasks)
        _set(self, "problem", problem)


class FreeByStart(Record):
    """Start a run, which frees what lanes of a run that is gone were working on."""

    __slots__ = ()
    __match_args__ = ()
    _tag = ('kind', 'free_by_start')

    def __init__(
        self,
    ) -> None:
        pass


class LandSubmitted(Record):
    """Land what lanes have submitted, without a loop or by a start with several lanes."""

    __slots__ = ()
    __match_args__ = ()
    _tag = ('kind', 'land')

    def __init__(
        self,
    ) -> None:
        pass


class LandAfterRun(Record):
    """Do that once the run at work has ended, which has no lanes and lands nothing."""

    __slots__ = ()
    __match_args__ = ()
    _tag = ('kind', 'land_after_run')

    def __init__(
        self,
    ) -> None:
        pass


class LetLand(Record):
    """Let go of work that somebody holds, so that it lands.

    Attributes:
        task: The task.
    """

    __slots__ = ("task",)
    __match_args__ = ("task",)
    _tag = ('kind', 'let_land')
    task: str

    def __init__(
        self,
        task: str,
    ) -> None:
        _set(self, "task", task)


WorkRemedy: TypeAlias = FreeByStart | LandSubmitted | LandAfterRun | LetLand
"""A step that has claimed work go on."""


class NextTask(Record):
    """Work on a task.

    Attributes:
        task: The task.
    """

    __slots__ = ("task",)
    __match_args__ = ("task",)
    _tag = ('kind', 'task')
    task: Task

    def __init__(
        self,
        task: Task,
    ) -> None:
        _set(self, "task", task)


class Discovery(Record):
    """Look for tasks: the project is in pilot mode."""

    __slots__ = ()
    __match_args__ = ()
    _tag = ('kind', 'discovery')

    def __init__(
        self,
    ) -> None:
        pass


class AllDone(Record):
    """Nothing: every task is completed or skipped, or there are none."""

    __slots__ = ()
    __match_args__ = ()
    _tag = ('kind', 'all_done')

    def __init__(
        self,
    ) -> None:
        pass


class UnderWay(Record):
    """Nothing more: what is left is being worked on, waits to be landed, or waits for that.

    Attributes:
        tasks: How many tasks lanes work on, have submitted or land.
        reasons: Why nothing else can be worked on, one line a task.
    """

    __slots__ = ("tasks", "reasons")
    __match_args__ = ("tasks", "reasons")
    _tag = ('kind', 'under_way')
    tasks: int
    reasons: tuple[str, ...]

    def __init__(
        self,
        tasks: int,
        reasons: Iterable[str],
    ) -> None:
        _set(self, "tasks", tasks)
        _set(self, "reasons", items(reasons))


class NoTaskReady(Record):
    """Nothing: tasks are left, or may be in lines that cannot be read, and none can be worked on.

    Attributes:
        reasons: Why not, one line a task.
    """

    __slots__ = ("reasons",)
    __match_args__ = ("reasons",)
    _tag = ('kind', 'blocked')
    reasons: tuple[str, ...]

    def __init__(
        self,
        reasons: Iterable[str],
    ) -> None:
        _set(self, "reasons", items(reasons))


NextStep: TypeAlias = NextTask | Discovery | AllDone | UnderWay | NoTaskReady
"""What a run would do next."""


class OpenQuestion(Record):
    """A question about a task that waits for an answer.

    Attributes:
        task: The task.
        title: Its title.
        question: What is asked.
        options: Answers that are proposed; any other may be given too.
    """

    __slots__ = ("task", "title", "question", "options")
    __match_args__ = ("task", "title", "question", "options")
    task: str
    title: str
    question: str
    options: tuple[str, ...]

    def __init__(
        self,
        task: str,
        title: str,
        question: str,
        options: Iterable[str],
    ) -> None:
        _set(self, "task", task)
        _set(self, "title", title)
        _set(self, "question", question)
        _set(self, "options", items(options))


class ProjectStatus(Record):
    """Where a project stands, as `Project::status` read it.

    Attributes:
        project: The project's name, from the plan.
        root: The root directory.
        methodology: The methodology in use.
        source_prd: The PRD the plan was converted from.
        revision: The plan's revision.
        tasks: How many tasks stand where.
        next: What a run would do next: of these tasks, where `only` names some.
        questions: The questions that wait for an answer, in the order of the plan.
        more_questions: How many more there are, where an answer over the run's socket does
            not hold all.
        only: The tasks that the run is for that is under way, or was cut off; none where it
            is for all, or there is no such run.
        claims: Who works on what while several work on the plan, and what is kept of
            attempts that came to nothing.
        remedies: What has claimed work go on that does not go on by itself, each step once.
        unmerged: The branches with merged work of workers that are not in what is checked
            out, the newest first.
        progress: What all runs did so far.
        agents: What the calls of each agent consumed in all runs of the plan, as far as one
            saved it.
        calls: The calls of agents that the loop which is running makes now, at most one for
            each worker.
        running: Whether a loop is running now.
        holder: Who runs it, where that is known.
        live: What the loop that is running says of itself, where it was asked;
            `Project::status` asks nobody.
        waits_until: Until when the loop that is running waits for a usage limit of its
            agent, where it does.
        last_end: How the last run of the plan ended; nothing while one runs, after one that
            was cut off, and before the first.
        diagnostics: What is wrong with the plan file and was worked around.
        other_plans: The plans that other methodologies have here.
        unparsed: How many lines of the plan file could not be understood and are kept.
    """

    __slots__ = ("project", "root", "methodology", "source_prd", "revision", "tasks", "next", "questions", "more_questions", "only", "claims", "remedies", "unmerged", "progress", "agents", "calls", "running", "holder", "live", "waits_until", "last_end", "diagnostics", "other_plans", "unparsed")
    __match_args__ = ("project", "root", "methodology", "revision", "tasks", "next", "questions", "only", "claims", "progress", "agents", "calls", "running", "diagnostics", "other_plans", "unparsed", "source_prd", "more_questions", "remedies", "unmerged", "holder", "live", "waits_until", "last_end")
    project: str
    root: str
    methodology: str
    source_prd: str | None
    revision: int
    tasks: TaskCounts
    next: NextStep
    questions: tuple[OpenQuestion, ...]
    more_questions: int
    only: tuple[str, ...]
    claims: tuple[Claim, ...]
    remedies: tuple[WorkRemedy, ...]
    unmerged: tuple[str, ...]
    progress: Progress
    agents: tuple[AgentTotal, ...]
    calls: tuple[AgentCall, ...]
    running: bool
    holder: Holder | None
    live: LiveState | None
    waits_until: str | None
    last_end: RunEnd | None
    diagnostics: tuple[StateDiagnostic, ...]
    other_plans: tuple[OtherPlan, ...]
    unparsed: int

    def __init__(
        self,
        project: str,
        root: str,
        methodology: str,
        revision: int,
        tasks: TaskCounts,
        next: NextStep,
        questions: Iterable[OpenQuestion],
        only: Iterable[str],
        claims: Iterable[Claim],
        progress: Progress,
        agents: Iterable[AgentTotal],
        calls: Iterable[AgentCall],
        running: bool,
        diagnostics: Iterable[StateDiagnostic],
        other_plans: Iterable[OtherPlan],
        unparsed: int,
        source_prd: str | None = None,
        more_questions: int = 0,
        remedies: Iterable[WorkRemedy] = (),
        unmerged: Iterable[str] = (),
        holder: Holder | None = None,
        live: LiveState | None = None,
        waits_until: str | None = None,
        last_end: RunEnd | None = None,
    ) -> None:
        _set(self, "project", project)
        _set(self, "root", root)
        _set(self, "methodology", methodology)
        _set(self, "source_prd", source_prd)
        _set(self, "revision", revision)
        _set(self, "tasks", tasks)
        _set(self, "next", next)
        _set(self, "questions", items(questions))
        _set(self, "more_questions", more_questions)
        _set(self, "only", items(only))
        _set(self, "claims", items(claims))
        _set(self, "remedies", items(remedies))
        _set(self, "unmerged", items(unmerged))
        _set(self, "progress", progress)
        _set(self, "agents", items(agents))
        _set(self, "calls", items(calls))
        _set(self, "running", running)
        _set(self, "holder", holder)
        _set(self, "live", live)
        _set(self, "waits_until", waits_until)
        _set(self, "last_end", last_end)
        _set(self, "diagnostics", items(diagnostics))
        _set(self, "other_plans", items(other_plans))
        _set(self, "unparsed", unparsed)


class GroupState(Record):
    """Where the parts of a group stand.

    Attributes:
        parts: How many own parts it has.
        settled: How many of them are completed or skipped.
    """

    __slots__ = ("parts", "settled")
    __match_args__ = ("parts", "settled")
    parts: int
    settled: int

    def __init__(
        self,
        parts: int,
        settled: int,
    ) -> None:
        _set(self, "parts", parts)
        _set(self, "settled", settled)


class ListRow(Record):
    """A task in a list.

    Attributes:
        id: The task.
        depth: How many groups it is in, as far as the list shows them.
        matches: Whether it was asked for. A group that was not is listed for the sake of a
            part.
        ready: Whether it could be worked on now.
        group: Where its parts stand; nothing of a task without parts.
        claim: Who works on it while several work on the plan, or what is kept of attempts
            that came to nothing.
        gone: That the lane which has claimed it is gone with its run, in one line; nothing
            while it may be at work.
    """

    __slots__ = ("id", "depth", "matches", "ready", "group", "claim", "gone")
    __match_args__ = ("id", "depth", "matches", "ready", "group", "claim", "gone")
    id: str
    depth: int
    matches: bool
    ready: bool
    group: GroupState | None
    claim: Claim | None
    gone: str | None

    def __init__(
        self,
        id: str,
        depth: int,
        matches: bool,
        ready: bool,
        group: GroupState | None = None,
        claim: Claim | None = None,
        gone: str | None = None,
    ) -> None:
        _set(self, "id", id)
        _set(self, "depth", depth)
        _set(self, "matches", matches)
        _set(self, "ready", ready)
        _set(self, "group", group)
        _set(self, "claim", claim)
        _set(self, "gone", gone)


class TaskList(Record):
    """Tasks as they are listed.

    Attributes:
        revision: The plan's revision.
        total: How many tasks the plan has, groups among them.
        matching: How many of them were asked for.
        more: How many of these are left out, because of the limit.
        tasks: The tasks, in the order of the list.
        rows: What is known of each of them beside, in the same order.
    """

    __slots__ = ("revision", "total", "matching", "more", "tasks", "rows")
    __match_args__ = ("revision", "total", "matching", "more", "tasks", "rows")
    revision: int
    total: int
    matching: int
    more: int
    tasks: tuple[Task, ...]
    rows: tuple[ListRow, ...]

    def __init__(
        self,
        revision: int,
        total: int,
        matching: int,
        more: int,
        tasks: Iterable[Task],
        rows: Iterable[ListRow],
    ) -> None:
        _set(self, "revision", revision)
        _set(self, "total", total)
        _set(self, "matching", matching)
        _set(self, "more", more)
        _set(self, "tasks", items(tasks))
        _set(self, "rows", items(rows))


AttemptEnd: TypeAlias = Literal[
    "under_way",
    "completed",
    "skipped",
    "blocked",
    "taken_back",
    "failed",
    "open",
    "returned",
    "cut_off",
]
"""What became of an attempt.

- `under_way`: It is under way.
- `completed`: The task was completed when the iteration ended, or when the work of a worker was merged. What became of it later, such as by `undo` or `reset`, is among the changes.
- `skipped`: The task was left out.
- `blocked`: The task was marked as one that cannot be worked on.
- `taken_back`: The task was completed, and taken back: no check has passed.
- `failed`: The iteration failed.
- `open`: The iteration ended, and the task was open as before.
- `returned`: The work was submitted and did not land.
- `cut_off`: Nobody wrote down how it ended: its run was cut off.
"""


class Attempt(Record):
    """One iteration that worked on a task.

    Attributes:
        run: The run, where that is known.
        iteration: The iteration within the run, from 1, where that is known.
        owner: Who worked on it: the run, or a worker of it such as `run-1/lane-2`.
        agents: The agents that were called, with their models, such as `codex (gpt-5)`: one
            for each call, of several in a row that are the same the first; at most 10.
        began_at: When it began.
        ended_at: When it ended. None if that is unknown, for example after a kill.
        end: What became of it.
        failures: What failed, the checks' failures among it, one line each; at most 10.
        usage: What its agent calls consumed, where that is known.
        logs: The files with what its agents were given and printed, and with what its
            checks printed, as far as they are kept; at most 100.
    """

    __slots__ = ("run", "iteration", "owner", "agents", "began_at", "ended_at", "end", "failures", "usage", "logs")
    __match_args__ = ("agents", "began_at", "end", "failures", "logs", "run", "iteration", "owner", "ended_at", "usage")
    run: str | None
    iteration: int | None
    owner: str | None
    agents: tuple[str, ...]
    began_at: str
    ended_at: str | None
    end: AttemptEnd
    failures: tuple[str, ...]
    usage: Usage | None
    logs: tuple[str, ...]

    def __init__(
        self,
        agents: Iterable[str],
        began_at: str,
        end: AttemptEnd,
        failures: Iterable[str],
        logs: Iterable[str],
        run: str | None = None,
        iteration: int | None = None,
        owner: str | None = None,
        ended_at: str | None = None,
        usage: Usage | None = None,
    ) -> None:
        _set(self, "run", run)
        _set(self, "iteration", iteration)
        _set(self, "owner", owner)
        _set(self, "agents", items(agents))
        _set(self, "began_at", began_at)
        _set(self, "ended_at", ended_at)
        _set(self, "end", end)
        _set(self, "failures", items(failures))
        _set(self, "usage", usage)
        _set(self, "logs", items(logs))


class HistoryChange(Record):
    """A change of a task.

    Attributes:
        change: Its number, with which it can be taken back: the plan's revision after it.
        at: When it was made.
        actor: What kind of caller asked for it.
        by: What the caller is called, where that is known.
        what: The word for it, such as `done`; `imported` for a plan that was stored as a
            whole and `edited` for a plan file that was changed past the store.
        before: Where the task stood before, where that changed.
        after: Where it stood after, where that changed.
        details: What is to be said of it, such as a reason, a commit, or the fields that
            say something else; one line each, at most 10.
    """

    __slots__ = ("change", "at", "actor", "by", "what", "before", "after", "details")
    __match_args__ = ("change", "at", "actor", "what", "details", "by", "before", "after")
    change: int
    at: str
    actor: Actor
    by: str | None
    what: str
    before: Status | None
    after: Status | None
    details: tuple[str, ...]

    def __init__(
        self,
        change: int,
        at: str,
        actor: Actor,
        what: str,
        details: Iterable[str],
        by: str | None = None,
        before: Status | None = None,
        after: Status | None = None,
    ) -> None:
        _set(self, "change", change)
        _set(self, "at", at)
        _set(self, "actor", actor)
        _set(self, "by", by)
        _set(self, "what", what)
        _set(self, "before", before)
        _set(self, "after", after)
        _set(self, "details", items(details))


class RelatedTask(Record):
    """A task that another one has to do with.

    Attributes:
        id: Its id.
        title: Its title; empty where there is no such task.
        status: Where it stands; nothing where there is no such task.
    """

    __slots__ = ("id", "title", "status")
    __match_args__ = ("id", "title", "status")
    id: str
    title: str
    status: Status | None

    def __init__(
        self,
        id: str,
        title: str,
        status: Status | None = None,
    ) -> None:
        _set(self, "id", id)
        _set(self, "title", title)
        _set(self, "status", status)


class RelatedTasks(Record):
    """Tasks that a task has to do with.

    Attributes:
        tasks: The tasks, at most 200.
        more: How many more there are.
    """

    __slots__ = ("tasks", "more")
    __match_args__ = ("tasks", "more")
    tasks: tuple[RelatedTask, ...]
    more: int

    def __init__(
        self,
        tasks: Iterable[RelatedTask],
        more: int,
    ) -> None:
        _set(self, "tasks", items(tasks))
        _set(self, "more", more)


class TaskHistory(Record):
    """All that is known of a task, as `History::task` read it.

    Attributes:
        revision: The plan's revision.
        task: The task.
        ready: Whether it could be worked on now.
        waits_for: What it waits for: tasks that it, or a group that it is in, depends on
            and that are neither completed nor skipped.
        group: Where its parts stand; nothing of a task without parts.
        claim: Who works on it while several work on the plan, or what is kept of attempts
            that came to nothing.
        gone: That the lane which has claimed it is gone with its run, in one line; nothing
            while it may be at work.
        parents: The groups that it is in, the innermost first.
        parts: Its own parts.
        depends_on: The tasks that it depends on.
        dependents: The tasks that depend on it.
        commits: The commits that were recorded for it, the first one first.
        attempts: The iterations that worked on it, oldest first; at most the last 50.
        more_attempts: How many earlier ones are left out.
        changes: What changed it, oldest first; at most the last 100 changes.
        more_changes: How many earlier ones are left out.
        whole: Whether the journal goes back to the task's beginning; a long one does not.
        diagnostics: What is wrong with the plan file and was worked around.
    """

    __slots__ = ("revision", "task", "ready", "waits_for", "group", "claim", "gone", "parents", "parts", "depends_on", "dependents", "commits", "attempts", "more_attempts", "changes", "more_changes", "whole", "diagnostics")
    __match_args__ = ("revision", "task", "ready", "waits_for", "parents", "parts", "depends_on", "dependents", "commits", "attempts", "more_attempts", "changes", "more_changes", "whole", "diagnostics", "group", "claim", "gone")
    revision: int
    task: Task
    ready: bool
    waits_for: tuple[str, ...]
    group: GroupState | None
    claim: Claim | None
    gone: str | None
    parents: RelatedTasks
    parts: RelatedTasks
    depends_on: RelatedTasks
    dependents: RelatedTasks
    commits: tuple[str, ...]
    attempts: tuple[Attempt, ...]
    more_attempts: int
    changes: tuple[HistoryChange, ...]
    more_changes: int
    whole: bool
    diagnostics: tuple[StateDiagnostic, ...]

    def __init__(
        self,
        revision: int,
        task: Task,
        ready: bool,
        waits_for: Iterable[str],
        parents: RelatedTasks,
        parts: RelatedTasks,
        depends_on: RelatedTasks,
        dependents: RelatedTasks,
        commits: Iterable[str],
        attempts: Iterable[Attempt],
        more_attempts: int,
        changes: Iterable[HistoryChange],
        more_changes: int,
        whole: bool,
        diagnostics: Iterable[StateDiagnostic],
        group: GroupState | None = None,
        claim: Claim | None = None,
        gone: str | None = None,
    ) -> None:
        _set(self, "revision", revision)
        _set(self, "task", task)
        _set(self, "ready", ready)
        _set(self, "waits_for", items(waits_for))
        _set(self, "group", group)
        _set(self, "claim", claim)
        _set(self, "gone", gone)
        _set(self, "parents", parents)
        _set(self, "parts", parts)
        _set(self, "depends_on", depends_on)
        _set(self, "dependents", dependents)
        _set(self, "commits", items(commits))
        _set(self, "attempts", items(attempts))
        _set(self, "more_attempts", more_attempts)
        _set(self, "changes", items(changes))
        _set(self, "more_changes", more_changes)
        _set(self, "whole", whole)
        _set(self, "diagnostics", items(diagnostics))


Severity: TypeAlias = Literal["warning", "error"]
"""How bad a finding is.

- `warning`: What it was found in can be used; something may not be as it was meant.
- `error`: It must be corrected first.
"""


CandidateStanding: TypeAlias = Literal["next", "later", "waits", "blocked", "not_wanted"]
"""Where a task stands in the choice of the next one.

- `next`: It is next.
- `later`: It could be worked on, and another one comes first.
- `waits`: It waits for another task.
- `blocked`: It is marked as blocked.
- `not_wanted`: The run is for other tasks.
"""


class Candidate(Record):
    """A task that is left, and why it is next or not.

    Attributes:
        task: The task.
        title: Its title.
        standing: Where it stands in the choice.
        reason: Why, in one line.
    """

    __slots__ = ("task", "title", "standing", "reason")
    __match_args__ = ("task", "title", "standing", "reason")
    task: str
    title: str
    standing: CandidateStanding
    reason: str

    def __init__(
        self,
        task: str,
        title: str,
        standing: CandidateStanding,
        reason: str,
    ) -> None:
        _set(self, "task", task)
        _set(self, "title", title)
        _set(self, "standing", standing)
        _set(self, "reason", reason)


class TaskChoice(Record):
    """Which task is next, and why.

    Attributes:
        next: The task that is next; nothing where none can be worked on.
        candidates: The tasks that are left, groups aside: the one that is next, those that
            could be worked on in the order in which they would be, then the others in natural
            order.
    """

    __slots__ = ("next", "candidates")
    __match_args__ = ("candidates", "next")
    next: str | None
    candidates: tuple[Candidate, ...]

    def __init__(
        self,
        candidates: Iterable[Candidate],
        next: str | None = None,
    ) -> None:
        _set(self, "next", next)
        _set(self, "candidates", items(candidates))


RunKind: TypeAlias = Literal["loop", "landing"]
"""What a run does.

- `loop`: It works on tasks. The default, also where the beginning of its record cannot be read.
- `landing`: It lands what lanes have submitted, without a loop.
"""


RunState: TypeAlias = Literal["under_way", "ended", "cut_off"]
"""How a run stands, as far as its record and the loop's lock tell.

- `under_way`: Its loop is at work.
- `ended`: It told that it ended.
- `cut_off`: Its loop is gone, and it did not tell that it ended.
"""


class EventRef(Record):
    """An event that an answer rests on.

    Attributes:
        run: The run.
        seq: Its number.
        at: When it was told.
        event: What kind of event it is, such as `quality_checked`.
    """

    __slots__ = ("run", "seq", "at", "event")
    __match_args__ = ("run", "seq", "at", "event")
    run: str
    seq: int
    at: str
    event: str

    def __init__(
        self,
        run: str,
        seq: int,
        at: str,
        event: str,
    ) -> None:
        _set(self, "run", run)
        _set(self, "seq", seq)
        _set(self, "at", at)
        _set(self, "event", event)


class LandedTask(Record):
    """A task whose work landed.

    Attributes:
        task: The task.
        into: The branch that it landed on.
        commit: The commit with its work there.
    """

    __slots__ = ("task", "into", "commit")
    __match_args__ = ("task", "into", "commit")
    task: str
    into: str
    commit: str

    def __init__(
        self,
        task: str,
        into: str,
        commit: str,
    ) -> None:
        _set(self, "task", task)
        _set(self, "into", into)
        _set(self, "commit", commit)


class ReturnedTask(Record):
    """A task whose work did not land.

    Attributes:
        task: The task.
        attempt: Which attempt it was, from 1.
        reason: Why, with the files in conflict or the failures.
        event: The event.
    """

    __slots__ = ("task", "attempt", "reason", "event")
    __match_args__ = ("task", "attempt", "reason", "event")
    task: str
    attempt: int
    reason: str
    event: EventRef

    def __init__(
        self,
        task: str,
        attempt: int,
        reason: str,
        event: EventRef,
    ) -> None:
        _set(self, "task", task)
        _set(self, "attempt", attempt)
        _set(self, "reason", reason)
        _set(self, "event", event)


class HeldBackTask(Record):
    """A task whose work is not merged until somebody lets go of it.

    Attributes:
        task: The task.
        reason: Why, as far as whoever holds it said so.
        by: Who holds it, as far as that is known.
        event: The event.
    """

    __slots__ = ("task", "reason", "by", "event")
    __match_args__ = ("task", "by", "event", "reason")
    task: str
    reason: str | None
    by: Actor
    event: EventRef

    def __init__(
        self,
        task: str,
        by: Actor,
        event: EventRef,
        reason: str | None = None,
    ) -> None:
        _set(self, "task", task)
        _set(self, "reason", reason)
        _set(self, "by", by)
        _set(self, "event", event)


class TurnHistory(Record):
    """A call of an agent.

    Attributes:
        turn: The turn.
        agent: The agent.
        model: Its model, where the call had one.
        why: Why it was this one.
        tool_calls: How many tools it called.
        took_ms: How long it took, in milliseconds; nothing where its end is not recorded.
        exit_code: Its exit code, where it ran to its end.
        failure: How it failed, where it did.
        usage: What it consumed.
        logs: Where it failed, the files that hold what it printed.
    """

    __slots__ = ("turn", "agent", "model", "why", "tool_calls", "took_ms", "exit_code", "failure", "usage", "logs")
    __match_args__ = ("turn", "agent", "why", "tool_calls", "usage", "logs", "model", "took_ms", "exit_code", "failure")
    turn: Turn
    agent: str
    model: str | None
    why: str
    tool_calls: int
    took_ms: int | None
    exit_code: int | None
    failure: IterationFailure | None
    usage: Usage
    logs: tuple[str, ...]

    def __init__(
        self,
        turn: Turn,
        agent: str,
        why: str,
        tool_calls: int,
        usage: Usage,
        logs: Iterable[str],
        model: str | None = None,
        took_ms: int | None = None,
        exit_code: int | None = None,
        failure: IterationFailure | None = None,
    ) -> None:
        _set(self, "turn", turn)
        _set(self, "agent", agent)
        _set(self, "model", model)
        _set(self, "why", why)
        _set(self, "tool_calls", tool_calls)
        _set(self, "took_ms", took_ms)
        _set(self, "exit_code", exit_code)
        _set(self, "failure", failure)
        _set(self, "usage", usage)
        _set(self, "logs", items(logs))


class IterationHistory(Record):
    """An iteration.

    Attributes:
        iteration: The iteration, from 1.
        lane: The lane that it was of; nothing in a run without lanes.
        mode: What it was for; nothing where its beginning is not recorded.
        task: The task, where it was for one.
        title: The task's title.
        began_in: The run in which it began, where that is an earlier one.
        started_at: When it began; nothing where that is not recorded.
        began_ms: When it began, in milliseconds since the run was built; nothing where that
            was in an earlier one.
        took_ms: How long it took, in milliseconds; nothing where its beginning or its end
            is not recorded here.
        outcome: How it ended; nothing where that is not recorded.
        failure: How it failed, where it did.
        excused: Whether it met a usage limit, and so counts as no failure.
        lost_its_task: Whether it was stopped because somebody settled its task or gave it
            back, and so counts as no failure.
        unrecorded: Whether the agent ended well without recording anything.
        completed: The tasks that stand completed because of it; with lanes those whose work
            it submitted.
        taken_back: The completions that were taken back in it.
        usage: What it consumed.
        turns: The calls of agents.
        check: How the last check of it went, where one was made.
        commit: The commit that was checked out at its end.
        uncommitted: The files that its agent left uncommitted, at most 100.
        committed_for_agent: The commit in which Samuel stored these files, in a workspace
            of Samuel's.
        first_event: The number of the event that it began with.
        last_event: The number of its last event.
    """

    __slots__ = ("iteration", "lane", "mode", "task", "title", "began_in", "started_at", "began_ms", "took_ms", "outcome", "failure", "excused", "lost_its_task", "unrecorded", "completed", "taken_back", "usage", "turns", "check", "commit", "uncommitted", "committed_for_agent", "first_event", "last_event")
    __match_args__ = ("iteration", "title", "excused", "lost_its_task", "unrecorded", "completed", "taken_back", "usage", "turns", "uncommitted", "first_event", "last_event", "lane", "mode", "task", "began_in", "started_at", "began_ms", "took_ms", "outcome", "failure", "check", "commit", "committed_for_agent")
    iteration: int
    lane: int | None
    mode: Mode | None
    task: str | None
    title: str
    began_in: str | None
    started_at: str | None
    began_ms: int | None
    took_ms: int | None
    outcome: IterationOutcome | None
    failure: IterationFailure | None
    excused: bool
    lost_its_task: bool
    unrecorded: bool
    completed: tuple[str, ...]
    taken_back: tuple[str, ...]
    usage: Usage
    turns: tuple[TurnHistory, ...]
    check: CheckResult | None
    commit: str | None
    uncommitted: tuple[str, ...]
    committed_for_agent: str | None
    first_event: int
    last_event: int

    def __init__(
        self,
        iteration: int,
        title: str,
        excused: bool,
        lost_its_task: bool,
        unrecorded: bool,
        completed: Iterable[str],
        taken_back: Iterable[str],
        usage: Usage,
        turns: Iterable[TurnHistory],
        uncommitted: Iterable[str],
        first_event: int,
        last_event: int,
        lane: int | None = None,
        mode: Mode | None = None,
        task: str | None = None,
        began_in: str | None = None,
        started_at: str | None = None,
        began_ms: int | None = None,
        took_ms: int | None = None,
        outcome: IterationOutcome | None = None,
        failure: IterationFailure | None = None,
        check: CheckResult | None = None,
        commit: str | None = None,
        committed_for_agent: str | None = None,
    ) -> None:
        _set(self, "iteration", iteration)
        _set(self, "lane", lane)
        _set(self, "mode", mode)
        _set(self, "task", task)
        _set(self, "title", title)
        _set(self, "began_in", began_in)
        _set(self, "started_at", started_at)
        _set(self, "began_ms", began_ms)
        _set(self, "took_ms", took_ms)
        _set(self, "outcome", outcome)
        _set(self, "failure", failure)
        _set(self, "excused", excused)
        _set(self, "lost_its_task", lost_its_task)
        _set(self, "unrecorded", unrecorded)
        _set(self, "completed", items(completed))
        _set(self, "taken_back", items(taken_back))
        _set(self, "usage", usage)
        _set(self, "turns", items(turns))
        _set(self, "check", check)
        _set(self, "commit", commit)
        _set(self, "uncommitted", items(uncommitted))
        _set(self, "committed_for_agent", committed_for_agent)
        _set(self, "first_event", first_event)
        _set(self, "last_event", last_event)


class CheckHistory(Record):
    """A check that was made.

    Attributes:
        iteration: The iteration; 0 before the first, and with lanes where it is of none.
        lane: The lane whose work it was; nothing of what several lanes made, and in a run
            without lanes.
        merged: The tasks whose work was merged and checked together, where the queue of a
            run with lanes checked it.
        ok: Whether the work stands.
        result: How it went.
        failures: The checks that failed.
        reason: Which handler refused that named no failed check, and why.
        commit: The commit that was checked out then.
        event: The event.
    """

    __slots__ = ("iteration", "lane", "merged", "ok", "result", "failures", "reason", "commit", "event")
    __match_args__ = ("iteration", "merged", "ok", "result", "failures", "event", "lane", "reason", "commit")
    iteration: int
    lane: int | None
    merged: tuple[str, ...]
    ok: bool
    result: CheckResult
    failures: tuple[CheckFailure, ...]
    reason: str | None
    commit: str | None
    event: EventRef

    def __init__(
        self,
        iteration: int,
        merged: Iterable[str],
        ok: bool,
        result: CheckResult,
        failures: Iterable[CheckFailure],
        event: EventRef,
        lane: int | None = None,
        reason: str | None = None,
        commit: str | None = None,
    ) -> None:
        _set(self, "iteration", iteration)
        _set(self, "lane", lane)
        _set(self, "merged", items(merged))
        _set(self, "ok", ok)
        _set(self, "result", result)
        _set(self, "failures", items(failures))
        _set(self, "reason", reason)
        _set(self, "commit", commit)
        _set(self, "event", event)


class HookFigures(Record):
    """How often a handler was called, and how long that took.

    Attributes:
        point: The point.
        handler: The handler's id.
        calls: How often it was called.
        not_ok: How often it did not answer, or answered no.
        total_ms: How long all calls took, in milliseconds.
        longest_ms: How long the longest took, in milliseconds.
    """

    __slots__ = ("point", "handler", "calls", "not_ok", "total_ms", "longest_ms")
    __match_args__ = ("point", "handler", "calls", "not_ok", "total_ms", "longest_ms")
    point: str
    handler: str
    calls: int
    not_ok: int
    total_ms: int
    longest_ms: int

    def __init__(
        self,
        point: str,
        handler: str,
        calls: int,
        not_ok: int,
        total_ms: int,
        longest_ms: int,
    ) -> None:
        _set(self, "point", point)
        _set(self, "handler", handler)
        _set(self, "calls", calls)
        _set(self, "not_ok", not_ok)
        _set(self, "total_ms", total_ms)
        _set(self, "longest_ms", longest_ms)


class HistoryNote(Record):
    """Something that was told.

    Attributes:
        text: The words.
        event: The event.
    """

    __slots__ = ("text", "event")
    __match_args__ = ("text", "event")
    text: str
    event: EventRef

    def __init__(
        self,
        text: str,
        event: EventRef,
    ) -> None:
        _set(self, "text", text)
        _set(self, "event", event)


class RecordGaps(Record):
    """What of a record is missing.

    Attributes:
        beginning: Whether its first events are not there any more.
        missing: How many events are missing between others, beside what agents said.
        repeated: How many events are there once more, which counts for nothing.
        unreadable: How many lines cannot be read.
        agent_text: How much of what agents said was not recorded, in events.
    """

    __slots__ = ("beginning", "missing", "repeated", "unreadable", "agent_text")
    __match_args__ = ("beginning", "missing", "repeated", "unreadable", "agent_text")
    beginning: bool
    missing: int
    repeated: int
    unreadable: int
    agent_text: int

    def __init__(
        self,
        beginning: bool,
        missing: int,
        repeated: int,
        unreadable: int,
        agent_text: int,
    ) -> None:
        _set(self, "beginning", beginning)
        _set(self, "missing", missing)
        _set(self, "repeated", repeated)
        _set(self, "unreadable", unreadable)
        _set(self, "agent_text", agent_text)


class RunHistory(Record):
    """A run as its record tells of it.

    Attributes:
        run: Its id.
        kind: What it does.
        state: How it stands.
        started_at: When it began, as far as that is recorded.
        last_at: When the last event was told.
        took_ms: How long it took up to the last event, in milliseconds.
        goes_on_from: The run that it goes on from, where it goes on.
        agent: The agent.
        model: Its model, where one is configured.
        tasks: The tasks that it is for, beside what they depend on; none where it is for
            all.
        guards: What could end it.
        first_commit: The commit that was checked out when it began, where there was one;
            with lanes the head of the branch that work lands on, as far as that is recorded,
            else what the first work began at.
        last_commit: The last commit that was seen; with lanes the last one that landed.
        landed: The work of lanes that landed, the first first; a task that was done again
            is there again. None without lanes.
        unmerged: The branch with merged work that is not in what is checked out: its own,
            else the one that its end named.
        returned: The work of lanes that did not land, each as often as it came back, the
            first first. None without lanes.
        held: The work of lanes that somebody held back in the queue, and that nobody has
            let go of since.
        ended_by: Who asked first that it ends: the user and the session, as `samuel` names
            them, or the signal, such as `SIGTERM`; nothing where nobody did, or the program
            that held it.
        iterations: Its iterations, the first one first. One that was interrupted and ends
            here began in the run before: when, and what it was for, is told as far as that
            run's record is there.
        checks: The checks that were made, the first one first.
        hooks: The handlers that were called, by point and name.
        completed: The tasks that it completed and that were not taken back.
        taken_back_outside: The completions that were taken back outside of an iteration,
            such as where a run goes on that was interrupted; each as often as that happened.
        usage: What all calls of agents consumed, as far as they came to their end.
        agents: What of it each agent consumed.
        warnings: What was warned of, the first 500.
        more_warnings: How many warnings there were beyond these.
        report: What came of it, where it told.
        gaps: What of the record is missing.
        last: The last event; nothing where none could be read.
    """

    __slots__ = ("run", "kind", "state", "started_at", "last_at", "took_ms", "goes_on_from", "agent", "model", "tasks", "guards", "first_commit", "last_commit", "landed", "unmerged", "returned", "held", "ended_by", "iterations", "checks", "hooks", "completed", "taken_back_outside", "usage", "agents", "warnings", "more_warnings", "report", "gaps", "last")
    __match_args__ = ("run", "kind", "state", "took_ms", "agent", "tasks", "guards", "landed", "returned", "held", "iterations", "checks", "hooks", "completed", "taken_back_outside", "usage", "agents", "warnings", "more_warnings", "gaps", "started_at", "last_at", "goes_on_from", "model", "first_commit", "last_commit", "unmerged", "ended_by", "report", "last")
    run: str
    kind: RunKind
    state: RunState
    started_at: str | None
    last_at: str | None
    took_ms: int
    goes_on_from: str | None
    agent: str
    model: str | None
    tasks: tuple[str, ...]
    guards: tuple[Guard, ...]
    first_commit: str | None
    last_commit: str | None
    landed: tuple[LandedTask, ...]
    unmerged: str | None
    returned: tuple[ReturnedTask, ...]
    held: tuple[HeldBackTask, ...]
    ended_by: str | None
    iterations: tuple[IterationHistory, ...]
    checks: tuple[CheckHistory, ...]
    hooks: tuple[HookFigures, ...]
    completed: tuple[str, ...]
    taken_back_outside: tuple[str, ...]
    usage: Usage
    agents: tuple[AgentShare, ...]
    warnings: tuple[HistoryNote, ...]
    more_warnings: int
    report: RunReport | None
    gaps: RecordGaps
    last: EventRef | None

    def __init__(
        self,
        run: str,
        kind: RunKind,
        state: RunState,
        took_ms: int,
        agent: str,
        tasks: Iterable[str],
        guards: Iterable[Guard],
        landed: Iterable[LandedTask],
        returned: Iterable[ReturnedTask],
        held: Iterable[HeldBackTask],
        iterations: Iterable[IterationHistory],
        checks: Iterable[CheckHistory],
        hooks: Iterable[HookFigures],
        completed: Iterable[str],
        taken_back_outside: Iterable[str],
        usage: Usage,
        agents: Iterable[AgentShare],
        warnings: Iterable[HistoryNote],
        more_warnings: int,
        gaps: RecordGaps,
        started_at: str | None = None,
        last_at: str | None = None,
        goes_on_from: str | None = None,
        model: str | None = None,
        first_commit: str | None = None,
        last_commit: str | None = None,
        unmerged: str | None = None,
        ended_by: str | None = None,
        report: RunReport | None = None,
        last: EventRef | None = None,
    ) -> None:
        _set(self, "run", run)
        _set(self, "kind", kind)
        _set(self, "state", state)
        _set(self, "started_at", started_at)
        _set(self, "last_at", last_at)
        _set(self, "took_ms", took_ms)
        _set(self, "goes_on_from", goes_on_from)
        _set(self, "agent", agent)
        _set(self, "model", model)
        _set(self, "tasks", items(tasks))
        _set(self, "guards", items(guards))
        _set(self, "first_commit", first_commit)
        _set(self, "last_commit", last_commit)
        _set(self, "landed", items(landed))
        _set(self, "unmerged", unmerged)
        _set(self, "returned", items(returned))
        _set(self, "held", items(held))
        _set(self, "ended_by", ended_by)
        _set(self, "iterations", items(iterations))
        _set(self, "checks", items(checks))
        _set(self, "hooks", items(hooks))
        _set(self, "completed", items(completed))
        _set(self, "taken_back_outside", items(taken_back_outside))
        _set(self, "usage", usage)
        _set(self, "agents", items(agents))
        _set(self, "warnings", items(warnings))
        _set(self, "more_warnings", more_warnings)
        _set(self, "report", report)
        _set(self, "gaps", gaps)
        _set(self, "last", last)


class RunSummary(Record):
    """A run in a few figures.

    Attributes:
        run: Its id.
        kind: What it does.
        state: Whether it is under way, has ended, or was cut off.
        started_at: When it began, as far as that is recorded.
        took_ms: How long it took, or takes so far, in milliseconds.
        agent: The agent.
        tasks: The tasks that it is for, beside what they depend on; none where it is for
            all.
        iterations: How many iterations it began.
        failed_iterations: How many of them failed.
        completed: The tasks that it completed.
        usage: What it consumed.
        exit_reason: Why it ended, where it did.
        detail: What led to that, in one line.
        goes_on_from: The run that it goes on from, where it goes on.
        unmerged: The branch with merged work that is not in what is checked out: its own,
            else the one that its end named.
        begins_later: Whether the beginning of its record is missing, so that the summary
            covers only the rest.
        problem: Why nothing more is known of it, where its record cannot be read.
    """

    __slots__ = ("run", "kind", "state", "started_at", "took_ms", "agent", "tasks", "iterations", "failed_iterations", "completed", "usage", "exit_reason", "detail", "goes_on_from", "unmerged", "begins_later", "problem")
    __match_args__ = ("run", "kind", "state", "took_ms", "agent", "tasks", "iterations", "failed_iterations", "completed", "usage", "begins_later", "started_at", "exit_reason", "detail", "goes_on_from", "unmerged", "problem")
    run: str
    kind: RunKind
    state: RunState
    started_at: str | None
    took_ms: int
    agent: str
    tasks: tuple[str, ...]
    iterations: int
    failed_iterations: int
    completed: tuple[str, ...]
    usage: Usage
    exit_reason: ExitReason | None
    detail: str | None
    goes_on_from: str | None
    unmerged: str | None
    begins_later: bool
    problem: str | None

    def __init__(
        self,
        run: str,
        kind: RunKind,
        state: RunState,
        took_ms: int,
        agent: str,
        tasks: Iterable[str],
        iterations: int,
        failed_iterations: int,
        completed: Iterable[str],
        usage: Usage,
        begins_later: bool,
        started_at: str | None = None,
        exit_reason: ExitReason | None = None,
        detail: str | None = None,
        goes_on_from: str | None = None,
        unmerged: str | None = None,
        problem: str | None = None,
    ) -> None:
        _set(self, "run", run)
        _set(self, "kind", kind)
        _set(self, "state", state)
        _set(self, "started_at", started_at)
        _set(self, "took_ms", took_ms)
        _set(self, "agent", agent)
        _set(self, "tasks", items(tasks))
        _set(self, "iterations", iterations)
        _set(self, "failed_iterations", failed_iterations)
        _set(self, "completed", items(completed))
        _set(self, "usage", usage)
        _set(self, "exit_reason", exit_reason)
        _set(self, "detail", detail)
        _set(self, "goes_on_from", goes_on_from)
        _set(self, "unmerged", unmerged)
        _set(self, "begins_later", begins_later)
        _set(self, "problem", problem)


class RunList(Record):
    """The runs that are recorded.

    Attributes:
        runs: The runs, the newest first.
        more: How many older ones are left out.
    """

    __slots__ = ("runs", "more")
    __match_args__ = ("runs", "more")
    runs: tuple[RunSummary, ...]
    more: int

    def __init__(
        self,
        runs: Iterable[RunSummary],
        more: int,
    ) -> None:
        _set(self, "runs", items(runs))
        _set(self, "more", more)


class UnreadRun(Record):
    """A run whose record, or lines of it, cannot be read, so that an answer does without what they
    tell.

    Attributes:
        run: Its id.
        problem: What cannot be read, and why.
    """

    __slots__ = ("run", "problem")
    __match_args__ = ("run", "problem")
    run: str
    problem: str

    def __init__(
        self,
        run: str,
        problem: str,
    ) -> None:
        _set(self, "run", run)
        _set(self, "problem", problem)


class Eta(Record):
    """How much longer a plan may take: an interval, or why none can be given.

    Attributes:
        tasks: How many tasks are left that a loop works on.
        iterations: How many iterations it rests on.
        low_ms: How long it takes if every iteration takes as long as the first quartile, in
            milliseconds.
        high_ms: The same with the third quartile.
        unknown: Why there is no interval, where there is none.
    """

    __slots__ = ("tasks", "iterations", "low_ms", "high_ms", "unknown")
    __match_args__ = ("tasks", "iterations", "low_ms", "high_ms", "unknown")
    tasks: int
    iterations: int
    low_ms: int | None
    high_ms: int | None
    unknown: str | None

    def __init__(
        self,
        tasks: int,
        iterations: int,
        low_ms: int | None = None,
        high_ms: int | None = None,
        unknown: str | None = None,
    ) -> None:
        _set(self, "tasks", tasks)
        _set(self, "iterations", iterations)
        _set(self, "low_ms", low_ms)
        _set(self, "high_ms", high_ms)
        _set(self, "unknown", unknown)


class LoopActivity(Record):
    """What a loop does now.

    Attributes:
        run: The run.
        lane: The lane; nothing where the whole run is told of, and in a run without lanes.
        iteration: The iteration under way; nothing between two.
        mode: What it is for.
        task: The task, where it is for one.
        title: The task's title.
        began_at: When the iteration began.
        agent: The agent that is called, with its model; nothing between two calls.
        doing: What was told last, on one line.
        event: The event that told it.
    """

    __slots__ = ("run", "lane", "iteration", "mode", "task", "title", "began_at", "agent", "doing", "event")
    __match_args__ = ("run", "title", "doing", "event", "lane", "iteration", "mode", "task", "began_at", "agent")
    _rust = "Now"
    run: str
    lane: int | None
    iteration: int | None
    mode: Mode | None
    task: str | None
    title: str
    began_at: str | None
    agent: str | None
    doing: str
    event: EventRef

    def __init__(
        self,
        run: str,
        title: str,
        doing: str,
        event: EventRef,
        lane: int | None = None,
        iteration: int | None = None,
        mode: Mode | None = None,
        task: str | None = None,
        began_at: str | None = None,
        agent: str | None = None,
    ) -> None:
        _set(self, "run", run)
        _set(self, "lane", lane)
        _set(self, "iteration", iteration)
        _set(self, "mode", mode)
        _set(self, "task", task)
        _set(self, "title", title)
        _set(self, "began_at", began_at)
        _set(self, "agent", agent)
        _set(self, "doing", doing)
        _set(self, "event", event)


class FailureNote(Record):
    """A failure of an iteration.

    Attributes:
        iteration: The iteration.
        task: The task, where it was for one.
        class_: The kind of thing that failed.
        message: What failed, on one line.
        event: The event.
    """

    __slots__ = ("iteration", "task", "class_", "message", "event")
    __match_args__ = ("iteration", "class_", "message", "event", "task")
    _wire = {'class': 'class_'}
    iteration: int
    task: str | None
    class_: str
    message: str
    event: EventRef

    def __init__(
        self,
        iteration: int,
        class_: str,
        message: str,
        event: EventRef,
        task: str | None = None,
    ) -> None:
        _set(self, "iteration", iteration)
        _set(self, "task", task)
        _set(self, "class_", class_)
        _set(self, "message", message)
        _set(self, "event", event)


class AgentShare(Record):
    """What the calls of an agent consumed.

    Attributes:
        agent: The agent.
        calls: How many calls came to their end.
        usage: What they consumed.
    """

    __slots__ = ("agent", "calls", "usage")
    __match_args__ = ("agent", "calls", "usage")
    agent: str
    calls: int
    usage: Usage

    def __init__(
        self,
        agent: str,
        calls: int,
        usage: Usage,
    ) -> None:
        _set(self, "agent", agent)
        _set(self, "calls", calls)
        _set(self, "usage", usage)


class TaskFigures(Record):
    """What the iterations for a task came to.

    Attributes:
        task: The task.
        iterations: How many iterations were for it.
        failed: How many of them failed.
        taken_back: How often its completion was taken back.
        took_ms: How long those took that came to their end, in milliseconds.
        usage: What they consumed.
    """

    __slots__ = ("task", "iterations", "failed", "taken_back", "took_ms", "usage")
    __match_args__ = ("task", "iterations", "failed", "taken_back", "took_ms", "usage")
    task: str
    iterations: int
    failed: int
    taken_back: int
    took_ms: int
    usage: Usage

    def __init__(
        self,
        task: str,
        iterations: int,
        failed: int,
        taken_back: int,
        took_ms: int,
        usage: Usage,
    ) -> None:
        _set(self, "task", task)
        _set(self, "iterations", iterations)
        _set(self, "failed", failed)
        _set(self, "taken_back", taken_back)
        _set(self, "took_ms", took_ms)
        _set(self, "usage", usage)


class Activity(Record):
    """What the last runs did, and the one that is under way.

    Attributes:
        now: What the loop does now; nothing where none is recorded that is under way.
        lanes: What each lane does that is at work, in their order; none in a run without
            lanes.
        last_failures: The last failures, the newest first; at most 5.
        agents: What each agent consumed.
        tasks: The tasks that iterations were for, in natural order.
        eta: How much longer the plan may take.
        runs: How many runs it rests on, the last ones for the present plan.
        unread_runs: How many of these could not be read, or not to their end.
        more_runs: How many older ones are recorded and were not read, most of them perhaps
            for plans that were replaced.
    """

    __slots__ = ("now", "lanes", "last_failures", "agents", "tasks", "eta", "runs", "unread_runs", "more_runs")
    __match_args__ = ("lanes", "last_failures", "agents", "tasks", "eta", "runs", "unread_runs", "more_runs", "now")
    now: LoopActivity | None
    lanes: tuple[LoopActivity, ...]
    last_failures: tuple[FailureNote, ...]
    agents: tuple[AgentShare, ...]
    tasks: tuple[TaskFigures, ...]
    eta: Eta
    runs: int
    unread_runs: int
    more_runs: int

    def __init__(
        self,
        lanes: Iterable[LoopActivity],
        last_failures: Iterable[FailureNote],
        agents: Iterable[AgentShare],
        tasks: Iterable[TaskFigures],
        eta: Eta,
        runs: int,
        unread_runs: int,
        more_runs: int,
        now: LoopActivity | None = None,
    ) -> None:
        _set(self, "now", now)
        _set(self, "lanes", items(lanes))
        _set(self, "last_failures", items(last_failures))
        _set(self, "agents", items(agents))
        _set(self, "tasks", items(tasks))
        _set(self, "eta", eta)
        _set(self, "runs", runs)
        _set(self, "unread_runs", unread_runs)
        _set(self, "more_runs", more_runs)


class WhyReason(Record):
    """A reason.

    Attributes:
        text: The reason, on one line.
        details: What there is to see of it, such as the end of what a check printed; one
            line each.
        events: The events that it rests on; none where it follows from the plan.
    """

    __slots__ = ("text", "details", "events")
    __match_args__ = ("text", "details", "events")
    text: str
    details: tuple[str, ...]
    events: tuple[EventRef, ...]

    def __init__(
        self,
        text: str,
        details: Iterable[str],
        events: Iterable[EventRef],
    ) -> None:
        _set(self, "text", text)
        _set(self, "details", items(details))
        _set(self, "events", items(events))


class Why(Record):
    """An answer.

    Attributes:
        about: What it is about, such as `task 2` or `the last check`.
        answer: The answer, on one line.
        reasons: The reasons, the most important one first.
        unread: The runs whose records cannot be read, or lines of them: what those would
            tell is not in the answer.
        remedies: What has work go on that does not go on by itself.
    """

    __slots__ = ("about", "answer", "reasons", "unread", "remedies")
    __match_args__ = ("about", "answer", "reasons", "unread", "remedies")
    about: str
    answer: str
    reasons: tuple[WhyReason, ...]
    unread: tuple[UnreadRun, ...]
    remedies: tuple[WorkRemedy, ...]

    def __init__(
        self,
        about: str,
        answer: str,
        reasons: Iterable[WhyReason],
        unread: Iterable[UnreadRun],
        remedies: Iterable[WorkRemedy],
    ) -> None:
        _set(self, "about", about)
        _set(self, "answer", answer)
        _set(self, "reasons", items(reasons))
        _set(self, "unread", items(unread))
        _set(self, "remedies", items(remedies))


ReportedChange: TypeAlias = Literal["added", "changed", "removed"]
"""What became of a file.

- `added`: It is new.
- `changed`: It holds something else.
- `removed`: It is gone.
"""


class ChangedFile(Record):
    """A file that is different.

    Attributes:
        path: Its path, from the project's root.
        change: What became of it.
        added: How many lines were added to it; nothing where they were not counted.
        removed: How many were removed; nothing where they were not counted.
        binary: Whether it is no text, so that it has no lines.
    """

    __slots__ = ("path", "change", "added", "removed", "binary")
    __match_args__ = ("path", "change", "binary", "added", "removed")
    path: str
    change: ReportedChange
    added: int | None
    removed: int | None
    binary: bool

    def __init__(
        self,
        path: str,
        change: ReportedChange,
        binary: bool,
        added: int | None = None,
        removed: int | None = None,
    ) -> None:
        _set(self, "path", path)
        _set(self, "change", change)
        _set(self, "added", added)
        _set(self, "removed", removed)
        _set(self, "binary", binary)


class TaskOutcome(Record):
    """What a run made of a task.

    Attributes:
        task: The task.
        title: Its title.
        completed: Whether the run completed it.
        skipped: Whether it was left out when the run ended, by whomever.
        iterations: How many iterations were for it.
        failed: How many of them failed.
        taken_back: How often its completion was taken back.
        usage: What the iterations consumed.
        commits: The commits that were recorded for it.
        marks: What is unusual about its completion, as the plan has it now.
        returned: Why its work did not land, each time that it came back; none without
            lanes.
        held: Who holds its work back in the queue, and why; nothing where nobody does.
    """

    __slots__ = ("task", "title", "completed", "skipped", "iterations", "failed", "taken_back", "usage", "commits", "marks", "returned", "held")
    __match_args__ = ("task", "title", "completed", "skipped", "iterations", "failed", "taken_back", "usage", "commits", "marks", "returned", "held")
    task: str
    title: str
    completed: bool
    skipped: bool
    iterations: int
    failed: int
    taken_back: int
    usage: Usage
    commits: tuple[str, ...]
    marks: tuple[Mark, ...]
    returned: tuple[str, ...]
    held: str | None

    def __init__(
        self,
        task: str,
        title: str,
        completed: bool,
        skipped: bool,
        iterations: int,
        failed: int,
        taken_back: int,
        usage: Usage,
        commits: Iterable[str],
        marks: Iterable[Mark],
        returned: Iterable[str],
        held: str | None = None,
    ) -> None:
        _set(self, "task", task)
        _set(self, "title", title)
        _set(self, "completed", completed)
        _set(self, "skipped", skipped)
        _set(self, "iterations", iterations)
        _set(self, "failed", failed)
        _set(self, "taken_back", taken_back)
        _set(self, "usage", usage)
        _set(self, "commits", items(commits))
        _set(self, "marks", items(marks))
        _set(self, "returned", items(returned))
        _set(self, "held", held)


class RunPage(Record):
    """A run, with what the plan and the repository tell of it.

    Attributes:
        project: The project's name.
        made_at: When the page was made.
        run: The run.
        tasks: The tasks that it worked on, in natural order.
        files: The files that changed between the commits that it began and ended with,
            sorted; at most 1,000.
        more_files: How many more there are.
        lines_added: How many lines were added in all files that changed, as far as they
            were counted.
        lines_removed: How many were removed.
        uncounted_files: How many of the files are neither counted nor binary: they are too
            large, or there are too many.
    """

    __slots__ = ("project", "made_at", "run", "tasks", "files", "more_files", "lines_added", "lines_removed", "uncounted_files")
    __match_args__ = ("project", "made_at", "run", "tasks", "files", "more_files", "lines_added", "lines_removed", "uncounted_files")
    project: str
    made_at: str
    run: RunHistory
    tasks: tuple[TaskOutcome, ...]
    files: tuple[ChangedFile, ...]
    more_files: int
    lines_added: int
    lines_removed: int
    uncounted_files: int

    def __init__(
        self,
        project: str,
        made_at: str,
        run: RunHistory,
        tasks: Iterable[TaskOutcome],
        files: Iterable[ChangedFile],
        more_files: int,
        lines_added: int,
        lines_removed: int,
        uncounted_files: int,
    ) -> None:
        _set(self, "project", project)
        _set(self, "made_at", made_at)
        _set(self, "run", run)
        _set(self, "tasks", items(tasks))
        _set(self, "files", items(files))
        _set(self, "more_files", more_files)
        _set(self, "lines_added", lines_added)
        _set(self, "lines_removed", lines_removed)
        _set(self, "uncounted_files", uncounted_files)


RemarkKind: TypeAlias = Literal[
    "no-tasks",
    "empty-companion",
    "duplicate-id",
    "invalid-id",
    "invalid-title",
    "odd-title",
    "dangling-parent",
    "dangling-dependency",
    "dependency-cycle",
    "unknown-priority",
    "unknown-complexity",
    "unreadable-file",
    "ignored-heading",
    "ignored-checklist",
    "ignored-item",
    "ignored-row",
    "ignored-field",
    "not-quoted",
    "more-remarks",
]
"""What a remark is about.

- `no-tasks`: No task was found.
- `empty-companion`: The companion has no checklist lines, so the PRD was used.
- `duplicate-id`: Two tasks have the same id; the second is left out.
- `invalid-id`: An id has characters it must not have, or too many; the task is left out.
- `invalid-title`: A title is empty or too long; the task is left out.
- `odd-title`: A title has characters that are invisible or change the direction of text.
- `dangling-parent`: An id such as `3.2` without a task `3`; the task has no parent.
- `dangling-dependency`: A dependency on a task that is not there; it is left out.
- `dependency-cycle`: Tasks that wait for each other.
- `unknown-priority`: A priority that is none; the task has medium priority.
- `unknown-complexity`: A complexity that is none; the task has medium complexity.
- `unreadable-file`: An entry of a list of files that names no file; it is left out.
- `ignored-heading`: A heading below or between tasks that is no task; its text is left out.
- `ignored-checklist`: A checklist item below tasks that is none itself.
- `ignored-item`: A numbered line below tasks that is none itself.
- `ignored-row`: A row of a table below tasks that is none itself.
- `ignored-field`: A field of a JSON document that has no place in a task.
- `not-quoted`: Prompts cannot quote the document, such as one outside of the project.
- `more-remarks`: There were more remarks than `MAX_REMARKS`.
"""


class Remark(Record):
    """Something the author of a document should know.

    Attributes:
        file: The document: the PRD or its companion.
        line: The line, from 1.
        column: The column in characters, from 1.
        kind: What it is about.
        severity: How bad it is: with a warning the tasks can be used, though something may
            not be as the author meant it; after an error the document must be corrected first.
        message: What is wrong, a lowercase fragment.
        related_lines: Other lines of the document that have to do with it, from 1: the
            first task with the id, the tasks of a cycle. Often empty.
    """

    __slots__ = ("file", "line", "column", "kind", "severity", "message", "related_lines")
    __match_args__ = ("file", "line", "column", "kind", "severity", "message", "related_lines")
    file: str
    line: int
    column: int
    kind: RemarkKind
    severity: Severity
    message: str
    related_lines: tuple[int, ...]

    def __init__(
        self,
        file: str,
        line: int,
        column: int,
        kind: RemarkKind,
        severity: Severity,
        message: str,
        related_lines: Iterable[int],
    ) -> None:
        _set(self, "file", file)
        _set(self, "line", line)
        _set(self, "column", column)
        _set(self, "kind", kind)
        _set(self, "severity", severity)
        _set(self, "message", message)
        _set(self, "related_lines", items(related_lines))


Form: TypeAlias = Literal[
    "companion",
    "headings",
    "checklist",
    "spec-kit",
    "kiro",
    "openspec",
    "bmad",
    "superpowers",
    "user-stories",
    "sections",
    "table",
    "numbered-list",
    "ralph",
    "task-master",
    "none",
]
"""A way in which a document has its tasks.

- `companion`: The checklists of the companion.
- `headings`: Numbered headings in task sections of the PRD.
- `checklist`: The checklists of the PRD.
- `spec-kit`: The `tasks.md` of GitHub's spec-kit.
- `kiro`: The `tasks.md` of a Kiro spec.
- `openspec`: The `tasks.md` of an `OpenSpec` change.
- `bmad`: A story or the epics of the BMAD method.
- `superpowers`: A plan of Claude Code or of its superpowers.
- `user-stories`: User stories, each a heading.
- `sections`: Numbered headings in a section of any name.
- `table`: A table with a row for each task.
- `numbered-list`: A numbered list.
- `ralph`: The `prd.json` of ralph.
- `task-master`: The `tasks.json` of task-master.
- `none`: Nowhere: there are none.
"""


class PrdForm(Record):
    """A form, as it is listed.

    Attributes:
        form: The form.
        name: What it is called.
        description: What a document has that is of this form, one line.
    """

    __slots__ = ("form", "name", "description")
    __match_args__ = ("form", "name", "description")
    form: Form
    name: str
    description: str

    def __init__(
        self,
        form: Form,
        name: str,
        description: str,
    ) -> None:
        _set(self, "form", form)
        _set(self, "name", name)
        _set(self, "description", description)


class LongPlan(Record):
    """A plan with more tasks left to do than a run may make iterations, in each of which it works on
    one.

    Attributes:
        tasks: How many tasks are left to do.
        iterations: How many iterations a run that starts now may make; 0 where it goes on
            from one that has made as many as it may.
    """

    __slots__ = ("tasks", "iterations")
    __match_args__ = ("tasks", "iterations")
    tasks: int
    iterations: int

    def __init__(
        self,
        tasks: int,
        iterations: int,
    ) -> None:
        _set(self, "tasks", tasks)
        _set(self, "iterations", iterations)


class ConvertedPrd(Record):
    """What came of a PRD.

    Attributes:
        prd: The PRD.
        companion: The companion file with the tasks, where there is one.
        form: Where the tasks come from.
        name: The project's name, from the PRD's title.
        tasks: How many tasks there are.
        revision: The plan's revision.
        backup: Where the plan that was there before was put; nothing where it is one of the
            kept plans, or there was none.
        kept: The number of the plan that was there before among the kept plans; nothing
            where there was none with tasks, or it is not kept there.
        long: Whether the plan has more tasks than a run may make iterations.
        warnings: What the author of the PRD should know.
    """

    __slots__ = ("prd", "companion", "form", "name", "tasks", "revision", "backup", "kept", "long", "warnings")
    __match_args__ = ("prd", "form", "name", "tasks", "revision", "warnings", "companion", "backup", "kept", "long")
    prd: str
    companion: str | None
    form: Form
    name: str
    tasks: int
    revision: int
    backup: str | None
    kept: int | None
    long: LongPlan | None
    warnings: tuple[Remark, ...]

    def __init__(
        self,
        prd: str,
        form: Form,
        name: str,
        tasks: int,
        revision: int,
        warnings: Iterable[Remark],
        companion: str | None = None,
        backup: str | None = None,
        kept: int | None = None,
        long: LongPlan | None = None,
    ) -> None:
        _set(self, "prd", prd)
        _set(self, "companion", companion)
        _set(self, "form", form)
        _set(self, "name", name)
        _set(self, "tasks", tasks)
        _set(self, "revision", revision)
        _set(self, "backup", backup)
        _set(self, "kept", kept)
        _set(self, "long", long)
        _set(self, "warnings", items(warnings))


class Initialised(Record):
    """What an initialisation did.

    Attributes:
        methodology: The methodology the project is set up for.
        config: The samuel.toml that was written; nothing where there was one.
        quality_checks: The quality checks that were guessed for it.
        plan: The plan file.
        backup: Where the plan that was there before was put; nothing where it is one of the
            kept plans, or there was none.
        kept: The number of the plan that was there before among the kept plans; nothing
            where there was none with tasks, or it is not kept there.
        converted: What came of the PRD, where one was given.
    """

    __slots__ = ("methodology", "config", "quality_checks", "plan", "backup", "kept", "converted")
    __match_args__ = ("methodology", "quality_checks", "plan", "config", "backup", "kept", "converted")
    methodology: str
    config: str | None
    quality_checks: tuple[str, ...]
    plan: str
    backup: str | None
    kept: int | None
    converted: ConvertedPrd | None

    def __init__(
        self,
        methodology: str,
        quality_checks: Iterable[str],
        plan: str,
        config: str | None = None,
        backup: str | None = None,
        kept: int | None = None,
        converted: ConvertedPrd | None = None,
    ) -> None:
        _set(self, "methodology", methodology)
        _set(self, "config", config)
        _set(self, "quality_checks", items(quality_checks))
        _set(self, "plan", plan)
        _set(self, "backup", backup)
        _set(self, "kept", kept)
        _set(self, "converted", converted)


class PrdPreview(Record):
    """The plan that a PRD would become.

    Attributes:
        prd: The PRD.
        companion: The companion file with the tasks, where there is one.
        form: Where the tasks come from.
        name: The project's name, from the PRD's title.
        description: The project's description.
        list: The tasks, as a tree.
        replaces: How many tasks the plan has that it would take the place of.
        long: Whether the plan would have more tasks than a run may make iterations.
        warnings: What the author of the PRD should know.
    """

    __slots__ = ("prd", "companion", "form", "name", "description", "list", "replaces", "long", "warnings")
    __match_args__ = ("prd", "form", "name", "description", "list", "replaces", "warnings", "companion", "long")
    prd: str
    companion: str | None
    form: Form
    name: str
    description: str
    list: TaskList
    replaces: int
    long: LongPlan | None
    warnings: tuple[Remark, ...]

    def __init__(
        self,
        prd: str,
        form: Form,
        name: str,
        description: str,
        list: TaskList,
        replaces: int,
        warnings: Iterable[Remark],
        companion: str | None = None,
        long: LongPlan | None = None,
    ) -> None:
        _set(self, "prd", prd)
        _set(self, "companion", companion)
        _set(self, "form", form)
        _set(self, "name", name)
        _set(self, "description", description)
        _set(self, "list", list)
        _set(self, "replaces", replaces)
        _set(self, "long", long)
        _set(self, "warnings", items(warnings))


class TaskTitle(Record):
    """A task by name. One that is not in the plan has the id and title of the PRD.

    Attributes:
        id: The id.
        title: The title.
        is_completed: Whether it is completed.
    """

    __slots__ = ("id", "title", "is_completed")
    __match_args__ = ("id", "title", "is_completed")
    id: str
    title: str
    is_completed: bool

    def __init__(
        self,
        id: str,
        title: str,
        is_completed: bool,
    ) -> None:
        _set(self, "id", id)
        _set(self, "title", title)
        _set(self, "is_completed", is_completed)


class OtherPrd(Record):
    """A PRD most of whose tasks have the id of a task of the plan that has another title: it may be
    another one that is numbered alike, whose tasks would take what the plan's have done.

    Attributes:
        differing: How many tasks have the id of another.
        tasks: How many tasks the PRD has.
    """

    __slots__ = ("differing", "tasks")
    __match_args__ = ("differing", "tasks")
    differing: int
    tasks: int

    def __init__(
        self,
        differing: int,
        tasks: int,
    ) -> None:
        _set(self, "differing", differing)
        _set(self, "tasks", tasks)


class FieldDiff(Record):
    """One field, as it is and as it is to be.

    Attributes:
        field: The field, as a task has it in JSON: `title`, `depends_on`. Of a project
            `name`, `description`, `source_prd` or `prd_format`.
        before: What the plan says: the lines of a text, the entries of a list; none where
            it says nothing.
        after: What is said instead, in the same form.
    """

    __slots__ = ("field", "before", "after")
    __match_args__ = ("field", "before", "after")
    field: str
    before: tuple[str, ...]
    after: tuple[str, ...]

    def __init__(
        self,
        field: str,
        before: Iterable[str],
        after: Iterable[str],
    ) -> None:
        _set(self, "field", field)
        _set(self, "before", items(before))
        _set(self, "after", items(after))


class TaskDiff(Record):
    """What a task says, and what it is to say.

    Attributes:
        id: The task's id in the plan.
        title: Its title in the plan.
        is_completed: Whether it is completed: what it says anew, nobody is asked to do.
        fields: The fields that differ; at least one.
    """

    __slots__ = ("id", "title", "is_completed", "fields")
    __match_args__ = ("id", "title", "is_completed", "fields")
    id: str
    title: str
    is_completed: bool
    fields: tuple[FieldDiff, ...]

    def __init__(
        self,
        id: str,
        title: str,
        is_completed: bool,
        fields: Iterable[FieldDiff],
    ) -> None:
        _set(self, "id", id)
        _set(self, "title", title)
        _set(self, "is_completed", is_completed)
        _set(self, "fields", items(fields))


class UpdatedPrd(Record):
    """What a changed PRD changes in a plan, or would.

    Attributes:
        added: Tasks that are new, in the order of the PRD.
        changed: Tasks of which the plan says something else, in the order of the PRD.
        removed: Tasks that are removed: the orphans, where that was asked for.
        regrouped: Tasks that are worked on and become groups by it: each is pending then,
            nobody's, and completed with its parts.
        project: What is different of the project: its name, description and PRD.
        conflicts: What was changed both in the plan and in the PRD, and stays as the plan
            has it. Each is told at every update until one side gives way.
        left_out: Tasks of the PRD that somebody removed from the plan. They stay away.
        orphans: The tasks of an earlier PRD that are in this one no more.
        revision: The plan's revision, the number of the change.
        is_changed: Whether the plan was changed.
        other_prd: Whether it looks like another PRD than the one that the plan follows.
        warnings: What the author of the PRD should know.
    """

    __slots__ = ("added", "changed", "removed", "regrouped", "project", "conflicts", "left_out", "orphans", "revision", "is_changed", "other_prd", "warnings")
    __match_args__ = ("added", "changed", "removed", "regrouped", "project", "conflicts", "left_out", "orphans", "revision", "is_changed", "warnings", "other_prd")
    added: tuple[Task, ...]
    changed: tuple[TaskDiff, ...]
    removed: tuple[TaskTitle, ...]
    regrouped: tuple[TaskTitle, ...]
    project: tuple[FieldDiff, ...]
    conflicts: tuple[TaskDiff, ...]
    left_out: tuple[TaskTitle, ...]
    orphans: tuple[TaskTitle, ...]
    revision: int
    is_changed: bool
    other_prd: OtherPrd | None
    warnings: tuple[Remark, ...]

    def __init__(
        self,
        added: Iterable[Task],
        changed: Iterable[TaskDiff],
        removed: Iterable[TaskTitle],
        regrouped: Iterable[TaskTitle],
        project: Iterable[FieldDiff],
        conflicts: Iterable[TaskDiff],
        left_out: Iterable[TaskTitle],
        orphans: Iterable[TaskTitle],
        revision: int,
        is_changed: bool,
        warnings: Iterable[Remark],
        other_prd: OtherPrd | None = None,
    ) -> None:
        _set(self, "added", items(added))
        _set(self, "changed", items(changed))
        _set(self, "removed", items(removed))
        _set(self, "regrouped", items(regrouped))
        _set(self, "project", items(project))
        _set(self, "conflicts", items(conflicts))
        _set(self, "left_out", items(left_out))
        _set(self, "orphans", items(orphans))
        _set(self, "revision", revision)
        _set(self, "is_changed", is_changed)
        _set(self, "other_prd", other_prd)
        _set(self, "warnings", items(warnings))


PluginKind: TypeAlias = Literal["wasm", "oci", "skill", "methodology"]
"""What a plugin is made of.

- `wasm`: A WebAssembly component.
- `oci`: A container image.
- `skill`: Scripts.
- `methodology`: Profiles of methodologies, and no handlers of its own.
"""


class InstalledPlugin(Record):
    """An installed plugin.

    Attributes:
        name: Its name.
        version: Its version.
        kind: What it is made of.
        source: Where it comes from, as samuel.toml has it.
        commit: The commit it was installed from, where it comes from git.
        tag: Whether its source named a tag then, which is not expected to move.
        pin: The digest of the archive, or of the manifest in a registry, that it was
            installed from.
        digest: One digest over all files.
        image: The image of a plugin that is one, as it was when the plugin was installed:
            pinned by its digest.
        granted: What the user granted.
        files: The digest of each file, by its path in the plugin.
    """

    __slots__ = ("name", "version", "kind", "source", "commit", "tag", "pin", "digest", "image", "granted", "files")
    __match_args__ = ("name", "version", "kind", "source", "digest", "granted", "files", "commit", "tag", "pin", "image")
    name: str
    version: str
    kind: PluginKind
    source: str
    commit: str | None
    tag: bool
    pin: str | None
    digest: str
    image: str | None
    granted: Mapping[str, list[str]]
    files: Mapping[str, str]

    def __init__(
        self,
        name: str,
        version: str,
        kind: PluginKind,
        source: str,
        digest: str,
        granted: Mapping[str, list[str]],
        files: Mapping[str, str],
        commit: str | None = None,
        tag: bool = False,
        pin: str | None = None,
        image: str | None = None,
    ) -> None:
        _set(self, "name", name)
        _set(self, "version", version)
        _set(self, "kind", kind)
        _set(self, "source", source)
        _set(self, "commit", commit)
        _set(self, "tag", tag)
        _set(self, "pin", pin)
        _set(self, "digest", digest)
        _set(self, "image", image)
        _set(self, "granted", granted)
        _set(self, "files", files)


PluginChangeKind: TypeAlias = Literal["changed", "added", "missing"]
"""How a file differs.

- `changed`: It holds something else.
- `added`: It is new.
- `missing`: It is gone.
"""


class PluginChange(Record):
    """A file that is not as it was installed.

    Attributes:
        path: Its path, relative to the plugin.
        kind: How it differs.
    """

    __slots__ = ("path", "kind")
    __match_args__ = ("path", "kind")
    path: str
    kind: PluginChangeKind

    def __init__(
        self,
        path: str,
        kind: PluginChangeKind,
    ) -> None:
        _set(self, "path", path)
        _set(self, "kind", kind)


class PluginDifference(Record):
    """Something samuel.lock says of a plugin that its files do not.

    Attributes:
        key: The key of samuel.lock: `name`, `version`, `kind` or `digest`.
        expected: What samuel.lock says.
        found: What the files say.
    """

    __slots__ = ("key", "expected", "found")
    __match_args__ = ("key", "expected", "found")
    key: str
    expected: str
    found: str

    def __init__(
        self,
        key: str,
        expected: str,
        found: str,
    ) -> None:
        _set(self, "key", key)
        _set(self, "expected", expected)
        _set(self, "found", found)


class MovedSource(Record):
    """A source that has something else by now than a plugin was installed from, though its name says
    that it stays what it is: a tag, an archive, an address in a registry, the name of an image.

    Attributes:
        before: The commit or digest that it was installed from.
        now: The one that is there now.
    """

    __slots__ = ("before", "now")
    __match_args__ = ("before", "now")
    before: str
    now: str

    def __init__(
        self,
        before: str,
        now: str,
    ) -> None:
        _set(self, "before", before)
        _set(self, "now", now)


class ListedPlugin(Record):
    """An installed plugin in a listing.

    Attributes:
        entry: What samuel.lock holds of it; nothing where it is only listed in samuel.toml.
        name: Its name.
        is_listed: Whether samuel.toml lists it, so that it takes part.
    """

    __slots__ = ("entry", "name", "is_listed")
    __match_args__ = ("name", "is_listed", "entry")
    entry: InstalledPlugin | None
    name: str
    is_listed: bool

    def __init__(
        self,
        name: str,
        is_listed: bool,
        entry: InstalledPlugin | None = None,
    ) -> None:
        _set(self, "entry", entry)
        _set(self, "name", name)
        _set(self, "is_listed", is_listed)


class VerifiedPlugin(Record):
    """A plugin of a project, and whether its files are those that were installed.

    Attributes:
        name: The plugin.
        changes: What was changed; nothing where all is well.
        differences: What samuel.lock says of it that its files do not; nothing where all is
            well.
        problem: Why its files could not be looked at, where they could not.
    """

    __slots__ = ("name", "changes", "differences", "problem")
    __match_args__ = ("name", "changes", "differences", "problem")
    name: str
    changes: tuple[PluginChange, ...]
    differences: tuple[PluginDifference, ...]
    problem: str | None

    def __init__(
        self,
        name: str,
        changes: Iterable[PluginChange],
        differences: Iterable[PluginDifference],
        problem: str | None = None,
    ) -> None:
        _set(self, "name", name)
        _set(self, "changes", items(changes))
        _set(self, "differences", items(differences))
        _set(self, "problem", problem)


__all__ = [
    "AbilityAfterInput",
    "AbilityAfterOutput",
    "AbilityBeforeInput",
    "AbilityBeforeOutput",
    "AbilityBlocked",
    "AbilityDecision",
    "AbilityPermission",
    "AbilityStatus",
    "Abort",
    "Activity",
    "Actor",
    "AfterAgentInvokeInput",
    "AfterAgentInvokeOutput",
    "AfterIterationInput",
    "AfterIterationOutput",
    "AfterLoopInput",
    "AfterLoopOutput",
    "AgentCall",
    "AgentEvent",
    "AgentFailure",
    "AgentFailureClass",
    "AgentFinished",
    "AgentInvokeInput",
    "AgentInvokeOutput",
    "AgentReady",
    "AgentReported",
    "AgentShare",
    "AgentStarted",
    "AgentText",
    "AgentTotal",
    "AgentUnreadable",
    "AgentUsage",
    "AllDone",
    "ApprovalAsked",
    "ApprovalGiven",
    "Attempt",
    "AttemptEnd",
    "BeforeAgentInvokeInput",
    "BeforeAgentInvokeOutput",
    "BeforeIterationInput",
    "BeforeIterationOutput",
    "BeforeLoopInput",
    "BeforeLoopOutput",
    "BreakClass",
    "Broken",
    "CallHeader",
    "Candidate",
    "CandidateStanding",
    "ChangedFile",
    "CheckFailure",
    "CheckHistory",
    "CheckResult",
    "Claim",
    "ClaimPhase",
    "CleanedLanes",
    "Commanded",
    "CompletedTask",
    "Complexity",
    "ConfigVars",
    "ContextExtraInput",
    "ContextExtraOutput",
    "ContextLimits",
    "ContextProgressInput",
    "ContextProgressOutput",
    "ContextSnapshotInput",
    "ContextSnapshotOutput",
    "ContextTaskInput",
    "ContextTaskOutput",
    "ControlFileChange",
    "ConvertedPrd",
    "Deliver",
    "DiagnosticKind",
    "Discovery",
    "Doing",
    "Eta",
    "Event",
    "EventRef",
    "Executable",
    "ExecutableKind",
    "Executables",
    "ExitReason",
    "Extra",
    "FailedCheck",
    "FailureClass",
    "FailureNote",
    "Feedback",
    "FieldDiff",
    "Form",
    "FreeByStart",
    "GroupState",
    "Guard",
    "GuardrailVars",
    "HeldBackTask",
    "HistoryChange",
    "HistoryNote",
    "Holder",
    "HookAsks",
    "HookExchange",
    "HookFailure",
    "HookFigures",
    "HookFileEntry",
    "HookFired",
    "HookFiring",
    "HookHandler",
    "HookLayer",
    "HookList",
    "HookLog",
    "HookLogLine",
    "HookOrigin",
    "HookOutcome",
    "HookPoint",
    "HookPointId",
    "HookResults",
    "HookStatus",
    "HookTrial",
    "HookVars",
    "HookWarning",
    "InitAfterInput",
    "InitAfterOutput",
    "InitBeforeInput",
    "InitBeforeOutput",
    "Initialised",
    "InstalledPlugin",
    "IterationErrorInput",
    "IterationErrorOutput",
    "IterationFailure",
    "IterationFinished",
    "IterationGateInput",
    "IterationGateOutput",
    "IterationHistory",
    "IterationOutcome",
    "IterationStarted",
    "IterationVars",
    "KeptOfLanes",
    "KeptPlan",
    "Lagged",
    "LandAfterRun",
    "LandReport",
    "LandSubmitted",
    "LandedTask",
    "LandedWork",
    "LandingHeld",
    "LandingStarted",
    "LaneBranch",
    "LaneList",
    "LaneStanding",
    "LaneWorkTree",
    "Launch",
    "LaunchVariable",
    "LetLand",
    "ListRow",
    "ListedHook",
    "ListedPlugin",
    "LiveState",
    "LiveWorker",
    "Location",
    "LogLevel",
    "LoggedLine",
    "LongPlan",
    "LoopActivity",
    "Mark",
    "MergeReport",
    "MethodologyVars",
    "Mode",
    "ModeVars",
    "MovedSource",
    "NextStep",
    "NextTask",
    "NoTaskReady",
    "OldFileInTemplate",
    "OlderTemplate",
    "OnFailure",
    "OpenQuestion",
    "OtherPlan",
    "OtherPrd",
    "PathVars",
    "Paused",
    "PermissionDenied",
    "PilotVars",
    "PlanChange",
    "PlanChanged",
    "PluginChange",
    "PluginChangeKind",
    "PluginDifference",
    "PluginKind",
    "PrdForm",
    "PrdPreview",
    "Priority",
    "Process",
    "Progress",
    "ProgressStatus",
    "ProjectStatus",
    "ProjectVars",
    "PromptQuotation",
    "PromptSection",
    "PromptStats",
    "PromptSubmitInput",
    "PromptSubmitOutput",
    "QualityCheckInput",
    "QualityCheckOutput",
    "QualityChecked",
    "Question",
    "QueueEntry",
    "QueueList",
    "QueuePlace",
    "QueuedWork",
    "RateLimited",
    "RecordGaps",
    "RelatedTask",
    "RelatedTasks",
    "Remark",
    "RemarkKind",
    "ReportedChange",
    "RequestRefused",
    "Restored",
    "Resumed",
    "ReturnedTask",
    "ReturnedWork",
    "RunEnd",
    "RunFault",
    "RunFinished",
    "RunHistory",
    "RunKind",
    "RunList",
    "RunPage",
    "RunReport",
    "RunStarted",
    "RunState",
    "RunSummary",
    "Said",
    "SamuelVars",
    "ScaffoldedHook",
    "SessionEndInput",
    "SessionEndOutput",
    "SessionSource",
    "SessionStartInput",
    "SessionStartOutput",
    "SessionStopInput",
    "SessionStopOutput",
    "Severity",
    "SiblingTask",
    "SkippedHook",
    "SoftDeadline",
    "Source",
    "Speaker",
    "StaleTemplate",
    "Staleness",
    "StateDiagnostic",
    "StateVars",
    "Status",
    "Stopping",
    "SuggestedAbility",
    "SuggestedDocument",
    "Suggestion",
    "SuggestionKind",
    "Swept",
    "SyncAfterInput",
    "SyncAfterOutput",
    "SyncBeforeInput",
    "SyncBeforeOutput",
    "Task",
    "TaskBrief",
    "TaskChoice",
    "TaskClaimed",
    "TaskCompleted",
    "TaskCompletedInput",
    "TaskCompletedOutput",
    "TaskCounts",
    "TaskDiff",
    "TaskFigures",
    "TaskGroup",
    "TaskHistory",
    "TaskLanded",
    "TaskList",
    "TaskOutcome",
    "TaskReturned",
    "TaskSubmitted",
    "TaskTitle",
    "TaskVars",
    "TasksTakenBack",
    "TemplateWithoutCommand",
    "TextItem",
    "Tier",
    "Timing",
    "ToolAllowed",
    "ToolBlocked",
    "ToolCall",
    "ToolResult",
    "TrustRecord",
    "Turn",
    "TurnHistory",
    "UnderWay",
    "UnknownTemplateVariable",
    "UnreadRun",
    "UpdatedPrd",
    "Usage",
    "VerifiedPlugin",
    "Waiting",
    "WaitingCall",
    "Warning",
    "Why",
    "WhyReason",
    "WorkRemedy",
]
