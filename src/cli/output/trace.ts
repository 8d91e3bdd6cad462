import type { TraceReply } from '../../core/contract/methodology-views.js';
import type { TagLocation } from '../../workspace/scan/coverage.js';
import type { CommitWithRequirements } from '../../workspace/scan/git-ref.js';
import type { TagKind } from '../../workspace/scan/tags.js';
import type { CommandContext } from '../context.js';
import { statusMark } from './marks.js';
import { firstLines, formatUtc } from './text.js';

/** What the log and the files contain about a requirement. */
export interface TraceResult extends TraceReply {
  /** Null if no files were searched: outside a workspace, for a past position, and for a name that is not a requirement key. */
  readonly places: Readonly<Record<TagKind, readonly TagLocation[]>> | null;
  readonly commits: readonly CommitWithRequirements[];
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
  const { paint, wrap } = context;
  const parts = [featureLines(trace, context), locationLines(trace, context), commitLines(trace, context)];
  return [
    paint.bold(requirement),
    ...(direction === 'backward' ? parts.reverse() : parts).flat(),
    '',
    ...(gaps.length === 0
      ? [paint.green('No gaps.')]
      : [paint.yellow('Gaps'), ...gaps.flatMap((gap) => wrap(gap, 2))]),
  ].join('\n');
}

const featureLines = ({ features }: TraceResult, { labelled, paint }: CommandContext): string[] =>
  features.flatMap(({ feature_id, title, intent, parent, children, chain }) => [
    ...labelled('  feature', `${feature_id}  ${title}`, NAME_WIDTH),
    ...(intent === null ? [] : labelled('    intent', intent, NAME_WIDTH)),
    ...(parent === null ? [] : labelled('    from', parent, NAME_WIDTH)),
    ...(children.length === 0 ? [] : labelled('    spawned', children.join(', '), NAME_WIDTH)),
    ...chain.map(({ edge, status, agent_id, converged_at }) => {
      const who = agent_id === null ? '' : ` by ${agent_id}`;
      const when = converged_at === null ? '' : ` ${formatUtc(converged_at)}`;
      return `    ${statusMark(status, paint)} ${edge.padEnd(26)} ${status}${who}${when}`;
    }),
  ]);

function locationLines({ places, direction }: TraceResult, { labelled, paint }: CommandContext): string[] {
  if (places === null) return [];
  const stages = direction === 'backward' ? [...STAGES].reverse() : STAGES;
  return stages.flatMap(([kind, name]) => {
    const locations = places[kind];
    const sign = locations.length === 0 ? paint.dim('○') : paint.green('✓');
    const locationText = ({ file, line }: TagLocation) => `${file}:${line}`;
    const shown = firstLines(locations, LOCATIONS_SHOWN_MAX, locationText, (more) => `and ${more} more`);
    const text = shown.join(', ') || 'none';
    const [first = '', ...rest] = labelled(`    ${name}`, text, NAME_WIDTH + 2);
    return [`  ${sign}${first.slice(3)}`, ...rest];
  });
}

const commitLines = ({ commits }: TraceResult, { labelled }: CommandContext): string[] =>
  firstLines(
    commits,
    COMMITS_SHOWN_MAX,
    ({ sha, subject }, index) =>
      labelled(index === 0 ? '  commits' : '', `${sha.slice(0, 10)} ${subject}`, NAME_WIDTH + 2),
    (more) => `${' '.repeat(NAME_WIDTH + 2)}and ${more} more`,
  );
