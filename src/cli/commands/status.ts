import type { Genesis } from '../../client/index.js';
import type { AddCommands } from '../act.js';
import type { Context } from '../context.js';
import { agentsText, sessionsText, statusText } from '../output/overview.js';
import { expected } from '../replies.js';
import { stopSignal } from '../stop.js';

export const addStatus: AddCommands = (program, act) => {
  program
    .command('status')
    .description('how far the plan is, who is at work, what waits for a human')
    .option('--watch', 'stay, and show every change as it happens')
    .action(act(status));
  program.command('agents').description('who has worked here, and on what').action(act(agents));
  program.command('sessions').description('the sessions of this tenant').action(act(sessions));
};

async function status(context: Context, { watch }: { watch?: true }): Promise<void> {
  const genesis = await context.genesis();
  if (watch === true) return watchStatus(context, genesis);
  context.show(expected(await genesis.status()), (now) => statusText(now, context));
}

const CLEAR = '\u001b[H\u001b[2J\u001b[3J';
/** Some things change by time alone: a backoff ends, a claim grows stale. */
const LOOK_EVERY_MS = 2000;

/** Draws anew whenever what there is to see has changed. */
async function watchStatus(context: Context, genesis: Genesis): Promise<void> {
  const stop = stopSignal(context.io);
  const { signal } = stop;
  const is_screen = context.io.columns !== null && !context.is_json;
  const changed = new Bell();
  const timer = setInterval(() => changed.ring(), LOOK_EVERY_MS);
  signal.addEventListener('abort', () => changed.ring());
  const listening = listen(genesis, changed, signal);
  listening.catch(() => changed.ring());
  let drawn = '';
  try {
    while (!signal.aborted) {
      const reply = expected(await genesis.status());
      const text = context.is_json ? JSON.stringify(reply) : statusText(reply, context);
      if (text !== drawn) context.print(is_screen ? `${CLEAR}${text}` : text);
      drawn = text;
      await Promise.race([changed.rung(), listening]);
    }
    await listening;
  } finally {
    clearInterval(timer);
    stop.end();
  }
}

async function listen(genesis: Genesis, changed: Bell, signal: AbortSignal): Promise<void> {
  for await (const _ of genesis.follow({ after: 'now' }, { signal })) changed.ring();
}

/** Rung any number of times while nobody waits, it is heard once. */
class Bell {
  private is_rung = false;
  private hear: (() => void) | null = null;

  ring(): void {
    this.is_rung = true;
    this.hear?.();
  }

  async rung(): Promise<void> {
    if (!this.is_rung) {
      await new Promise<void>((resolve) => {
        this.hear = resolve;
      });
    }
    this.is_rung = false;
    this.hear = null;
  }
}

async function agents(context: Context): Promise<void> {
  const genesis = await context.genesis();
  context.show(expected(await genesis.agents()), ({ agents }) => agentsText(agents, context));
}

async function sessions(context: Context): Promise<void> {
  const reply = await context.genesisOfTenant().sessions();
  context.show(expected(reply), ({ sessions }) => sessionsText(sessions, context));
}
