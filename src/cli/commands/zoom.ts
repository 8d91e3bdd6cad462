import { didYouMean } from '../../core/closest-names.js';
import { adviceFor } from '../../core/contract/codes.js';
import { canonicalEdge } from '../../core/methodology/definition/edge-name.js';
import { withoutUndefined } from '../../core/without-undefined.js';
import { defineCommand } from '../command.js';
import type { CommandContext } from '../context.js';
import { CommandFailure, failureWithCode, wrongUsage } from '../exit.js';
import { withMethodology } from '../methodology/project-connection.js';
import { AT_OPTION } from '../option-parsers.js';
import { zoomText } from '../output/zoom.js';
import { unwrapReply } from '../replies.js';

export const zoomCommand = defineCommand('zoom', {
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
        throw unknownEdge(
          view.unknown_edge,
          view.bands.flatMap(({ edges }) => edges),
        );
      }
      context.printReply(view, () => zoomText(view, context));
    });
  },
});

const unknownEdge = (edge: string, edges: readonly string[]): CommandFailure =>
  new CommandFailure(
    `The graph has no edge ${edge}.${didYouMean(edge, edges)} Its edges: ${edges.join(', ')}`,
  );

/** Prints the state machine of a run of the edge: for the feature, or, without one, for the default profile. */
async function printMachine(
  context: CommandContext,
  edge: string | undefined,
  feature: string | undefined,
): Promise<void> {
  if (edge === undefined) throw wrongUsage('--mermaid draws one edge. Pass the edge with --edge EDGE.');
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
  const edges = methodology.topology.transitions.map((transition) => transition.edge);
  if (!edges.includes(id)) throw unknownEdge(edge, edges);
  const compiled = compileMachine(edgePlan(methodology, configuration.feature, id));
  const mermaid = machineMermaid(compiled.machine);
  context.printReply({ ...compiled, mermaid }, () => mermaid);
}
