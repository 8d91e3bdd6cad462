import { describe, expect, it } from 'vitest';
import type { EventEnvelope } from '../events/envelope.js';
import { HISTORY_SUBJECT, LOSS_SUBJECT } from '../subject.js';
import type { LossOfHistory } from './history-lost.js';
import { KEY_REVOKED_EVENT } from './key-events.js';
import { LogAudit, type LogAuditOptions, type LogAuditReport } from './log-audit.js';
import { OriginalDigests } from './original-digests.js';
import { CHECKPOINT_LAG_MAX } from './recent-trees.js';
import { AuditedLog, testPayloadDigest } from './testing/audited-log.js';
import { newSigner, numberedLeaves, testSha256, verifyEd25519 } from './testing/primitives.js';

const PROJECT = { tenant_id: 'acme', project_id: 'shop' };

function auditEvents(
  events: readonly EventEnvelope[],
  options: Partial<LogAuditOptions> = {},
): LogAuditReport {
  const audit = new LogAudit({ hash: testSha256, verify: verifyEd25519, project: PROJECT, ...options });
  for (const event of events) audit.visit(event, testPayloadDigest(event.payload));
  return audit.result();
}
const faultCodes = ({ faults }: LogAuditReport): [number, string][] =>
  faults.map(({ position, code }) => [position, code]);
const anchorCodes = ({ anchors }: LogAuditReport): string[] => anchors.map(({ code }) => code);

/** A log of 1000 events, in which every 100th event is a checkpoint of all events before it. */
function newLog(signer = newSigner()): AuditedLog {
  const log = new AuditedLog(PROJECT, signer);
  log.enrolKey();
  while (log.size < 1000) {
    log.fill(log.size + 99 - (log.size % 100));
    log.appendCheckpoint();
  }
  return log;
}
const withRewrittenEvent = (events: readonly EventEnvelope[], position: number): EventEnvelope[] =>
  events.with(position - 1, { ...events[position - 1]!, payload: { text: 'rewritten' } });

/** The same log with another event at this position, and every checkpoint made and signed again. */
function rewrittenAndSignedAgain(log: AuditedLog, position: number): AuditedLog {
  const copy = new AuditedLog(PROJECT, log.signer);
  for (const event of log.events) {
    if (event.event_type === 'AUDIT_CHECKPOINT') copy.appendCheckpoint();
    else copy.append(event.event_type, event.position === position ? { text: 'rewritten' } : event.payload);
  }
  return copy;
}

describe('the audit of a log', () => {
  const log = newLog();

  it('finds nothing in a log that is as it was signed', () => {
    const report = auditEvents(log.events);
    expect(report).toMatchObject({
      size: 1000,
      checkpoints: 10,
      covered_position: 999,
      faults: [],
      fault_count: 0,
    });
    expect(report.differs_between).toBe(null);
    expect(report.root).toBe(log.buildAnchor(1000).root);
  });

  it('finds an edit, between the checkpoints around it', () => {
    const report = auditEvents(withRewrittenEvent(log.events, 450));
    expect(faultCodes(report)).toEqual([500, 600, 700, 800, 900, 1000].map((at) => [at, 'ROOT_DIFFERS']));
    expect(report.differs_between).toEqual({ after: 399, upto: 499 });
    expect(report).toMatchObject({ checkpoints: 4, covered_position: 399 });
  });

  it('finds a gap in the positions', () => {
    expect(faultCodes(auditEvents(log.events.toSpliced(49, 1)))[0]).toEqual([51, 'BAD_POSITION']);
  });

  it('does not need the payload of a redacted event', () => {
    const originalSha256 = testPayloadDigest(log.events[49]!.payload);
    const redacted = log.events.with(49, { ...log.events[49]!, payload: {} });
    const originals = new OriginalDigests();
    const redactEvent = (position: number, digest: string | undefined) =>
      originals.visit({
        ...log.events[0]!,
        position,
        event_type: 'HISTORY_FORGOTTEN',
        subject: HISTORY_SUBJECT,
        payload: {
          events: [
            { position: 50, payload_sha256: '0'.repeat(64), ...(digest && { original_sha256: digest }) },
          ],
        },
      });
    redactEvent(40, testPayloadDigest('about the future'));
    redactEvent(1001, undefined);
    redactEvent(1002, originalSha256);
    redactEvent(1003, testPayloadDigest({}));
    expect([originals.digestAt(49), originals.digestAt(50)]).toEqual([null, originalSha256]);
    expect([originals.remainingDigestAt(49), originals.remainingDigestAt(50)]).toEqual([
      null,
      '0'.repeat(64),
    ]);
    const audit = new LogAudit({ hash: testSha256, verify: verifyEd25519, project: PROJECT });
    for (const event of redacted)
      audit.visit(event, originals.digestAt(event.position) ?? testPayloadDigest(event.payload));
    expect(audit.result().faults).toEqual([]);
    expect(faultCodes(auditEvents(redacted))[0]).toEqual([100, 'ROOT_DIFFERS']);
  });
});

