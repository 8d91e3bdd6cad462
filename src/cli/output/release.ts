import type { ReleaseReply } from '../../coordinator/methodology/wire.js';
import type { Commit } from '../../workspace/scan/git-ref.js';
import type { Context } from '../context.js';
import { count, cut } from './text.js';

const COMMITS_SHOWN_MAX = 30;

export function releaseText(
  { version, reason, readiness, release }: ReleaseReply,
  changelog: readonly Commit[],
  path: string | null,
  context: Context,
): string {
  const { io, paint } = context;
  const { features_included = [], coverage_pct = null, known_gaps = null } = release ?? {};
  const lines = [
    `${paint.bold(version)}  ${paint.green(reason)}`,
    readinessText(readiness, context),
    `  ${count(features_included.length, 'feature')}, ${coverage_pct ?? '?'} % covered, ${count(known_gaps ?? 0, 'gap')} known`,
  ];
  if (changelog.length > 0) lines.push('', paint.bold('Changes'));
  for (const { sha, subject, keys } of changelog.slice(0, COMMITS_SHOWN_MAX)) {
    lines.push(cut(`  ${sha.slice(0, 10)} ${subject}  ${keys.join(' ')}`, io.columns));
  }
  if (changelog.length > COMMITS_SHOWN_MAX) lines.push(`  and ${changelog.length - COMMITS_SHOWN_MAX} more`);
  lines.push('', path === null ? paint.dim('A dry run: nothing was written.') : path);
  return lines.join('\n');
}

export const readinessText = (readiness: ReleaseReply['readiness'], { paint }: Context): string =>
  readiness
    .map(({ passed, lacking, says }) => {
      const good = lacking ? paint.yellow('!') : paint.green('✓');
      return `  ${passed ? good : paint.red('✗')} ${says}`;
    })
    .join('\n');
