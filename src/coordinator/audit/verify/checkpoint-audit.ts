import type { Anchor } from '../../../core/audit/checkpoint.js';
import { LogAudit, type LogAuditOptions, type LogAuditReport } from '../../../core/audit/log-audit.js';
import { OriginalDigests } from '../../../core/audit/original-digests.js';
import type { EventEnvelope } from '../../../core/events/envelope.js';
import type { ProjectKey } from '../../../stores/store.js';
import { payloadDigest, sha256 } from '../audit-hash.js';
import { verifySignatureSync } from '../verify-signature.js';
import { type LogRemark, UNVOUCHED_KEY } from './log-remark.js';

/** What a log is compared with: checkpoints that were kept elsewhere, and keys that are known to be the owner's. */
export type AnchorOptions = Pick<LogAuditOptions, 'anchors' | 'trustedKeys'>;

/** An event, and the digest of its payload. */
export interface AuditedEvent {
  readonly event: EventEnvelope;
  /** For a payload that retention has redacted, the digest of the original payload. */
  readonly payload_sha256: string;
  /** Whether retention removed a part of the payload. */
  readonly isRedacted: boolean;
}

/** Audits a log against its own checkpoints and against anchors that are kept elsewhere. */
export class CheckpointAudit {
  private audit: LogAudit | null = null;
  private readonly originals = new OriginalDigests();
  private readonly redactedPositions: number[] = [];

  constructor(
    private readonly options: AnchorOptions,
    /**
     * The positions of redacted events whose original digest the log does not record. The leaf of such an event is
     * checked with the digest of the payload that remains.
     */
    private readonly positionsWithoutDigest: ReadonlySet<number> = new Set(),
  ) {}

  visit({ event, payload_sha256, isRedacted }: AuditedEvent): void {
    this.originals.visit(event);
    if (isRedacted) this.redactedPositions.push(event.position);
    const { tenant_id, project_id } = event;
    this.audit ??= newAudit({ tenant_id, project_id }, this.options);
    const lacksDigest = isRedacted && this.positionsWithoutDigest.has(event.position);
    this.audit.visit(event, lacksDigest ? payloadDigest(event.payload) : payload_sha256);
  }

  /** Positions of redacted events whose original digest no later event of the log records. */
  unrecordedRedactions(): Set<number> {
    return new Set(this.redactedPositions.filter((position) => this.originals.digestAt(position) === null));
  }

  result(): LogAuditReport | null {
    return this.audit?.result() ?? null;
  }
}

const newAudit = (projectKey: ProjectKey, { anchors = [], trustedKeys = [] }: AnchorOptions): LogAudit => {
  const isOfProject = ({ tenant_id, project_id }: Anchor): boolean =>
    tenant_id === projectKey.tenant_id && project_id === projectKey.project_id;
  const ofProject = anchors.filter(isOfProject);
  return new LogAudit({
    hash: sha256,
    verify: verifySignatureSync,
    project: projectKey,
    anchors: ofProject,
    trustedKeys,
  });
};

/** The faults of the audit, as violations of the log. */
export function auditViolations(
  { faults, anchors, differs_between, unvouched_keys }: LogAuditReport,
  file: string,
): LogRemark[] {
  const violationAt = (line: number, rule: string, says: string): LogRemark => ({
    ...{ file, line, rule, subject: null, says },
  });
  const differences =
    differs_between === null
      ? []
      : [
          violationAt(
            differs_between.after + 1,
            'AUDIT',
            `the first event that differs from the signed log is between positions ${differs_between.after + 1} and ${differs_between.upto}`,
          ),
        ];
  return [
    ...differences,
    ...faults.map(({ position, code, detail }) => violationAt(position, `AUDIT ${code}`, detail)),
    ...anchors
      .filter(({ code }) => code !== 'AGREES' && code !== 'LOSS_ACCEPTED')
      .map(({ position, code, detail }) => violationAt(position, `ANCHOR ${code}`, detail)),
    ...unvouched_keys.map(({ position, key_id }) =>
      violationAt(
        position,
        UNVOUCHED_KEY,
        `No anchor vouches for the audit key ${key_id}, directly or through a rotation. If the key is yours, repeat the command with --key ${key_id}.`,
      ),
    ),
  ];
}
