import type { BandView, EdgeView, ZoomView } from '../../core/contract/methodology-views.js';
import type { CommandContext } from '../context.js';
import { statusMark } from './marks.js';
import { section } from './text.js';

const BAR_WIDTH = 20;

/** The graph in four bands, followed by the details of one edge. */
export function zoomText({ bands, edge }: ZoomView, context: CommandContext): string {
  const lines = bands.flatMap((band) => bandLines(band, context));
  return [...lines, ...(edge === null ? [] : edgeLines(edge, context))].join('\n');
}

function bandLines(
  { band, edges, converged, total, percent }: BandView,
  { paint, wrap }: CommandContext,
): string[] {
  const full = Math.round((percent / 100) * BAR_WIDTH);
  const bar = `${paint.green('█'.repeat(full))}${paint.dim('░'.repeat(BAR_WIDTH - full))}`;
  const head = `${band.padEnd(14)} ${bar} ${String(percent).padStart(3)} %  ${converged}/${total}`;
  return [head, ...wrap(edges.join(', '), 15).map(paint.dim)];
}

function edgeLines(edge: EdgeView, { paint, wrap }: CommandContext): string[] {
  const { band, source, target, edge_type, evaluators, sub_steps, features, hint } = edge;
  const kind = edge_type === 'co_evolution' ? 'a co-evolution' : 'a step';
  const evaluatedBy = `evaluated by ${evaluators.join(', ')}`;
  const checkLines = sub_steps.flatMap(({ name, type, criterion }) =>
    wrap(`${name} (${type}): ${criterion}`, 2),
  );
  const featureLines = features.map(({ feature_id, status, iteration, delta }) => {
    const progress =
      iteration === 0 ? '' : `, iteration ${iteration}${delta === null ? '' : `, delta ${delta}`}`;
    return `  ${statusMark(status, paint)} ${feature_id}  ${status}${progress}`;
  });
  return [
    '',
    paint.bold(edge.name),
    ...wrap(`${kind} from ${source} to ${target}, in ${band}; ${evaluatedBy}`, 2),
    ...section(paint.bold('Checks'), checkLines),
    ...section(paint.bold('Features on this edge'), featureLines),
    ...(hint === null ? [] : ['', ...wrap(hint, 0).map(paint.yellow)]),
  ];
}
