import { isProblem } from '../../src/coordinator/index.js';
import { isUndecided } from '../../src/coordinator/wire/problem.js';
import { type ClaimEventKind, claimEventKindOf } from '../../src/core/claims/claim-event-kinds.js';
import type { EventEnvelope } from '../../src/core/events/envelope.js';
import { StoreBroken, StoreUnavailable } from '../../src/stores/store.js';
import type { SimCommand } from '../actors/commands.js';
import type { SimWorld } from '../world/world.js';
import type { CommitMonitor } from './commit-monitor.js';
import type { CoverageCounter } from './coverage.js';
import { wasRefusalTrue } from './refusals.js';

/** One arrival of a command at a coordinator. A command may arrive several times, or never. */
interface CommandDelivery {
  readonly began_step: number;
  ended_step: number | null;
  /**
   * `open`: not answered yet, and perhaps never. `no_effect`: the command has certainly changed nothing. `unknown`: the
   * effect cannot be determined.
   */
  outcome: 'open' | 'ok' | 'refused' | 'no_effect' | 'unknown';
  /**
   * Whether the log had the effect of the command when this reply was sent. After a success with an effect, a later reply
   * must be the same success, apart from its briefing and warnings.
   */
  hasTakenEffect: boolean;
  reply: unknown;
}

export interface CommandRecord {
  readonly command: SimCommand;
  readonly invoked_ms: number;
  /** Incarnation of the store at the call. After a loss of history, earlier replies may no longer hold. */
  readonly incarnation: number;
  readonly deliveries: CommandDelivery[];
}

/** Records commands and replies, and checks them against the log. */
export class CallHistory {
  readonly records: CommandRecord[] = [];
  /** For each claim id, the incarnation of the store in which a reply first contained the id. */
  private readonly incarnationByClaimId = new Map<string, number>();

  constructor(
    private readonly world: SimWorld,
    private readonly monitor: CommitMonitor,
    private readonly coverage: CoverageCounter,
    private readonly incarnation: () => number,
  ) {}

  invoke(command: SimCommand): CommandRecord {
    const record = {
      command,
      invoked_ms: this.world.now_ms,
      incarnation: this.incarnation(),
      deliveries: [],
    };
    this.records.push(record);
    return record;
  }

  beginDelivery(record: CommandRecord): CommandDelivery {
    const delivery: CommandDelivery = {
      began_step: this.world.steps,
      ended_step: null,
      outcome: 'open',
      hasTakenEffect: false,
      reply: null,
    };
    record.deliveries.push(delivery);
    return delivery;
  }

  recordReply(record: CommandRecord, delivery: CommandDelivery, reply: unknown): void {
    delivery.ended_step = this.world.steps;
    delivery.reply = reply;
    delivery.outcome = deliveryOutcomeOf(reply);
    const { command } = record;
    this.world.trace(`${command.request_id} ${command.op} ${command.subject ?? ''}: ${shortReply(reply)}`);
    this.countCoverage(command, reply);
    for (const item of itemRepliesOf(command, reply)) this.checkItem(record, delivery, item);
    const projectMonitor = this.monitor.projectMonitor(command.projectKey);
    delivery.hasTakenEffect = command.request_ids.some((id) => projectMonitor.effectsOf(id).length > 0);
    this.checkReplies(record, delivery);
    this.checkRefusal(record, delivery);
    if (isProblem(reply) && reply.problem === 'UNKNOWN' && !INFRASTRUCTURE_ERRORS.test(reply.detail)) {
      this.world.reportViolation(
        'THROWN',
        `${command.op} has an unknown outcome without an injected fault: ${reply.detail}`,
      );
    }
    if (isProblem(reply) && reply.detail.startsWith(CONTENTION_TEXT)) {
      this.world.reportViolation(
        'LIVE',
        `${command.op} of ${command.subject} was decided a hundred times and never committed`,
      );
    }
  }

  recordException(record: CommandRecord, delivery: CommandDelivery, error: unknown): void {
    delivery.ended_step = this.world.steps;
    delivery.outcome = 'unknown';
    this.world.trace(`${record.command.request_id} threw ${String(error)}`);
    if (error instanceof StoreBroken || error instanceof StoreUnavailable) return;
    const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
    this.world.reportViolation('THROWN', `${record.command.op} threw an exception: ${stack}`);
  }

