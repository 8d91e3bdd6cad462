import type { StartReply } from '../../coordinator/methodology/wire.js';
import type { Escalation, OverlappingWork } from '../../core/methodology/routing/route.js';
import type { CommandContext } from '../context.js';
import { countText, relativeTime } from './text.js';
import { labelledLines, wrapLines } from './wrap.js';

/** The next step and how it was chosen. Escalations come first. */
export function startText(reply: StartReply, context: CommandContext): string {
  const { state, feature, edge, iteration, reasons, skipped, escalations, parallel, refused, next } = reply;
  const { io, paint } = context;
  const width = io.columns;
  const lines = [`State: ${paint.bold(state)}`, ...escalationLines(escalations, context)];
  if (feature !== null) {
    const where = `${feature}${edge === null ? '' : ` on ${edge}`}`;
    lines.push('', `Next: ${paint.bold(where)}${iteration === null ? '' : ` (iteration ${iteration})`}`);
  } else lines.push('');
  lines.push(...reasons.flatMap((reason) => wrapLines(reason, 2, width)));
  if (skipped.length > 0) lines.push('', paint.bold('Skipped'));
  for (const { feature: other, edge: at, says } of skipped) {
    lines.push(...wrapLines(`${other}${at === null ? '' : ` ${at}`}: ${says}`, 2, width));
  }
  lines.push(...parallelLines(parallel, context));
  if (refused !== null) lines.push('', ...wrapLines(`Refused: ${refused}`, 0, width).map(paint.red));
  return [...lines, '', ...labelledLines('Do now:', next, 8, width)].join('\n');
}

export function escalationLines(escalations: readonly Escalation[], { io, paint }: CommandContext): string[] {
  if (escalations.length === 0) return [];
  const lines = ['', paint.yellow(`${countText(escalations.length, 'thing')} waiting for a human`)];
  for (const { kind, severity, feature_id, edge, since, says, next } of escalations) {
    const about = [feature_id, edge].filter((part) => part !== null).join(' ');
    const age = relativeTime(since, Date.now());
    lines.push(...wrapLines(`${severity} ${kind.replace('_', ' ')} ${about} (${age})`, 2, io.columns));
    lines.push(...wrapLines(says, 4, io.columns), ...wrapLines(`→ ${next}`, 4, io.columns));
  }
  return lines;
}

function parallelLines(parallel: readonly OverlappingWork[], { io, paint }: CommandContext): string[] {
  if (parallel.length === 0) return [];
  const lines = ['', paint.bold('At work beside it')];
  for (const work of parallel) {
    const { feature_id, edge, agent_id, inner_product, says } = work;
    const line = wrapLines(`${feature_id} ${edge} by ${agent_id}: ${sharingText(work)}`, 2, io.columns);
    lines.push(
      ...line.map(inner_product === 0 ? paint.green : paint.yellow),
      ...wrapLines(says, 4, io.columns),
    );
  }
  return lines;
}

/** Unknown overlap is reported as unknown, not as none. */
function sharingText({ inner_product, shared_modules }: OverlappingWork): string {
  if (inner_product === null) return 'what both touch is unknown';
  if (inner_product === 0) return 'nothing shared';
  return `${countText(inner_product, 'shared module')}: ${shared_modules.join(', ')}`;
}
