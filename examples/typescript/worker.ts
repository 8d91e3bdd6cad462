// A worker with the SDK. It takes work until the plan is done; renewing, repeating what got lost, and keeping finished
// results safe from its own crash are the SDK's business. Ends with 1 when one of its results did not count, with 2 when
// it cannot begin. It waits for a server that is away, and says so after the first try.
//
//   GENESIS_PROJECT=shop npx tsx examples/typescript/worker.ts
import { Genesis, isProblem } from 'genesis-fleet';

const project = process.env.GENESIS_PROJECT;
if (!project) {
  console.error('Which project? Set GENESIS_PROJECT, for instance GENESIS_PROJECT=shop.');
  process.exit(2);
}
const first = await new Genesis({ retry: { tries: 1 } }).tasks({ limit: 1 });
if (isProblem(first)) {
  console.error(first.detail);
  // A refusal stays one; what did not answer may come back.
  if (first.status >= 400 && first.status < 500) process.exit(2);
} else if (first.tasks.length === 0) {
  console.error(`${project} has no tasks. Is it the project’s name? gen plan import gives it some.`);
  process.exit(2);
}

const genesis = new Genesis();
const summary = await genesis.work(
  { agent_id: process.env.GENESIS_AGENT ?? 'typescript-worker' },
  async ({ task_id, briefing }, { signal, note }) => {
    await note(`began ${task_id}`);
    // Yours goes here. Hand `signal` to whatever takes long: it aborts when the work is somebody else's.
    signal.throwIfAborted();
    return { made: briefing?.description ?? task_id };
  },
);
for (const { task_id, generation, reason } of summary.outcomes) {
  console.log(`${task_id} generation ${generation}: ${reason}`);
}
console.log(`All work of ${project} is done.`);
process.exitCode = summary.refused > 0 ? 1 : 0;
