import { adviceFor } from '../../core/contract/codes.js';
import { withoutUndefined } from '../../core/without-undefined.js';
import { command } from '../command.js';
import { CommandFailure, failureWithCode } from '../exit.js';
import { withMethodology } from '../methodology/project-connection.js';
import { AT_OPTION } from '../option-parsers.js';
import { zoomText } from '../output/zoom.js';
import { unwrapReply } from '../replies.js';

export const addZoom = command('zoom', {
  description: 'show the graph in four bands, or one edge in detail',
  options: { '--edge <edge>': 'edge to show', '--feature <id>': 'only this feature', ...AT_OPTION },
  help: `
Examples:
  gen zoom
  gen zoom --edge "design→code"
  gen zoom --edge code_unit_tests --feature REQ-F-AUTH-001`,
  run: (context, { edge, feature, at }) =>
    withMethodology(context, 'read', async ({ calls }) => {
      const view = unwrapReply(await calls.zoom(withoutUndefined({ edge, feature, at })));
      if (view.bands.length === 0) throw failureWithCode('NOT_INITIALISED', adviceFor('NOT_INITIALISED'));
      if (view.unknown_edge !== null) {
        const known = view.bands.flatMap(({ edges }) => edges).join(', ');
        throw new CommandFailure(`The graph has no edge ${view.unknown_edge}. Its edges: ${known}`);
      }
      context.show(view, () => zoomText(view, context));
    }),
});
