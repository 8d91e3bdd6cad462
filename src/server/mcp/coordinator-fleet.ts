import type { Caller } from '../../coordinator/caller.js';
import type { Coordinator } from '../../coordinator/coordinator.js';
import type { ProjectKey } from '../../stores/store.js';
import type { Fleet, Handed, Handle, Named, NextAsk, ReleaseAsk, Taker } from './fleet.js';

/**
 * The fleet in this process. Nothing here outlives a call, so no timer renews: a sign of life is the call itself,
 * and each that leaves the claim with its holder, or may, renews it first.
 */
export class CoordinatorFleet implements Fleet {
  constructor(
    private readonly coordinator: Coordinator,
    private readonly scope: ProjectKey,
    private readonly caller: Caller,
    private readonly gone: AbortSignal,
  ) {}

  next(ask: NextAsk) {
    return this.coordinator.next(this.scope, ask, this.caller, this.gone);
  }

  claim(named: Named, taker: Taker) {
    return this.coordinator.claimTask(this.scope, { ...named, ...taker }, this.caller);
  }

  renew(handle: Handle, lease_duration_seconds?: number) {
    const { generation: expected_generation, ...shown } = handle;
    const body = { ...shown, expected_generation, lease_duration_seconds };
    return this.coordinator.renewLease(this.scope, body, this.caller);
  }

  /** A result that is refused for its form or size leaves the claim where it is: there must be time to mend it. */
  async submit(handle: Handle, handed: Handed) {
    await this.renew(handle);
    return this.coordinator.submitResult(this.scope, { ...handle, ...handed }, this.caller);
  }

  release(handle: Handle, ask: ReleaseAsk) {
    const { generation: expected_generation, ...shown } = handle;
    return this.coordinator.releaseClaim(this.scope, { ...shown, expected_generation, ...ask }, this.caller);
  }

  async note(handle: Handle, text: string) {
    await this.renew(handle);
    return this.coordinator.note(this.scope, { ...handle, text }, this.caller);
  }

  task(task_id: string) {
    return this.coordinator.queries.getTaskState(this.scope, task_id);
  }

  status() {
    return this.coordinator.queries.status(this.scope);
  }

  explain(task_id: string) {
    return this.coordinator.queries.explain(this.scope, task_id);
  }
}
