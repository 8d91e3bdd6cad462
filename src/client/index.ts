export type { ApiClientOptions } from './endpoint.js';
export type { FollowedEvent, FollowObserver } from './follow.js';
export * from './genesis.js';
export type { RetryOptions } from './http.js';
export type { MethodologyClient } from './methodology.js';
export type { SubmitOutcome } from './outbox.js';
export { ClaimLost } from './renewals.js';
export * from './replies.js';
export type * from './requests.js';
export { publicKeyText, signCommand } from './sign-command.js';
export type {
  EdgeResult,
  EndedWork,
  Work,
  WorkContext,
  WorkHandler,
  WorkOptions,
  WorkSummary,
} from './work-options.js';
