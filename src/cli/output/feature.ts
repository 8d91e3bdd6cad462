import type { FeatureView, TrajectoryEntry } from '../../core/methodology/views/feature-view.js';
import type { CommandContext } from '../context.js';
import { paintStatus, statusMark } from './marks.js';
import { clockTime } from './text.js';
import { labelledLines, wrapLines } from './wrap.js';

const NAME_WIDTH = 15;

/** All details of one feature: its history, and what it waits for. */
export function featureText(feature: FeatureView, context: CommandContext): string {
  const { io, paint } = context;
  const { feature_id, title, status, vector_type, profile, priority } = feature;
  const lines = [
    `${paint.bold(feature_id)}  ${paintStatus(status, paint)}`,
    ...wrapLines(title, 2, io.columns),
  ];
  for (const [name, text] of detailRows(feature))
    lines.push(...labelledLines(`  ${name}`, text, NAME_WIDTH, io.columns));
  lines.push(
    ...labelledLines(
      '  kind',
      `${vector_type}, profile ${profile}, priority ${priority}`,
      NAME_WIDTH,
      io.columns,
    ),
  );
  lines.push('', paint.bold('Trajectory'), ...feature.trajectory.flatMap((line) => edgeLines(line, context)));
  const { constraint_dimensions } = feature;
  if (constraint_dimensions.length > 0) lines.push('', paint.bold('Constraints'));
  for (const { name, mandatory, decided } of constraint_dimensions) {
    const sign = decided ? paint.green('✓') : mandatory ? paint.yellow('○') : paint.dim('~');
    lines.push(`  ${sign} ${name}${decided ? '' : mandatory ? ' (to be decided)' : ' (advisory)'}`);
  }
  return lines.join('\n');
}

function detailRows(feature: FeatureView): [string, string][] {
  const { intent, waits_for, parent, children, dependencies, requirements, context_hash, time_box } = feature;
  const rows: [string, string | null][] = [
    ['intent', intent],
    ['waits for', waits_for],
    ['from', parent === null ? null : `${parent.feature}: ${parent.reason}`],
    ['spawned', joinOrNull(children.map((child) => `${child.feature} (${child.folded_back ?? 'open'})`))],
    [
      'depends on',
      joinOrNull(
        dependencies.map(({ feature: other, asset, status }) => `${asset ?? 'all'} of ${other} (${status})`),
      ),
    ],
    ['delivers', joinOrNull(requirements)],
    [
      'time box',
      time_box.status === 'none' ? null : `${time_box.status}, ${Math.round(time_box.elapsed * 100)} % gone`,
    ],
    ['context', context_hash],
  ];
  return rows.filter((pair): pair is [string, string] => pair[1] !== null);
}

const joinOrNull = (names: readonly string[]): string | null =>
  names.length === 0 ? null : names.join(', ');

function edgeLines(line: TrajectoryEntry, { io, paint }: CommandContext): string[] {
  const { edge, optional, status, stuck, iteration, delta, agent_id, started_at, converged_at } = line;
  const parts = [
    `${edge}${optional ? ' (optional)' : ''}`,
    stuck ? 'stuck' : status,
    iteration === 0 ? '' : `iteration ${iteration}`,
    delta === null ? '' : `delta ${delta}`,
    agent_id === null ? '' : `by ${agent_id}`,
  ];
  const lines = [`  ${statusMark(status, paint)} ${parts.filter((part) => part !== '').join('  ')}`];
  const when = [
    started_at === null ? '' : `begun ${clockTime(started_at)}`,
    converged_at === null ? '' : `converged ${clockTime(converged_at)}`,
    line.blocked_by === null ? '' : `waits for ${line.blocked_by}`,
    line.hold === null ? '' : `held: ${line.hold}`,
    ...line.failing.map(({ check, times_in_a_row }) => `${check} failed ${times_in_a_row} times in a row`),
  ].filter((part) => part !== '');
  if (when.length > 0) lines.push(...wrapLines(when.join(', '), 4, io.columns).map(paint.dim));
  return lines;
}
