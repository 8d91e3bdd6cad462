import { claimRefusalText, showClaimReply } from '../claim-output.js';
import type { AddCommands } from '../command-action.js';
import type { CommandContext } from '../context.js';
import { EXIT } from '../exit.js';
import { parseSeconds, parseWaitSeconds } from '../option-parsers.js';
import { reportRefusal, unwrapReply } from '../replies.js';

interface NextOptions {
  readonly track?: string;
  readonly role?: string;
  readonly lease?: number;
  readonly wait?: number;
}

export const addNext: AddCommands = (program, wrapAction) => {
  program
    .command('next')
    .description('take the best ready work, with its briefing')
    .option('--track <track>', 'only work of this track')
    .option('--role <role>', 'the role you work in')
    .option('--lease <seconds>', 'how long you may be silent', parseSeconds)
    .option('--wait <seconds>', 'wait for work to become ready, up to 30 seconds', parseWaitSeconds)
    .addHelpText('after', '\nExamples:\n  gen next --wait 30\n  gen next --track B --lease 10m --json')
    .action(wrapAction(next));
};

async function next(context: CommandContext, options: NextOptions): Promise<void> {
  const genesis = await context.genesis();
  const { track, role: agent_role, lease: lease_duration_seconds, wait: wait_seconds } = options;
  const requestFields = { track, agent_role, lease_duration_seconds, wait_seconds };
  const definedFields = Object.fromEntries(
    Object.entries(requestFields).filter(([, value]) => value !== undefined),
  );
  const session_id = await context.session();
  const reply = unwrapReply(
    await genesis.next({ ...definedFields, agent_id: await context.agent(), session_id }),
  );
  if (reply.success || reply.reason !== 'NOTHING_READY') return showClaimReply(context, reply);
  const { needs_human, says: outlookMessage } = workOutlook(unwrapReply(await genesis.status()));
  const refusalMessage = [claimRefusalText(reply), outlookMessage].join(' ').trim();
  reportRefusal(context, reply, refusalMessage, needs_human ? EXIT.human : EXIT.refused);
}

/** Whether more work becomes ready without human action, and the text that says so. */
function workOutlook(status: { readonly counts: Readonly<Record<string, number>> }): {
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
