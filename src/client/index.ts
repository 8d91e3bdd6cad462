export type * from './calls.js';
export type { Followed } from './follow.js';
export * from './genesis.js';
export type { RetryOptions } from './http.js';
export type { SubmitOutcome } from './outbox.js';
export { ClaimLost } from './renewals.js';
export * from './replies.js';
export { publicKeyText, signCommand } from './sign-command.js';
export type { Handler, Work, WorkContext, WorkOptions, WorkSummary } from './work.js';
