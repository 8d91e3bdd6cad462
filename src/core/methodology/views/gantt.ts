import { STATUS_MARKS } from '../../contract/values.js';
import { msOf } from '../../events/envelope.js';
import { type FeatureProgress, type FeatureStep, isCountedStep } from '../progress/feature-progress.js';
import type { RouteInput } from '../progress/feature-state.js';
import { projectProgressOf } from '../progress/project-progress.js';

const ESTIMATE_MS = 3_600_000;
const BAR_MIN_MS = 60_000;
const LABEL_LENGTH_MAX = 80;

/** Renders the schedule as a Mermaid chart: a section per feature, a bar per edge of its profile. */
export function ganttText(input: RouteInput): string {
  const { features } = projectProgressOf(input);
  const name = input.methodology?.constraints.project_name ?? 'Project';
  const lines = [
    'gantt',
    `  title ${mermaidLabel(name)}`,
    '  dateFormat YYYY-MM-DDTHH:mm:ss',
    '  axisFormat %m-%d %H:%M',
  ];
  for (const progress of features.values()) lines.push(...featureSection(progress, input.now_ms));
  return `${lines.join('\n')}\n`;
}

function featureSection(progress: FeatureProgress, nowMs: number): string[] {
  const { feature_id, title } = progress.row.feature;
  const lines = [`  section ${mermaidLabel(title === feature_id ? feature_id : `${feature_id} ${title}`)}`];
  let nextStartMs = nowMs;
  for (const step of progress.steps.filter(isCountedStep)) {
    const { start_ms, end_ms } = barSpan(step, nowMs, nextStartMs);
    if (step.status === 'pending') nextStartMs = end_ms;
    // The mark comes first: a line that starts with a Mermaid keyword would be parsed as that keyword.
    const label = `${STATUS_MARKS[step.status]} ${mermaidLabel(step.transition.name)}`;
    const span = `${mermaidTime(start_ms)}, ${mermaidTime(end_ms)}`;
    lines.push(`    ${label} :${MERMAID_TAGS[step.status]}${span}`);
  }
  return lines;
}

const MERMAID_TAGS: Readonly<Record<FeatureStep['status'], string>> = {
  converged: 'done, ',
  iterating: 'active, ',
  pending_review: 'active, ',
  pending: '',
  blocked: 'crit, ',
};
/**
 * Start and end of a bar. A step that has not started lasts an hour from `nextStartMs`; one that is under way ends now; one
 * without a recorded start began an hour before its end. A bar has a minimum length, also if its end precedes its start.
 */
function barSpan(
  { status, state }: FeatureStep,
  nowMs: number,
  nextStartMs: number,
): { start_ms: number; end_ms: number } {
  if (status === 'pending' || state === null)
    return { start_ms: nextStartMs, end_ms: nextStartMs + ESTIMATE_MS };
  const endMs = state.converged_at === null ? nowMs : msOf(state.converged_at);
  const start_ms = state.started_at === null ? endMs - ESTIMATE_MS : msOf(state.started_at);
  return { start_ms, end_ms: Math.max(endMs, start_ms + BAR_MIN_MS) };
}

const mermaidTime = (atMs: number): string => new Date(atMs).toISOString().slice(0, 19);

/** Titles are untrusted text: characters that are special to Mermaid, a browser or a terminal become spaces. */
function mermaidLabel(text: string): string {
  const plain = text
    .replace(/[^\p{L}\p{M}\p{N} ._()/→↔-]/gu, ' ')
    .replace(/\s+/g, ' ')
    .replaceAll('--', '-')
    .trim();
  return [...plain].slice(0, LABEL_LENGTH_MAX).join('') || 'unnamed';
}
