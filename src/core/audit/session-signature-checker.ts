import { type ClaimEventKind, claimEventKindOf } from '../claims/claim-event-kinds.js';
import type { EventEnvelope } from '../events/envelope.js';
import { edgeSubject } from '../methodology/definition/edge-name.js';
import { readSignature, readSignedText, type SignedCommand, type SignedTextFields } from '../signing.js';
import { sessionSubject, subjectKindOf } from '../subject.js';
import type { VerifySignature } from './audit-values.js';

/** The keys of this many sessions are remembered. Signatures of sessions whose key was dropped are counted but not checked. */
const SESSION_KEYS_MAX = 100_000;

/** The signatures of this many grants are remembered. */
const GRANTS_MAX = 100_000;

/** The commands that can have caused a kind of event. */
const COMMANDS: Partial<Record<ClaimEventKind, readonly SignedCommand[]>> = {
  granted: ['claim_task', 'next'],
  renewed: ['renew_lease'],
  released: ['release_claim'],
  suspended: ['suspend_claim', 'submit_result'],
  resumed: ['resume_claim'],
  accepted: ['submit_result'],
  escalated: ['submit_result'],
  result_refused: ['submit_result'],
  noted: ['note'],
};
/** The commands that can have caused any other event of a session. */
const REPORTING_COMMANDS: readonly SignedCommand[] = ['append_event'];

/** Checks the signatures of a log's events with the keys of its sessions, in the order of the log. */
export class SessionSignatureChecker {
  checkedCount = 0;
  /**
   * Signed events that cannot be checked: the signed text is missing, as in earlier versions, or the key of the session
   * was dropped.
   */
  uncheckedCount = 0;
  private readonly keys = new Map<string, string>();
  private hasDroppedKeys = false;
  /** Signatures of grants, oldest first. A claim is one request, so its signature belongs to one grant. */
  private readonly grants = new Set<string>();

  constructor(
    private readonly verify: VerifySignature,
    private readonly keysMax = SESSION_KEYS_MAX,
  ) {}

  /** Why the event's signature is wrong; null if it is right, or if there is none that can be checked. */
  visit(event: EventEnvelope): string | null {
    this.rememberSessionKey(event);
    const { signature, signed_text } = event.payload;
    if (signature === undefined) return null;
    const key = this.keys.get(event.session_id ?? '');
    if (signed_text === undefined || (key === undefined && this.hasDroppedKeys)) {
      this.uncheckedCount += 1;
      return null;
    }
    this.checkedCount += 1;
    if (key === undefined)
      return `it is signed, but its session ${event.session_id} was opened without a key`;
    return this.signatureFault(event, String(signature), String(signed_text), key);
  }

  private signatureFault(event: EventEnvelope, signature: string, text: string, key: string): string | null {
    const parsedSignature = readSignature(signature);
    const signedFields = readSignedText(text);
    if (
      parsedSignature === null ||
      signedFields === null ||
      signedFields.issued_at !== parsedSignature.issued_at
    )
      return 'its signature is malformed';
    if (!this.verify(key, text, parsedSignature.value))
      return `the key of its session ${event.session_id} did not sign this command`;
    const difference = differenceFrom(event, signedFields);
    if (difference !== null) return `its session signed another ${difference}`;
    return this.isRepeatedGrant(event, signature) ? 'its signature belongs to an earlier grant' : null;
  }

  private isRepeatedGrant({ event_type }: EventEnvelope, signature: string): boolean {
    if (claimEventKindOf(event_type) !== 'granted') return false;
    if (this.grants.has(signature)) return true;
    this.grants.add(signature);
    const [oldest] = this.grants;
    if (this.grants.size > GRANTS_MAX && oldest !== undefined) this.grants.delete(oldest);
    return false;
  }

  /** Remembers the key of a session that is opened. The session keeps it, even if it is opened again without a key. */
  private rememberSessionKey({ event_type, subject, session_id, payload }: EventEnvelope): void {
    if (event_type !== 'SESSION_OPENED' || session_id === undefined) return;
    const key = (payload.record as { public_key?: unknown } | undefined)?.public_key;
    if (subject !== sessionSubject(session_id) || typeof key !== 'string') return;
    this.keys.set(session_id, key);
    if (this.keys.size <= this.keysMax) return;
    const [oldest] = this.keys.keys();
    if (oldest !== undefined) this.keys.delete(oldest);
    this.hasDroppedKeys = true;
  }
}

/** The first field in which the signed command differs from the event; null if none does. */
function differenceFrom(event: EventEnvelope, signedFields: SignedTextFields): string | null {
  if (signedFields.tenant_id !== event.tenant_id || signedFields.project_id !== event.project_id)
    return 'project';
  const kind = claimEventKindOf(event.event_type);
  const commands = (kind === undefined ? undefined : COMMANDS[kind]) ?? REPORTING_COMMANDS;
  if (!commands.some((command) => command === signedFields.command)) return 'command';
  const isAboutWork = signedFields.command !== 'next' && signedFields.command !== 'append_event';
  if (isAboutWork && canonicalSubject(signedFields.subject) !== event.subject) return 'subject';
  // In an all_or_nothing batch the events carry the request id of the batch, but each claim is signed with its own.
  const isRequestIdSigned = signedFields.command !== 'claim_task';
  if (isRequestIdSigned && signedFields.request_id !== event.request_id) return 'request_id';
  const { submitted_generation = event.generation } = event.payload;
  return signedFields.generation === '' || signedFields.generation === String(submitted_generation)
    ? null
    : 'generation';
}

/** The subject in the spelling that events use: a command can spell an edge in several ways. */
function canonicalSubject(subject: string): string {
  if (subjectKindOf(subject) !== 'edge') return subject;
  const separatorIndex = subject.indexOf('#');
  return edgeSubject(subject.slice(0, separatorIndex), subject.slice(separatorIndex + 1));
}
