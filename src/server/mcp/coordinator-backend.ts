import type { Caller } from '../../coordinator/authentication/caller.js';
import type { Coordinator } from '../../coordinator/coordinator.js';
import type { ProjectKey } from '../../stores/store.js';
import type {
  Claimant,
  McpBackend,
  McpHandle,
  McpNextRequest,
  McpReleaseRequest,
  McpSubmission,
  SubjectSelector,
} from './backend.js';

/**
 * Backend on the coordinator in this process. Nothing outlives a call, so no timer renews the claim: each call that
 * leaves, or may leave, the claim with its holder renews it first.
 */
export class CoordinatorBackend implements McpBackend {
  constructor(
    private readonly coordinator: Coordinator,
    private readonly scope: ProjectKey,
    private readonly caller: Caller,
    private readonly clientSignal: AbortSignal,
  ) {}

  next(request: McpNextRequest) {
    return this.coordinator.next(this.scope, request, this.caller, this.clientSignal);
  }

  claim(selector: SubjectSelector, claimant: Claimant) {
    return this.coordinator.claimTask(this.scope, { ...selector, ...claimant }, this.caller);
  }

  renew(handle: McpHandle, lease_duration_seconds?: number) {
    const { generation: expected_generation, ...holder } = handle;
    const body = { ...holder, expected_generation, lease_duration_seconds };
    return this.coordinator.renewLease(this.scope, body, this.caller);
  }

  /** A result refused for its form or size leaves the claim, so it is renewed first to allow time for a correction. */
  async submit(handle: McpHandle, submission: McpSubmission) {
    await this.renew(handle);
    return this.coordinator.submitResult(this.scope, { ...handle, ...submission }, this.caller);
  }

  release(handle: McpHandle, request: McpReleaseRequest) {
    const { generation: expected_generation, ...holder } = handle;
    return this.coordinator.releaseClaim(
      this.scope,
      { ...holder, expected_generation, ...request },
      this.caller,
    );
  }

  async note(handle: McpHandle, text: string) {
    await this.renew(handle);
    return this.coordinator.note(this.scope, { ...handle, text }, this.caller);
  }

  task(taskId: string) {
    return this.coordinator.queries.getTaskState(this.scope, taskId);
  }

  status() {
    return this.coordinator.queries.status(this.scope);
  }

  explain(taskId: string) {
    return this.coordinator.queries.explain(this.scope, taskId);
  }
}
