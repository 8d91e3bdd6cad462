// A worker with the SDK. It takes work until the plan is done; renewing, repeating what got lost, and keeping finished
// results safe from its own crash are the SDK's business. Ends with 1 when one of its results did not count.
//
//   GENESIS_PROJECT=shop npx tsx examples/typescript/worker.ts
import { Genesis } from '../../src/client/index.js';

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
process.exitCode = summary.refused > 0 || summary.accepted === 0 ? 1 : 0;
