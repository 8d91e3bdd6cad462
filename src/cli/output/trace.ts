import type { TraceReply } from '../../coordinator/methodology/wire.js';
import type { TagLocation } from '../../workspace/scan/coverage.js';
import type { TaggedCommit } from '../../workspace/scan/git-ref.js';
import type { TagKind } from '../../workspace/scan/tags.js';
import type { CommandContext } from '../context.js';
import { statusMark } from './marks.js';
import { clockTime } from './text.js';
import { labelledLines, wrapLines } from './wrap.js';

/** What the log and the files contain about a requirement. */
export interface TraceResult extends TraceReply {
  /** Null if the project's files are not on this machine. */
  readonly places: Readonly<Record<TagKind, readonly TagLocation[]>> | null;
  readonly commits: readonly TaggedCommit[];
}

const STAGES: readonly (readonly [TagKind, string])[] = [
  ['specified', 'requirements'],
  ['designed', 'design'],
  ['implements', 'code'],
  ['validates', 'tests'],
  ['telemetry', 'telemetry'],
];
const NAME_WIDTH = 16;
const LOCATIONS_SHOWN_MAX = 8;
const COMMITS_SHOWN_MAX = 10;

/** Shows the trace from intent to running code, or backward. */
export function traceText(trace: TraceResult, context: CommandContext): string {
  const { requirement, direction, gaps } = trace;
  const { io, paint } = context;
  const parts = [featureLines(trace, context), locationLines(trace, context), commitLines(trace, context)];
  const lines = [paint.bold(requirement), ...(direction === 'backward' ? parts.reverse() : parts).flat()];
  if (gaps.length === 0) return [...lines, '', paint.green('No gap.')].join('\n');
  return [...lines, '', paint.yellow('Gaps'), ...gaps.flatMap((gap) => wrapLines(gap, 2, io.columns))].join(
    '\n',
  );
}

function featureLines({ features }: TraceResult, { io, paint }: CommandContext): string[] {
  const lines: string[] = [];
  for (const { feature_id, title, intent, parent, children, chain } of features) {
    lines.push(...labelledLines('  feature', `${feature_id}  ${title}`, NAME_WIDTH, io.columns));
    if (intent !== null) lines.push(...labelledLines('    intent', intent, NAME_WIDTH, io.columns));
    if (parent !== null) lines.push(...labelledLines('    from', parent, NAME_WIDTH, io.columns));
    if (children.length > 0)
      lines.push(...labelledLines('    spawned', children.join(', '), NAME_WIDTH, io.columns));
    for (const { edge, status, agent_id, converged_at } of chain) {
      const who = agent_id === null ? '' : ` by ${agent_id}`;
      const when = converged_at === null ? '' : ` ${clockTime(converged_at)}`;
      lines.push(`    ${statusMark(status, paint)} ${edge.padEnd(26)} ${status}${who}${when}`);
    }
  }
  return lines;
}

function locationLines({ places, direction }: TraceResult, { io, paint }: CommandContext): string[] {
  if (places === null) return [];
  const stages = direction === 'backward' ? [...STAGES].reverse() : STAGES;
  return stages.flatMap(([kind, name]) => {
    const found = places[kind];
    const sign = found.length === 0 ? paint.dim('○') : paint.green('✓');
    const shown = found.slice(0, LOCATIONS_SHOWN_MAX).map(({ file, line }) => `${file}:${line}`);
    if (found.length > shown.length) shown.push(`and ${found.length - shown.length} more`);
    const text = shown.length === 0 ? 'nothing' : shown.join(', ');
    const [first = '', ...rest] = labelledLines(`    ${name}`, text, NAME_WIDTH + 2, io.columns);
    return [`  ${sign}${first.slice(3)}`, ...rest];
  });
}

function commitLines({ commits }: TraceResult, { io }: CommandContext): string[] {
  const shown = commits
    .slice(0, COMMITS_SHOWN_MAX)
    .flatMap(({ sha, subject }, at) =>
      labelledLines(
        at === 0 ? '  commits' : '',
        `${sha.slice(0, 10)} ${subject}`,
        NAME_WIDTH + 2,
        io.columns,
      ),
    );
  const more = commits.length - COMMITS_SHOWN_MAX;
  return more > 0 ? [...shown, `${' '.repeat(NAME_WIDTH + 2)}and ${more} more`] : shown;
}
