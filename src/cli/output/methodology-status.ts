import type {
  ClaimSummary,
  FeatureStage,
  FeatureSummary,
  MethodologyStatus,
  StageCoverage,
} from '../../core/contract/methodology-views.js';
import type { CommandContext } from '../context.js';
import { LEGEND, paintMark, paintStatus } from './marks.js';
import { countText, firstLines, formatUtc, joinFirst, relativeTime, section, truncate } from './text.js';

const FEATURES_SHOWN_MAX = 20;
const SIGNALS_SHOWN_MAX = 10;
const CLAIMS_SHOWN_MAX = 20;

/** The project's state: each feature's progress, current work, what needs a person, and the next step. */
export function methodologyStatusText(
  status: MethodologyStatus,
  title: string,
  context: CommandContext,
): string {
  const { paint, wrap } = context;
  const { state, position, last_updated, features, signals, next_actions } = status;
  const lastEventText = last_updated === null ? 'no events yet' : `${formatUtc(last_updated)} UTC`;
  const open = features.filter((each) => each.status !== 'converged');
  const done = features.filter((each) => each.status === 'converged').map(({ feature_id }) => feature_id);
  const openLines = firstLines(
    open,
    FEATURES_SHOWN_MAX,
    (each) => featureLines(each, context),
    (more) => `  and ${more} more: --json lists all`,
  );
  const signalLines = firstLines(signals, SIGNALS_SHOWN_MAX, ({ id, severity, says }) =>
    wrap(`${severity} ${id}: ${says}`, 2),
  );
  const actionLines = next_actions.flatMap(({ says, command }) => [
    ...wrap(command, 2).map(paint.cyan),
    ...(says === '' ? [] : wrap(says, 4).map(paint.dim)),
  ]);
  return [
    `${paint.bold(title)}  ${paint.bold(state)}  position ${position}, ${lastEventText}`,
    ...context.labelled('Next step:', nextStepText(status), 13),
    ...context.labelled('Evidence:', evidenceText(status), 13),
    ...section(`${paint.bold('You are here')}  ${paint.dim(LEGEND)}`, openLines),
    ...rollupLines(status, context),
    ...section(paint.bold('Claims'), claimLines(status.claims, context)),
    ...section(
      paint.bold('Converged'),
      done.length === 0 ? [] : wrap(joinFirst(done, FEATURES_SHOWN_MAX), 2),
    ),
    ...section(paint.bold(countText(signals.length, 'unhandled signal')), signalLines),
    ...section(
      paint.bold('Features per edge'),
      features.length === 0 ? [] : coverageLines(status.coverage, context),
    ),
    ...section(paint.bold('Next actions'), actionLines),
  ].join('\n');
}

const evidenceText = ({ evidence: { policy, says } }: MethodologyStatus): string => `${policy}. ${says}`;

function nextStepText({ start_would: { feature, edge, iteration, reasons } }: MethodologyStatus): string {
  const target = feature === null ? [] : [`${feature} on ${edge} (iteration ${iteration}).`];
  return [...target, ...reasons.map((reason) => `${reason.replace(/\.$/, '')}.`)].join(' ');
}

function featureLines(feature: FeatureSummary, { io, paint, wrap }: CommandContext): string[] {
  const { feature_id, title, status, waits_for, you_are_here, edges_converged, edges_total } = feature;
  const offProfile = joinFirst(feature.off_profile, FEATURES_SHOWN_MAX);
  const done = `${edges_converged}/${edges_total}`;
  const head = truncate(`  ${feature_id}  ${done}  ${status}  ${title}`, io.columns);
  return [
    head.replace(feature_id, paint.bold(feature_id)).replace(status, paintStatus(status, paint)),
    ...stageLines(you_are_here, io.columns).map((line) => paintMarks(line, paint)),
    ...(offProfile === '' ? [] : wrap(`converged outside the profile: ${offProfile}`, 4).map(paint.dim)),
    ...(waits_for === null ? [] : wrap(`waits: ${waits_for}`, 4).map(paint.yellow)),
  ];
}

/** Breaks lines between stages, never within a stage. */
function stageLines(stages: readonly FeatureStage[], width: number | null): string[] {
  const lineWidth = (width ?? Number.POSITIVE_INFINITY) - 4;
  const lines: string[] = [];
  let line = '';
  for (const { stage, mark } of stages) {
    const markedStage = `${stage} ${mark}`;
    if (line !== '' && line.length + markedStage.length + 3 > lineWidth) {
      lines.push(`${line} →`);
      line = '';
    }
    line = line === '' ? markedStage : `${line} → ${markedStage}`;
  }
  return [...lines, line].map((each) => `    ${each}`);
}

const paintMarks = (line: string, paint: CommandContext['paint']): string =>
  line.replace(/[✓●○✗]/g, (mark) => paintMark(mark, paint));

function rollupLines({ project, health }: MethodologyStatus, { paint }: CommandContext): string[] {
  const { edges_completed, edges_total, percent, features_by_status } = project;
  const statuses = Object.entries(features_by_status).filter(([, count]) => count > 0);
  if (statuses.length === 0) return [];
  const counts = statuses.map(([status, count]) => `${count} ${paintStatus(status, paint)}`);
  const { pending_reviews, stale_claims } = health;
  return [
    '',
    `Edges     ${edges_completed} of ${edges_total} converged (${percent} %)`,
    `Features  ${counts.join(', ')}`,
    ...(pending_reviews > 0 ? [paint.yellow(`Reviews   ${pending_reviews} pending: gen review`)] : []),
    ...(stale_claims > 0 ? [paint.yellow(`Claims    ${stale_claims} stale`)] : []),
  ];
}

function claimLines(claims: readonly ClaimSummary[], { paint, table }: CommandContext): string[] {
  if (claims.length === 0) return [];
  const more = claims.length - CLAIMS_SHOWN_MAX;
  const rows = table(claims.slice(0, CLAIMS_SHOWN_MAX), [
    { title: 'Feature', cell: ({ feature_id }) => feature_id },
    { title: 'Edge', cell: ({ edge }) => edge },
    { title: 'Agent', cell: ({ agent_id }) => agent_id, is_flexible: true },
    { title: 'Role', cell: ({ agent_role }) => agent_role ?? '', is_flexible: true },
    {
      title: 'State',
      cell: ({ state }) => state,
      paint: (cell) => (cell === 'held' ? paint.cyan(cell) : paint.yellow(cell)),
    },
    { title: 'Since', cell: ({ since }) => relativeTime(since, Date.now()) },
  ]);
  return more > 0 ? [rows, `and ${more} more`] : [rows];
}

function coverageLines(coverage: readonly StageCoverage[], { table }: CommandContext): string[] {
  const usedStages = coverage.filter(
    (stage) => stage.converged + stage.at_work + stage.pending + stage.blocked > 0,
  );
  if (usedStages.length === 0) return [];
  const countOrBlank = (value: number) => (value === 0 ? '' : String(value));
  const rows = table(usedStages, [
    { title: 'Edge', cell: ({ edge }) => edge, is_flexible: true },
    { title: '✓', cell: ({ converged }) => countOrBlank(converged) },
    { title: '●', cell: ({ at_work }) => countOrBlank(at_work) },
    { title: '○', cell: ({ pending }) => countOrBlank(pending) },
    { title: '✗', cell: ({ blocked }) => countOrBlank(blocked) },
  ]);
  return [rows];
}
