# The native module. Its users are the other modules of the package.
from collections.abc import Awaitable, Callable, Sequence
from os import PathLike
from types import GenericAlias
from typing import Any, Generic, TypeVar, final

from ._process import Surroundings
from ._registration import Registration
from .methodology import Methodology
from .records import (
    AbilityDecision,
    AbilityPermission,
    Activity,
    AgentEvent,
    CallHeader,
    CleanedLanes,
    ConfigVars,
    ConvertedPrd,
    Event,
    Executables,
    Feedback,
    GuardrailVars,
    HookFiring,
    HookList,
    HookLog,
    HookTrial,
    HookVars,
    Initialised,
    InstalledPlugin,
    IterationFailure,
    IterationVars,
    KeptPlan,
    LandReport,
    LaneList,
    ListedPlugin,
    LiveState,
    MergeReport,
    MethodologyVars,
    ModeVars,
    MovedSource,
    PathVars,
    PrdForm,
    PrdPreview,
    ProjectStatus,
    ProjectVars,
    PromptStats,
    QueueList,
    Restored,
    ScaffoldedHook,
    RunHistory,
    RunList,
    RunPage,
    RunReport,
    SamuelVars,
    StaleTemplate,
    StateVars,
    Task,
    TaskHistory,
    TaskList,
    ToolCall,
    ToolResult,
    TrustRecord,
    UpdatedPrd,
    VerifiedPlugin,
    Why,
)

__all__ = [
    "AgentPort",
    "BUILD_PROFILE",
    "Call",
    "EventStream",
    "FetchedPlugin",
    "HOOK_POINTS",
    "Job",
    "LoadedPlugins",
    "Project",
    "PromptContext",
    "Reply",
    "Run",
    "RunHandle",
    "RunLog",
    "RunTail",
    "Session",
    "TrustStore",
    "Watching",
    "__version__",
    "check_settings",
    "close",
    "dispatch",
    "forked",
    "inside",
    "plugins_fetch",
    "plugins_list",
    "plugins_load",
    "plugins_uninstall",
    "plugins_verify",
    "report_json",
    "supervise",
    "toon_dumps",
    "toon_loads",
    "toon_recover",
]

__version__: str
BUILD_PROFILE: str
HOOK_POINTS: tuple[str, ...]

_I = TypeVar("_I")
_O = TypeVar("_O")
_R = TypeVar("_R", covariant=True)

@final
class Call(Generic[_I, _O]):
    """One call of a handler: what it is about, and what it can read and add."""

    def __class_getitem__(cls, key: Any) -> GenericAlias: ...
    @property
    def input(self) -> _I:
        """The point's input."""
    @property
    def previous(self) -> _O | None:
        """What the handlers before this one answered, folded; None at points that do not pass it on."""
    @property
    def context(self) -> PromptContext:
        """The prompt context with what was contributed so far."""
    @property
    def header(self) -> CallHeader:
        """Who is called, where and until when."""
    @property
    def point(self) -> str:
        """The id of the hook point."""
    @property
    def iteration(self) -> int:
        """The iteration, from 1; 0 outside an iteration."""
    @property
    def cancelled(self) -> bool:
        """Whether the answer is no longer wanted: the deadline has passed, or the run is being stopped."""
    @property
    def port(self) -> AgentPort | None:
        """In the agent's place: where the work is reported, and asked before tool calls; None at
        other points."""
    def warn(self, message: str) -> None:
        """Warns beside the answer: the progress log and whoever watches the run get it, under the
        handler's id. The first 20 of a call count, each up to 1000 characters."""
    def contribute(self, key: str, value: Any) -> None:
        """Contributes to the handler's own namespace of the prompt context, where later handlers
        and templates see it if this handler succeeds.

        Raises `TypeError` or `ValueError` where the value is not JSON.
        """

@final
class AgentPort:
    """Where a handler of `agent.invoke` reports its work, and asks before tool calls.

    It is open as long as the call lasts; what is said later is nobody's. One call reports at most
    10,000 times and 64 MiB.
    """

    def emit(self, event: AgentEvent) -> None:
        """Reports something; never waits.

        Raises `TypeError` where it is no event of an agent.
        """
    def supervised_by(self, pid: int, start_time: int) -> None:
        """Reports a process that sweeps the agent's processes when Samuel dies: its id, and its
        start time as the system counts it."""
    def before_ability(self, call: ToolCall) -> AbilityDecision:
        """Asks whether a tool call may be made, and waits for the handlers of `ability.before`.

        Raises `RuntimeError` in a handler that is `inline`, and in an async one, which awaits
        `abefore_ability`.
        """
    def after_ability(self, result: ToolResult) -> list[str]:
        """Reports how a call that was asked about ended, and waits for the handlers of
        `ability.after`. Returns what they said for the model, each text framed with who said it,
        where the result's `takes_text` is set; else that waits for the next prompt. Raises as
        `before_ability` does."""
    def abefore_ability(self, call: ToolCall) -> Awaitable[AbilityDecision]:
        """The same as `before_ability`, to be awaited."""
    def aafter_ability(self, result: ToolResult) -> Awaitable[list[str]]:
        """The same as `after_ability`, to be awaited."""
    def asupervised_by(self, pid: int, start_time: int) -> Awaitable[None]:
        """The same as `supervised_by`, to be awaited."""

