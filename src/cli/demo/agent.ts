import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { Genesis } from '../../client/index.js';

/** Duration of one task: long enough to watch, short enough not to wait. */
const WORK_DURATION_MS = { min: 700, max: 1500 };
/** Lease duration of the agents: short, so that a dead or frozen agent soon loses its claim. */
const LEASE_SECONDS = 2;

/**
 * The line that the director, the process of gen demo, writes to an agent that may continue. Any other line is a note that
 * the agent leaves before its fault.
 */
export const CONTINUE_LINE = 'go on';

/**
 * One agent of the demo, in its own process. Like an agent in a long model call, it does not watch for the loss of its claim:
 * as a zombie it submits its result, and the coordinator must refuse that result.
 */
export async function runDemoAgent(): Promise<void> {
  const { GENESIS_OUTBOX: outbox } = process.env;
  const genesis = new Genesis(outbox === undefined ? {} : { outbox });
  // The director writes one line for each start of a task. Without a director standard input ends at once.
  const directorInput = createInterface({ input: process.stdin });
  const directorLines = directorInput[Symbol.asyncIterator]();
  await genesis.work(
    { lease_duration_seconds: LEASE_SECONDS },
    async ({ task_id, claim, briefing }, { note }) => {
      const noted = await note('at work');
      // Wait for the director: an agent chosen to be killed or frozen must still be working, even on a slow
      // machine. The agent notes its fault in the log first, so that the page can tell why the agent went silent.
      if ('success' in noted && noted.success) {
        const { value: line = CONTINUE_LINE } = await directorLines.next();
        if (line !== CONTINUE_LINE) {
          await note(line);
          await directorLines.next();
        }
      }
      await sleep(WORK_DURATION_MS.min + Math.random() * (WORK_DURATION_MS.max - WORK_DURATION_MS.min));
      const built_on = briefing?.dependencies.map((dependency) => dependency.work_product_ref) ?? [];
      return { made: briefing?.description ?? task_id, by: claim.agent_id, built_on };
    },
  );
  directorInput.close();
}
