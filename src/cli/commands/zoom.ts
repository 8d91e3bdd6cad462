import { didYouMean } from '../../core/closest-names.js';
import { adviceFor } from '../../core/contract/codes.js';
import { canonicalEdge } from '../../core/methodology/definition/edge-name.js';
import { withoutUndefined } from '../../core/without-undefined.js';
import { command } from '../command.js';
import type { CommandContext } from '../context.js';
import { CommandFailure, failureWithCode, wrongUsage } from '../exit.js';
import { withMethodology } from '../methodology/project-connection.js';
import { AT_OPTION } from '../option-parsers.js';
import { zoomText } from '../output/zoom.js';
import { unwrapReply } from '../replies.js';

export const zoomCommand = command('zoom', {
  description:
    'show the graph by specification, construction, validation and operations, or one edge in detail',
  options: {
    '--edge <edge>': 'edge to show',
    '--feature <id>': 'only this feature',
    '--mermaid': 'print the state machine of the edge for this feature as a Mermaid diagram',
    ...AT_OPTION,
  },
  help: `
Examples:
  gen zoom
  gen zoom --edge "design→code"
  gen zoom --edge code_unit_tests --feature REQ-F-AUTH-001
  gen zoom --edge code_unit_tests --feature REQ-F-AUTH-001 --mermaid`,
  async run(context, { edge, feature, mermaid, at }) {
    if (mermaid) return printMachine(context, edge, feature);
    await withMethodology(context, 'read', async ({ calls }) => {
      const view = unwrapReply(await calls.zoom(withoutUndefined({ edge, feature, at })));
      if (view.bands.length === 0) throw failureWithCode('NOT_INITIALISED', adviceFor('NOT_INITIALISED'));
      if (view.unknown_edge !== null) {
        const known = view.bands.flatMap(({ edges }) => edges);
        throw unknownEdge(view.unknown_edge, known);
      }
      context.printReply(view, () => zoomText(view, context));
    });
  },
});

const unknownEdge = (edge: string, known: readonly string[]): CommandFailure =>
  new CommandFailure(
    `The graph has no edge ${edge}.${didYouMean(edge, known)} Its edges: ${known.join(', ')}`,
  );

/** The state machine of a run of the edge: for a feature, or for any feature with the default profile. */
async function printMachine(
  context: CommandContext,
  edge: string | undefined,
  feature: string | undefined,
): Promise<void> {
  if (edge === undefined) throw wrongUsage('--mermaid draws one edge. Pass it with --edge EDGE.');
  const { edgePlan } = await import('../../core/engine/edge-plan.js');
  const { compileMachine } = await import('../../core/engine/compile-machine.js');
  const { machineMermaid } = await import('../../core/engine/machine-mermaid.js');
  const { readConfiguration } = await import('../engine/workspace-services.js');
  const configuration = await readConfiguration(
    context.requireWorkspace(),
    await context.genesis(),
    feature ?? null,
  );
  const id = canonicalEdge(edge);
  const { methodology } = configuration;
  const known = methodology.topology.transitions.map((transition) => transition.edge);
  if (!known.includes(id)) throw unknownEdge(edge, known);
  const compiled = compileMachine(edgePlan(methodology, configuration.feature, id));
  const mermaid = machineMermaid(compiled.machine);
  context.printReply({ ...compiled, mermaid }, () => mermaid);
}