  /** Runs at the end, when no message is in transit. */
  finish(): void {
    for (const record of this.records) {
      if (record.incarnation === this.incarnation()) this.checkNoEffect(record);
    }
  }

  /**
   * INV-13: the reason of a refusal was true at some moment between the arrival of the command and the reply, as far as the
   * head of its subject shows. Not checked if history was lost meanwhile.
   */
  private checkRefusal({ command, incarnation }: CommandRecord, delivery: CommandDelivery): void {
    const { reason } = delivery.reply as CommandReplyFields;
    if (delivery.outcome !== 'refused' || command.subject === null || reason === undefined) return;
    if (incarnation !== this.incarnation()) return;
    const projectMonitor = this.monitor.projectMonitor(command.projectKey);
    const heads = projectMonitor.headsBetween(command.subject, delivery.began_step, this.world.steps);
    if (wasRefusalTrue(reason, command.handle, heads)) return;
    this.world.reportViolation(
      'INV-13',
      `${command.op} of ${command.subject} was refused with ${reason}, which did not hold`,
    );
  }

  /**
   * INV-07: a command that was refused at every arrival, or certainly had no effect, has changed no head, except that a
   * submission may have escalated.
   */
  private checkNoEffect({ command, deliveries }: CommandRecord): void {
    if (!deliveries.every(({ outcome }) => outcome === 'refused' || outcome === 'no_effect')) return;
    const projectMonitor = this.monitor.projectMonitor(command.projectKey);
    for (const id of command.request_ids) {
      const effects = projectMonitor.effectsOf(id);
      const [effect] = effects;
      // A submission that needs a person is not accepted, but it does record an escalation.
      if (effect === undefined || effects.some((event) => claimEventKindOf(event.event_type) === 'escalated'))
        continue;
      this.world.reportViolation(
        'INV-07',
        `${command.op} ${id} was refused, but ${effect.event_type} is in the log`,
      );
    }
  }

  /**
   * INV-11: a request takes effect once, however often it arrives. Every success after it has the same reply, and no later
   * arrival is refused.
   */
  private checkReplies(record: CommandRecord, last: CommandDelivery): void {
    const { command, deliveries } = record;
    if (!command.isDeduplicated || record.incarnation !== this.incarnation()) return;
    const projectMonitor = this.monitor.projectMonitor(command.projectKey);
    for (const id of command.request_ids) {
      const effects = projectMonitor.effectsOf(id).map(effectKey);
      const duplicate = effects.find((effect, index) => effects.indexOf(effect) < index);
      if (duplicate !== undefined)
        this.world.reportViolation('INV-11', `${id} took effect twice: ${duplicate}`);
    }
    for (const other of deliveries) {
      if (other === last || other.outcome !== 'ok' || !other.hasTakenEffect) continue;
      if (last.outcome === 'ok' && comparableReply(other.reply) !== comparableReply(last.reply)) {
        this.world.reportViolation(
          'INV-11',
          `${command.op} ${command.request_id} was answered ${comparableReply(other.reply)}, then ${comparableReply(last.reply)}`,
        );
      }
      const isAfter = other.ended_step !== null && other.ended_step < last.began_step;
      if (last.outcome === 'refused' && isAfter) {
        this.world.reportViolation(
          'INV-11',
          `${command.op} ${command.request_id} was granted, then ${shortReply(last.reply)}`,
        );
      }
    }
  }

