import type { StartReply } from '../../coordinator/methodology/wire.js';
import type { Escalation, SharedWork } from '../../core/graph/route.js';
import type { Context } from '../context.js';
import { count, distance } from './text.js';
import { named, wrapped } from './wrap.js';

/** Where to go next, and how that was found: what waits for a human comes before all else. */
export function startText(reply: StartReply, context: Context): string {
  const { state, feature, edge, iteration, reasons, skipped, escalations, parallel, refused, next } = reply;
  const { io, paint } = context;
  const width = io.columns;
  const lines = [`State: ${paint.bold(state)}`, ...escalationLines(escalations, context)];
  if (feature !== null) {
    const where = `${feature}${edge === null ? '' : ` on ${edge}`}`;
    lines.push('', `Next: ${paint.bold(where)}${iteration === null ? '' : ` (iteration ${iteration})`}`);
  } else lines.push('');
  lines.push(...reasons.flatMap((reason) => wrapped(reason, 2, width)));
  if (skipped.length > 0) lines.push('', paint.bold('Skipped'));
  for (const { feature: other, edge: at, says } of skipped) {
    lines.push(...wrapped(`${other}${at === null ? '' : ` ${at}`}: ${says}`, 2, width));
  }
  lines.push(...parallelLines(parallel, context));
  if (refused !== null) lines.push('', ...wrapped(`Refused: ${refused}`, 0, width).map(paint.red));
  return [...lines, '', ...named('Do now:', next, 8, width)].join('\n');
}

export function escalationLines(escalations: readonly Escalation[], { io, paint }: Context): string[] {
  if (escalations.length === 0) return [];
  const lines = ['', paint.yellow(`${count(escalations.length, 'thing')} waiting for a human`)];
  for (const { kind, severity, feature_id, edge, since, says, next } of escalations) {
    const about = [feature_id, edge].filter((part) => part !== null).join(' ');
    const age = distance(since, Date.now());
    lines.push(...wrapped(`${severity} ${kind.replace('_', ' ')} ${about} (${age})`, 2, io.columns));
    lines.push(...wrapped(says, 4, io.columns), ...wrapped(`→ ${next}`, 4, io.columns));
  }
  return lines;
}

function parallelLines(parallel: readonly SharedWork[], { io, paint }: Context): string[] {
  if (parallel.length === 0) return [];
  const lines = ['', paint.bold('At work beside it')];
  for (const work of parallel) {
    const { feature_id, edge, agent_id, inner_product, says } = work;
    const line = wrapped(`${feature_id} ${edge} by ${agent_id}: ${sharing(work)}`, 2, io.columns);
    lines.push(
      ...line.map(inner_product === 0 ? paint.green : paint.yellow),
      ...wrapped(says, 4, io.columns),
    );
  }
  return lines;
}

/** Unknown is not free, and never said to be. */
function sharing({ inner_product, shared_modules }: SharedWork): string {
  if (inner_product === null) return 'what both touch is unknown';
  if (inner_product === 0) return 'nothing shared';
  return `${count(inner_product, 'shared module')}: ${shared_modules.join(', ')}`;
}
