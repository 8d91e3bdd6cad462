import type { Finding, Health } from '../../core/features/health.js';
import type { Context } from '../context.js';
import { count } from './text.js';
import { wrapped } from './wrap.js';

const SEVERITIES = ['critical', 'high', 'medium', 'low'] as const;

/** What is wrong or soon will be, the worst first. */
export function healthText({ healthy, position, findings, counts }: Health, context: Context): string {
  const { paint } = context;
  const verdict = healthy ? paint.green('healthy') : paint.yellow('not healthy');
  const lines = [`${paint.bold(verdict)}  position ${position}, ${count(counts.features, 'feature')}`];
  if (findings.length === 0) lines.push('Nothing was found.');
  for (const severity of SEVERITIES) {
    const found = findings.filter((finding) => finding.severity === severity);
    if (found.length > 0)
      lines.push('', paint.bold(severity), ...found.flatMap((each) => findingLines(each, context)));
  }
  return lines.join('\n');
}

function findingLines({ kind, says, next }: Finding, { io, paint }: Context): string[] {
  const lines = wrapped(`${kind.replaceAll('_', ' ')}: ${says}`, 2, io.columns);
  return next === null ? lines : [...lines, ...wrapped(`→ ${next}`, 4, io.columns).map(paint.cyan)];
}
