import type { AcceptedLoss } from '../../coordinator/audit/accept-loss.js';
import { Coordinator } from '../../coordinator/coordinator.js';
import { isProblem } from '../../coordinator/wire/problem.js';
import type { Anchor } from '../../core/audit/checkpoint.js';
import { TENANT_PROJECT } from '../../core/subject.js';
import { type ProjectKey, projectPath, type Store } from '../../stores/store.js';
import type { CommandContext } from '../context.js';
import { CommandFailure } from '../exit.js';
import { userAgent } from '../identity.js';
import { withStore } from '../open-store.js';
import { countText } from '../output/text.js';
import {
  type AnchoredLog,
  compareWithAnchors,
  differencesOf,
  differenceText,
} from '../verify/anchor-differences.js';
import { readAnchors } from '../verify/read-anchors.js';
import { auditOptions } from './audit-options.js';

/** Differences that a loss explains. Any other difference means that the log was changed. */
const RULES_EXPLAINED_BY_LOSS = new Set([
  'AUDIT',
  'AUDIT TWO_ROOTS',
  'ANCHOR LOG_SHORTER',
  'ANCHOR DIFFERS',
  'ANCHOR LOWER_INCARNATION',
]);

type LossOfProject = ProjectKey & Pick<AcceptedLoss, 'kept_position' | 'lost_events'>;

export interface AcceptLossOptions {
  readonly url: string;
  /** Checkpoints that were kept elsewhere: a file or a URL. */
  readonly anchor: string;
  readonly reason: string;
  readonly trustedKeys: readonly string[];
}

/** Accepts the loss of the events that the anchors prove and the log lacks, and records it in every project of the store. */
export async function runAcceptLoss(
  context: CommandContext,
  { url, anchor, reason, trustedKeys }: AcceptLossOptions,
): Promise<void> {
  const auditSettings = await auditOptions(context);
  if (auditSettings.audit === undefined)
    throw new CommandFailure(
      'A loss can be accepted only with the audit key, which could not be opened. Make it readable, and repeat the command.',
    );
  const anchors = await readAnchors(context, anchor);
  await withStore(context, url, async ({ store, blobs }) => {
    const logs = await compareWithAnchors(store, { anchors, trustedKeys });
    assertOnlyLost(logs, anchor);
    const losses = await lossesOf(store, logs);
    const incarnation = await nextIncarnation(store, anchors);
    // The incarnation rises before the loss is recorded: a crash in between must not leave handles valid that were granted
    // in the lost part of the log.
    await store.raiseIncarnation(incarnation);
    const coordinator = await Coordinator.open({ store, blobs, ...auditSettings });
    try {
      const acceptance = { by: userAgent(context.io), reason, incarnation };
      const accepted = await recordAll(coordinator, losses, acceptance);
      // Sends the new checkpoints to the sinks: they are the anchors against which a later loss is measured.
      await coordinator.audit.stop();
      context.printReply({ incarnation, projects: accepted }, () => acceptedLines(accepted));
    } finally {
      coordinator.close();
    }
  });
}

function assertOnlyLost(logs: readonly AnchoredLog[], anchor: string): void {
  const differences = logs.flatMap(differencesOf);
  if (differences.length === 0)
    throw new CommandFailure(
      `The log agrees with ${anchor}: there is no loss to accept. Nothing was changed.`,
    );
  const others = differences.filter(({ rule }) => !RULES_EXPLAINED_BY_LOSS.has(rule));
  if (others.length === 0) return;
  throw new CommandFailure(
    [
      `The log is not only behind ${anchor}: it was changed. Nothing was accepted.`,
      ...others.slice(0, 20).map((difference) => `  ${differenceText(difference)}`),
      `Restore the log from a backup, and check it: gen verify --anchor ${anchor}`,
    ].join('\n'),
  );
}

/** One loss per project of the store. Projects without an anchor are included: they may have been restored too. */
async function lossesOf(store: Store, logs: readonly AnchoredLog[]): Promise<LossOfProject[]> {
  const losses = new Map(logs.map((log) => [projectPath(log), lossOf(log)]));
  const tenantIds = new Set([...(await store.tenantIds()), ...logs.map((log) => log.tenant_id)]);
  for (const tenant_id of tenantIds) {
    for (const project_id of await store.projects(tenant_id)) {
      const name = projectPath({ tenant_id, project_id });
      if (project_id === TENANT_PROJECT || losses.has(name)) continue;
      const { position = 0 } = (await store.project({ tenant_id, project_id })) ?? {};
      losses.set(name, { tenant_id, project_id, kept_position: position, lost_events: 0 });
    }
  }
  return [...losses.values()];
}

function lossOf({ tenant_id, project_id, lastAnchor, report }: AnchoredLog): LossOfProject {
  const kept_position = report?.differs_between?.after ?? report?.size ?? 0;
  const lost_events = Math.max(0, lastAnchor.position - kept_position);
  return { tenant_id, project_id, kept_position, lost_events };
}

/**
 * A higher incarnation than the store and all anchors have. It is at least the time in milliseconds, so that it is also higher
 * than an incarnation whose anchors were lost.
 */
async function nextIncarnation(store: Store, anchors: readonly Anchor[]): Promise<number> {
  const { incarnation } = await store.meta();
  const highest = anchors.reduce((most, anchor) => Math.max(most, anchor.incarnation), incarnation);
  return Math.max(highest + 1, await store.now());
}

async function recordAll(
  coordinator: Coordinator,
  losses: readonly LossOfProject[],
  acceptance: Pick<AcceptedLoss, 'by' | 'reason' | 'incarnation'>,
) {
  const accepted = [];
  for (const { tenant_id, project_id, kept_position, lost_events } of losses) {
    const projectKey = { tenant_id, project_id };
    const reply = await coordinator.audit.acceptLoss(projectKey, {
      ...acceptance,
      kept_position,
      lost_events,
    });
    if (isProblem(reply))
      throw new CommandFailure(`${tenant_id}/${project_id}: ${reply.detail} Repeat the command.`);
    accepted.push({ ...projectKey, kept_position, lost_events, ...reply.record });
  }
  return accepted;
}

const acceptedLines = (accepted: Awaited<ReturnType<typeof recordAll>>): string[] => [
  ...accepted.map(
    ({ tenant_id, project_id, kept_position, lost_events, generation_floor }) =>
      `${tenant_id}/${project_id}: kept ${countText(kept_position, 'event')}, lost ${countText(lost_events, 'event')}; the next generation is ${generation_floor + 1}.`,
  ),
  'API keys and limits come from the restored log: check gen key list before you start the server.',
];
