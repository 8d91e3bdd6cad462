import type { HealthFinding, HealthReport } from '../../core/methodology/views/health.js';
import type { CommandContext } from '../context.js';
import { countText } from './text.js';
import { wrapLines } from './wrap.js';

const SEVERITIES = ['critical', 'high', 'medium', 'low'] as const;

/** The findings that are or soon become problems, worst first. */
export function healthText(
  { healthy, position, findings, counts }: HealthReport,
  context: CommandContext,
): string {
  const { paint } = context;
  const verdict = healthy ? paint.green('healthy') : paint.yellow('not healthy');
  const lines = [`${paint.bold(verdict)}  position ${position}, ${countText(counts.features, 'feature')}`];
  if (findings.length === 0) lines.push('Nothing was found.');
  for (const severity of SEVERITIES) {
    const found = findings.filter((finding) => finding.severity === severity);
    if (found.length > 0)
      lines.push('', paint.bold(severity), ...found.flatMap((each) => findingLines(each, context)));
  }
  return lines.join('\n');
}

function findingLines({ kind, says, next }: HealthFinding, { io, paint }: CommandContext): string[] {
  const lines = wrapLines(`${kind.replaceAll('_', ' ')}: ${says}`, 2, io.columns);
  return next === null ? lines : [...lines, ...wrapLines(`→ ${next}`, 4, io.columns).map(paint.cyan)];
}
