import { Option } from 'commander';
import { COVERAGE_LAYERS, type CoverageLayer } from '../../workspace/scan/coverage.js';
import type { AddCommands } from '../command-action.js';
import type { CommandContext } from '../context.js';
import { EXIT } from '../exit.js';
import { requireWorkspace, withMethodology } from '../methodology/project-connection.js';
import { scanRequirements } from '../methodology/requirement-scan.js';
import { gapsText } from '../output/gaps.js';
import { unwrapReply } from '../replies.js';

interface GapsOptions {
  readonly layer: '1' | '2' | '3' | 'all';
  readonly feature?: string;
  readonly dryRun?: boolean;
}

export const addGaps: AddCommands = (program, wrapAction) => {
  program
    .command('gaps')
    .description('find and write down which requirements no code, no test, no telemetry answers to')
    .addOption(
      new Option('--layer <layer>', '1: tags in code, 2: tests, 3: telemetry')
        .choices(['1', '2', '3', 'all'])
        .default('all'),
    )
    .option('--feature <id>', 'of this feature’s requirements alone')
    .option('--dry-run', 'look, and write down nothing')
    .addHelpText(
      'after',
      `
Examples:
  gen gaps --dry-run
  gen gaps --layer 2 --feature REQ-F-AUTH-001
  gen gaps --json | jq '.clusters[] | .intent_id'

What is found goes into the log, and each domain that lacks something is raised as an intent, which waits for a human
in gen start and gen status; the same gaps found again raise no second one. --dry-run writes nothing.

Requirements are the keys in specification/ and those that features deliver. Code answers with "Implements: REQ-…",
a test with "Validates: REQ-…", telemetry with req="REQ-…". Exit code 1: there are gaps.`,
    )
    .action(wrapAction(gaps));
};

async function gaps(context: CommandContext, { layer, feature, dryRun = false }: GapsOptions): Promise<void> {
  const { root } = requireWorkspace(context);
  const layers = layer === 'all' ? COVERAGE_LAYERS : [Number(layer) as CoverageLayer];
  await withMethodology(context, dryRun ? 'read' : 'write', async ({ calls }) => {
    const { coverage, left_out, gapsRequest } = await scanRequirements(root, calls, layers, feature);
    const reply = unwrapReply(
      await calls.gaps({ ...gapsRequest, dry_run: dryRun, agent_id: await context.agent() }),
    );
    context.show({ ...reply, coverage, left_out }, () => gapsText(reply, coverage, context));
    for (const message of left_out) context.printNotice(`Not looked at: ${message}`);
    context.exit_code = reply.result === 'COMPLETE' ? EXIT.done : EXIT.refused;
  });
}
