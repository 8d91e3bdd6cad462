import type { Escalation, OverlappingWork, StartReply } from '../../core/contract/start.js';
import type { CommandContext } from '../context.js';
import { countText, relativeTime, section } from './text.js';

/** The next step and how it was chosen. Escalations come first. */
export function startText(reply: StartReply, context: CommandContext): string {
  const {
    state,
    feature,
    edge,
    iteration,
    reasons,
    skipped,
    escalations,
    parallel,
    refused,
    evidence,
    next,
  } = reply;
  const { paint, wrap } = context;
  const target = `${feature}${edge === null ? '' : ` on ${edge}`}`;
  const step = `Next: ${paint.bold(target)}${iteration === null ? '' : ` (iteration ${iteration})`}`;
  const skippedLines = skipped.flatMap(({ feature: other, edge: at, says }) =>
    wrap(`${other}${at === null ? '' : ` ${at}`}: ${says}`, 2),
  );
  return [
    `State: ${paint.bold(state)}`,
    ...section(
      paint.yellow(`${countText(escalations.length, 'item')} waiting for a person`),
      escalations.flatMap((escalation) => escalationLines(escalation, context)),
    ),
    '',
    ...(feature === null ? [] : [step]),
    ...reasons.flatMap((reason) => wrap(reason, 2)),
    ...section(paint.bold('Skipped'), skippedLines),
    ...section(
      paint.bold('Parallel work'),
      parallel.flatMap((work) => parallelLines(work, context)),
    ),
    ...(refused === null ? [] : ['', ...wrap(`Refused: ${refused}`, 0).map(paint.red)]),
    ...(evidence.is_blocked ? ['', ...wrap(evidence.says, 0).map(paint.yellow)] : []),
    '',
    ...context.labelled('Do now:', next, 8),
  ].join('\n');
}

function escalationLines(escalation: Escalation, { wrap }: CommandContext): string[] {
  const { kind, severity, feature_id, edge, since, says, next } = escalation;
  const about = [feature_id, edge].filter((part) => part !== null).join(' ');
  const age = relativeTime(since, Date.now());
  const head = `${severity} ${kind.replace('_', ' ')} ${about} (${age})`;
  return [...wrap(head, 2), ...wrap(says, 4), ...wrap(`→ ${next}`, 4)];
}

function parallelLines(work: OverlappingWork, { paint, wrap }: CommandContext): string[] {
  const { feature_id, edge, agent_id, inner_product, says } = work;
  const lines = wrap(`${feature_id} ${edge} by ${agent_id}: ${sharingText(work)}`, 2);
  return [...lines.map(inner_product === 0 ? paint.green : paint.yellow), ...wrap(says, 4)];
}

/** The shared modules as text. An unknown overlap is reported as unknown, not as none. */
function sharingText({ inner_product, shared_modules }: OverlappingWork): string {
  if (inner_product === null) return 'shared modules unknown';
  if (inner_product === 0) return 'no shared modules';
  return `${countText(inner_product, 'shared module')}: ${shared_modules.join(', ')}`;
}
