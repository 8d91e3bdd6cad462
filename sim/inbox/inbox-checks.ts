import { PolicyAwareLogChecker } from '../../src/core/claims/policy-aware-log-checker.js';
import type { EventEnvelope } from '../../src/core/events/envelope.js';
import type { AnyHead } from '../../src/core/fold.js';
import type { SimWorld } from '../world/world.js';
import type { CommandFile } from './command-file.js';
import type { InboxScenario } from './scenario.js';

/** The contents of the store once all files are answered. */
export interface StoreContents {
  readonly events: readonly EventEnvelope[];
  readonly heads: readonly AnyHead[];
}

/** The reply code that each event of a command implies. */
const REPLY_CODE_OF_EVENT: Readonly<Record<string, (event: EventEnvelope) => unknown>> = {
  edge_started: () => 'GRANTED',
  heartbeat: () => 'RENEWED',
  edge_released: () => 'RELEASED',
  edge_converged: () => 'ACCEPTED',
  iteration_completed: () => 'APPENDED',
  claim_rejected: ({ payload }) => payload.reason,
  result_rejected: ({ payload }) => payload.rejection_reason,
};

/** Checks the log against the agents' commands and outcomes. */
export function checkInboxes(
  world: SimWorld,
  scenario: InboxScenario,
  files: readonly CommandFile[],
  contents: StoreContents,
): void {
  checkLog(world, scenario, contents);
  for (const commandFile of files) {
    const { request_id } = commandFile.command ?? {};
    const events = contents.events.filter(
      (event) => request_id !== undefined && event.request_id === request_id,
    );
    checkOnce(world, commandFile, events);
    checkOutcomes(world, commandFile, events, contents.events);
  }
  checkHolders(world, files);
}

function checkLog(world: SimWorld, { limits }: InboxScenario, { events, heads }: StoreContents): void {
  const checker = new PolicyAwareLogChecker(limits);
  for (const event of events) {
    for (const { invariant, message: says } of checker.checkEvent(event))
      world.reportViolation(invariant, `${event.subject}: ${says}`);
  }
  for (const { invariant, subject, message: says } of checker.checkHeads(heads)) {
    world.reportViolation(invariant, `${subject}: ${says}`);
  }
}

/** A command writes its events in one commit: none twice, and no other events between them. */
function checkOnce(world: SimWorld, commandFile: CommandFile, events: readonly EventEnvelope[]): void {
  const positions = events.map(({ position }) => position);
  const span = positions.length === 0 ? 0 : Math.max(...positions) - Math.min(...positions) + 1;
  const types = events.map(({ event_type }) => event_type);
  if (span === events.length && new Set(types).size === types.length) return;
  world.reportViolation(
    'INBOX-ONCE',
    `${commandFile.label} was executed more than once: ${types.join(', ')} at ${positions}`,
  );
}

function checkOutcomes(
  world: SimWorld,
  commandFile: CommandFile,
  events: readonly EventEnvelope[],
  log: readonly EventEnvelope[],
): void {
  const effect = events.findLast(({ event_type }) => event_type in REPLY_CODE_OF_EVENT);
  const code = effect === undefined ? null : REPLY_CODE_OF_EVENT[effect.event_type]?.(effect);
  const { lastOutcome } = commandFile;
  if (code !== null && lastOutcome?.code !== code) {
    world.reportViolation(
      'INBOX-OUTCOME',
      `${commandFile.label} has the outcome ${lastOutcome?.code}, but the log has ${code}`,
    );
  }
  if (lastOutcome?.ok && code === null && !isConfirmedByLog(commandFile, log)) {
    world.reportViolation(
      'INBOX-OUTCOME',
      `${commandFile.label} has the outcome ${lastOutcome.code}, but the log has no event`,
    );
  }
  for (const [index, outcome] of commandFile.outcomes.slice(1).entries()) {
    const previous = commandFile.outcomes[index];
    if (previous === undefined || previous.code === outcome.code) continue;
    // A refusal without an event is decided again if the agent writes the file again, or if the serialiser crashed before
    // it removed the file.
    const isRedecided =
      previous.code !== code && (previous.writes !== outcome.writes || previous.deaths !== outcome.deaths);
    if (!isRedecided) {
      world.reportViolation(
        'INBOX-SAME',
        `${commandFile.label} was first ${previous.code}, then ${outcome.code}`,
      );
    }
  }
}

/** By the event type of a command file: the earlier event that makes the command a repetition, which writes no event. */
const CONFIRMED_EVENTS: Readonly<Record<string, string>> = {
  edge_claim: 'edge_started',
  edge_released: 'edge_released',
  edge_converged: 'edge_converged',
};

/** Whether the log shows that a command without an event is a repetition, and so was answered with the earlier effect. */
function isConfirmedByLog(
  { agent_id, command, lastOutcome }: CommandFile,
  log: readonly EventEnvelope[],
): boolean {
  if (command === null) return false;
  const generation =
    command.kind === 'claim'
      ? lastOutcome?.generation
      : (command.body.generation ?? command.body.expected_generation);
  return log.some(
    (event) =>
      event.event_type === CONFIRMED_EVENTS[command.event_type] &&
      event.agent_id === agent_id &&
      event.generation === generation,
  );
}

/** INV-03: an edge has one holder per generation, over all outcomes. */
function checkHolders(world: SimWorld, files: readonly CommandFile[]): void {
  const holders = new Map<string, string>();
  for (const { agent_id, command, outcomes } of files) {
    for (const { code, generation } of outcomes) {
      if (code !== 'GRANTED') continue;
      const grant = `${command?.subject}/${generation}`;
      const holder = holders.get(grant) ?? agent_id;
      if (holder !== agent_id)
        world.reportViolation('INV-03', `${grant} was granted to ${holder} and ${agent_id}`);
      holders.set(grant, holder);
    }
  }
}
