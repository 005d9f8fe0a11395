//! A world for the machine: a plan in memory, scripted handlers and a scripted
//! agent.
//!
//! After every step [`Sim`] checks what must always hold, and goes on with a
//! copy of the machine that went through JSON, so each test is one of saving
//! and loading as well.

use std::rc::Rc;

use jiff::Timestamp;
use samuel_agent::ConversationId;
use samuel_hook::{BreakClass, HookCall, HookPoint};
use samuel_model::{
    FailureClass, Plan, Scope, Task,
    payload::{Actor, AgentInvokeOutput, Mode, Turn},
};
use samuel_state::{apply, plan};

use super::{
    script::{broken, completed, completes_its_task, id, with},
    *,
};
use crate::event::PlanChange;

/// How many steps a run may take before it counts as endless.
const MAX_STEPS: usize = 5_000;

/// A point that fired.
#[derive(Clone, Debug)]
pub(super) struct Fired {
    pub(super) point: HookPoint,
    pub(super) iteration: u32,
    pub(super) turn: Turn,
    /// How often the point fired before.
    pub(super) nth: usize,
    pub(super) call: HookCall,
}

/// What a call of the agent does.
#[derive(Clone, Debug, Default)]
pub(super) struct Work {
    /// What happens while it is at work, all before anything is answered.
    pub(super) during: Vec<Input>,
    pub(super) exit_code: i32,
    pub(super) failure: Option<IterationFailure>,
    pub(super) resets_at: Option<Timestamp>,
    pub(super) usage: Usage,
    /// The conversation it names.
    pub(super) conversation: Option<ConversationId>,
}

type Hooks = Rc<dyn Fn(&Fired) -> Option<HookReply>>;
type Agent = Rc<dyn Fn(&Fired, &Plan) -> Work>;

#[derive(Clone)]
pub(super) struct Sim {
    pub(super) machine: Machine,
    pub(super) plan: Plan,
    pub(super) steps: usize,
    pub(super) trace: Vec<Effect>,
    pub(super) fired: Vec<Fired>,
    pub(super) interrupted: Vec<EffectId>,
    pub(super) answers: Vec<(u64, AbilityAnswer)>,
    /// The fingerprint of the work tree in an iteration.
    pub(super) tree: fn(u32) -> String,
    /// Whether each call of the agent changes it.
    pub(super) agent_writes: bool,
    pub(super) mode: Mode,
    /// How long the run was under way when the plan was loaded.
    pub(super) elapsed_ms: u64,
    /// Whether it goes on with the machine as it is, and not with a copy that was saved and loaded, and
    /// asks of it nothing beside.
    is_unsaved: bool,
    /// The control files that were changed.
    pub(super) changed: Option<String>,
    main: Option<(EffectId, Effect)>,
    /// The wait that was ended early.
    woken: Option<EffectId>,
    side: Option<(EffectId, HookCall)>,
    during: VecDeque<Input>,
    last_id: u64,
    /// The machine as it was at the last checkpoint, and what was completed
    /// since.
    saved: Box<Machine>,
    unsaved: Vec<TaskId>,
    /// Whether an iteration was committed since.
    unsaved_commit: bool,
    /// What was completed without the machine's knowledge.
    unheard: Vec<TaskId>,
    hooks: Hooks,
    agent: Agent,
}

impl Sim {
    /// A plan of so many tasks and an agent that completes the one it is
    /// given.
    pub(super) fn new(tasks: usize) -> Self {
        let tasks = (1..=tasks).map(|n| Task::new(id(&n.to_string()), format!("task {n}"))).collect();
        let setup = Setup {
            session: "s".into(),
            agent: "claude".into(),
            binary: "samuel".into(),
            has_checks: true,
            ..Default::default()
        };
        let machine = Machine::new(setup);
        Self {
            saved: Box::new(machine.clone()),
            machine,
            plan: Plan { tasks, ..Plan::default() },
            steps: 0,
            trace: Vec::new(),
            fired: Vec::new(),
            interrupted: Vec::new(),
            answers: Vec::new(),
            tree: |_| "tree".into(),
            agent_writes: false,
            mode: Mode::Implementation,
            elapsed_ms: 0,
            is_unsaved: false,
            changed: None,
            main: None,
            woken: None,
            side: None,
            during: VecDeque::new(),
            last_id: 0,
            unsaved: Vec::new(),
            unsaved_commit: false,
            unheard: Vec::new(),
            hooks: Rc::new(|_| None),
            agent: Rc::new(completes_its_task),
        }
    }

