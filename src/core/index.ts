export type { ClaimsCommand, Decision, DecisionCode, DecisionContext } from './claims/commands.js';
export { decide } from './claims/decide.js';
export { evolve } from './claims/evolve.js';
export { emptyHead, type Head } from './claims/head.js';
export { LogChecker } from './claims/invariants.js';
export {
  DEFAULT_LIMITS,
  DEFAULT_POLICY,
  ENTERPRISE_LIMITS,
  type Limits,
  type Policy,
  type Rules,
  rulesFor,
} from './claims/policy.js';
export type { EventDraft, EventEnvelope } from './events/envelope.js';
export * from './events/index.js';
export { type AnyHead, fold } from './fold.js';
export * from './methodology/index.js';
export * from './plan/index.js';
export * from './views/index.js';
