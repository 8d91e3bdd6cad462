import type { BandView, EdgeView, ZoomView } from '../../core/methodology/views/zoom.js';
import type { CommandContext } from '../context.js';
import { statusMark } from './marks.js';
import { wrapLines } from './wrap.js';

const BAR_WIDTH = 20;

/** The graph in four bands, followed by the details of one edge. */
export function zoomText({ bands, edge }: ZoomView, context: CommandContext): string {
  const lines = bands.flatMap((band) => bandLines(band, context));
  return [...lines, ...(edge === null ? [] : edgeLines(edge, context))].join('\n');
}

function bandLines(
  { band, edges, converged, total, percent }: BandView,
  { io, paint }: CommandContext,
): string[] {
  const full = Math.round((percent / 100) * BAR_WIDTH);
  const bar = `${paint.green('█'.repeat(full))}${paint.dim('░'.repeat(BAR_WIDTH - full))}`;
  const head = `${band.padEnd(14)} ${bar} ${String(percent).padStart(3)} %  ${converged}/${total}`;
  return [head, ...wrapLines(edges.join(', '), 15, io.columns).map(paint.dim)];
}

function edgeLines(edge: EdgeView, { io, paint }: CommandContext): string[] {
  const { name, band, source, target, edge_type, evaluators, sub_steps, features, hint } = edge;
  const kind = edge_type === 'co_evolution' ? 'a co-evolution' : 'a step';
  const lines = ['', paint.bold(name)];
  lines.push(
    ...wrapLines(
      `${kind} from ${source} to ${target}, in ${band}; judged by ${evaluators.join(', ')}`,
      2,
      io.columns,
    ),
  );
  if (sub_steps.length > 0) lines.push('', paint.bold('What it asks for'));
  for (const { name: check, type, criterion } of sub_steps) {
    lines.push(...wrapLines(`${check} (${type}): ${criterion}`, 2, io.columns));
  }
  if (features.length > 0) lines.push('', paint.bold('Who is on it'));
  for (const { feature_id, status, iteration, delta } of features) {
    const progressText =
      iteration === 0 ? '' : `, iteration ${iteration}${delta === null ? '' : `, delta ${delta}`}`;
    lines.push(`  ${statusMark(status, paint)} ${feature_id}  ${status}${progressText}`);
  }
  return hint === null ? lines : [...lines, '', ...wrapLines(hint, 0, io.columns).map(paint.yellow)];
}
