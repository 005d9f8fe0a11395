// What makes failures of exceptions.
//
// An exception that leaves a component ends it as a trap, and the user sees only
// that. `answers` turns it into a failure, with what it says.

/** Wraps a handler, which then may throw what it likes. */
export function answers(handler) {
  return (...args) => {
    try {
      return handler(...args);
    } catch (error) {
      throw failure(error);
    }
  };
}

/**
 * Returns what the host answered where an error is one of its: a variant with
 * `tag` and `val`.
 */
export function hostError(error) {
  return error?.payload?.tag === undefined ? null : error.payload;
}

/** Makes a failure of what was thrown. */
function failure(error) {
  const answer = hostError(error);
  switch (answer?.tag) {
    case "denied":
      return made("E_HOOK_DENIED", `${answer.val.capability} is not granted for ${answer.val.target}`);
    case "too-large":
      return made("E_HOOK_FAILED", `${answer.val.what} is larger than ${answer.val.limit}`);
    case "quota":
      return made("E_HOOK_FAILED", `the quota of ${answer.val.limit} ${answer.val.what} is used up`);
    case "timed-out":
      return made("E_HOOK_TIMEOUT", "the host did not answer in time");
    case "cancelled":
      return made("E_HOOK_CANCELLED", "the run was stopped");
    case undefined:
      return made("E_HOOK_FAILED", String(error), String(error?.stack ?? "").split("\n").filter(Boolean));
    default:
      return made("E_HOOK_FAILED", String(answer.val));
  }
}

function made(code, message, details = []) {
  return { code, message, details };
}
