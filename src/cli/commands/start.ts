import type { StartReply } from '../../coordinator/methodology/wire.js';
import { genCommand } from '../../core/methodology/definition/command.js';
import type { AddCommands } from '../command-action.js';
import type { CommandContext } from '../context.js';
import { EXIT, type ExitCode } from '../exit.js';
import { withMethodology } from '../methodology/project-connection.js';
import { withoutUndefined } from '../option-parsers.js';
import { startText } from '../output/start.js';
import { unwrapReply } from '../replies.js';

interface StartOptions {
  readonly feature?: string;
  readonly edge?: string;
  readonly profile?: string;
  readonly role?: string;
  readonly dryRun?: true;
}

export const addStart: AddCommands = (program, wrapAction) => {
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
    .action(wrapAction(start));
};

async function start(context: CommandContext, options: StartOptions): Promise<void> {
  const { feature, edge, profile, role, dryRun } = options;
  const request = {
    feature,
    edge,
    profile,
    agent_role: role,
    agent_id: await context.agent(),
    dry_run: dryRun,
  };
  await withMethodology(context, 'read', async ({ calls, workspace }) => {
    const routed = unwrapReply(await calls.start(withoutUndefined(request)));
    const reply = workspace === null ? routed : { ...routed, next: nextWithDrafts(routed) };
    context.show(reply, () => startText(reply, context));
    context.exit_code = exitCodeOf(reply);
  });
}

/** In a workspace, agents write to drafts, so the suggested submit command needs `--drafts`. */
function nextWithDrafts({ feature, edge, next }: StartReply): string {
  return next === genCommand('task', 'submit', `${feature}#${edge}`) ? `${next} --drafts` : next;
}

/** `human` only if no feature can proceed and something waits for a human. */
function exitCodeOf({ state, feature, escalations, refused }: StartReply): ExitCode {
  if (refused !== null || state === 'UNINITIALISED') return EXIT.refused;
  if (feature !== null) return EXIT.done;
  return escalations.length > 0 || HUMAN_STATES.has(state) ? EXIT.human : EXIT.done;
}

const HUMAN_STATES: ReadonlySet<string> = new Set([
  'NEEDS_CONSTRAINTS',
  'NEEDS_INTENT',
  'STUCK',
  'ALL_BLOCKED',
]);