describe('a checkpoint', () => {
  const newFilledLog = (): AuditedLog => {
    const log = new AuditedLog(PROJECT, newSigner('started'));
    log.enrolKey();
    return log.fill(600);
  };
  const [root = ''] = numberedLeaves(1).map((leaf) => Buffer.from(leaf).toString('base64url'));

  it('may cover a position well before its own', () => {
    const log = newFilledLog();
    for (const position of [1, 255, 256, 257, 600]) log.appendCheckpoint(position);
    expect(auditEvents(log.events)).toMatchObject({ faults: [], checkpoints: 5 });
  });

  it('must cover a position before its own, and not too long before', () => {
    const log = newFilledLog();
    log.appendCheckpoint(600, { position: 601 });
    expect(faultCodes(auditEvents(log.events))).toEqual([[601, 'BAD_POSITION']]);
    const long = newFilledLog().fill(CHECKPOINT_LAG_MAX + 300);
    long.appendCheckpoint(20);
    long.appendCheckpoint(300);
    expect(faultCodes(auditEvents(long.events))).toEqual([[CHECKPOINT_LAG_MAX + 301, 'BAD_POSITION']]);
  });

  it('must be signed by the key that it names, which must be enrolled and active', () => {
    const log = newFilledLog();
    const other = newSigner();
    log.appendCheckpoint(600, {}, other);
    log.appendCheckpoint(600, { key_id: log.signer.key_id }, other);
    log.append(KEY_REVOKED_EVENT, { key_id: log.signer.key_id, by: 'root', reason: 'stolen' });
    log.appendCheckpoint(600);
    expect(faultCodes(auditEvents(log.events))).toEqual([
      [601, 'UNKNOWN_KEY'],
      [602, 'BAD_SIGNATURE'],
      [604, 'REVOKED_KEY'],
    ]);
  });

  it('must be of this project', () => {
    const log = newFilledLog();
    log.appendCheckpoint();
    const projectKey = { tenant_id: 'acme', project_id: 'other' };
    expect(faultCodes(auditEvents(log.events, { project: projectKey }))).toEqual([[601, 'BAD_SIGNATURE']]);
  });

  it('must not have a lower incarnation than a checkpoint before it', () => {
    const log = newFilledLog();
    log.incarnation = 3;
    log.appendCheckpoint();
    log.incarnation = 2;
    log.appendCheckpoint();
    expect(faultCodes(auditEvents(log.events))).toEqual([[602, 'WRONG_INCARNATION']]);
  });

  it('must have the subtrees and the tiles of its tree', () => {
    const tilesOf = (change: object): [number, string][] => {
      const log = newFilledLog();
      log.appendCheckpoint(600, change);
      return faultCodes(auditEvents(log.events));
    };
    const { subtrees, tiles } = newFilledLog().buildCheckpoint();
    expect(tiles.roots).toHaveLength(2);
    expect(tilesOf({ subtrees: subtrees.with(1, root) })).toEqual([[601, 'BAD_SUBTREES']]);
    expect(tilesOf({ subtrees: subtrees.slice(1) })).toEqual([[601, 'BAD_SUBTREES']]);
    expect(tilesOf({ tiles: { first: 0, roots: [root, root] } })).toEqual([[601, 'BAD_TILES']]);
    expect(tilesOf({ tiles: { first: 1, roots: tiles.roots.slice(1) } })).toEqual([[601, 'BAD_TILES']]);
    expect(tilesOf({ tiles: { first: 0, roots: [] } })).toEqual([[601, 'BAD_TILES']]);
    expect(tilesOf({ tiles: { first: 0, roots: [...tiles.roots, root] } })).toEqual([[601, 'BAD_TILES']]);
  });

  it('must not contradict another checkpoint for the same position', () => {
    const log = newFilledLog();
    log.appendCheckpoint(600);
    log.appendCheckpoint(600, { root });
    expect(faultCodes(auditEvents(log.events))).toEqual([
      [602, 'TWO_ROOTS'],
      [602, 'ROOT_DIFFERS'],
    ]);
    // After an accepted loss, a position can have another event.
    const later = newFilledLog();
    later.appendCheckpoint(600);
    later.appendCheckpoint(600, { root, incarnation: 2 });
    expect(faultCodes(auditEvents(later.events))).toEqual([[602, 'ROOT_DIFFERS']]);
  });

  it('can be wrong although the log is right, as a later anchor shows', () => {
    const log = newFilledLog();
    log.appendCheckpoint(500, { root });
    const report = auditEvents(log.events, { anchors: [log.buildAnchor(600)] });
    expect(faultCodes(report)).toEqual([[601, 'ROOT_DIFFERS']]);
    expect(report.differs_between).toBe(null);
  });

  it('is malformed with other fields', () => {
    const log = newFilledLog();
    log.append('AUDIT_CHECKPOINT', { ...log.buildCheckpoint(), other: 1 });
    expect(faultCodes(auditEvents(log.events))).toEqual([[601, 'MALFORMED']]);
  });
});

