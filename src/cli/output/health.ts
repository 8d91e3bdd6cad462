import type { HealthReport } from '../../core/contract/methodology-views.js';
import { SEVERITIES } from '../../core/contract/values.js';
import type { SpendLimit } from '../../core/methodology/definition/engine-settings.js';
import type { CommandContext } from '../context.js';
import { costText } from './run.js';
import { countText, section } from './text.js';

/** What is wrong or soon will be, worst first, then what runs have spent. */
export function healthText(
  { healthy, position, findings, counts, spent, budget }: HealthReport,
  { paint, wrap }: CommandContext,
): string {
  const verdict = healthy ? paint.green('healthy') : paint.yellow('not healthy');
  const findingLines = SEVERITIES.flatMap((severity) =>
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
    ...(findings.length === 0 ? ['No findings.'] : findingLines),
    ...section(paint.bold('spent by runs'), spentLines(spent, budget)),
  ].join('\n');
}

/** The lines about spending; none if no run has spent anything and there is no budget. */
function spentLines({ features, project }: HealthReport['spent'], budget: HealthReport['budget']): string[] {
  const featureCosts = Object.entries(features);
  if (featureCosts.length === 0 && budget === null) return [];
  return [
    `  project: ${costText(project)}${limitText(budget?.project)}`,
    ...featureCosts.map(([id, cost]) => `  ${id}: ${costText(cost)}${limitText(budget?.feature)}`),
  ];
}

function limitText(limit: SpendLimit | undefined): string {
  if (limit === undefined) return '';
  const { tokens, usd, seconds } = limit;
  const limits = [
    ...(tokens === undefined ? [] : [`${tokens} tokens`]),
    ...(usd === undefined ? [] : [`$${usd}`]),
    ...(seconds === undefined ? [] : [`${seconds} s`]),
  ];
  return ` (limit: ${limits.join(', ')})`;
}