  /**
   * INV-10: a confirmed effect is in the log. INV-05: it was made under the handle that was granted. INV-01: not under a
   * handle from before a loss of history. INV-14: a claim is of the caller's own tenant.
   */
  private checkItem(
    record: CommandRecord,
    delivery: CommandDelivery,
    { command, reply, request_id }: ItemReply,
  ): void {
    if (deliveryOutcomeOf(reply) !== 'ok') return;
    const projectMonitor = this.monitor.projectMonitor(command.projectKey);
    const fields = reply as CommandReplyFields;
    const { handle } = command;
    if (handle !== null) {
      const isOld = handle.incarnation < this.incarnation();
      if (isOld && !this.isReplayed(record, request_id) && !this.isOpenToAll(command)) {
        this.world.reportViolation(
          'INV-01',
          `a handle from before the data loss was accepted for ${handle.task_id}`,
        );
      }
      const grant = projectMonitor.findEvent(handle.task_id, handle.generation, 'granted');
      const isGranted =
        handle.grant_request_id === null
          ? grant?.session_id === handle.session_id
          : grant?.request_id === handle.grant_request_id;
      if (!isGranted) {
        this.world.reportViolation(
          'INV-05',
          `${command.op} was accepted with a handle that ${handle.grant_request_id ?? handle.session_id} was not granted`,
        );
      }
      const eventKind = EVENT_KIND_OF_OP[command.op];
      const isLogged =
        eventKind === undefined ||
        projectMonitor.findEvent(handle.task_id, handle.generation, eventKind) !== undefined;
      if (!isLogged && !SUCCESS_WITHOUT_EVENT.has(command.op)) {
        this.world.reportViolation(
          'INV-10',
          `${command.op} of ${handle.task_id} was confirmed but is not in the log`,
        );
      }
    }
    if (fields.claim == null || !CLAIM_OPS.has(command.op)) return;
    if (fields.claim.tenant_id !== command.projectKey.tenant_id) {
      this.world.reportViolation(
        'INV-14',
        `${command.projectKey.tenant_id} got a claim of ${fields.claim.tenant_id}`,
      );
    }
    this.checkClaimId(fields.claim);
    if (fields.resumed === true) {
      this.checkResumed(command, delivery, fields.claim);
      return;
    }
    const grant = projectMonitor.findEvent(fields.claim.task_id, fields.claim.generation, 'granted');
    const isCurrent = record.incarnation === this.incarnation();
    if (isCurrent && (grant?.session_id !== fields.claim.session_id || grant?.request_id !== request_id)) {
      this.world.reportViolation(
        'INV-10',
        `the grant of ${fields.claim.task_id} to ${request_id} is not in the log`,
      );
    }
  }

  /**
   * INV-01: a loss of history makes all handles invalid. When a request is repeated or a session resumes its claim, and the
   * grant survived, the reply has a new claim id. The old claim id would make the handles from before the loss valid again.
   */
  private checkClaimId({ id, task_id }: RepliedClaim): void {
    const firstIncarnation = this.incarnationByClaimId.get(id);
    if (firstIncarnation === undefined) this.incarnationByClaimId.set(id, this.incarnation());
    else if (firstIncarnation < this.incarnation())
      this.world.reportViolation(
        'INV-01',
        `${task_id} came back with its claim id from before the data loss`,
      );
  }

  /** INV-05: a claim comes back only to the session that held it at some moment between arrival and reply. */
  private checkResumed(
    { projectKey }: SimCommand,
    { began_step }: CommandDelivery,
    claim: RepliedClaim,
  ): void {
    this.coverage.hit('forgotten claim resumed');
    const { task_id, generation, session_id } = claim;
    const heads = this.monitor.projectMonitor(projectKey).headsBetween(task_id, began_step, this.world.steps);
    const isHeld = heads.some(
      (head) =>
        head.generation === generation &&
        head.claim?.session_id === session_id &&
        (head.claim.state === 'ACTIVE' || head.claim.state === 'SUSPENDED'),
    );
    if (!isHeld)
      this.world.reportViolation(
        'INV-05',
        `${task_id} g${generation} came back to ${session_id}, which did not hold it`,
      );
  }

  /**
   * Whether the store remembered this request before the loss. If so, a repetition gets the first reply again and has no
   * effect, so that even a handle from before the loss is accepted.
   */
  private isReplayed({ command, incarnation }: CommandRecord, requestId: string): boolean {
    const { event_id, projectKey } = command;
    // An event is remembered by its own id, whichever request sends it again.
    if (event_id !== undefined && this.monitor.projectMonitor(projectKey).hasSurvivedLoss(event_id))
      return true;
    const isBeforeLoss = command.isDeduplicated && incarnation < this.incarnation();
    return isBeforeLoss && !this.monitor.projectMonitor(projectKey).hasWrittenSinceLoss(requestId);
  }

  /**
   * Whether anyone may append this event; if so, its handle is not checked. Such an event records the end of a run whose
   * candidate has been accepted or rejected, or reports on an edge that has not been granted again since this handle.
   */
  private isOpenToAll({ concludes_run, is_open_report, projectKey, handle }: SimCommand): boolean {
    if (handle === null) return false;
    const head = this.monitor.projectMonitor(projectKey).state.heads.get(handle.task_id);
    const isDecided = head?.phase === 'COMPLETED' || head?.gate?.decision === 'REJECTED';
    const isTakenSince = (head?.generation ?? 0) > handle.generation;
    return (concludes_run === true && isDecided) || (is_open_report === true && !isTakenSince);
  }

