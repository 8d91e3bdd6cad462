import { SignatureRequirements } from '../../../core/audit/unsigned-commands.js';
import type { EventEnvelope } from '../../../core/events/envelope.js';
import type { AnyHead } from '../../../core/fold.js';
import { type ProjectKey, projectPath, type Store } from '../../../stores/store.js';
import { isImportUnfinished, unfinishedImportText } from '../../transfer/unfinished-import.js';
import { type AnchorOptions, auditViolations, CheckpointAudit } from './checkpoint-audit.js';
import { type LogReport, LogVerifier } from './log-verifier.js';
import { originalDigests, withDigest } from './stored-digests.js';

const PAGE_SIZE = 1000;
const ROUNDS_MAX = 10;

/** The methods of a store that a verification uses. */
export type VerifiedStore = Pick<Store, 'project' | 'events' | 'scanHeads' | 'countPermits'>;

/**
 * Replays a project's events from a store, and compares its heads with them. The heads are not compared if new events
 * arrive in each of ten rounds.
 */
export async function verifyStore(
  store: VerifiedStore,
  projectKey: ProjectKey,
  onEvent: (events: number) => void,
  anchorOptions: AnchorOptions = {},
  requirements = new SignatureRequirements(),
): Promise<LogReport> {
  const path = projectPath(projectKey);
  const verifier = new LogVerifier(onEvent, requirements);
  const checkpoints = new CheckpointAudit(anchorOptions);
  const originals = await originalDigests(store, projectKey);
  const visit = (event: EventEnvelope): void => {
    verifier.verifyEvent({ event, file: path, line: event.position });
    checkpoints.visit(withDigest(event, originals));
  };
  let position = 0;
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    position = await replay(store, projectKey, verifier, position, visit);
    const heads = await headsOf(store, projectKey);
    // Heads and events are comparable only if nothing was committed in between.
    if ((await positionOf(store, projectKey)) !== position) continue;
    for (const { invariant, subject, message: says } of verifier.checker.checkHeads(heads)) {
      verifier.addViolation({ file: path, line: position, rule: invariant, subject, says });
    }
    break;
  }
  if (await isImportUnfinished(store, projectKey))
    verifier.addViolation({
      file: path,
      line: position,
      rule: 'IMPORT',
      subject: null,
      says: unfinishedImportText(projectKey),
    });
  const audited = checkpoints.result();
  if (audited !== null)
    for (const violation of auditViolations(audited, path)) verifier.addViolation(violation);
  return { ...verifier.report(path, audited), ...projectKey };
}

const positionOf = async (store: VerifiedStore, projectKey: ProjectKey): Promise<number> =>
  (await store.project(projectKey))?.position ?? 0;

/** Replays the events up to the store's position, and returns that position. Reports missing events. */
async function replay(
  store: VerifiedStore,
  projectKey: ProjectKey,
  verifier: LogVerifier,
  fromPosition: number,
  visit: (event: EventEnvelope) => void,
): Promise<number> {
  const file = projectPath(projectKey);
  const position = await positionOf(store, projectKey);
  for (let after = fromPosition; after < position; ) {
    const events = await store.events(projectKey, { after, until_position: position, limit: PAGE_SIZE });
    const [first] = events;
    if (first?.position !== after + 1) {
      const message = `event ${after + 1} of ${position} is missing`;
      verifier.addViolation({ file, line: after + 1, rule: 'CHAIN', subject: null, says: message });
      if (first === undefined) return position;
    }
    for (const event of events) visit(event);
    after = events.at(-1)?.position ?? position;
  }
  return position;
}

async function headsOf(store: VerifiedStore, projectKey: ProjectKey): Promise<AnyHead[]> {
  const heads: AnyHead[] = [];
  for (;;) {
    const after = heads.at(-1)?.subject ?? null;
    const page = (await store.scanHeads(projectKey, { after, limit: PAGE_SIZE })) as AnyHead[];
    if (page.length === 0) return heads;
    heads.push(...page);
  }
}