@final
class PromptContext:
    """Everything a handler may read, by group."""

    @property
    def samuel(self) -> SamuelVars:
        """The running Samuel."""
    @property
    def project(self) -> ProjectVars:
        """The project the loop works on."""
    @property
    def methodology(self) -> MethodologyVars:
        """The methodology that is run."""
    @property
    def iteration(self) -> IterationVars:
        """The iteration."""
    @property
    def config(self) -> ConfigVars:
        """The frozen configuration of the run."""
    @property
    def guardrails(self) -> GuardrailVars:
        """The rules that work must keep to."""
    @property
    def paths(self) -> PathVars:
        """Where files are."""
    @property
    def state(self) -> StateVars:
        """How far the plan is."""
    @property
    def mode(self) -> ModeVars:
        """What kind of iteration this is."""
    @property
    def hooks(self) -> HookVars:
        """Which handlers are registered."""
    @property
    def plugins(self) -> dict[str, dict[str, Any]]:
        """What plugins contributed, by namespace."""

@final
class Reply:
    def answer(self, value: object) -> None: ...
    def fail(self, exception: BaseException) -> None: ...
    @property
    def wanted(self) -> bool: ...

@final
class RunLog:
    def __iter__(self) -> RunLog: ...
    def __next__(self) -> Event: ...

@final
class RunTail:
    def read(self, seconds: float) -> list[Event] | None: ...

@final
class Project:
    def __new__(
        cls, root: str | PathLike[str], methodology: str | Methodology | None,
        methodologies: list[Methodology], state_dir: str | None, env: list[tuple[str, str]],
    ) -> Project: ...
    @staticmethod
    def open_to_look(
        root: str | PathLike[str], methodology: str | None, state_dir: str | None, env: list[tuple[str, str]]
    ) -> Project: ...
    @property
    def problem(self) -> str | None: ...
    def attach(self) -> Watching: ...
    def command(self, verb: str, text: str | None, call: int | None) -> LiveState: ...
    @staticmethod
    def find_root(start: str | PathLike[str]) -> PathLike[str] | None: ...
    @property
    def root(self) -> PathLike[str]: ...
    @property
    def name(self) -> str: ...
    @property
    def methodology(self) -> str: ...
    @property
    def run_dir(self) -> PathLike[str]: ...
    @property
    def listed_plugins(self) -> list[str]: ...
    def init(
        self, prd: str | None, force: bool, format: str | None, allow_empty: bool, handlers: list[Registration]
    ) -> Initialised: ...
    def convert(self, prd: str, force: bool, format: str | None, allow_empty: bool) -> ConvertedPrd: ...
    def preview_prd(self, prd: str, force: bool, format: str | None, allow_empty: bool) -> PrdPreview: ...
    @staticmethod
    def forms() -> tuple[PrdForm, ...]: ...
    def in_memory(self) -> Project: ...
    def hook_log(self, id: str | None, point: str | None, limit: int | None) -> HookLog: ...
    def scaffold_hook(
        self, id: str, event_type: str, summary: str, blocking: bool, ability_scope: Sequence[str],
        min_duration_ms: int, only_if_changed_paths: Sequence[str], language: str,
    ) -> ScaffoldedHook: ...
    def kept_plans(self) -> tuple[KeptPlan, ...]: ...
    def stale_templates(self) -> tuple[StaleTemplate, ...]: ...
    def export_templates(self, force: bool) -> list[PathLike[str]]: ...
    def restore(self, number: int | None) -> Restored: ...
    def tasks(self) -> tuple[Task, ...]: ...
    def task(self, id: str) -> Task: ...
    def task_list(self, status: Sequence[str], ready: bool, limit: int | None, flat: bool, source: Sequence[str]) -> TaskList: ...
    def task_history(self, id: str) -> TaskHistory: ...
    def status(self) -> ProjectStatus: ...
    def runs(self) -> RunList: ...
    def run_history(self, run: str | None) -> RunHistory: ...
    def run_log(self, run: str | None, iteration: int | None, task: str | None) -> RunLog: ...
    def run_tail(self, run: str | None, iteration: int | None, task: str | None) -> RunTail: ...
    def why(self, about: str, id: str | None) -> Why: ...
    def activity(self) -> Activity: ...
    def run_page(self, run: str | None) -> RunPage: ...
    def run_report(self, run: str | None, html: bool) -> str: ...
    def progress(self) -> list[str]: ...
    def learn(self, text: str, kind: str) -> None: ...
    def done(self, id: str, commit_sha: str | None, iteration: int | None) -> Task: ...
    def skip(self, id: str, reason: str | None) -> Task: ...
    def reset(self, id: str) -> Task: ...
    def release(self, of: str, reason: str | None) -> Task | None: ...
    def queue(self) -> QueueList: ...
    def hold(self, id: str, reason: str | None) -> Task: ...
    def unhold(self, id: str) -> Task: ...
    def drop(self, id: str, reason: str | None) -> Task: ...
    def enqueue(self, task: dict[str, Any]) -> Task: ...
    def mutate(self, mutation: dict[str, Any]) -> tuple[int, Task]: ...
    def update(
        self, prd: str | None, text: str | None, prune: bool, dry_run: bool,
        take_other: bool, format: str | None, allow_empty: bool,
    ) -> UpdatedPrd: ...

