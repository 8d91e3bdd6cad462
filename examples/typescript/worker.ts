// A worker that uses the SDK and works until the plan is done. The SDK renews leases, retries lost requests and keeps
// finished results safe if the worker crashes. Exits with 1 if one of its results was not accepted, and with 2 if it
// cannot start. If the server is unreachable, it reports that after the first attempt and waits.
//
//   GENESIS_PROJECT=shop npx tsx examples/typescript/worker.ts
import { Genesis, isProblem } from 'genesis-fleet';

const project = process.env.GENESIS_PROJECT;
if (!project) {
  console.error('GENESIS_PROJECT is not set. Set it to a project id, for example GENESIS_PROJECT=shop.');
  process.exit(2);
}
const initialStatus = await new Genesis({ retry: { tries: 1 } }).status();
if (isProblem(initialStatus)) {
  console.error(initialStatus.detail);
  // A refusal is final; a server that did not answer may come back.
  if (initialStatus.status >= 400 && initialStatus.status < 500) process.exit(2);
}

const genesis = new Genesis();
const summary = await genesis.work(
  { agent_id: process.env.GENESIS_AGENT ?? 'typescript-worker' },
  async ({ task_id, briefing }, { signal, note }) => {
    await note(`began ${task_id}`);
    // Your work goes here. Pass `signal` to anything that takes long: it aborts when the claim is lost to another
    // agent.
    signal.throwIfAborted();
    return { made: briefing?.description ?? task_id };
  },
);
for (const { task_id, generation, reason } of summary.outcomes) {
  console.log(`${task_id} generation ${generation}: ${reason}`);
}
console.log(`All work of ${project} is done.`);
process.exitCode = summary.refused > 0 ? 1 : 0;
