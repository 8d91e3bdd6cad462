import { NOT_INITIALISED_MESSAGE } from '../../coordinator/methodology/step-event.js';
import type { AddCommands } from '../command-action.js';
import type { CommandContext } from '../context.js';
import { CommandFailure, failureWithCode } from '../exit.js';
import { withMethodology } from '../methodology/project-connection.js';
import { withoutUndefined } from '../option-parsers.js';
import { zoomText } from '../output/zoom.js';
import { unwrapReply } from '../replies.js';

interface ZoomOptions {
  readonly edge?: string;
  readonly feature?: string;
}

export const addZoom: AddCommands = (program, wrapAction) => {
  program
    .command('zoom')
    .description('the graph from afar in four bands, or one edge of it from close by')
    .option('--edge <edge>', 'the edge to look at')
    .option('--feature <id>', 'of this feature alone')
    .addHelpText(
      'after',
      `
Examples:
  gen zoom
  gen zoom --edge "design→code"
  gen zoom --edge code_unit_tests --feature REQ-F-AUTH-001`,
    )
    .action(wrapAction(zoom));
};

async function zoom(context: CommandContext, { edge, feature }: ZoomOptions): Promise<void> {
  await withMethodology(context, 'read', async ({ calls }) => {
    const view = unwrapReply(await calls.zoom(withoutUndefined({ edge, feature })));
    if (view.bands.length === 0) throw failureWithCode('NOT_INITIALISED', NOT_INITIALISED_MESSAGE);
    if (view.unknown_edge !== null) {
      const known = view.bands.flatMap(({ edges }) => edges).join(', ');
      throw new CommandFailure(`The graph has no edge ${view.unknown_edge}. It has: ${known}`);
    }
    context.show(view, () => zoomText(view, context));
  });
}
