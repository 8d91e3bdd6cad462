import type { FeatureView, TrajectoryEntry } from '../../core/contract/methodology-views.js';
import type { CommandContext } from '../context.js';
import { paintStatus, statusMark } from './marks.js';
import { formatUtc, section } from './text.js';

const NAME_WIDTH = 15;

/** All details of one feature: its history, and what it waits for. */
export function featureText(feature: FeatureView, context: CommandContext): string {
  const { paint } = context;
  const { feature_id, title, status, trajectory, constraint_dimensions } = feature;
  const details = Object.entries(detailsOf(feature)).filter(([, text]) => text !== null);
  return [
    `${paint.bold(feature_id)}  ${paintStatus(status, paint)}`,
    ...context.wrap(title, 2),
    ...details.flatMap(([name, text]) => context.labelled(`  ${name}`, text ?? '', NAME_WIDTH)),
    '',
    paint.bold('Trajectory'),
    ...trajectory.flatMap((entry) => edgeLines(entry, context)),
    ...section(
      paint.bold('Constraints'),
      constraint_dimensions.map(({ name, mandatory, decided }) => {
        if (decided) return `  ${paint.green('✓')} ${name}`;
        return mandatory
          ? `  ${paint.yellow('○')} ${name} (undecided)`
          : `  ${paint.dim('~')} ${name} (advisory)`;
      }),
    ),
  ].join('\n');
}

/** The details by the name under which they are shown. A detail that is null is not shown. */
function detailsOf(feature: FeatureView): Readonly<Record<string, string | null>> {
  const { vector_type, profile, priority, parent, time_box } = feature;
  const children = feature.children.map((child) => `${child.feature} (${child.folded_back ?? 'open'})`);
  const dependencies = feature.dependencies.map(
    ({ feature: other, asset, status }) => `${asset ?? 'all'} of ${other} (${status})`,
  );
  const used = `${time_box.status}, ${Math.round(time_box.elapsed * 100)} % used`;
  return {
    intent: feature.intent,
    'waits for': feature.waits_for,
    from: parent === null ? null : `${parent.feature}: ${parent.reason}`,
    spawned: children.join(', ') || null,
    'depends on': dependencies.join(', ') || null,
    delivers: feature.requirements.join(', ') || null,
    'time box': time_box.status === 'none' ? null : used,
    context: feature.context_hash,
    kind: `${vector_type}, profile ${profile}, priority ${priority}`,
  };
}

function edgeLines(entry: TrajectoryEntry, { paint, wrap }: CommandContext): string[] {
  const { edge, optional, status, stuck, iteration, delta, agent_id, started_at, converged_at } = entry;
  const parts = [
    `${edge}${optional ? ' (optional)' : ''}`,
    stuck ? 'stuck' : status,
    iteration === 0 ? '' : `iteration ${iteration}`,
    delta === null ? '' : `delta ${delta}`,
    agent_id === null ? '' : `by ${agent_id}`,
  ];
  const history = [
    started_at === null ? '' : `started ${formatUtc(started_at)}`,
    converged_at === null ? '' : `converged ${formatUtc(converged_at)}`,
    entry.blocked_by === null ? '' : `waits for ${entry.blocked_by}`,
    entry.hold === null ? '' : `on hold: ${entry.hold}`,
    ...entry.failing.map(({ check, times_in_a_row }) => `${check} failed ${times_in_a_row} times in a row`),
  ];
  const isShown = (part: string) => part !== '';
  const line = `  ${statusMark(status, paint)} ${parts.filter(isShown).join('  ')}`;
  const shown = history.filter(isShown).join(', ');
  return shown === '' ? [line] : [line, ...wrap(shown, 4).map(paint.dim)];
}
