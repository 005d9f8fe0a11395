// Stands in the agent's place: it reports while it works, and asks before it
// runs a command, as the adapter of an agent does for each tool call.
//
// A real one would send the prompt to a model and do what that says. This one
// lists the files of the project, whatever its task is.

import { answers } from "./answering.js";
import { afterAbility, beforeAbility, consumed, say } from "samuel:plugin/agent-port@1.0.0";
import { run as runCommand } from "samuel:plugin/exec@1.0.0";
import { write } from "samuel:plugin/log@1.0.0";

/** The point this plugin handles, by the name of its interface. */
export const agentInvoke = {
  run: answers((call, input) => {
    say(`I work on ${input.task?.title ?? "no task"}.`);
    const listed = bash("1", "ls");
    if (listed !== null) {
      say(listed);
    }
    // With this backend a u64 is a number, not a BigInt.
    const usage = { inputTokens: 10, outputTokens: 2, cachedTokens: 0, costUsd: null };
    consumed(usage);
    return { exitCode: 0, stdout: listed ?? "", stderr: "", usage, failure: null, logs: [], extensions: [] };
  }),
};

/** Runs a command if it may be run, and returns what it printed, else null. */
function bash(callId, command) {
  const tool = { callId, abilityId: "Bash" };
  const decision = beforeAbility({ ...tool, parentId: null, input: JSON.stringify({ command }) });
  if (decision.tag === "block") {
    write("warn", `${command} may not be run: ${decision.val}`);
    return null;
  }
  // A handler of ability.before may have changed the arguments.
  const [program, ...args] = JSON.parse(decision.val).command.split(" ");
  const output = runCommand({ program, args, cwd: null, env: [], stdin: new Uint8Array(), timeoutMs: null });
  const status = output.exitCode === 0 ? "success" : "error";
  afterAbility({ ...tool, status, durationMs: null, outputSummary: null, input: null, takesText: false });
  return text(output.stdout);
}

/** Decodes UTF-8, and throws for what is none; QuickJS has no TextDecoder. */
function text(bytes) {
  const escaped = Array.from(bytes, (byte) => "%" + byte.toString(16).padStart(2, "0"));
  return decodeURIComponent(escaped.join(""));
}