@final
class Run:
    def __new__(
        cls, project: Project, options: dict[str, Any], handlers: list[Registration],
        plugins: LoadedPlugins | None,
    ) -> Run: ...
    @property
    def executables(self) -> Executables: ...
    def prompt_stats(self, trusted: bool) -> Job[tuple[PromptStats | None]]: ...
    def lanes(self) -> Job[LaneList]: ...
    def clean(self) -> Job[CleanedLanes]: ...
    def merge(self, branch: str | None, trusted: bool) -> Job[MergeReport]: ...
    def land(self, trusted: bool) -> Job[LandReport]: ...
    def hooks(self) -> HookList: ...
    def test_hook(
        self, id: str, point: str | None, event: dict[str, Any] | None, trusted: bool
    ) -> Job[HookTrial]: ...
    def fire_hooks(
        self, point: str, event: dict[str, Any] | None, dry_run: bool, trusted: bool
    ) -> Job[HookFiring]: ...
    def check_agent(self) -> None: ...
    def is_trusted(self, store: TrustStore) -> bool: ...
    def record_trust(self, store: TrustStore) -> None: ...
    def start(
        self, trusted: bool, decided: bool, streams: int, store: TrustStore | None
    ) -> RunHandle: ...

@final
class Session:
    def __new__(
        cls, project: Project, options: dict[str, Any], handlers: list[Registration],
        plugins: LoadedPlugins | None,
    ) -> Session: ...
    @property
    def executables(self) -> Executables: ...
    def is_trusted(self, store: TrustStore) -> bool: ...
    def open(
        self, trusted: bool, decided: bool, store: TrustStore | None, state: dict[str, Any] | None
    ) -> Job[bool]: ...
    def start(self, source: str) -> Job[Feedback]: ...
    def submit_prompt(self, source: str, text: str) -> Job[Feedback]: ...
    def before(self, request: dict[str, Any]) -> Job[AbilityPermission]: ...
    def after(self, report: dict[str, Any], given_up: bool) -> Job[Feedback]: ...
    def task_completed(self, task: dict[str, Any]) -> Job[Feedback]: ...
    def iteration_error(self, error: dict[str, Any]) -> Job[Feedback]: ...
    def stop(self, reason: str, changed_files: list[str] | None) -> Job[Feedback]: ...
    def end(self, exit_reason: str) -> Job[Feedback]: ...
    @property
    def id(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def warnings(self) -> list[str]: ...
    def state(self) -> dict[str, Any]: ...
    def events(self) -> EventStream: ...
    def exceptions(self) -> list[BaseException]: ...
    @property
    def version(self) -> int: ...
    def wake(self, callback: Callable[[], object], seen: int) -> bool: ...

@final
class TrustStore:
    """What was trusted, kept in a directory outside of the projects that it is about.

    The directory is made where it is missing, and must be this user's alone. What a
    project would execute is recorded by `Loop.record_trust`.

    Raises:
        SamuelError: The directory cannot be used, or others can write to it.
    """

    def __new__(cls, directory: str | PathLike[str]) -> TrustStore: ...
    def recorded(self, root: str | PathLike[str]) -> TrustRecord | None:
        """What was trusted of the project at `root`; None where nothing was."""
    def revoke(self, root: str | PathLike[str]) -> bool:
        """Forgets what was trusted of a project, and says whether anything was."""

def check_settings(given: dict[str, Any]) -> None: ...
def report_json(name: str, value: Any) -> str: ...

@final
class RunHandle:
    @property
    def version(self) -> int: ...
    def wake(self, callback: Callable[[], object], seen: int) -> bool: ...
    @property
    def run_id(self) -> str | None: ...
    @property
    def ended(self) -> bool: ...
    def started(self) -> bool: ...
    def result(self) -> tuple[RunReport, tuple[IterationFailure, ...], list[BaseException]] | None: ...
    def events(self) -> EventStream | None: ...
    def ignore_events(self) -> None: ...
    def pause(self) -> None: ...
    def resume(self) -> None: ...
    def steer(self, text: str) -> None: ...
    @property
    def state(self) -> LiveState | None: ...
    def approve(self, call: int, text: str | None) -> Job[bool]: ...
    def deny(self, call: int, text: str | None) -> Job[bool]: ...
    def cancel(self) -> None: ...
    def stop(self) -> None: ...

@final
class Watching:
    @property
    def version(self) -> int: ...
    def wake(self, callback: Callable[[], object], seen: int) -> bool: ...
    @property
    def state(self) -> LiveState: ...
    def take(self, most: int) -> list[Event] | None: ...

@final
class EventStream:
    def take(self, most: int) -> list[Event] | None: ...

@final
class Job(Generic[_R]):
    def __class_getitem__(cls, key: Any) -> GenericAlias: ...
    @property
    def version(self) -> int: ...
    def wake(self, callback: Callable[[], object], seen: int) -> bool: ...
    def result(self) -> _R | None: ...
    def cancel(self) -> None: ...

@final
class LoadedPlugins: ...

@final
class FetchedPlugin:
    """A plugin that was fetched and checked, and waits to be installed."""

    @property
    def name(self) -> str:
        """Its name."""
    @property
    def version(self) -> str:
        """Its version."""
    @property
    def kind(self) -> str:
        """What it is made of, such as `wasm`."""
    @property
    def description(self) -> str:
        """What it does, one line; may be empty."""
    @property
    def source(self) -> str:
        """Where it comes from."""
    @property
    def points(self) -> list[str]:
        """The hook points that it handles."""
    @property
    def capabilities(self) -> dict[str, list[str]]:
        """What it asks for: capabilities and their targets."""
    @property
    def new_capabilities(self) -> dict[str, list[str]]:
        """What of it was not granted before."""
    @property
    def consequences(self) -> list[str]:
        """What follows from what it handles and asks for, in plain words."""
    @property
    def before(self) -> InstalledPlugin | None:
        """What is installed under its name."""
    @property
    def moved(self) -> MovedSource | None:
        """What its source has by now, where that is a tag, an archive or an address in a registry and should
        have stayed what was installed from it."""
    @property
    def wants_more(self) -> bool:
        """Whether somebody has to be asked for another reason than that its source was moved: at the first time,
        and whenever an update asks for more, comes from elsewhere, is of another kind, or begins to stand between
        Samuel and the agent."""
    @property
    def needs_consent(self) -> bool:
        """Whether somebody has to be asked: it wants more, or its source was moved."""
    def _install(self) -> InstalledPlugin: ...
    def _leave(self) -> None: ...

def close() -> None: ...
def dispatch(
    point: str,
    handlers: list[Registration],
    config: str,
    input: object,
    context: dict[str, Any],
    cancelled: bool,
    repeat: int,
    session: str,
    mode: str,
    env: list[tuple[str, str]],
    supervisor: list[str],
) -> Job[dict[str, Any]]: ...
def forked() -> None: ...
def inside() -> int: ...
def plugins_fetch(project: Project, source: str, base: str, surroundings: Surroundings) -> Job[FetchedPlugin]: ...
def plugins_list(project: Project) -> tuple[ListedPlugin, ...]: ...
def plugins_load(
    project: Project, brought: list[str], surroundings: Surroundings
) -> Job[LoadedPlugins] | None: ...
def plugins_uninstall(project: Project, name: str) -> None: ...
def plugins_verify(project: Project, name: str | None) -> tuple[VerifiedPlugin, ...]: ...
def supervise() -> int: ...
def toon_dumps(
    value: object,
    indent: int,
    delimiter: str,
    default: Callable[[Any], Any] | None,
    sort_keys: bool,
    allow_nan: bool,
    max_depth: int,
) -> str: ...
def toon_loads(
    text: str,
    indent: int,
    strict: bool,
    max_depth: int,
    hooks: tuple[
        Callable[[dict[str, Any]], Any] | None,
        Callable[[list[tuple[str, Any]]], Any] | None,
        Callable[[str], Any] | None,
        Callable[[str], Any] | None,
    ],
) -> Any: ...
def toon_recover(
    text: bytes, indent: int
) -> tuple[Any, list[tuple[str, str, int, int, str, Any]], int, list[tuple[int, str]]]: ...
