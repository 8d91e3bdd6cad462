import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { Genesis } from '../../client/index.js';

/** Each piece of work takes about so long, so that there is something to see and little to wait for. */
const WORK_DURATION_MS = { least: 700, most: 1500 };
/** The shortest lease the demo's server gives: whoever is silent for so long has lost its work. */
export const LEASE_SECONDS = 2;

/**
 * One agent of the demo, in a process of its own. It does not listen for the loss of its claim, as an agent deep in a
 * model call does not: so a zombie among them brings its result, and it is the coordinator that must refuse it.
 */
export async function runDemoAgent(): Promise<void> {
  const { GENESIS_OUTBOX: outbox } = process.env;
  const genesis = new Genesis(outbox === undefined ? {} : { outbox });
  // Whoever directs it says a word for each piece that they saw begin; without a director there is an end at once.
  const directorInput = createInterface({ input: process.stdin });
  const directorLines = directorInput[Symbol.asyncIterator]();
  await genesis.work(
    { lease_duration_seconds: LEASE_SECONDS },
    async ({ task_id, claim, briefing }, { note }) => {
      const noted = await note('at work');
      await sleep(WORK_DURATION_MS.least + Math.random() * (WORK_DURATION_MS.most - WORK_DURATION_MS.least));
      // However slow the machine is, who is to be stopped in the middle of its work is still in the middle of it.
      if ('success' in noted && noted.success) await directorLines.next();
      const built_on = briefing?.dependencies.map((dependency) => dependency.work_product_ref) ?? [];
      return { made: briefing?.description ?? task_id, by: claim.agent_id, built_on };
    },
  );
  directorInput.close();
}