    pub(super) fn limits(mut self, change: impl FnOnce(&mut RunLimits)) -> Self {
        let mut limits = self.machine.core.setup.limits.clone();
        change(&mut limits);
        self.machine.core.setup.limits = limits;
        self
    }

    /// Adds handlers; those added earlier are asked only where these say
    /// nothing.
    pub(super) fn hooks(mut self, hooks: impl Fn(&Fired) -> Option<HookReply> + 'static) -> Self {
        let earlier = Rc::clone(&self.hooks);
        self.hooks = Rc::new(move |fired| hooks(fired).or_else(|| earlier(fired)));
        self
    }

    /// Adds handlers of one point.
    pub(super) fn hook(self, point: HookPoint, hook: impl Fn(&Fired) -> HookReply + 'static) -> Self {
        self.hooks(move |fired| (fired.point == point).then(|| hook(fired)))
    }

    /// Adds a handler that answers the first time that its point fires.
    pub(super) fn first(self, point: HookPoint, hook: impl Fn(&Fired) -> HookReply + 'static) -> Self {
        self.hooks(move |fired| (fired.point == point && fired.nth == 0).then(|| hook(fired)))
    }

    /// Has the first call of the agent do something else than complete its task.
    pub(super) fn first_call(self, work: impl Fn() -> Work + 'static) -> Self {
        self.agent(move |fired, plan| if fired.nth == 0 { work() } else { completes_its_task(fired, plan) })
    }

    pub(super) fn agent(mut self, agent: impl Fn(&Fired, &Plan) -> Work + 'static) -> Self {
        self.agent = Rc::new(agent);
        self
    }

    /// Goes on without saving and loading at each step, where so many are made that it would take long.
    pub(super) fn without_saving(self) -> Self {
        Self { is_unsaved: true, ..self }
    }

    /// Does what its agent does.
    pub(super) fn works(&self, fired: &Fired, plan: &Plan) -> Work {
        (self.agent)(fired, plan)
    }

    /// Runs to the end.
    pub(super) fn run(mut self) -> Self {
        self.go(MAX_STEPS);
        assert!(self.machine.is_ended(), "endless after {} steps in {:?}", self.steps, self.machine.state);
        self
    }

    /// Runs until so many steps were made, the run ends or it holds.
    pub(super) fn go(&mut self, steps: usize) {
        if self.machine.state == State::New && steps > 0 {
            self.feed(Input::Start);
        }
        while self.steps < steps && !self.machine.is_ended() {
            let Some(input) = self.next_input() else { break };
            self.feed(input);
        }
    }

    /// Runs until the machine is as wanted.
    pub(super) fn go_until_it(&mut self, is_so: impl Fn(&Machine) -> bool) {
        while !is_so(&self.machine) {
            self.go(self.steps + 1);
        }
    }

    /// Completes a task as a person does.
    pub(super) fn completed_by_hand(&mut self, task: &str) {
        let Input::TaskCompleted(completion) = completed(task) else { unreachable!() };
        self.feed(Input::TaskCompleted(Completion { actor: Actor::User, by_call: false, ..completion }));
    }

    /// Runs until a point is to be answered that fits.
    pub(super) fn go_until(&mut self, fits: impl Fn(&Fired) -> bool) {
        self.go(1);
        while !self.fired.last().is_some_and(&fits) {
            let input = self.next_input().expect("the point fires");
            self.feed(input);
        }
    }

    /// Fails what is under way.
    pub(super) fn fail(&mut self) {
        let id = match (&self.side, &self.main) {
            (Some((id, _)), _) => *id,
            (None, Some((id, _))) => *id,
            (None, None) => return,
        };
        self.during.clear();
        self.done(id, EffectResult::Failed("the disk is full".to_owned().into()));
    }

