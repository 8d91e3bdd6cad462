import type { AddCommands } from '../act.js';
import type { Context } from '../context.js';
import { EXIT } from '../exit.js';
import { seconds, waitSeconds } from '../read-options.js';
import { expected, refuse } from '../replies.js';
import { taken, whyNot } from '../taking.js';

interface NextOptions {
  readonly track?: string;
  readonly role?: string;
  readonly lease?: number;
  readonly wait?: number;
}

export const addNext: AddCommands = (program, act) => {
  program
    .command('next')
    .description('take the best ready work, with its briefing')
    .option('--track <track>', 'only work of this track')
    .option('--role <role>', 'the role you work in')
    .option('--lease <seconds>', 'how long you may be silent', seconds)
    .option('--wait <seconds>', 'wait for work to become ready, up to 30 seconds', waitSeconds)
    .addHelpText('after', '\nExamples:\n  gen next --wait 30\n  gen next --track B --lease 10m --json')
    .action(act(next));
};

async function next(context: Context, options: NextOptions): Promise<void> {
  const genesis = await context.genesis();
  const { track, role: agent_role, lease: lease_duration_seconds, wait: wait_seconds } = options;
  const asked = { track, agent_role, lease_duration_seconds, wait_seconds };
  const given = Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== undefined));
  const session_id = await context.session();
  const reply = expected(await genesis.next({ ...given, agent_id: await context.agent(), session_id }));
  if (reply.success || reply.reason !== 'NOTHING_READY') return taken(context, reply);
  const { needs_human, says } = standing(expected(await genesis.status()));
  const why = [whyNot(reply), says].join(' ').trim();
  refuse(context, reply, why, needs_human ? EXIT.human : EXIT.refused);
}

/** Whether anything will become ready by itself. */
function standing(status: { readonly counts: Readonly<Record<string, number>> }): {
  needs_human: boolean;
  says: string;
} {
  const { counts } = status;
  const stuck = (counts.held ?? 0) + (counts.suspended ?? 0) + (counts.exhausted ?? 0) + (counts.stale ?? 0);
  const moving = (counts.claimed ?? 0) + (counts.backoff ?? 0) + (counts.ready ?? 0);
  const needs_human = stuck > 0 && moving === 0;
  return {
    needs_human,
    says: needs_human ? 'A human must act first: see gen status.' : '',
  };
}
