import type {
  ClaimLine,
  FeatureLine,
  MethodologyStatus,
  StageCoverage,
  Stop,
} from '../../core/features/status.js';
import type { Context } from '../context.js';
import { LEGEND, paintMark, paintStatus } from './marks.js';
import { table } from './table.js';
import { clockTime, count, cut, distance } from './text.js';
import { named, wrapped } from './wrap.js';

const FEATURES_SHOWN_MAX = 20;
const SIGNALS_SHOWN_MAX = 10;
const ROWS_SHOWN_MAX = 20;

/** Where the project is, and what to do now: what every feature has behind it, who is at work, what asks for a human. */
export function methodologyStatusText(status: MethodologyStatus, title: string, context: Context): string {
  const { io, paint } = context;
  const { state, position, last_updated, start_would, features } = status;
  const at = last_updated === null ? 'nothing has happened yet' : `${clockTime(last_updated)} UTC`;
  const lines = [`${paint.bold(title)}  ${paint.bold(state)}  position ${position}, ${at}`];
  const { feature, edge, iteration, reasons } = start_would;
  const go = feature === null ? [] : [`${feature} on ${edge} (iteration ${iteration}).`];
  const would = [...go, ...reasons.map((reason) => `${reason.replace(/\.$/, '')}.`)].join(' ');
  lines.push(...named('Start would:', would, 13, io.columns));
  const open = features.filter(({ status: each }) => !DONE.has(each));
  lines.push(...hereLines(open, context), ...rollupLines(status, context));
  lines.push(...claimLines(status.claims, context));
  lines.push(...doneLines(features, context), ...signalLines(status, context));
  if (features.length > 0) lines.push(...coverageLines(status.coverage, context));
  return [...lines, ...actionLines(status, context)].join('\n');
}

const DONE: ReadonlySet<string> = new Set(['converged']);

function hereLines(open: readonly FeatureLine[], { io, paint }: Context): string[] {
  if (open.length === 0) return [];
  const lines = ['', `${paint.bold('You are here')}  ${paint.dim(LEGEND)}`];
  for (const feature of open.slice(0, FEATURES_SHOWN_MAX)) {
    const { feature_id, title, status, waits_for, you_are_here, edges_converged, edges_total } = feature;
    const done = `${edges_converged}/${edges_total}`;
    const head = cut(`  ${feature_id}  ${done}  ${status}  ${title}`, io.columns);
    lines.push(head.replace(feature_id, paint.bold(feature_id)).replace(status, paintStatus(status, paint)));
    lines.push(...stopLines(you_are_here, io.columns).map((line) => paintMarks(line, paint)));
    if (waits_for !== null) lines.push(...wrapped(`waits: ${waits_for}`, 4, io.columns).map(paint.yellow));
  }
  if (open.length > FEATURES_SHOWN_MAX)
    lines.push(`  and ${open.length - FEATURES_SHOWN_MAX} more: --json has them all`);
  return lines;
}

/** Broken between stops, never within one. */
function stopLines(stops: readonly Stop[], width: number | null): string[] {
  const room = (width ?? Number.POSITIVE_INFINITY) - 4;
  const lines: string[] = [];
  let line = '';
  for (const { stage, mark } of stops) {
    const stop = `${stage} ${mark}`;
    if (line !== '' && line.length + stop.length + 3 > room) {
      lines.push(`${line} →`);
      line = '';
    }
    line = line === '' ? stop : `${line} → ${stop}`;
  }
  return [...lines, line].map((each) => `    ${each}`);
}

const paintMarks = (line: string, paint: Context['paint']): string =>
  line.replace(/[✓●○✗]/g, (mark) => paintMark(mark, paint));