    /// Loses the process: what is under way has an effect or not, and nobody
    /// hears of it. Then another one goes on from what was saved.
    pub(super) fn crash(&mut self, carried_out: bool) {
        if carried_out && let Some((_, Effect::Mutate(mutation))) = &self.main {
            let _ = apply(&mut self.plan, mutation, Timestamp::UNIX_EPOCH);
        }
        let completed = std::mem::take(&mut self.unheard);
        let is_commit = |effect: &Effect| matches!(effect, Effect::Mutate(Mutation::CommitIteration { .. }));
        let committed = carried_out && self.main.as_ref().is_some_and(|(_, effect)| is_commit(effect));
        self.resume(Input::Resume { completed, skipped: Vec::new(), committed, began: false });
    }

    /// Loses what is under way, and goes on.
    pub(super) fn resume(&mut self, input: Input) {
        (self.main, self.woken, self.side) = (None, None, None);
        self.during.clear();
        self.feed(input);
    }

    /// Loses the process and what it did since its last checkpoint.
    pub(super) fn crash_to_checkpoint(&mut self) {
        self.machine = (*self.saved).clone();
        self.last_id = 0;
        let completed = std::mem::take(&mut self.unsaved);
        let committed = std::mem::take(&mut self.unsaved_commit);
        self.resume(Input::Resume { completed, skipped: Vec::new(), committed, began: false });
    }

    /// Completes a task behind the machine's back: the process dies before it
    /// hears of it.
    pub(super) fn complete_unheard(&mut self, task: &str) {
        self.done_in_plan(&id(task));
        self.unheard.push(id(task));
        self.unsaved.push(id(task));
    }

    /// Gives the machine one input and checks what must always hold.
    pub(super) fn feed(&mut self, input: Input) {
        self.steps += 1;
        if let Input::TaskCompleted(completion) = &input {
            self.done_in_plan(&completion.task);
            self.unsaved.push(completion.task.clone());
        }
        if let Input::PlanChanged(PlanChanged { change: PlanChange::Added, task, title, .. }) = &input {
            let add = Mutation::Add { task: Box::new(Task::new(task.clone(), title.clone())) };
            apply(&mut self.plan, &add, Timestamp::UNIX_EPOCH).expect("there is room");
        }
        if let Input::PlanChanged(PlanChanged { change: PlanChange::Skipped, task, .. }) = &input {
            let skip = Mutation::Skip { id: task.clone(), reason: None };
            apply(&mut self.plan, &skip, Timestamp::UNIX_EPOCH).expect("the task exists");
        }
        if let Input::PlanChanged(PlanChanged { change, task, reason: Some(said), .. }) = &input {
            let (id, said) = (task.clone(), said.clone());
            let asked = match change {
                PlanChange::Asked => Some(Mutation::Ask { id, question: said, options: Vec::new() }),
                PlanChange::Answered => Some(Mutation::Answer { id, answer: said }),
                _ => None,
            };
            let apply = |asked| apply(&mut self.plan, &asked, Timestamp::UNIX_EPOCH);
            asked.map(apply).transpose().expect("that can be asked or answered");
        }
        let was_ended = self.machine.is_ended();
        let effects = self.machine.step(input);
        assert!(!was_ended || effects.is_empty(), "an effect after the end: {effects:?}");
        let is_saved = effects.iter().any(|(_, effect)| *effect == Effect::Checkpoint);
        for (id, effect) in effects {
            assert!(id.0 > self.last_id, "effect ids grow");
            self.last_id = id.0;
            self.take(id, effect);
        }
        self.check();
        if !self.is_unsaved {
            let saved = serde_json::to_string(&self.machine).expect("the machine can be saved");
            let loaded: Machine = serde_json::from_str(&saved).expect("what was saved can be loaded");
            assert_eq!(loaded, self.machine, "what is loaded is what was saved");
            self.machine = loaded;
        }
        if is_saved {
            *self.saved = self.machine.clone();
            self.unsaved.clear();
            self.unsaved_commit = false;
        }
    }

    fn check(&mut self) {
        if self.machine.is_ended() {
            assert!(self.main.is_none() && self.side.is_none(), "nothing is under way at the end");
            assert!(matches!(self.trace.last(), Some(Effect::Emit(Event::RunFinished(_)))));
            let ends = self.trace.iter().filter(|e| matches!(e, Effect::Emit(Event::RunFinished(_)))).count();
            assert_eq!(ends, 1);
        } else {
            let rests = matches!(self.machine.state, State::New | State::Paused);
            let alive = rests || self.main.is_some() || self.side.is_some() || self.woken.is_some();
            assert!(alive, "nothing can make the machine go on from {:?}", self.machine.state);
        }
        if self.is_unsaved {
            return;
        }
        let mut copy = self.machine.clone();
        let stray = copy.step(Input::Done(EffectId(u64::MAX), EffectResult::Done));
        assert!(stray.is_empty() && copy == self.machine, "what nobody waits for changes nothing");
    }