describe('a log and its anchors', () => {
  const log = newLog();
  const anchors = [900, 300, 600].map((position) => log.buildAnchor(position));

  it('agree, in the order of positions', () => {
    const report = auditEvents(log.events, { anchors });
    expect(report.anchors.map(({ position, code }) => [position, code])).toEqual([
      [300, 'AGREES'],
      [600, 'AGREES'],
      [900, 'AGREES'],
    ]);
  });

  it('differ between two anchors if the log was signed again', () => {
    const report = auditEvents(rewrittenAndSignedAgain(log, 450).events, { anchors });
    expect(anchorCodes(report)).toEqual(['AGREES', 'DIFFERS', 'DIFFERS']);
    expect(report.differs_between).toEqual({ after: 300, upto: 600 });
    expect(report.faults).toEqual([]);
  });

  it('differ between two checkpoints if only the event was changed', () => {
    const report = auditEvents(withRewrittenEvent(log.events, 450), { anchors });
    expect(anchorCodes(report)).toEqual(['AGREES', 'DIFFERS', 'DIFFERS']);
    expect(report.differs_between).toEqual({ after: 399, upto: 499 });
  });

  it('do not agree if any statement of an anchor is changed, because all are signed', () => {
    const anchor = log.buildAnchor(300);
    const other = log.buildAnchor(301);
    const { root, time, position } = other;
    const forged = [{ root }, { position }, { incarnation: 0 }, { time: time.replace('2026', '2027') }];
    for (const change of forged)
      expect(anchorCodes(auditEvents(log.events, { anchors: [{ ...anchor, ...change }] }))).toEqual([
        'BAD_SIGNATURE',
      ]);
  });

  it('show two histories of one signer', () => {
    const copy = rewrittenAndSignedAgain(log, 450);
    const anchor = copy.buildAnchor(499);
    const report = auditEvents(log.events, { anchors: [anchor] });
    expect(faultCodes(report)).toEqual([[500, 'TWO_ROOTS']]);
    expect(anchorCodes(report)).toEqual(['DIFFERS']);
    expect(faultCodes(auditEvents([], { anchors: [anchor, log.buildAnchor(499)] }))).toEqual([
      [499, 'TWO_ROOTS'],
    ]);
  });

  describe('of history that was lost', () => {
    /** The log went back to position 500, and recorded the loss of what followed. */
    function continueAfterLoss(changes: Partial<LossOfHistory> = {}): AuditedLog {
      const copy = new AuditedLog(PROJECT, log.signer);
      for (const event of log.events.slice(0, 500)) copy.appendCopy(event);
      copy.incarnation = 2;
      const record = { generation_floor: 1_000_500 };
      const lost = { incarnation: 2, kept_position: 500, lost_events: 400, record, ...changes };
      copy.appendSigned('HISTORY_LOST', LOSS_SUBJECT, { by: 'ada', reason: 'disk failed', ...lost });
      return copy;
    }

    it('do not count once a signed record shows that an operator accepted the loss', () => {
      const copy = continueAfterLoss();
      copy.appendCheckpoint();
      const report = auditEvents(copy.fill(1000).events, { anchors });
      expect(anchorCodes(report)).toEqual(['AGREES', 'LOSS_ACCEPTED', 'LOSS_ACCEPTED']);
      expect(report).toMatchObject({ faults: [], differs_between: null });
      expect(report.losses).toMatchObject([{ position: 501, by: 'ada', lost_events: 400 }]);
    });

    it('count if the loss is not signed, or signed with another key: it may be forged', () => {
      const forgedLog = new AuditedLog(PROJECT, log.signer);
      for (const event of log.events.slice(0, 500)) forgedLog.appendCopy(event);
      const record = { generation_floor: 9 };
      const lost = { by: 'ada', reason: '', incarnation: 2, kept_position: 500, lost_events: 400, record };
      forgedLog.append('HISTORY_LOST', lost, LOSS_SUBJECT);
      forgedLog.appendSigned('HISTORY_LOST', LOSS_SUBJECT, lost, newSigner());
      const { payload } = continueAfterLoss().events[500]!;
      forgedLog.append('HISTORY_LOST', { ...payload, kept_position: 100 }, LOSS_SUBJECT);
      const report = auditEvents(forgedLog.events, { anchors });
      expect(faultCodes(report)).toEqual([
        [501, 'UNSIGNED_RECORD'],
        [502, 'UNKNOWN_KEY'],
        [503, 'BAD_SIGNATURE'],
      ]);
      expect(anchorCodes(report)).toEqual(['AGREES', 'LOG_SHORTER', 'LOG_SHORTER']);
      expect(report.losses).toEqual([]);
    });

    it('count before the kept position, and from the new incarnation on', () => {
      const copy = continueAfterLoss({ kept_position: 700 });
      copy.appendCheckpoint();
      expect(anchorCodes(auditEvents(copy.fill(1000).events, { anchors }))).toEqual([
        'AGREES',
        'DIFFERS',
        'LOSS_ACCEPTED',
      ]);
      const later = newLog(log.signer);
      later.incarnation = 2;
      expect(anchorCodes(auditEvents(copy.events, { anchors: [later.buildAnchor(900)] }))).toEqual([
        'DIFFERS',
      ]);
    });

    it('may contradict checkpoints that were written before the loss was noticed', () => {
      const copy = new AuditedLog(PROJECT, log.signer);
      for (const event of log.events.slice(0, 500)) copy.appendCopy(event);
      copy.append('note', { text: 'other' });
      copy.fill(599).appendCheckpoint();
      const fork = { anchors: [log.buildAnchor(599)] };
      expect(faultCodes(auditEvents(copy.events, fork))).toEqual([[600, 'TWO_ROOTS']]);
      copy.incarnation = 2;
      const record = { generation_floor: 9 };
      copy.appendSigned('HISTORY_LOST', LOSS_SUBJECT, {
        by: 'ada',
        reason: '',
        incarnation: 2,
        kept_position: 500,
        lost_events: 99,
        record,
      });
      copy.appendCheckpoint();
      expect(auditEvents(copy.events, fork)).toMatchObject({ faults: [], fault_count: 0 });
    });
  });

  it('do not excuse an unsigned redaction', () => {
    const copy = new AuditedLog(PROJECT, log.signer);
    for (const event of log.events) copy.appendCopy(event);
    const redacted = { before: '2026-01-04T06:00:00.000Z', retention_days: 90, events: [] };
    copy.appendSigned('HISTORY_FORGOTTEN', HISTORY_SUBJECT, redacted);
    expect(faultCodes(auditEvents(copy.events))).toEqual([]);
    copy.append('HISTORY_FORGOTTEN', redacted, HISTORY_SUBJECT);
    expect(faultCodes(auditEvents(copy.events))).toEqual([[1002, 'UNSIGNED_RECORD']]);
  });

  it('vouch only for the keys that signed them: the report names every other key', () => {
    const copy = new AuditedLog(PROJECT, log.signer);
    for (const event of log.events) copy.appendCopy(event);
    const other = newSigner();
    copy.enrolKey(other);
    const unvouched = { key_id: other.key_id, position: 1001 };
    expect(auditEvents(copy.events, { anchors }).unvouched_keys).toEqual([unvouched]);
    expect(auditEvents(copy.events, { anchors, trustedKeys: [other.key_id] }).unvouched_keys).toEqual([]);
    // A coordinator signs whatever the log contains, so a checkpoint that covers the key does not vouch for it.
    expect(auditEvents(copy.events, { anchors: [copy.buildAnchor(1001)] }).unvouched_keys).toEqual([
      unvouched,
    ]);
    expect(auditEvents(copy.events).unvouched_keys).toEqual([]);
    const redacted = { before: '2026-01-04T06:00:00.000Z', retention_days: 90, events: [] };
    copy.appendSigned('HISTORY_FORGOTTEN', HISTORY_SUBJECT, redacted, other);
    expect(faultCodes(auditEvents(copy.events, { anchors }))).toEqual([[1002, 'UNTRUSTED_KEY']]);
    expect(faultCodes(auditEvents(copy.events, { anchors, trustedKeys: [other.key_id] }))).toEqual([]);
    expect(faultCodes(auditEvents(copy.events))).toEqual([]);
  });

  it('show a tail that is missing', () => {
    const report = auditEvents(log.events.slice(0, 700), { anchors });
    expect(anchorCodes(report)).toEqual(['AGREES', 'AGREES', 'LOG_SHORTER']);
    expect(report.anchors[2]!.detail).toBe('the log ends at 700, but the anchor covers 900');
    expect(report.differs_between).toBe(null);
  });

  it('show a log of a lower incarnation, unless the store itself has the incarnation of the anchor', () => {
    log.incarnation = 2;
    const later = [log.buildAnchor(900)];
    log.incarnation = 1;
    expect(anchorCodes(auditEvents(log.events, { anchors: later }))).toEqual(['LOWER_INCARNATION']);
    expect(anchorCodes(auditEvents(log.events, { anchors: later, incarnation: 2 }))).toEqual(['AGREES']);
  });

  it('show an anchor that is itself wrong, or is from another key or project', () => {
    const [anchor] = anchors as [(typeof anchors)[0]];
    const logOfOtherKey = new AuditedLog(PROJECT, newSigner());
    for (const event of log.events) logOfOtherKey.append(event.event_type, event.payload);
    const other = new AuditedLog({ tenant_id: 'acme', project_id: 'other' }, log.signer).fill(3);
    expect(anchorCodes(auditEvents(log.events, { anchors: [{ ...anchor, incarnation: 7 }] }))).toEqual([
      'BAD_SIGNATURE',
    ]);
    expect(anchorCodes(auditEvents(log.events, { anchors: [logOfOtherKey.buildAnchor(900)] }))).toEqual([
      'UNKNOWN_KEY',
    ]);
    expect(anchorCodes(auditEvents(log.events, { anchors: [other.buildAnchor()] }))).toEqual([
      'OTHER_PROJECT',
    ]);
  });
});