function rollupLines({ project, health }: MethodologyStatus, { paint }: Context): string[] {
  const { edges_completed, edges_total, percent, features_by_status } = project;
  const statuses = Object.entries(features_by_status).filter(([, number]) => number > 0);
  if (statuses.length === 0) return [];
  const told = statuses.map(([status, number]) => `${number} ${paintStatus(status, paint)}`).join(', ');
  const lines = [
    '',
    `Edges     ${edges_completed} of ${edges_total} converged (${percent} %)`,
    `Features  ${told}`,
  ];
  const { pending_reviews, stale_claims } = health;
  if (pending_reviews > 0) lines.push(paint.yellow(`Reviews   ${pending_reviews} waiting: gen review`));
  if (stale_claims > 0) lines.push(paint.yellow(`Claims    ${stale_claims} silent for too long`));
  return lines;
}

function claimLines(claims: readonly ClaimLine[], context: Context): string[] {
  if (claims.length === 0) return [];
  const more = claims.length - ROWS_SHOWN_MAX;
  const rest = more > 0 ? [`and ${more} more`] : [];
  return ['', context.paint.bold('At work'), claimsTable(claims.slice(0, ROWS_SHOWN_MAX), context), ...rest];
}

const claimsTable = (claims: readonly ClaimLine[], { io, paint }: Context): string =>
  table(
    claims,
    [
      { head: 'Feature', cell: ({ feature_id }) => feature_id },
      { head: 'Edge', cell: ({ edge }) => edge },
      { head: 'Agent', cell: ({ agent_id }) => agent_id, is_flexible: true },
      { head: 'Role', cell: ({ agent_role }) => agent_role ?? '', is_flexible: true },
      {
        head: 'State',
        cell: ({ state }) => state,
        paint: (cell) => (cell === 'held' ? paint.cyan(cell) : paint.yellow(cell)),
      },
      { head: 'Since', cell: ({ since }) => distance(since, Date.now()) },
    ],
    io.columns,
  );

function doneLines(features: readonly FeatureLine[], { io, paint }: Context): string[] {
  const done = features.filter(({ status }) => DONE.has(status)).map(({ feature_id }) => feature_id);
  if (done.length === 0) return [];
  const more = done.length > FEATURES_SHOWN_MAX ? ` and ${done.length - FEATURES_SHOWN_MAX} more` : '';
  const shown = done.slice(0, FEATURES_SHOWN_MAX).join(', ') + more;
  return ['', paint.bold('Converged'), ...wrapped(shown, 2, io.columns)];
}

function signalLines({ signals }: MethodologyStatus, { io, paint }: Context): string[] {
  if (signals.length === 0) return [];
  const lines = ['', paint.bold(`${count(signals.length, 'signal')} that nobody has acted on`)];
  for (const { id, severity, says } of signals.slice(0, SIGNALS_SHOWN_MAX)) {
    lines.push(...wrapped(`${severity} ${id}: ${says}`, 2, io.columns));
  }
  if (signals.length > SIGNALS_SHOWN_MAX) lines.push(`  and ${signals.length - SIGNALS_SHOWN_MAX} more`);
  return lines;
}

function coverageLines(coverage: readonly StageCoverage[], { io, paint }: Context): string[] {
  const asked = coverage.filter(
    (stage) => stage.converged + stage.at_work + stage.pending + stage.blocked > 0,
  );
  if (asked.length === 0) return [];
  const number = (value: number) => (value === 0 ? '' : String(value));
  const drawn = table(
    asked,
    [
      { head: 'Stage', cell: ({ edge }) => edge, is_flexible: true },
      { head: '✓', cell: ({ converged }) => number(converged) },
      { head: '●', cell: ({ at_work }) => number(at_work) },
      { head: '○', cell: ({ pending }) => number(pending) },
      { head: '✗', cell: ({ blocked }) => number(blocked) },
    ],
    io.columns,
  );
  return ['', paint.bold('How many features have come through'), drawn];
}

function actionLines({ next_actions }: MethodologyStatus, { io, paint }: Context): string[] {
  if (next_actions.length === 0) return [];
  const lines = ['', paint.bold('What to do now')];
  for (const { says, command } of next_actions) {
    lines.push(...wrapped(command, 2, io.columns).map(paint.cyan));
    if (says !== '') lines.push(...wrapped(says, 4, io.columns).map(paint.dim));
  }
  return lines;
}
