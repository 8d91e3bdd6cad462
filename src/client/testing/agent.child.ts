import { Genesis } from '../genesis.js';

/** An agent in a process of its own. `busy`: its handler lets nothing else run for that many milliseconds. */
const [url = '', outbox = '', busy_ms = '0', lease_seconds = '30'] = process.argv.slice(2);
const genesis = new Genesis({ url, outbox, project: 'shop' });
const lease_duration_seconds = Number(lease_seconds);
const summary = await genesis.work(
  { agent_id: 'agent-child', lease_duration_seconds },
  async (work, context) => {
    console.log(`working ${work.task_id}`);
    const end = Date.now() + Number(busy_ms);
    while (Date.now() < end && context.held());
    // A turn in which every timer that is due is heard.
    await new Promise((resolve) => setTimeout(resolve, 1));
    return { by: 'child', held: context.held(), told: context.signal.aborted };
  },
);
console.log(JSON.stringify(summary));
