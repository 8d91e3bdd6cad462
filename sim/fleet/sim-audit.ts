import { createPrivateKey, createPublicKey, sign } from 'node:crypto';
import type { AcceptedLoss } from '../../src/coordinator/audit/accept-loss.js';
import { payloadDigest, sha256 } from '../../src/coordinator/audit/audit-hash.js';
import type { AuditOptions, AuditSigner } from '../../src/coordinator/audit/signer.js';
import { type AuditSink, type CheckpointId, isLater } from '../../src/coordinator/audit/sink.js';
import { verifySignatureSync } from '../../src/coordinator/audit/verify-signature.js';
import { keyIdOf } from '../../src/core/audit/audit-values.js';
import type { Anchor } from '../../src/core/audit/checkpoint.js';
import { CHECKPOINT_EVENT } from '../../src/core/audit/key-events.js';
import { LogAudit, type LogAuditReport } from '../../src/core/audit/log-audit.js';
import type { EventEnvelope } from '../../src/core/events/envelope.js';
import { type ProjectKey, projectPath, type Transaction } from '../../src/stores/store.js';
import { type SimContext, scheduleRecurring } from './sim-context.js';

const EVENTS_PER_CHECKPOINT = 40;
const LOST_REPLY_CHANCE = 0.05;
/** The bytes before the 32 bytes of an Ed25519 key in PKCS #8. */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');

/** The audit of a run: keys and a sink that survive every crash, on a separate machine. */
export class SimAudit implements AuditSink {
  readonly name = 'simulated';
  private readonly sentAnchors: Anchor[] = [];
  private readonly signers = new Map<string, AuditSigner>();
  private isDown = false;
  private areFaultsOn = true;
  private readonly rng;

  constructor(private readonly context: SimContext) {
    this.rng = context.world.rng.fork('audit');
  }

  start(): void {
    const leaseMs = this.context.scenario.lease_seconds * 1000;
    const goDown = (): void => {
      this.isDown = true;
      this.context.world.schedule(this.rng.between(0, leaseMs * 4), 'sink is back', () => {
        this.isDown = false;
      });
    };
    scheduleRecurring(this.context, 'sink down', leaseMs * 4, goDown, () => this.areFaultsOn);
  }

  stopFaults(): void {
    this.areFaultsOn = false;
    this.isDown = false;
  }

  /** Each coordinator of a store has its own key, which it keeps when it restarts. */
  optionsOf(owner: string): AuditOptions {
    const every_ms = this.context.scenario.lease_seconds * 500;
    return { signer: this.signerOf(owner), sinks: [this], every_events: EVENTS_PER_CHECKPOINT, every_ms };
  }

  async lastSent(projectKey: ProjectKey): Promise<CheckpointId | null> {
    this.assertUp();
    return this.anchorsOf(projectKey).reduce<CheckpointId | null>(
      (last, anchor) => (isLater(anchor, last) ? anchor : last),
      null,
    );
  }

  async send(anchors: readonly Anchor[]): Promise<void> {
    this.assertUp();
    this.sentAnchors.push(...anchors);
    if (this.areFaultsOn && this.rng.chance(LOST_REPLY_CHANCE)) throw new Error('the reply is lost');
  }

  anchorsOf({ tenant_id, project_id }: ProjectKey): Anchor[] {
    return this.sentAnchors.filter(
      (anchor) => anchor.tenant_id === tenant_id && anchor.project_id === project_id,
    );
  }

  /** An auditor compares the log with everything that the sink has. */
  compare(projectKey: ProjectKey, events: readonly EventEnvelope[]): LogAuditReport {
    const anchors = this.anchorsOf(projectKey);
    const trustedKeys = [...this.signers.values()].map(({ key_id }) => key_id);
    const audit = new LogAudit({
      hash: sha256,
      verify: verifySignatureSync,
      project: projectKey,
      anchors,
      trustedKeys,
    });
    for (const event of events) audit.visit(event, payloadDigest(event.payload));
    return audit.result();
  }

  /** AUD-1: a log equals what was signed, except for history whose loss was accepted. */
  check(projectKey: ProjectKey, events: readonly EventEnvelope[]): void {
    const { world, coverage } = this.context;
    const { faults, anchors, checkpoints } = this.compare(projectKey, events);
    const name = projectPath(projectKey);
    for (const { code, position, detail } of faults)
      world.reportViolation('AUD-1', `${name} ${position}: ${code} ${detail}`);
    for (const { code, position, detail } of anchors) {
      if (code === 'LOSS_ACCEPTED') coverage.hit('loss accepted');
      else if (code !== 'AGREES') world.reportViolation('AUD-1', `${name} ${position}: ${code} ${detail}`);
    }
    if (checkpoints > 0) coverage.hit('checkpoint agrees');
  }

  /** AUD-2: a loss of history that the sink has anchors of is noticed. */
  checkLossNoticed(projectKey: ProjectKey, events: readonly EventEnvelope[], keptPosition: number): void {
    if (!this.anchorsOf(projectKey).some(({ position }) => position > keptPosition)) return;
    const { anchors } = this.compare(projectKey, events);
    if (anchors.some(({ code }) => code === 'LOG_SHORTER' || code === 'DIFFERS')) {
      this.context.coverage.hit('loss noticed');
      return;
    }
    this.context.world.reportViolation(
      'AUD-2',
      `${projectKey.tenant_id}/${projectKey.project_id}: a loss was not noticed`,
    );
  }

  /** The loss that an operator accepts: the events after `kept_position`, as many as the anchors prove. */
  lossOf(projectKey: ProjectKey, kept_position: number, incarnation: number): AcceptedLoss {
    const positions = this.anchorsOf(projectKey).map(({ position }) => position);
    const lost_events = Math.max(0, ...positions.map((position) => position - kept_position));
    return { by: 'operator', reason: 'restored', incarnation, kept_position, lost_events };
  }

  private assertUp(): void {
    if (!this.isDown) return;
    this.context.coverage.hit('sink down');
    throw new Error('the sink is down');
  }

  private signerOf(owner: string): AuditSigner {
    const existing = this.signers.get(owner);
    if (existing !== undefined) return existing;
    const bytes = this.context.world.rng.fork(`audit key ${owner}`).bytes(32);
    const key = createPrivateKey({ key: Buffer.concat([PKCS8_PREFIX, bytes]), format: 'der', type: 'pkcs8' });
    const { x: public_key = '' } = createPublicKey(key).export({ format: 'jwk' });
    const signer = {
      key_id: keyIdOf(sha256, public_key),
      public_key,
      sign: async (text: string) => sign(null, Buffer.from(text), key).toString('base64url'),
    };
    this.signers.set(owner, signer);
    return signer;
  }
}

export const writesCheckpoint = (transactions: readonly Transaction[]): boolean =>
  transactions.some(({ loose_events }) =>
    loose_events.some(({ event_type }) => event_type === CHECKPOINT_EVENT),
  );