  private countCoverage({ handle }: SimCommand, reply: unknown): void {
    const { reason, parked } = reply as { reason?: string; parked?: string | null };
    if (reason === 'STALE_GENERATION') this.coverage.hit('stale reject');
    if (reason === 'FUTURE_GENERATION') this.coverage.hit('future generation');
    if (reason === 'DEPENDENCY_CHANGED') this.coverage.hit('merge race');
    if (typeof parked === 'string') this.coverage.hit('parked');
    if (
      handle !== null &&
      handle.incarnation < this.incarnation() &&
      deliveryOutcomeOf(reply) === 'refused'
    ) {
      this.coverage.hit('old handle refused');
    }
  }
}

/** A simulation has too few actors for real contention, so this error means that a coordinator decides on an outdated view. */
const CONTENTION_TEXT = 'Too many concurrent changes to the same work';

/**
 * Errors of a broken connection, a failing disk or a store that gave up; any other cause of an unknown outcome is a
 * bug.
 */
const INFRASTRUCTURE_ERRORS = /the connection broke|again|ENOSPC|EIO/;

/** A hold by a request and the automatic hold after failures at the same moment count as different effects. */
const effectKey = ({ event_type, subject, payload }: EventEnvelope): string =>
  `${event_type} ${subject}${payload.by === 'genesis' ? ' by the coordinator' : ''}`;

const CLAIM_OPS: ReadonlySet<string> = new Set(['claim', 'next', 'batch', 'atomic']);

interface CommandReplyFields {
  readonly success?: boolean;
  readonly accepted?: boolean;
  readonly reason?: string;
  readonly resumed?: boolean;
  readonly claim?: RepliedClaim | null;
}

interface RepliedClaim {
  readonly id: string;
  readonly tenant_id: string;
  readonly task_id: string;
  readonly generation: number;
  readonly session_id: string;
}

interface ItemReply {
  readonly command: SimCommand;
  readonly reply: unknown;
  readonly request_id: string;
}

/** Splits the reply to a batch into one reply per item. */
function itemRepliesOf(command: SimCommand, reply: unknown): ItemReply[] {
  const { results } = reply as { results?: readonly unknown[] };
  if (results === undefined) return [{ command, reply, request_id: command.request_ids[0] ?? '' }];
  return results.map((item, index) => ({
    command,
    reply: item,
    request_id: command.request_ids[index] ?? '',
  }));
}

const EVENT_KIND_OF_OP: Readonly<Record<string, ClaimEventKind>> = {
  renew: 'renewed',
  release: 'released',
  submit: 'accepted',
  suspend: 'suspended',
  resume: 'resumed',
  note: 'noted',
};

/**
 * Operations that may succeed without an event of their own: renewing or suspending a claim that is suspended already, and
 * resuming an active one.
 */
const SUCCESS_WITHOUT_EVENT: ReadonlySet<string> = new Set(['renew', 'resume', 'suspend']);

function deliveryOutcomeOf(reply: unknown): CommandDelivery['outcome'] {
  if (isProblem(reply)) {
    if (reply.problem === 'UNKNOWN') return 'unknown';
    return reply.problem === 'UNAUTHENTICATED' || isUndecided(reply) ? 'no_effect' : 'refused';
  }
  const { success, accepted, results } = reply as CommandReplyFields & { results?: readonly unknown[] };
  if (results !== undefined) {
    const outcomes = results.map(deliveryOutcomeOf);
    if (outcomes.includes('unknown')) return 'unknown';
    return outcomes.includes('ok') ? 'ok' : outcomes.includes('no_effect') ? 'no_effect' : 'refused';
  }
  return success === false || accepted === false ? 'refused' : 'ok';
}

/** The part that two replies to one request must share; the briefing may differ, and warnings come with the first only. */
function comparableReply(reply: unknown): string {
  const {
    briefing: _,
    warnings: __,
    ...comparedFields
  } = reply as { briefing?: unknown; warnings?: unknown };
  return JSON.stringify(comparedFields);
}

function shortReply(reply: unknown): string {
  if (isProblem(reply)) return `${reply.problem} (${reply.detail})`;
  const { reason, claim, results } = reply as CommandReplyFields & { results?: readonly unknown[] };
  if (results !== undefined) return results.map(shortReply).join(', ');
  return `${reason ?? 'done'}${claim == null ? '' : ` ${claim.task_id} g${claim.generation}`}`;
}
