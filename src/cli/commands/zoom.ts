import { NOT_INITIALISED } from '../../coordinator/methodology/told.js';
import type { AddCommands } from '../act.js';
import type { Context } from '../context.js';
import { CommandFailure, failed } from '../exit.js';
import { withMethodology } from '../methodology/door.js';
import { zoomText } from '../output/zoom.js';
import { defined } from '../read-options.js';
import { expected } from '../replies.js';

interface ZoomOptions {
  readonly edge?: string;
  readonly feature?: string;
}

export const addZoom: AddCommands = (program, act) => {
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
    .action(act(zoom));
};

async function zoom(context: Context, { edge, feature }: ZoomOptions): Promise<void> {
  await withMethodology(context, 'read', async ({ calls }) => {
    const view = expected(await calls.zoom(defined({ edge, feature })));
    if (view.bands.length === 0) throw failed('NOT_INITIALISED', NOT_INITIALISED);
    if (view.unknown_edge !== null) {
      const known = view.bands.flatMap(({ edges }) => edges).join(', ');
      throw new CommandFailure(`The graph has no edge ${view.unknown_edge}. It has: ${known}`);
    }
    context.show(view, () => zoomText(view, context));
  });
}
