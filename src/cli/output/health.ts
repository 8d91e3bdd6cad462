import type { HealthReport } from '../../core/contract/methodology-views.js';
import type { CommandContext } from '../context.js';
import { countText, section } from './text.js';

const SEVERITIES = ['critical', 'high', 'medium', 'low'] as const;

/** The findings that are or soon become problems, worst first. */
export function healthText(
  { healthy, position, findings, counts }: HealthReport,
  { paint, wrap }: CommandContext,
): string {
  const verdict = healthy ? paint.green('healthy') : paint.yellow('not healthy');
  const found = SEVERITIES.flatMap((severity) =>
    section(
      paint.bold(severity),
      findings
        .filter((finding) => finding.severity === severity)
        .flatMap(({ kind, says, next }) => [
          ...wrap(`${kind.replaceAll('_', ' ')}: ${says}`, 2),
          ...(next === null ? [] : wrap(`→ ${next}`, 4).map(paint.cyan)),
        ]),
    ),
  );
  return [
    `${paint.bold(verdict)}  position ${position}, ${countText(counts.features, 'feature')}`,
    ...(findings.length === 0 ? ['No findings.'] : found),
  ].join('\n');
}
