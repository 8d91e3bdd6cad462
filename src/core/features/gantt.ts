import { msOf } from '../events/envelope.js';
import type { RouteQuestion } from '../graph/route.js';
import { counts, type Standing, type Step } from './standing.js';
import { surveyOf } from './survey.js';

const ESTIMATE_MS = 3_600_000;
const SHORTEST_MS = 60_000;
const LABEL_LENGTH_MAX = 80;

/** The schedule as a Mermaid chart: a section for each feature, a bar for each edge of its profile. */
export function ganttText(question: RouteQuestion): string {
  const { standings } = surveyOf(question);
  const name = question.methodology?.constraints.project_name ?? 'Project';
  const lines = [
    'gantt',
    `  title ${label(name)}`,
    '  dateFormat YYYY-MM-DDTHH:mm:ss',
    '  axisFormat %m-%d %H:%M',
  ];
  for (const standing of standings.values()) lines.push(...section(standing, question.now_ms));
  return `${lines.join('\n')}\n`;
}

function section(standing: Standing, now_ms: number): string[] {
  const { feature_id, title } = standing.row.vector;
  const lines = [`  section ${label(title === feature_id ? feature_id : `${feature_id} ${title}`)}`];
  let free_ms = now_ms;
  for (const step of standing.steps.filter(counts)) {
    const { start_ms, end_ms } = spanOf(step, now_ms, free_ms);
    if (step.status === 'pending') free_ms = end_ms;
    const tags = TAGS[step.status];
    lines.push(
      `    ${MARKS[step.status]} ${label(step.transition.name)} :${tags}${time(start_ms)}, ${time(end_ms)}`,
    );
  }
  return lines;
}

const TAGS: Readonly<Record<Step['status'], string>> = {
  converged: 'done, ',
  iterating: 'active, ',
  pending_review: 'active, ',
  pending: '',
  blocked: 'crit, ',
};
/** A line that begins with a word of the language would be read as that word. */
const MARKS: Readonly<Record<Step['status'], string>> = {
  converged: '✓',
  iterating: '●',
  pending_review: '●',
  pending: '○',
  blocked: '✗',
};

/** What the log does not say is estimated at an hour; a foreign log may even end before it begins. */
function spanOf(
  { status, state }: Step,
  now_ms: number,
  free_ms: number,
): { start_ms: number; end_ms: number } {
  if (status === 'pending' || state === null) return { start_ms: free_ms, end_ms: free_ms + ESTIMATE_MS };
  const end_ms = state.converged_at === null ? now_ms : msOf(state.converged_at);
  const start_ms = state.started_at === null ? end_ms - ESTIMATE_MS : msOf(state.started_at);
  return { start_ms, end_ms: Math.max(end_ms, start_ms + SHORTEST_MS) };
}

const time = (at_ms: number): string => new Date(at_ms).toISOString().slice(0, 19);

/** Titles are anybody's text: all that means something to Mermaid, to a browser or to a terminal becomes a space. */
function label(text: string): string {
  const plain = text
    .replace(/[^\p{L}\p{M}\p{N} ._()/→↔-]/gu, ' ')
    .replace(/\s+/g, ' ')
    .replaceAll('--', '-')
    .trim();
  return [...plain].slice(0, LABEL_LENGTH_MAX).join('') || 'unnamed';
}
