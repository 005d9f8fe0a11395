"""A project: its plan, and the changes to it.

Every change is the one that `samuel run done` and its siblings make: atomic,
safe beside a running loop and other processes, and written to the journal.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence

from . import _samuel
from ._home import awaited, in_thread
from ._process import Surroundings, environment, state_dir
from ._waiting import await_result_of, result_of
from .errors import PluginError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal, TypeVar

    from ._equipped import Plugin
    from .methodology import Methodology
    from .records import (
        Activity,
        Complexity,
        ConvertedPrd,
        Event,
        Form,
        HookLog,
        Initialised,
        InstalledPlugin,
        KeptPlan,
        ListedPlugin,
        PrdForm,
        PrdPreview,
        Priority,
        ProjectStatus,
        Restored,
        QueueList,
        RunHistory,
        RunList,
        RunPage,
        ScaffoldedHook,
        Source,
        StaleTemplate,
        Status,
        Task,
        UpdatedPrd,
        TaskHistory,
        TaskList,
        VerifiedPlugin,
        Why,
    )

    _Answer = TypeVar("_Answer")

    EventType = Literal[
        "PromptSubmit", "PreAbilityCall", "PostAbilityCall", "SessionStart", "SessionEnd", "SessionStop"
    ]

__all__ = ["Project"]


class Project:
    """A project on disk.

    Each method that reads or writes has a form to be awaited, with an `a` before its name, which does not
    block the event loop.

    Args:
        path: Its root directory.
        methodology: The methodology whose plan is meant, by its name, or one that
            the program brings; by default the project's.
        methodologies: Those that the program brings, where there are several. Of them
            the one is meant that `methodology` names, else the project's default, else
            the first.

    Raises:
        ConfigError: samuel.toml cannot be used, or the methodology has a name that
            means another.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] = ".",
        *,
        methodology: str | Methodology | None = None,
        methodologies: Iterable[Methodology] = (),
    ) -> None:
        self._methodology = methodology
        self._methodologies = list(methodologies)
        self._native = self._open(os.path.abspath(path))

    def _open(self, root: str) -> _samuel.Project:
        return _samuel.Project(root, self._methodology, self._methodologies, state_dir(), environment())

    @classmethod
    def find(
        cls,
        path: str | os.PathLike[str] = ".",
        *,
        methodology: str | Methodology | None = None,
        methodologies: Iterable[Methodology] = (),
    ) -> Project:
        """Opens the project that a directory belongs to, else the directory."""
        root = _samuel.Project.find_root(os.path.abspath(path))
        return cls(path if root is None else root, methodology=methodology, methodologies=methodologies)

    @classmethod
    async def aopen(
        cls,
        path: str | os.PathLike[str] = ".",
        *,
        methodology: str | Methodology | None = None,
        methodologies: Iterable[Methodology] = (),
    ) -> Project:
        """Opens a project without blocking the event loop: the same as `Project(path)`."""
        return await in_thread(cls, path, methodology=methodology, methodologies=methodologies)

    @classmethod
    def open_to_look(
        cls, path: str | os.PathLike[str] = ".", *, methodology: str | None = None
    ) -> Project:
        """Opens a project to read what happened in it or to speak with its loop.

        That goes also where its samuel.toml cannot be used any more, such as after an agent has changed it:
        `problem` then says what is wrong, and a run of the project raises it.

        Args:
            path: Its root directory.
            methodology: The methodology whose plan is meant, by its name; by default that of the plan.

        Raises:
            ConfigError: A methodology is named that is not built in and has no plan here.
        """
        project = cls.__new__(cls)
        project._methodology = methodology
        project._methodologies = []
        root = os.path.abspath(path)
        project._native = _samuel.Project.open_to_look(root, methodology, state_dir(), environment())
        return project

    @property
    def problem(self) -> str | None:
        """Why it was opened without its samuel.toml, or without its methodology; None where it was not."""
        return self._native.problem

    @property
    def root(self) -> str:
        """The root directory, absolute."""
        return str(self._native.root)

    @property
    def name(self) -> str:
        """The name, from samuel.toml or the directory."""
        return self._native.name

    @property
    def methodology(self) -> str:
        """The methodology, such as `ralph`."""
        return self._native.methodology

    @property
    def run_dir(self) -> str:
        """The directory that holds plan, log and journal."""
        return str(self._native.run_dir)

    def init(
        self,
        prd: str | os.PathLike[str] | None = None,
        *,
        force: bool = False,
        format: Form | None = None,
        allow_empty: bool = False,
        plugins: Sequence[Plugin] = (),
    ) -> Initialised:
        """Writes samuel.toml and a plan, from a PRD if one is given.

        Where samuel.toml is written, the points `init.before` and `init.after` fire.

        Args:
            prd: The PRD, a Markdown or JSON file.
            force: Whether a plan that has tasks is replaced; it is one of the kept
                plans then.
            format: The form the PRD has, one of those that `forms` lists; by
                default the one that it is surest to have.
            allow_empty: Whether a PRD without tasks makes an empty plan.
            plugins: Whose handlers the two points have.
        """
        from ._registration import of_plugins

        path = None if prd is None else os.path.join(self.root, prd)
        handlers = list(of_plugins(self._native, plugins))
        done = self._native.init(path, force, format, allow_empty, handlers)
        self._reopen()
        return done

    def convert(
        self,
        prd: str | os.PathLike[str],
        *,
        force: bool = False,
        format: Form | None = None,
        allow_empty: bool = False,
    ) -> ConvertedPrd:
        """Makes the plan of a PRD; see `init`."""
        return self._native.convert(os.path.join(self.root, prd), force, format, allow_empty)

    def preview_prd(
        self,
        prd: str | os.PathLike[str],
        *,
        force: bool = False,
        format: Form | None = None,
        allow_empty: bool = False,
    ) -> PrdPreview:
        """Shows the plan that `convert` would make of a PRD, and writes nothing."""
        return self._native.preview_prd(os.path.join(self.root, prd), force, format, allow_empty)

    @staticmethod
    def forms() -> tuple[PrdForm, ...]:
        """The forms that a PRD may have, for `format` of `init` and `convert`."""
        return _samuel.Project.forms()

    def hook_log(
        self, *, id: str | None = None, point: str | None = None, limit: int | None = None
    ) -> HookLog:
        """Which hooks runs have called, oldest first, as `samuel hooks log` shows it.

        Args:
            id: Only the calls of this hook.
            point: Only the calls at this hook point.
            limit: The last so many; by default all that the log still has.
        """
        return self._native.hook_log(id, point, limit)

    def scaffold_hook(
        self,
        id: str,
        event_type: EventType,
        *,
        summary: str = "",
        blocking: bool = False,
        ability_scope: Sequence[str] = (),
        min_duration_ms: int = 0,
        only_if_changed_paths: Sequence[str] = (),
        language: Literal["sh", "python"] = "sh",
    ) -> ScaffoldedHook:
        """Writes a new repository hook, as `samuel hooks scaffold` does.

        It is a file in `.system/hooks` and a script in `scripts/hooks` that answers as it is.
        Nothing is written over.

        Args:
            id: Its name: small letters, digits, `-` and `_`.
            event_type: When it runs.
            summary: What it is for, in a sentence.
            blocking: Whether it can stop what it is asked about, where the event lets it.
            ability_scope: Globs of abilities; none means all.
            min_duration_ms: How long a call took at least, in milliseconds.
            only_if_changed_paths: Globs of paths, one of which was changed; none means any.
            language: What its script is written in.

        Raises:
            ValueError: The event or the language does not exist.
            SamuelError: There is such a hook, its name or a glob is none, or it cannot be written.
        """
        return self._native.scaffold_hook(
            id,
            event_type,
            summary,
            blocking,
            list(ability_scope),
            min_duration_ms,
            list(only_if_changed_paths),
            language,
        )

    def kept_plans(self) -> tuple[KeptPlan, ...]:
        """The last plans, as they are kept outside of the work tree, oldest first."""
        return self._native.kept_plans()

    def restore(self, number: int | None = None) -> Restored:
        """Puts a plan back that is kept outside of the work tree.

        Args:
            number: Which one; by default the last with tasks that the present
                plan has not. That one is kept beside it.

        Raises:
            StateError: None is kept, or none with this number
                (`E_STATE_NOT_KEPT`), or a loop is running.
        """
        return self._native.restore(number)

    def stale_templates(self) -> tuple[StaleTemplate, ...]:
        """What does not fit any more of the prompt templates of the project's own, as `samuel doctor` flags it.

        Raises:
            ConfigError: One of them cannot be read.
        """
        return self._native.stale_templates()

    def export_templates(self, *, force: bool = False) -> list[str]:
        """Copies the prompt templates of the methodology to `.samuel/templates/<methodology>/`.

        Args:
            force: Replace the ones that are there.

        Returns:
            The files. Each says in its first line what it is a copy of.

        Raises:
            ConfigError: One is there already, and nothing was written.
        """
        return [str(path) for path in self._native.export_templates(force)]

    def tasks(self) -> tuple[Task, ...]:
        """The tasks, in the order they were added."""
        return self._native.tasks()

    def task(self, id: str) -> Task:
        """The task with an id; StateError if there is none."""
        return self._native.task(id)

    def task_list(
        self,
        status: Status | Iterable[Status] = (),
        *,
        ready: bool = False,
        limit: int | None = None,
        flat: bool = False,
        source: Source | Iterable[Source] = (),
    ) -> TaskList:
        """Lists tasks as `samuel run tasks` does.

        Args:
            status: Only tasks that stand so, at one or several.
            ready: Only tasks that could be worked on now.
            limit: At most so many of them.
            flat: Each task by itself, in the order of the plan; by default groups
                stand above their parts, and come with a part that is asked for.
            source: Only tasks that came from there, from one or several.

        Raises:
            ValueError: There is no such status or source.
        """
        statuses = [status] if isinstance(status, str) else list(status)
        sources = [source] if isinstance(source, str) else list(source)
        return self._native.task_list(statuses, ready, limit, flat, sources)

    def task_history(self, id: str) -> TaskHistory:
        """All that is known of a task: what it belongs to, the iterations that worked on it,
        and what changed it; StateError if there is none."""
        return self._native.task_history(id)

    def status(self) -> ProjectStatus:
        """Where the project stands."""
        return self._native.status()

    def runs(self) -> RunList:
        """The runs that are recorded, the newest first."""
        return self._native.runs()

    def run_history(self, run: str | None = None) -> RunHistory:
        """All that the record of a run tells.

        Args:
            run: Its id or the beginning of it; by default the one that is under way,
                else the last.

        Raises:
            SamuelError: No such run is recorded (`E_RECORD_NOT_FOUND`), or a later version
                of Samuel recorded it (`E_RECORD_VERSION`).
        """
        return self._native.run_history(run)

    def run_log(
        self,
        run: str | None = None,
        *,
        iteration: int | None = None,
        task: str | None = None,
        tail: bool = False,
    ) -> Iterator[Event]:
        """The events of a run's record, one after the other: all, or those of an iteration or a task.

        Args:
            run: The run; the last one where none is named.
            iteration: The iteration whose events are wanted.
            task: The task whose events are wanted.
            tail: Whether to go on with what is told from now on, until the run ends or its loop is gone.
        """
        if tail:
            return _following(self._native.run_tail(run, iteration, task))
        return self._native.run_log(run, iteration, task)

    def why(
        self, about: Literal["next", "check", "run", "task", "handler"] = "next", id: str | None = None
    ) -> Why:
        """Why something is as it is, with the events that the answer rests on.

        Args:
            about: What is next, the last check, why a run stopped, where a task stands, or why a
                handler was not called.
            id: The run, the task or the handler; of a run the last one by default.
        """
        return self._native.why(about, id)

    def activity(self) -> Activity:
        """What the last runs did and cost, and what the one that is under way does now."""
        return self._native.activity()

    def run_page(self, run: str | None = None) -> RunPage:
        """A run with its tasks, their commits and the files that changed."""
        return self._native.run_page(run)

    def run_report(self, run: str | None = None, *, format: Literal["html", "md"] = "md") -> str:
        """The same as a page of HTML that needs nothing else, or as text for a pull request."""
        return self._native.run_report(run, format == "html")

    def progress(self) -> list[str]:
        """The entries of the progress log, one line each."""
        return self._native.progress()

    def learn(self, text: str, *, kind: Literal["learning", "explored", "found"] = "learning") -> None:
        """Records what later iterations should know, as a line of the progress log.

        Args:
            text: 1 to 2,000 characters.
            kind: `explored` and `found` are for discovery.

        Raises:
            ValueError: The text is blank or too long.
        """
        self._native.learn(text, kind)

    def done(self, id: str, *, commit_sha: str | None = None, iteration: int | None = None) -> Task:
        """Records that a task is done."""
        return self._native.done(id, commit_sha, iteration)

    def skip(self, id: str, *, reason: str | None = None) -> Task:
        """Leaves a task out."""
        return self._native.skip(id, reason)

    def reset(self, id: str) -> Task:
        """Makes a task pending again."""
        return self._native.reset(id)

    def block(self, id: str, *, reason: str | None = None) -> Task:
        """Says that a task cannot be worked on until it is reset."""
        return self._change({"type": "block", "id": id, "reason": reason})[1]

    def ask(self, id: str, question: str, *, options: Iterable[str] = ()) -> Task:
        """Asks something about a task, which is blocked until a person answers.

        Args:
            id: The task: pending, being worked on, or with an open question, which the
                new one replaces.
            question: What is asked, at most 2,000 characters.
            options: Answers that are proposed, one line each, at most 10.

        Raises:
            StateError: The question breaks a rule (`E_QUESTION_INVALID`), or nothing
                can be asked about the task as it stands (`E_QUESTION_REFUSED`).
        """
        return self._change({"type": "ask", "id": id, "question": question, "options": list(options)})[1]

    def answer(self, id: str, answer: str) -> Task:
        """Answers the open question of a task, whose next prompt holds both.

        Raises:
            StateError: No question is open (`E_QUESTION_NOT_OPEN`), the answer breaks a
                rule (`E_QUESTION_INVALID`), or an agent asks (`E_TASK_DENIED`).
        """
        return self._change({"type": "answer", "id": id, "answer": answer})[1]

    def claim(self, task: str, worker: str) -> int:
        """Claims a task, or the role `@merge` or `@discover`, and returns the claim's token.

        Whoever submits, lands or releases it names the token; see docs/claims.md.

        Raises:
            StateError: Somebody else has it (`E_TASK_CLAIMED`), or it is not pending or
                waits for another task (`E_TASK_INVALID`).
        """
        return self._change({"type": "claim", "task": task, "worker": worker})[0]

    def release(self, task: str, *, reason: str | None = None) -> Task | None:
        """Gives back a task that somebody has claimed, and returns it as it is then; nothing of a role.

        Raises:
            StateError: Nobody has claimed it (`E_CLAIM_VOID`), or it is being landed
                (`E_TASK_LANDING`).
        """
        return self._native.release(task, reason)

    def queue(self) -> QueueList:
        """What waits to be landed, in the order in which it is taken, and why each of it does.

        Raises:
            StateError: The plan cannot be read.
        """
        return self._native.queue()

    def hold(self, task: str, *, reason: str | None = None) -> Task:
        """Keeps submitted work from landing until `unhold`.

        Raises:
            StateError: It was not submitted (`E_CLAIM_VOID`), or is being landed
                (`E_TASK_LANDING`).
        """
        return self._native.hold(task, reason)

    def unhold(self, task: str) -> Task:
        """Lets submitted work land that is held.

        Raises:
            StateError: As `hold` does.
        """
        return self._native.unhold(task)

    def drop(self, task: str, *, reason: str | None = None) -> Task:
        """Takes submitted work out of the queue: its task is pending again, and the work stays on its branch.

        Raises:
            StateError: As `hold` does.
        """
        return self._native.drop(task, reason)

    def edit(
        self,
        id: str,
        *,
        title: str | None = None,
        description: str | None = None,
        priority: Priority | None = None,
        complexity: Complexity | None = None,
        depends_on: Iterable[str] | None = None,
        files_to_create: Iterable[str] | None = None,
        files_to_modify: Iterable[str] | None = None,
        guardrails: Iterable[str] | None = None,
        acceptance: Iterable[str] | None = None,
    ) -> Task:
        """Changes what a task says; what is left out stays, and a list replaces the one there.

        Raises:
            StateError: The task is not there, what it would say is not valid, or
                an agent asks (`E_TASK_DENIED`).
            ValueError: A word is none of those there are.
        """
        words = {"title": title, "description": description, "priority": priority, "complexity": complexity}
        lists = {
            "depends_on": depends_on,
            "files_to_create": files_to_create,
            "files_to_modify": files_to_modify,
            "guardrails": guardrails,
            "acceptance": acceptance,
        }
        edit: dict[str, object] = {key: word for key, word in words.items() if word is not None}
        edit.update({key: list(items) for key, items in lists.items() if items is not None})
        return self._change({"type": "edit", "id": id, "edit": edit})[1]

    def remove(self, *ids: str, with_parts: bool = False) -> int:
        """Removes tasks, and returns the number of the change.

        Raises:
            StateError: Others need one of them (`E_TASK_IN_USE`).
        """
        parts = "remove" if with_parts else "refuse"
        return self._change({"type": "remove", "ids": list(ids), "parts": parts})[0]

    def undo(self, change: int | None = None) -> int:
        """Takes a change back, and returns the number of the change that does so.

        Args:
            change: The number of the change; by default the last that this
                process made.

        Raises:
            StateError: A later change touched the same tasks (`E_TASK_NOT_UNDONE`),
                or what it replaced was not kept (`E_TASK_UNDO_NOT_KEPT`).
        """
        return self._change({"type": "undo", "change": change})[0]

    def update(
        self,
        prd: str | os.PathLike[str] | None = None,
        *,
        text: str | None = None,
        prune: bool = False,
        dry_run: bool = False,
        take_other: bool = False,
        format: Form | None = None,
        allow_empty: bool = False,
    ) -> UpdatedPrd:
        """Brings the plan up to date with its PRD, as one change.

        Where tasks stand, their commits and tasks that were added stay, and so does what
        was edited in the plan.

        Args:
            prd: The PRD, a Markdown file.
            text: The PRD itself, in place of a file.
            prune: Whether tasks that the PRD has no more are removed.
            dry_run: Whether nothing is changed.
            take_other: Whether a PRD is taken most of whose tasks have the id of another
                task of the plan; it is refused otherwise, as it looks like another PRD.
            format: The form the PRD has; by default the one that the plan remembers
                from its conversion or an earlier update, or else as in `init`.
            allow_empty: Whether a PRD without tasks is one.
        """
        if (prd is None) == (text is None):
            raise TypeError("name a PRD, or give its text")
        path = None if prd is None else os.path.join(self.root, prd)
        return self._native.update(path, text, prune, dry_run, take_other, format, allow_empty)

    def _change(self, mutation: dict[str, Any]) -> tuple[int, Task]:
        return self._native.mutate(mutation)

    def enqueue(
        self,
        title: str,
        *,
        id: str | None = None,
        description: str = "",
        priority: Priority = "medium",
        complexity: Complexity = "medium",
        source: Source = "manual",
        parent_id: str | None = None,
        depends_on: Iterable[str] = (),
        files_to_create: Iterable[str] = (),
        files_to_modify: Iterable[str] = (),
        guardrails: Iterable[str] = (),
        acceptance: Iterable[str] = (),
    ) -> Task:
        """Adds a task.

        Args:
            title: One line.
            id: Its id; by default the next free number.
            parent_id: The task it is a part of; by default the one that its id places
                it under, such as `1` for `1.2`, where the plan has that.

        Raises:
            StateError: There is no such parent, or what the task would say is not valid.
            ValueError: A word is none of those there are.
        """
        task: dict[str, object] = {
            "title": title,
            "description": description,
            "priority": priority,
            "complexity": complexity,
            "source": source,
            "parent_id": parent_id,
            "depends_on": list(depends_on),
            "files_to_create": list(files_to_create),
            "files_to_modify": list(files_to_modify),
            "guardrails": list(guardrails),
            "acceptance": list(acceptance),
        }
        if id is not None:
            task["id"] = id
        return self._native.enqueue(task)

    def plugins(self) -> tuple[ListedPlugin, ...]:
        """The plugins: those that samuel.toml lists, in its order, then those
        that are installed and do not take part."""
        return _samuel.plugins_list(self._native)

    def install(
        self,
        source: str | os.PathLike[str],
        *,
        grant: bool | Callable[[_samuel.FetchedPlugin], bool] = False,
        accept_moved: bool = False,
    ) -> InstalledPlugin:
        """Installs a plugin, or updates it, as `samuel install` does.

        Args:
            source: Its directory, the URL of a git repository, with `#` and
                a revision if one is wanted, an archive, or its address in a
                registry, where the logins of docker and podman count.
            grant: Whether it is granted what it asks for. A function is asked,
                with what that is. Neither counts for an update that comes from
                the same place and asks for nothing new.
            accept_moved: Whether to take what a tag, an archive or an address
                of a registry has by now, where it should have stayed what was
                installed from it. `grant=True` does not; a function is asked,
                and `moved` says what it was and is.

        Raises:
            PluginError: It cannot be installed, is not granted what it asks
                for (`E_PLUGIN_REFUSED`; the notes say what that is), or its
                source was moved (`E_PLUGIN_MOVED`).
        """
        fetching = _samuel.plugins_fetch(self._native, os.fspath(source), os.getcwd(), Surroundings())
        fetched = result_of(fetching)
        try:
            return self._installed(fetched, _agreed(fetched, grant, accept_moved))
        finally:
            # The traceback of an exception would hold it.
            fetched._leave()

    async def ainstall(
        self,
        source: str | os.PathLike[str],
        *,
        grant: bool | Callable[[_samuel.FetchedPlugin], bool | Awaitable[bool]] = False,
        accept_moved: bool = False,
    ) -> InstalledPlugin:
        """The same as `install`, to be awaited. The function may be async."""
        fetching = _samuel.plugins_fetch(self._native, os.fspath(source), os.getcwd(), Surroundings())
        fetched = await await_result_of(fetching)
        try:
            granted = _agreed(fetched, grant, accept_moved)
            if isinstance(granted, Awaitable):
                granted = await granted
            return await in_thread(self._installed, fetched, granted)
        finally:
            fetched._leave()

    def _installed(self, fetched: _samuel.FetchedPlugin, granted: bool) -> InstalledPlugin:
        if not granted:
            raise _refused(fetched)
        installed = fetched._install()
        self._reopen()
        return installed

    def uninstall(self, name: str) -> None:
        """Removes a plugin: its files, its grants and its place in samuel.toml."""
        _samuel.plugins_uninstall(self._native, name)
        self._reopen()

    def verify(self, name: str | None = None) -> tuple[VerifiedPlugin, ...]:
        """Compares the files of installed plugins with what was installed.

        Args:
            name: The plugin; by default all of them.
        """
        return _samuel.plugins_verify(self._native, name)

    ainit = awaited(init)
    aconvert = awaited(convert)
    apreview_prd = awaited(preview_prd)
    ahook_log = awaited(hook_log)
    ascaffold_hook = awaited(scaffold_hook)
    akept_plans = awaited(kept_plans)
    arestore = awaited(restore)
    astale_templates = awaited(stale_templates)
    aexport_templates = awaited(export_templates)
    atasks = awaited(tasks)
    atask = awaited(task)
    atask_list = awaited(task_list)
    atask_history = awaited(task_history)
    astatus = awaited(status)
    aruns = awaited(runs)
    arun_history = awaited(run_history)
    awhy = awaited(why)
    aactivity = awaited(activity)
    arun_page = awaited(run_page)
    arun_report = awaited(run_report)
    aprogress = awaited(progress)
    adone = awaited(done)
    alearn = awaited(learn)
    askip = awaited(skip)
    areset = awaited(reset)
    ablock = awaited(block)
    aask = awaited(ask)
    aanswer = awaited(answer)
    aclaim = awaited(claim)
    arelease = awaited(release)
    aqueue = awaited(queue)
    ahold = awaited(hold)
    aunhold = awaited(unhold)
    adrop = awaited(drop)
    aedit = awaited(edit)
    aremove = awaited(remove)
    aundo = awaited(undo)
    aupdate = awaited(update)
    aenqueue = awaited(enqueue)
    aplugins = awaited(plugins)
    auninstall = awaited(uninstall)
    averify = awaited(verify)

    async def arun_log(
        self,
        run: str | None = None,
        *,
        iteration: int | None = None,
        task: str | None = None,
        tail: bool = False,
    ) -> AsyncIterator[Event]:
        """The same as `run_log`, to be awaited."""
        if tail:
            followed = await in_thread(self._native.run_tail, run, iteration, task)
            while (told := await in_thread(followed.read, _A_WHILE)) is not None:
                for event in told:
                    yield event
            return
        log = await in_thread(self.run_log, run, iteration=iteration, task=task)
        while batch := await in_thread(_some_of, log):
            for event in batch:
                yield event

    def _reopen(self) -> None:
        """Reads samuel.toml again, which was written."""
        self._native = self._open(self.root)

    def __repr__(self) -> str:
        return f"Project({self.root!r})"