    fn take(&mut self, id: EffectId, effect: Effect) {
        self.trace.push(effect.clone());
        match effect {
            Effect::Emit(_) | Effect::Log(_) | Effect::Checkpoint | Effect::Delivered(_) => {}
            Effect::Reopen { tasks, reasons } => {
                let resets = tasks.iter().map(|id| Mutation::Reset { id: id.clone() });
                let back = Mutation::TakeBack { ids: tasks.clone(), failures: reasons };
                for change in std::iter::once(back).chain(resets) {
                    apply(&mut self.plan, &change, Timestamp::UNIX_EPOCH).expect("it can be reopened");
                }
            }
            Effect::Interrupt(id) => {
                self.interrupted.push(id);
                // Nobody waits for the side when the run ends.
                self.side = self.side.take().filter(|(side, _)| *side != id);
                if let Some((main, Effect::Sleep(_))) = self.main
                    && main == id
                {
                    (self.main, self.woken) = (None, Some(id));
                }
            }
            Effect::Answer { ticket, answer } => {
                serde_json::to_string(&answer).expect("an answer can be written");
                self.answers.push((ticket, answer));
            }
            Effect::Dispatch { call, turn } => {
                let point = call.point();
                let nth = self.fired.iter().filter(|fired| fired.point == point).count();
                let iteration = self.machine.iteration_number();
                self.fired.push(Fired { point, iteration, turn, nth, call: (*call).clone() });
                if is_beside(point) {
                    assert!(self.side.is_none(), "one at a time on the side");
                    self.side = Some((id, *call));
                } else {
                    self.wait(id, Effect::Dispatch { call, turn });
                }
            }
            // A person is asked meanwhile, whose time is never up here.
            Effect::Sleep(_) if self.main.is_some() => {}
            effect => self.wait(id, effect),
        }
    }

    fn wait(&mut self, id: EffectId, effect: Effect) {
        assert!(self.main.is_none(), "two main effects: {:?} and {effect:?}", self.main);
        if let Effect::Dispatch { call, .. } = &effect
            && call.point() == HookPoint::AgentInvoke
        {
            let fired = self.last(HookPoint::AgentInvoke);
            self.during = (self.agent)(&fired, &self.plan).during.into();
        }
        self.main = Some((id, effect));
    }

    /// Says what happens next: what the agent does, then the side, then the
    /// main effect.
    fn next_input(&mut self) -> Option<Input> {
        if let Some(id) = self.woken.take() {
            return Some(Input::Done(id, EffectResult::Done));
        }
        let at_work = matches!(&self.main, Some((id, _)) if !self.interrupted.contains(id));
        if let Some(input) = self.during.pop_front().filter(|_| at_work) {
            return Some(input);
        }
        self.during.clear();
        if let Some((id, call)) = self.side.take() {
            let fired = self.last(call.point());
            let reply = (self.hooks)(&fired).unwrap_or_default();
            return Some(Input::Done(id, EffectResult::Hook(Box::new(reply))));
        }
        let (id, effect) = self.main.take()?;
        let result = self.carry_out(id, effect);
        Some(Input::Done(id, result))
    }

    /// Answers what the phase waits for.
    pub(super) fn answer(&mut self, reply: HookReply) {
        let (id, _) = self.main.as_ref().expect("something is under way");
        self.done(*id, EffectResult::Hook(Box::new(reply)));
    }

    /// Lets the wait that is under way come to its end.
    pub(super) fn wake(&mut self) {
        let (id, _) = self.main.as_ref().expect("something is under way");
        self.done(*id, EffectResult::Done);
    }

    /// Answers a check as the driver does where control files were changed.
    pub(super) fn refuse_check(&mut self, files: &str, during_check: bool) {
        let (id, _) = self.main.as_ref().expect("something is under way");
        self.done(*id, EffectResult::ControlFilesChanged { files: files.to_owned(), during_check });
    }

