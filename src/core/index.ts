export type {
  Decision,
  DecisionCode,
  DecisionContext,
  SubjectCommand as ClaimsCommand,
} from './claims/commands.js';
export { decide } from './claims/decide.js';
export { evolve } from './claims/evolve.js';
export { emptyHead, type Head } from './claims/head.js';
export { LogChecker } from './claims/invariants.js';
export {
  DEFAULT_LIMITS,
  DEFAULT_POLICY,
  ENTERPRISE_LIMITS,
  type Rules,
  rulesFor,
} from './claims/policy.js';
export type * from './contract/index.js';
export {
  CATALOGUE,
  checkNewEvent,
  type EventCheck,
  type EventFault,
  envelopeSchema,
} from './events/catalogue.js';
export { claimPayloadSchemas } from './events/claim-payload-schemas.js';
export { type EventDraft, type EventEnvelope, isoTime, msOf, type NewEvent } from './events/envelope.js';
export {
  type DeriveEventId,
  type ForeignLine,
  ForeignLogReader,
  foreignEvents,
  type ImportedLine,
} from './events/foreign-log.js';
export type { ForeignLogContext } from './events/read-flat.js';
export { type AnyHead, fold } from './fold.js';
export * from './methodology/index.js';
export * from './plan/index.js';
export * from './views/index.js';
