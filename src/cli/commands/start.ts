import type { StartReply } from '../../coordinator/methodology/wire.js';
import { command } from '../../core/graph/command.js';
import type { AddCommands } from '../act.js';
import type { Context } from '../context.js';
import { EXIT, type ExitCode } from '../exit.js';
import { withMethodology } from '../methodology/door.js';
import { startText } from '../output/start.js';
import { defined } from '../read-options.js';
import { expected } from '../replies.js';

interface StartOptions {
  readonly feature?: string;
  readonly edge?: string;
  readonly profile?: string;
  readonly role?: string;
  readonly dryRun?: true;
}

export const addStart: AddCommands = (program, act) => {
  program
    .command('start')
    .description('where to go next, and why; writes nothing')
    .option('--feature <id>', 'of this feature alone')
    .option('--edge <edge>', 'on this edge')
    .option('--profile <name>', 'as if the feature had this profile')
    .option('--role <role>', 'the role you work in')
    .option('--dry-run', 'the same: this command never writes')
    .addHelpText(
      'after',
      `
Examples:
  gen start
  gen start --feature REQ-F-AUTH-001 --edge "design→code"
  gen start --json | jq -r .next

Exit code 3: there is nothing that an agent could go on with before a human has acted.`,
    )
    .action(act(start));
};

async function start(context: Context, options: StartOptions): Promise<void> {
  const { feature, edge, profile, role, dryRun } = options;
  const asked = {
    feature,
    edge,
    profile,
    agent_role: role,
    agent_id: await context.agent(),
    dry_run: dryRun,
  };
  await withMethodology(context, 'read', async ({ calls, workspace }) => {
    const routed = expected(await calls.start(defined(asked)));
    const reply = workspace === null ? routed : { ...routed, next: withDrafts(routed) };
    context.show(reply, () => startText(reply, context));
    context.exit_code = exitOf(reply);
  });
}

/** In a workspace, work on an edge is done in drafts, and handed in from there. */
function withDrafts({ feature, edge, next }: StartReply): string {
  return next === command('task', 'submit', `${feature}#${edge}`) ? `${next} --drafts` : next;
}

/** Whoever can go on may; only where nobody can is it a human's turn. */
function exitOf({ state, feature, escalations, refused }: StartReply): ExitCode {
  if (refused !== null || state === 'UNINITIALISED') return EXIT.refused;
  if (feature !== null) return EXIT.done;
  return escalations.length > 0 || FOR_HUMANS.has(state) ? EXIT.human : EXIT.done;
}

const FOR_HUMANS: ReadonlySet<string> = new Set([
  'NEEDS_CONSTRAINTS',
  'NEEDS_INTENT',
  'STUCK',
  'ALL_BLOCKED',
]);