    fn done(&mut self, done: EffectId, result: EffectResult) {
        self.main = self.main.take().filter(|(id, _)| *id != done);
        self.side = self.side.take().filter(|(id, _)| *id != done);
        self.feed(Input::Done(done, result));
    }

    fn carry_out(&mut self, id: EffectId, effect: Effect) -> EffectResult {
        match effect {
            Effect::Load(scope) => EffectResult::Loaded(Box::new(self.load(&scope))),
            Effect::Mutate(mutation) => {
                self.unsaved_commit |= matches!(mutation, Mutation::CommitIteration { .. });
                match apply(&mut self.plan, &mutation, Timestamp::UNIX_EPOCH) {
                    Ok(_) => EffectResult::Done,
                    Err(error) => EffectResult::Refused(error.to_string()),
                }
            }
            Effect::Fingerprint => {
                let written = if self.agent_writes { self.count(HookPoint::AgentInvoke) } else { 0 };
                let tree = (self.tree)(self.machine.iteration_number());
                EffectResult::Fingerprint(format!("{tree} {written}"))
            }
            Effect::Dispatch { call, .. } => {
                EffectResult::Hook(Box::new(self.reply(&call, self.interrupted.contains(&id))))
            }
            _ => EffectResult::Done,
        }
    }

    fn reply(&self, call: &HookCall, interrupted: bool) -> HookReply {
        let fired = self.last(call.point());
        if interrupted && fired.point != HookPoint::AgentInvoke {
            return broken(BreakClass::Cancelled);
        }
        if let Some(reply) = (self.hooks)(&fired) {
            return reply;
        }
        match call {
            HookCall::BeforeAgentInvoke(input) => with(ReplyData::Invocation(Box::new(input.clone()))),
            HookCall::AgentInvoke(input) => {
                let work = (self.agent)(&fired, &self.plan);
                let killed = interrupted.then(|| IterationFailure {
                    class: FailureClass::AgentExit,
                    message: "claude was cancelled".into(),
                });
                let failure = killed.or(work.failure);
                let output = AgentInvokeOutput { exit_code: work.exit_code, ..Default::default() };
                with(ReplyData::Agent(Box::new(AgentEnd {
                    agent: input.agent.clone(),
                    output: failure.is_none().then_some(output),
                    failure,
                    conversation: work.conversation,
                    resets_at: work.resets_at,
                    ended_at: Timestamp::UNIX_EPOCH,
                    usage: work.usage,
                    duration_ms: 1,
                })))
            }
            _ => HookReply::default(),
        }
    }

    fn load(&self, scope: &Scope) -> WorkLeft {
        let (work, queue) = plan::Work::with_queue(&self.plan, &[], scope);
        let queue_size = u32::try_from(queue).expect("a small plan");
        let changed = self.changed.clone();
        let mode = match self.mode {
            Mode::Implementation => self.machine.core.setup.pilot.mode(&self.plan.progress, &work),
            mode => mode,
        };
        let answered = match &work {
            plan::Work::Task(task) => {
                self.plan.task(&id(&task.id)).and_then(Task::answered_question).cloned()
            }
            _ => None,
        };
        WorkLeft { work, answered, changed, queue_size, mode, elapsed_ms: self.elapsed_ms, lane: None }
    }

    /// Returns the lines of the progress log.
    pub(super) fn lines(&self) -> impl Iterator<Item = &LogLine> {
        self.trace.iter().filter_map(|effect| match effect {
            Effect::Log(line) => Some(line),
            _ => None,
        })
    }

    /// Returns what the progress log says of a kind.
    pub(super) fn logged(&self, kind: ProgressKind) -> Vec<&str> {
        self.lines().filter(|line| line.kind == kind).map(|line| line.text.as_str()).collect()
    }

    /// Completes a task in the plan, and nowhere else.
    pub(super) fn done_in_plan(&mut self, task: &TaskId) {
        let done = Mutation::Done { id: task.clone(), commit_sha: None, iteration: None };
        apply(&mut self.plan, &done, Timestamp::UNIX_EPOCH).expect("the task exists");
    }

    pub(super) fn last(&self, point: HookPoint) -> Fired {
        self.fired.iter().rev().find(|fired| fired.point == point).expect("the point fired").clone()
    }
}

fn is_beside(point: HookPoint) -> bool {
    matches!(point, HookPoint::TaskCompleted | HookPoint::AbilityBefore | HookPoint::AbilityAfter)
}
