import { COVERAGE_LAYERS, type CoverageLayer } from '../../workspace/scan/coverage.js';
import { defineCommand } from '../command.js';
import { EXIT } from '../exit.js';
import { withMethodology } from '../methodology/project-connection.js';
import { scanRequirements } from '../methodology/requirement-scan.js';
import { gapsText } from '../output/gaps.js';
import { unwrapReply } from '../replies.js';

export const gapsCommand = defineCommand('gaps', {
  description: 'find and record the requirements without code, tests or telemetry',
  options: {
    '--layer <layer>': {
      about: 'layer to check: 1 tags in code, 2 tests, 3 telemetry',
      choices: ['1', '2', '3', 'all'],
      default: 'all',
    },
    '--feature <id>': 'only the requirements of this feature',
    '--dry-run': 'report only, write nothing',
  },
  help: `
Examples:
  gen gaps --dry-run
  gen gaps --layer 2 --feature REQ-F-AUTH-001
  gen gaps --json | jq '.clusters[] | .intent_id'

The result is written to the log. Each domain with gaps is raised as an intent for a person, which gen start and
gen status show; the same gaps raise no second intent. --dry-run writes nothing.

Requirements are the keys in specification/ and those that features deliver. Code refers to a key with
"Implements: REQ-…", a test with "Validates: REQ-…", telemetry with req="REQ-…". Exit code 1: there are gaps.`,
  async run(context, { layer, feature, dryRun: dry_run = false }) {
    const { root } = context.requireWorkspace();
    const layers = layer === 'all' ? COVERAGE_LAYERS : [Number(layer) as CoverageLayer];
    await withMethodology(context, dry_run ? 'read' : 'write', async ({ calls }) => {
      const { coverage, left_out, gapsRequest } = await scanRequirements(root, calls, layers, feature);
      const request = { ...gapsRequest, dry_run, agent_id: await context.agent() };
      const reply = unwrapReply(await calls.gaps(request));
      context.printReply({ ...reply, coverage, left_out }, () => gapsText(reply, coverage, context));
      for (const message of left_out) context.printNotice(`Not scanned: ${message}`);
      context.exit_code = reply.result === 'COMPLETE' ? EXIT.done : EXIT.refused;
    });
  },
});
