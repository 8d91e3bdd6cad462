import type { VersionReleaseReply } from '../../core/contract/version-releases.js';
import type { CommitWithRequirements } from '../../workspace/scan/git-ref.js';
import type { CommandContext } from '../context.js';
import { countText, firstLines, section, truncate } from './text.js';

const COMMITS_SHOWN_MAX = 30;

export function releaseText(
  { version, reason, readiness, release }: VersionReleaseReply,
  changelog: readonly CommitWithRequirements[],
  path: string | null,
  context: CommandContext,
): string {
  const { io, paint } = context;
  const { features_included = [], coverage_pct = null, known_gaps = null } = release ?? {};
  const commits = firstLines(changelog, COMMITS_SHOWN_MAX, ({ sha, subject, keys }) =>
    truncate(`  ${sha.slice(0, 10)} ${subject}  ${keys.join(' ')}`, io.columns),
  );
  return [
    `${paint.bold(version)}  ${paint.green(reason)}`,
    readinessText(readiness, context),
    `  ${countText(features_included.length, 'feature')}, ${coverage_pct ?? '?'} % covered, ${countText(known_gaps ?? 0, 'known gap')}`,
    ...section(paint.bold('Changes'), commits),
    '',
    path ?? paint.dim('Dry run: nothing was written.'),
  ].join('\n');
}

export const readinessText = (
  readiness: VersionReleaseReply['readiness'],
  { paint }: CommandContext,
): string =>
  readiness
    .map(({ passed, lacking, says }) => {
      const passedSign = lacking ? paint.yellow('!') : paint.green('✓');
      return `  ${passed ? passedSign : paint.red('✗')} ${says}`;
    })
    .join('\n');
