import { WORK_KINDS } from '../../core/contract/values.js';
import { withoutUndefined } from '../../core/without-undefined.js';
import { claimRefusalText, showClaimReply } from '../claim-output.js';
import { defineCommand } from '../command.js';
import { EXIT } from '../exit.js';
import { LEASE_OPTION, parseWaitSeconds, parseWorkKind } from '../option-parsers.js';
import { reportRefusal, unwrapReply } from '../replies.js';
import { claimInSession } from '../signing.js';

export const nextCommand = defineCommand('next', {
  description: 'claim the best ready work, and print its briefing',
  options: {
    '--track <track>': 'only tasks of this track',
    '--kind <kind>': { about: 'only tasks, or only edges of features', parse: parseWorkKind },
    '--new': 'claim new work, even if this session holds work already',
    '--role <role>': 'agent role to work in',
    ...LEASE_OPTION,
    '--wait <seconds>': {
      about: 'time to wait for ready work, at most 30 seconds',
      parse: parseWaitSeconds,
    },
  },
  help: `
If the session holds work already, it is returned: the same claim, with its handle.

Examples:
  gen next --wait 30
  gen next --track B --lease 10m --json
  gen next --kind edge --role architect`,
  async run(context, options) {
    const { track, kind, role: agent_role, lease: lease_duration_seconds, wait: wait_seconds } = options;
    const genesis = await context.genesis();
    const agent_id = await context.agent();
    const optionalFields = withoutUndefined({ track, agent_role, lease_duration_seconds, wait_seconds });
    const kinds = kind === undefined ? [...WORK_KINDS] : [kind];
    const resume = options.new !== true;
    const reply = unwrapReply(
      await claimInSession(context, (session_id) =>
        genesis.next({ ...optionalFields, kinds, resume, agent_id, session_id }),
      ),
    );
    if (reply.success || reply.reason !== 'NOTHING_READY') return showClaimReply(context, reply);
    const isStuck = needsHuman(unwrapReply(await genesis.status()).counts);
    const advice = isStuck ? 'A person must act first: see gen status.' : '';
    const detail = `${claimRefusalText(reply)} ${advice}`.trim();
    reportRefusal(context, reply, detail, isStuck ? EXIT.human : EXIT.refused);
  },
});

/** Whether no more work becomes ready until a person acts. */
function needsHuman(counts: Readonly<Record<string, number>>): boolean {
  const hasAny = (...states: readonly string[]) => states.some((state) => (counts[state] ?? 0) > 0);
  return hasAny('held', 'suspended', 'exhausted', 'stale') && !hasAny('claimed', 'backoff', 'ready');
}
