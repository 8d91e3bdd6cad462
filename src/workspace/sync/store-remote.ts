import { OPEN_CALLER } from '../../coordinator/authentication/caller.js';
import type { Coordinator } from '../../coordinator/coordinator.js';
import { isProblem } from '../../coordinator/wire/problem.js';
import type { ProjectKey } from '../../stores/store.js';
import { configureBodyOf } from '../read-files.js';
import { EMPTY_PLAN, type SyncRemote } from './remote.js';
import type { LocalLog } from './sync-workspace.js';

/** A remote in this process: a store and a coordinator on it. */
export function storeRemote(
  parts: LocalLog & { readonly name: string; readonly coordinator: Coordinator; readonly key: ProjectKey },
): SyncRemote {
  const { name, coordinator, store, blobs, key } = parts;
  const { tenant_id } = key;
  return {
    name,
    position: async () => (await store.project(key))?.position ?? 0,
    events: (after, limit) => store.events(key, { after, limit }),
    getBlob: (sha256) => blobs.get(tenant_id, sha256),
    putBlob: async (sha256, bytes) => {
      const reply = await coordinator.blobs.putBlob(tenant_id, sha256, bytes);
      return isProblem(reply) ? reply : null;
    },
    claim: (body) => coordinator.claims.claimTask(key, body, OPEN_CALLER),
    submit: (body) => coordinator.holder.submitResult(key, body, OPEN_CALLER),
    release: (body) => coordinator.holder.releaseClaim(key, body, OPEN_CALLER),
    suspend: (body) => coordinator.holder.suspendClaim(key, body, OPEN_CALLER),
    resume: (body) => coordinator.holder.resumeClaim(key, body, OPEN_CALLER),
    review: (body) => coordinator.decisions.recordReview(key, body, OPEN_CALLER),
    note: (body) => coordinator.holder.note(key, body, OPEN_CALLER),
    append: (body) => coordinator.holder.appendEvent(key, body, OPEN_CALLER),
    importEvents: (events) => coordinator.imports.importEvents(key, { events }),
    create: async () => {
      const reply = await coordinator.plans.put(key, EMPTY_PLAN, { if_match: 0 }, OPEN_CALLER);
      return isProblem(reply) ? reply : null;
    },
    configure: async (texts) => {
      const body = configureBodyOf(texts);
      const reply = await coordinator.settings.configure(key, body, OPEN_CALLER);
      return isProblem(reply) ? reply : null;
    },
  };
}
