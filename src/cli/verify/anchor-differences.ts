import {
  type AnchorOptions,
  auditViolations,
  CheckpointAudit,
} from '../../coordinator/audit/verify/checkpoint-audit.js';
import type { LogRemark } from '../../coordinator/audit/verify/log-remark.js';
import { originalDigests, withDigest } from '../../coordinator/audit/verify/stored-digests.js';
import type { Anchor } from '../../core/audit/checkpoint.js';
import type { LogAuditReport } from '../../core/audit/log-audit.js';
import { readStoreEvents } from '../../stores/read-store-events.js';
import { type ProjectKey, projectPath, type Store } from '../../stores/store.js';

/** A project's log compared with its anchors. */
export interface AnchoredLog extends ProjectKey {
  /** The anchor that covers most. */
  readonly lastAnchor: Anchor;
  /** Null: there is no log. */
  readonly report: LogAuditReport | null;
}

/** Compares the log of each project that the anchors cover with its anchors. The store may lack such a log. */
export async function compareWithAnchors(
  store: Store,
  anchorOptions: AnchorOptions & Required<Pick<AnchorOptions, 'anchors'>>,
): Promise<AnchoredLog[]> {
  const lastAnchors = new Map<string, Anchor>();
  for (const anchor of anchorOptions.anchors) {
    const name = projectPath(anchor);
    if (anchor.position > (lastAnchors.get(name)?.position ?? 0)) lastAnchors.set(name, anchor);
  }
  const logs: AnchoredLog[] = [];
  for (const lastAnchor of lastAnchors.values()) {
    const { tenant_id, project_id } = lastAnchor;
    const audit = new CheckpointAudit(anchorOptions);
    await visitAll(store, { tenant_id, project_id }, audit);
    logs.push({ tenant_id, project_id, lastAnchor, report: audit.result() });
  }
  return logs;
}

/** How a log differs from its anchors. */
export function differencesOf(log: AnchoredLog): LogRemark[] {
  const { lastAnchor, report } = log;
  const file = projectPath(log);
  if (report !== null) return auditViolations(report, file);
  const says = `there is no log, and the anchor covers ${lastAnchor.position} events`;
  return [{ file, line: 1, rule: 'ANCHOR LOG_SHORTER', subject: null, says }];
}

export const differenceText = ({ file, rule, says }: LogRemark): string => `${file}: ${rule}: ${says}`;

async function visitAll(store: Store, projectKey: ProjectKey, audit: CheckpointAudit): Promise<void> {
  const originals = await originalDigests(store, projectKey);
  for await (const event of readStoreEvents(store, projectKey)) audit.visit(withDigest(event, originals));
}
