import type { VersionReleaseReply } from '../../coordinator/methodology/wire.js';
import type { TaggedCommit } from '../../workspace/scan/git-ref.js';
import type { CommandContext } from '../context.js';
import { countText, truncate } from './text.js';

const COMMITS_SHOWN_MAX = 30;

export function releaseText(
  { version, reason, readiness, release }: VersionReleaseReply,
  changelog: readonly TaggedCommit[],
  path: string | null,
  context: CommandContext,
): string {
  const { io, paint } = context;
  const { features_included = [], coverage_pct = null, known_gaps = null } = release ?? {};
  const lines = [
    `${paint.bold(version)}  ${paint.green(reason)}`,
    readinessText(readiness, context),
    `  ${countText(features_included.length, 'feature')}, ${coverage_pct ?? '?'} % covered, ${countText(known_gaps ?? 0, 'gap')} known`,
  ];
  if (changelog.length > 0) lines.push('', paint.bold('Changes'));
  for (const { sha, subject, keys } of changelog.slice(0, COMMITS_SHOWN_MAX)) {
    lines.push(truncate(`  ${sha.slice(0, 10)} ${subject}  ${keys.join(' ')}`, io.columns));
  }
  if (changelog.length > COMMITS_SHOWN_MAX) lines.push(`  and ${changelog.length - COMMITS_SHOWN_MAX} more`);
  lines.push('', path === null ? paint.dim('A dry run: nothing was written.') : path);
  return lines.join('\n');
}

export const readinessText = (
  readiness: VersionReleaseReply['readiness'],
  { paint }: CommandContext,
): string =>
  readiness
    .map(({ passed, lacking, says }) => {
      const good = lacking ? paint.yellow('!') : paint.green('✓');
      return `  ${passed ? good : paint.red('✗')} ${says}`;
    })
    .join('\n');
