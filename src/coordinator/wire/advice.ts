/** The next step after a refusal, one sentence per code, readable by people and models. */
const ADVICE: Readonly<Record<string, string>> = {
  INVALID_LEASE: 'Ask for a lease within the limits of the tenant.',
  UNKNOWN_TASK: 'Check the id against the plan (gen plan show); add the task to the plan if it is new.',
  SESSION_CLOSED: 'Open a new session and claim with that.',
  PUBLIC_KEY_CONFLICT: 'A session keeps the public key it was opened with. Open a new session with this one.',
  DENIED_SINGLE_AGENT:
    'One agent works in this project, and its agent_id is primary. To let others in, set coordination.mode: multi in coordination.yml, and run gen init again.',
  DENIED_COMPLETED: 'The work is done. Take other work; an operator can reset the task.',
  DENIED_HELD: 'A human must look at it and lift the hold. Take other work.',
  DENIED_ACTIVE_CLAIM: 'Somebody holds it. Take other work, or try again when the lease has run out.',
  OWN_CLAIM:
    'You hold it yourself. Submit its result or renew its lease, with the handle of the grant; or release it.',
  DENIED_DEPENDENCIES: 'Finish what it waits for first, or take other work.',
  DENIED_PARALLEL:
    'Others work on the same modules. Take a feature that shares none, or wait until the holders named have finished.',
  DENIED_BACKOFF: 'The last attempt failed. Try again at retry_at, or take other work.',
  DENIED_LIMIT: 'Finish or release something, or have an admin raise the limit.',
  DENIED_BATCH: 'Another claim of the same all-or-nothing batch was refused; nothing was granted.',
  NOTHING_READY:
    'Ask again when one of the things named is done, or let the question wait for it (wait_seconds; gen next --wait).',
  GENERATION_MISMATCH:
    'The claim has passed to another generation. Stop, keep your drafts, ask for new work.',
  SESSION_MISMATCH: 'This handle is not the one that was granted. Use the handle of the grant.',
  NO_CLAIM: 'Nobody holds this claim any more. Claim it again before you go on.',
  ALREADY_EXPIRED: 'The lease ran out. Claim again; if nobody else has, your result can still be submitted.',
  STALE_GENERATION: 'Somebody else was granted this work since. Stop; your result is kept if it was parked.',
  FUTURE_GENERATION:
    'No such generation was ever granted. Check the handle; if it is right, tell an operator.',
  TASK_ALREADY_COMPLETED: 'Another result was accepted for this work. Take other work.',
  LEASE_EXPIRED:
    'This project accepts no results after expiry. Claim again, or have the parked result adopted.',
  DEPENDENCY_CHANGED: 'A result this work builds on has changed. Claim again and rebuild on the new one.',
  RESULT_TOO_LARGE: 'Make the result smaller, or have an admin raise max_result_size_bytes.',
  OUTSIDE_AUTHORITY:
    'The role of this claim may not converge this edge. Release it, and let an agent of a role that may, or a human, claim it.',
  NOT_CONVERGED:
    'The claim is still yours. Pass the checks that are named, and submit again with what the evaluators reported.',
  ESCALATED: 'A human must approve this result. The claim waits, its lease stopped.',
  STALE_REVIEW: 'What was reviewed is not what waits now. Look at the current candidate.',
  ALREADY_DECIDED: 'This candidate was decided on before. A decision counts once.',
  NOT_COMPLETED: 'Only completed work can be reset.',
  UNKNOWN_RESULT: 'There is no parked result by that id. List the results of the task.',
};

/** `subject` is the requested subject, for codes whose advice names it. */
export function adviceFor(code: string, subject?: string): string {
  const advice = ADVICE[code] ?? 'See the history of the task.';
  return code === 'UNKNOWN_TASK' && subject !== undefined
    ? `${subject} is not in the plan. ${advice}`
    : advice;
}