# How many seconds are waited for an event before signals and cancellation are looked at again.
_A_WHILE = 0.2


def _following(tail: _samuel.RunTail) -> Iterator[Event]:
    while (told := tail.read(_A_WHILE)) is not None:
        yield from told


def _some_of(log: Iterator[Event]) -> list[Event]:
    """Reads so many events that a thread is worth it."""
    from itertools import islice

    return list(islice(log, 256))


def _agreed(
    fetched: _samuel.FetchedPlugin, grant: bool | Callable[[_samuel.FetchedPlugin], _Answer], accept_moved: bool
) -> bool | _Answer:
    """Whether a plugin may be installed, as the caller says, who is asked only where somebody has to be."""
    moved = None if accept_moved else fetched.moved
    if moved is None and not fetched.wants_more:
        return True
    if callable(grant):
        return grant(fetched)
    if moved is None:
        return grant
    # A grant is none of what was moved.
    error = PluginError(
        f'"{fetched.source}" has something else now than {fetched.name} was installed from',
        code="E_PLUGIN_MOVED",
        help="Review what is there now, then pass accept_moved=True.",
    )
    error.add_note(f"before: {moved.before}")
    error.add_note(f"now: {moved.now}")
    raise error


def _refused(fetched: _samuel.FetchedPlugin) -> PluginError:
    wanted = f"{fetched.name} {fetched.version}"
    error = PluginError(
        f"what {wanted} asks for was not granted" if fetched.capabilities else f"nobody agreed to {wanted}",
        code="E_PLUGIN_REFUSED",
        help="Review what the plugin asks for, then pass grant=True.",
    )
    for capability, targets in fetched.capabilities.items():
        error.add_note(f"{capability}: {', '.join(targets)}")
    for line in fetched.consequences:
        error.add_note(line)
    return error
