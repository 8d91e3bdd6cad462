import type { StartReply } from '../../core/contract/start.js';
import { withoutUndefined } from '../../core/without-undefined.js';
import { defineCommand } from '../command.js';
import { EXIT, type ExitCode } from '../exit.js';
import { withMethodology } from '../methodology/project-connection.js';
import { submitWithDrafts } from '../methodology/submit-command.js';
import { startText } from '../output/start.js';
import { unwrapReply } from '../replies.js';

export const startCommand = defineCommand('start', {
  description: 'show the next step, and why; writes nothing',
  options: {
    '--feature <id>': 'only this feature',
    '--edge <edge>': 'only this edge',
    '--profile <name>': 'route as if the feature had this profile',
    '--role <role>': 'agent role to work in',
    '--dry-run': 'no effect: this command never writes',
  },
  help: `
Examples:
  gen start
  gen start --feature REQ-F-AUTH-001 --edge "design→code"
  gen start --json | jq -r .next

Exit code 3: no agent can continue until a person acts.`,
  async run(context, { feature, edge, profile, role: agent_role, dryRun: dry_run }) {
    const filter = withoutUndefined({ feature, edge, profile, agent_role, dry_run });
    const request = { ...filter, agent_id: await context.agent() };
    await withMethodology(context, 'read', async ({ calls, workspace }) => {
      const routed = unwrapReply(await calls.start(request));
      const reply = workspace === null ? routed : { ...routed, next: submitWithDrafts(routed, routed.next) };
      context.printReply(reply, () => startText(reply, context));
      context.exit_code = exitCodeOf(reply);
    });
  },
});

const HUMAN_STATES = new Set(['NEEDS_CONSTRAINTS', 'NEEDS_INTENT', 'STUCK', 'ALL_BLOCKED']);

/** The exit code: `human` only if no feature can proceed and something waits for a person. */
function exitCodeOf({ state, feature, escalations, refused }: StartReply): ExitCode {
  if (refused !== null || state === 'UNINITIALISED') return EXIT.refused;
  if (feature !== null) return EXIT.done;
  return escalations.length > 0 || HUMAN_STATES.has(state) ? EXIT.human : EXIT.done;
}
